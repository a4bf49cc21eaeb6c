//! Events, histories and snapshots, and the bridges to `tracing`, `log` and `metrics`.
//!
//! Tasks, nodes and pools emit [`Event`]s to the [`Bus`], which delivers them to the reporter, to the bridges and to the
//! program's listeners. A task keeps its [`History`], and gives it out as a [`TaskSnapshot`].
//!
//! No listener delays or fails a run, or is called under a lock. No event keeps a run, a pool or a task alive. An ordinary
//! run makes no event that no listener wants: ask [`Bus::is_heard`] before.
//!
//! # The events
//!
//! `docs/reference/events.md` lists them with their fields. The in-place listeners and the reporter get each one. The queue
//! of the program's listeners holds 1,024 events. Events have a [`Priority`]: when three quarters of the queue are taken, it
//! drops those that go first, such as runs; at fifteen sixteenths, failures and what happens to a task; when it is full, all.
//! A stop waits for the listeners, but only for a second, and then drops the rest. `Lost` has the number of dropped events.
//!
//! # Logs
//!
//! With `tracing` or `log`, a message about an event has its fields: `event`, `task`, `run`, `attempt`, `outcome`,
//! `error`, `duration` and `next`, and the names that follow OpenTelemetry, such as `scheduler.run.lateness`,
//! `code.function.name`, `error.type` and `exception.message` (`text.rs`). A message about a durable job has
//! `scheduler.job.id`, `.key`, `.queue`, `.attempt` and `.max_attempts`, as far as they are known. A failed attempt is logged inside its span.

mod bus;
mod event;
mod failure;
mod history;
mod log;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "opentelemetry")]
mod opentelemetry;
mod pool_events;
mod queue;
mod record;
#[cfg(feature = "serde")]
mod serial;
mod store_event;
#[cfg(test)]
mod tests;
mod text;
#[cfg(any(feature = "durable", feature = "tracing"))]
mod trace_context;
#[cfg(feature = "tracing")]
mod tracing;

pub use scheduler_expr::RuleKind;

pub use bus::Listener;
pub use event::{Event, EventKind, Longest, StopReason};
pub use failure::{Failure, Outcome, PanicPlace};
pub(crate) use failure::{UNBLOCK, catch, watch_panics};
pub use record::{Counters, PoolSnapshot, RunRecord, SkipReason, TaskSnapshot, TaskState};
pub use store_event::{ParkedJob, StoreEvent};

pub(crate) use crate::base::metadata::TaskFacts;
pub(crate) use bus::{Bus, BusBuilder, Delivery};
pub(crate) use history::{History, SharedTotals, Totals};
pub(crate) use log::{Level, Log};
#[cfg(feature = "metrics")]
pub(crate) use metrics::Meter;
#[cfg(all(feature = "opentelemetry", feature = "durable"))]
pub(crate) use opentelemetry::traceparent;
pub(crate) use pool_events::{
    EXPLAIN_PAUSE, Held, LATE, LookUp, PoolEvents, ThreadUse, longest_of_all,
};
#[cfg(test)]
pub(crate) use queue::CAPACITY;
pub(crate) use queue::{Next, Priority};
#[cfg(feature = "testing")]
pub(crate) use text::describe;
pub(crate) use text::{Fields, duration, instant, on_one_line, ordinal, plural};
#[cfg(any(feature = "durable", feature = "tracing"))]
pub(crate) use trace_context::TraceContext;
#[cfg(feature = "tracing")]
pub(crate) use tracing::{Span, Subscriber, was_logged_in_span};

/// Without the feature `tracing` no run has a span.
#[cfg(not(feature = "tracing"))]
pub(crate) type Span = std::convert::Infallible;
#[cfg(test)]
pub(crate) use tests::sample;
