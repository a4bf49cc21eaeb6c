//! What happened, and what is now: events for whoever listens, histories and snapshots for whoever asks.
//!
//! # What this room is for
//!
//! The conductors of tasks, and the runner, tell the bus each [`Event`]; it brings them to the
//! listeners of the program, to the reporter, and to `tracing`, `log` and `metrics` where these are
//! switched on. A conductor keeps the last runs and the counters of its task and gives them out as a
//! [`TaskSnapshot`]: plain data that stays as it was when it was taken.
//!
//! # What it must never do
//!
//! Let a listener hurt a run: a slow one is waited for by nobody, a panicking one is contained, and
//! none is called under a lock. Cost anything where nobody listens. Decide or format anything.
//!
//! # How a neighbour uses it
//!
//! An event that is of interest to everybody is made and given to the bus as it is; one that is made
//! for each run is made only if somebody hears every event.

mod bus;
mod contain;
mod engine;
mod event;
mod failure;
mod history;
mod ledger;
mod level;
mod listener;
#[cfg_attr(not(feature = "log"), path = "log_off.rs")]
mod log;
#[cfg_attr(not(feature = "metrics"), path = "metrics_off.rs")]
mod metrics;
mod queue;
mod record;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(feature = "serde")]
mod serial;
mod starvation;
#[cfg(test)]
mod tests;
#[cfg_attr(not(feature = "tracing"), path = "tracing_off.rs")]
mod tracing;

pub(crate) use bus::Bus;
pub(crate) use bus::BusBuilder;
pub(crate) use contain::catch;
pub(crate) use contain::watch_panics;
pub(crate) use engine::EngineTrouble;
pub use event::Event;
pub use event::EventKind;
pub use event::Longest;
pub use event::StopReason;
pub use failure::Failure;
pub use failure::Outcome;
pub use failure::PanicPlace;
pub(crate) use history::History;
pub(crate) use history::Recorded;
pub(crate) use ledger::Ledger;
pub(crate) use ledger::Totals;
pub(crate) use level::Level;
pub(crate) use level::Log;
pub use listener::Listener;
pub(crate) use metrics::meter;
#[cfg(test)]
pub(crate) use queue::CAPACITY;
pub(crate) use queue::Next;
pub(crate) use queue::Priority;
pub(crate) use queue::Queue;
pub use record::Counters;
pub use record::RunRecord;
pub use record::SkipReason;
pub use record::TaskFacts;
pub use record::TaskSnapshot;
pub use record::TaskState;
pub use scheduler_expr::RuleKind;
pub(crate) use starvation::LATE;
pub(crate) use tracing::Span;
pub(crate) use tracing::Subscriber;
