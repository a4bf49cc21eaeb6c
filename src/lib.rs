//! Spring's `@Scheduled` for Rust: annotate a function, and a thread pool runs it at a fixed rate,
//! after a fixed delay, or by cron.
//!
//! ```no_run
//! use scheduler::scheduled;
//!
//! #[scheduled(fixed_rate = "1s")]
//! fn tick() {
//!     println!("tick");
//! }
//!
//! #[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
//! async fn report() -> Result<(), std::io::Error> {
//!     std::fs::write("report.txt", "all good")
//! }
//!
//! fn main() -> Result<(), scheduler::StartError> {
//!     scheduler::start() // until Ctrl-C or SIGTERM, then lets running tasks finish
//! }
//! ```
//!
//! * The attribute, option by option: [`scheduled`].
//! * To run alongside a server, or inside an async `main`: [`Scheduler`], [`start_async`].
//! * The thread pool by itself, without annotations: [`engine`].
//!
//! # Tasks in other crates
//!
//! The functions register themselves when they are linked. A crate that only has tasks in it is
//! linked if the binary mentions it: `use jobs as _;`. A scheduler that finds no task at all says so.
//!
//! # Failures
//!
//! A run that panics or returns an error is reported with the task's name, cause, place and next run,
//! and the task runs again at its next time, as in Spring. With `panic = "abort"` in the profile a
//! panic ends the process, and nobody can change that.
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod conduct;
mod entry;
mod error;
mod inject;
mod notice;
#[allow(dead_code, reason = "the conductors of tasks are not yet part of the crate")]
mod observe;
mod registrar;
mod run;
mod runner;
mod schedule;
mod settings;
mod speech;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use conduct::{ControlError, Misfire, OnError, Overlap, Retry};
pub use entry::{Entry, Location, TaskList, entries};
pub use error::{StartError, StopError};
pub use inject::{Call, Extract, Managed, State, TaskOutput, Wiring};
pub use observe::{
    Counters, Event, Failure, Listener, Longest, Outcome, PanicPlace, RuleKind, RunRecord,
};
pub use observe::{SkipReason, StopReason, TaskFacts, TaskSnapshot, TaskState};
pub use registrar::Registrar;
pub use run::{BoxFuture, Cause, Run, Shutdown, Stopped, TaskError, TaskResult};
pub use runner::{Builder, Pool, Scheduler, Tasks, start, start_async};
pub use schedule::{Length, Schedule};
pub use scheduler_core as engine;
pub use scheduler_core::{Clock, ManualClock, SystemClock};
pub use scheduler_expr::Attribute;
pub use scheduler_macros::scheduled;
