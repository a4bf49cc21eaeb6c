//! Spring's `@Scheduled` for Rust: annotate a function, and a thread pool runs it at a fixed rate,
//! after a fixed delay, or by cron.
//!
//! ```no_run,standalone_crate
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
//! * Getting started, from Spring, settings, in production, what happens when things go wrong: the [`guide`]s.
//! * To run alongside a server, or inside an async `main`: [`Scheduler`], [`start_async`].
//! * Tests of schedules, without waiting: `testing`, with the feature of that name.
//! * The thread pool without annotations: [`engine`].
//!
//! # Features
//!
//! [traces]: crate::guide::observe#traces
//!
#![doc = include_str!("../docs/features.md")]
//!
//! # Tasks in other crates
//!
//! Functions register themselves when they are linked. A crate that only has tasks is linked if the binary mentions
//! it: `use jobs as _;`. A scheduler without any task prints a warning.
//!
//! # Failures
//!
//! A run that panics or returns an error is reported with the task's name, cause, place and next run, and the task
//! runs again at its next fire time, as in Spring. With `panic = "abort"` in the profile a panic ends the process.
//!
//! # Messages and events
//!
//! The start message, the first success of each task, failures and warnings go to stderr, or to the function given to
//! [`Builder::messages`]. A thread of their own prints them, so that a slow reader delays no task. Repetitions are
//! summed up once a minute, and at most 1,000 messages are printed in a minute. With the features `tracing` or `log`
//! messages go to the program's log, if it has one. A [listener](Builder::listener) gets everything that happens as an
//! [`Event`].
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[cfg(test)]
mod api;
mod base;
mod define;
#[cfg(feature = "durable")]
mod durable;
pub mod engine;
#[cfg(doc)]
pub mod guide;
mod observe;
mod run;
mod start;
#[cfg(feature = "durable")]
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
pub mod store;
mod task;
#[cfg(feature = "testing")]
/// [schedule_of]: crate::testing::schedule_of
/// [Sim]: crate::testing::Sim
/// [check_wiring]: crate::testing::check_wiring
/// [cluster]: crate::guide::simulations#a-cluster
/// [plan]: crate::testing::plan
/// [simulations]: crate::guide::simulations
#[doc = include_str!("../docs/testing.md")]
pub mod testing;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use base::metadata::{Location, TaskFacts};
/// The crate `chrono`, whose dates and times the API uses.
pub use chrono;
pub use define::calendar::Calendar;
pub use define::entry::TaskList;
pub use define::schedule::{IntoDuration, IntoInstant, Schedule};
#[cfg(feature = "durable")]
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
pub use durable::{
    EnqueueError, Job, Jobs, JobsError, Limit, NodeOptions, Payload, Schedules, Unsent,
};
pub use observe::{
    Counters, Event, EventKind, Failure, Listener, Longest, Outcome, PanicPlace, ParkedJob,
    PoolSnapshot, RuleKind, RunRecord, SkipReason, StopReason, StoreEvent, TaskSnapshot, TaskState,
};
#[cfg(feature = "durable")]
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
pub use run::JobError;
pub use run::inject::{Extract, Managed, Resolver, State, TaskReturn};
pub use run::{Cause, JobInfo, Pause, Run, RunInfo, Shutdown, Stopped};
pub use scheduler_core::trigger::Zone;
pub use scheduler_core::{Clock, ManualClock, NextFireTime, SystemClock, Trigger, TriggerContext};
pub use scheduler_expr::{Attribute, DstGap, DstOverlap, Misfire, OnError, Overlap};
#[cfg(feature = "durable")]
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
pub use scheduler_macros::job;
pub use scheduler_macros::scheduled;
#[cfg(feature = "durable")]
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
pub use scheduler_store::{OnLost, OnPark, Priority};
pub use start::registrar::Registrar;
pub use start::{
    AddError, Builder, DryRun, Pool, Preview, Scheduler, StartError, StopError, Tagged,
    TaskControl, Tasks, start, start_async,
};
pub use task::{
    Admission, AsyncGate, ControlError, Gate, GateContext, GateError, GateFuture, ManualRun,
    Permit, Until,
};
