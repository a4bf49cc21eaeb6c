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
//! * From Spring, in production, how it works, what happens when things go wrong: the [`guide`]s.
//! * To run alongside a server, or inside an async `main`: [`Scheduler`], [`start_async`].
//! * Tests of schedules, without waiting: `testing`, with the feature of that name.
//! * The thread pool by itself, without annotations: [`engine`].
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | what comes with it |
//! |---|---|
//! | `tokio` | tasks run in the context of a Tokio runtime, so that its timers, sockets and `spawn` work in them: the one that is there, or, as soon as a task is async, a small one of the scheduler's own |
//! | `tracing` | a span for each attempt of a run with OpenTelemetry's names; where a subscriber is installed, messages are events with fields at target `scheduler` |
//! | `log` | where a logger is installed, messages are records with key-values at target `scheduler` |
//! | `metrics` | counters, histograms and gauges for each task through the `metrics` facade, in native names and as Spring's `tasks.scheduled.execution` |
//! | `serde` | [`Event`], [`TaskSnapshot`] and what they contain serialize |
//! | `testing` | for `[dev-dependencies]`: tests of schedules and whole simulations on a virtual clock, in `testing` |
//! | `bench` | a door for the benchmarks of this repository; no part of the API |
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
//!
//! # Messages and events
//!
//! A thread of its own prints the banner, the first success of each task, failures and warnings to stderr, or to the
//! function given to [`Builder::messages`]; no task waits for it. Repeated messages are summed up once a minute, and there
//! are at most 1,000 in a minute. With the features `tracing` or `log` they go to the program's log, if it has one. A
//! [listener](Builder::listener) gets everything that happens as an [`Event`].
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod calendar;
mod entry;
mod error;
mod facts;
#[cfg(doc)]
pub mod guide;
mod inject;
mod notice;
mod observe;
mod registrar;
mod report;
mod run;
mod runner;
mod schedule;
mod settings;
mod sync;
mod task;
#[cfg(feature = "testing")]
/// [schedule_of]: crate::testing::schedule_of
/// [Sim]: crate::testing::Sim
/// [check_wiring]: crate::testing::check_wiring
/// [plan]: crate::testing::plan
#[doc = include_str!("../docs/testing.md")]
pub mod testing;
mod unwind;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use calendar::Calendar;
/// Dates and times, as the API has them: the crate `chrono`, in the version that fits.
pub use chrono;
pub use entry::{Entry, TaskList, Wire, entries};
pub use error::{AddError, StartError, StopError};
pub use facts::{Location, TaskFacts};
pub use inject::{Call, Extract, Managed, State, TaskOutput, Wiring};
pub use observe::{
    Counters, Event, EventKind, Failure, Listener, Longest, Outcome, PanicPlace, RuleKind,
    RunRecord,
};
pub use observe::{SkipReason, StopReason, TaskSnapshot, TaskState};
pub use registrar::Registrar;
pub use run::{BoxFuture, Cause, Run, RunInfo, Shutdown, Stopped, TaskError, TaskResult};
pub use runner::{Builder, Pause, Pool, Scheduler, Tagged, TaskControl, Tasks, start, start_async};
pub use schedule::{IntoInstant, Length, Schedule};
pub use scheduler_core as engine;
pub use scheduler_core::{Clock, ManualClock, SystemClock};
pub use scheduler_expr::{Attribute, DstGap, DstOverlap, Misfire, OnError, Overlap};
pub use scheduler_macros::scheduled;
pub use task::{Admission, AsyncGate, Gate, GateContext, GateError, GateFuture, Permit};
pub use task::{ControlError, ManualRun, Retry, Until, failures, runs, successes};
