//! Events, histories and snapshots, and the bridges to `tracing`, `log` and `metrics`.
//!
//! Tasks and the runner emit [`Event`]s to the [`Bus`], which delivers them to the reporter, to the bridges and to the
//! program's listeners. A task keeps its [`History`], and gives it out as a [`TaskSnapshot`].
//!
//! No listener delays or fails a run, or is called under a lock. No event keeps a run, a pool or a task alive. An ordinary
//! run makes no event that nobody wants: ask [`Bus::is_heard`] before.
//!
//! # The events
//!
//! Every event has `at` and, except those of pools and of the scheduler, `task` (the facts of the task). The in-place
//! listeners and the reporter get each one. The queue of the program's listeners holds 1,024 events; when it is full,
//! `first` kinds are dropped when three quarters are taken, `late` ones when fifteen sixteenths are, `last` ones only
//! when all is. A stop waits for the listeners, but only for a second, and then drops the rest. `Lost` has the number of
//! dropped events. Names and units are as in the feature `serde`: durations are seconds as floating-point numbers,
//! instants are RFC 3339 in UTC.
//!
//! | event | fields | when | dropped |
//! |---|---|---|---|
//! | `run_started` | `run`, `late_seconds` | before each attempt | first |
//! | `attempt_failed` | `run`, `failure`, `next_attempt_in_seconds` | an attempt failed, and another follows | first |
//! | `stop_requested` | `run`, `reason`, `blocked_seconds` | a run is asked to stop | first |
//! | `run_finished` | `run`, `outcome`, `took_seconds`, `next`, `streak` | after the last attempt | failures late, others first |
//! | `skipped` | `reason`, `first`, `last`, `count`, `at_least`, `blocked_seconds` | fire times got no run | first |
//! | `task_added` | `is_disabled`, `next` | at the start, or later | late |
//! | `task_ended` | `state` | a task will not run again | late |
//! | `paused` | `reason`, `until`, `next` | `pause` | late |
//! | `resumed` | `next` | `resume`, or the end of a pause | late |
//! | `rescheduled` | `rule`, `next` | `reschedule`; `task` has the new facts | late |
//! | `enabled` | `next` | `enable` | late |
//! | `trigger_failed` | `failure`, `asked_again_in_seconds` | a custom trigger has no valid answer | late |
//! | `starved` | `pool`, `late_seconds`, `busy`, `longest` | a run started late: all threads were busy | first |
//! | `wait_starved` | `pool`, `awaited` | a run waits for a task that finds no thread | first |
//! | `worker_refused` | `pool`, `reason` | no thread could be started | first |
//! | `drop_panicked` | `failure` | a destructor of a task panicked | late |
//! | `hook_failed` | `hook`, `failure` | a hook or a listener panicked, or a hook failed | late |
//! | `store` | `what`, which has a `kind` | sessions, lost and parked jobs, schedules, the store itself | late |
//! | `scheduler_started` | `tasks` | once | last |
//! | `scheduler_stopping` | – | once | last |
//! | `scheduler_stopped` | `took_seconds`, `unfinished` | once | last |
//! | `lost` | `count` | in place of dropped events | – |
//!
//! A `run` has `number`, `attempt`, `cause`, `fire_time`, `due` and `started_at`. An `outcome` is a `failure`, or `kind`
//! and, if it is `refused`, `reason`. A `failure` has `kind`, `message`, `causes` and `place`.
//!
//! # Logs
//!
//! With `tracing` or `log`, a message about an event has its fields: `event`, `task`, `run`, `attempt`, `outcome`,
//! `error`, `duration` and `next`, and the names that follow OpenTelemetry, such as `scheduler.run.lateness`,
//! `code.function.name`, `error.type` and `exception.message` (`fields.rs`). A failed attempt is logged inside its span.

mod bus;
mod contain;
mod delivery;
mod event;
mod failure;
mod fields;
mod format;
mod history;
mod listener;
mod log;
#[cfg(feature = "metrics")]
mod metrics;
mod pool_events;
mod queue;
mod record;
pub(crate) mod report;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(feature = "serde")]
mod serial;
mod starvation;
mod store_event;
#[cfg(test)]
mod tests;
mod text;
mod totals;
#[cfg(feature = "tracing")]
mod tracing;

pub use scheduler_expr::RuleKind;

pub use event::{Event, EventKind, Longest, StopReason};
pub(crate) use failure::UNBLOCK;
pub use failure::{Failure, Outcome, PanicPlace};
pub use listener::Listener;
pub use record::{Counters, PoolSnapshot, RunRecord, SkipReason, TaskSnapshot, TaskState};
pub use store_event::StoreEvent;

pub(crate) use crate::define::metadata::TaskFacts;
pub(crate) use bus::{Bus, BusBuilder};
pub(crate) use contain::{catch, watch_panics};
pub(crate) use delivery::Delivery;
pub(crate) use fields::Fields;
pub(crate) use format::{duration, instant, on_one_line, ordinal, plural};
pub(crate) use history::History;
pub(crate) use log::{Level, Log};
#[cfg(feature = "metrics")]
pub(crate) use metrics::Meter;
pub(crate) use pool_events::{EXPLAIN_PAUSE, LookUp, PoolEvents};
#[cfg(test)]
pub(crate) use queue::CAPACITY;
pub(crate) use queue::{Next, Priority};
pub(crate) use starvation::{Held, LATE, ThreadUse};
#[cfg(feature = "testing")]
pub(crate) use text::describe;
pub(crate) use totals::{SharedTotals, Totals};
#[cfg(feature = "tracing")]
pub(crate) use tracing::{Span, Subscriber, was_logged_in_span};

/// Without the feature `tracing` no run has a span.
#[cfg(not(feature = "tracing"))]
pub(crate) type Span = std::convert::Infallible;
