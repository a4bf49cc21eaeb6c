//! The messages of the scheduler: start, failures and warnings, stop.
//!
//! Without a log the scheduler prints to stderr, or to a function of the program; with `tracing` or `log` installed it logs
//! there, with fields. The [`Reporter`] is a listener that turns events into [`Message`]s. [`Messages`] prints them in
//! order, on a thread of its own.
//!
//! A report decides nothing, and never fails: if stderr is closed or the sink panics, the text is lost. No task waits for a
//! [`Sink`], which may block. No text of a task forges a line: a [`Message`] escapes control characters. Repeated messages
//! are summed up once a minute by task and kind, and all tasks together have a bound (`limit`).
//!
//! The start passes the [`Banner`] and the messages of the stop to [`Messages`], and gives the bus a reporter.

mod banner;
mod events;
mod failures;
mod message;
mod reporter;
#[cfg(test)]
mod tests;

pub(crate) use banner::{
    Banner, FiredBy, PoolLine, ROWS_MAX, StillRunning, TaskLine, cancelled, dropped_too_early,
    not_stopped, still_waiting, stopped, stopping, undelivered,
};
pub(crate) use events::{
    durable_without_timeout, no_tasks, panics_abort, tasks_shared_with_other_schedulers,
};
pub(crate) use message::{Message, Messages, Sink};
pub(crate) use reporter::Reporter;
