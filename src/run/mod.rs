//! One run of a scheduled task: what the task sees of it.
//!
//! # What this room is for
//!
//! [`Run`] is handed to a task that asks for it: which run this is, for when it was planned, why it happens, and whether it
//! shall stop; it lets the task wait on the scheduler's clock and leave notes. [`Shutdown`] lets a task look whether the
//! scheduler stops. [`TaskError`] is what a failed run leaves behind.
//!
//! # What it must never do
//!
//! Decide anything. It knows no schedule; the room of tasks makes runs, asks them to stop, and ends them.
//!
//! # States
//!
//! A job that was claimed from a store waits, and then begins or is withdrawn. An attempt is executed, and may be asked to stop: once, for one cause. A run that is tried again is a new attempt with the
//! same number.
//!
//! # How a neighbour uses it
//!
//! The room of tasks [begins](Run::begin) a run for each attempt, and calls the task inside [`Run::enter`], so that
//! [`Run::current`] answers. The next run of the task reuses the allocation of the last one, unless a clone of that is kept.

mod attempt;
mod cause;
mod current;
mod handle;
mod info;
pub(crate) mod inject;
#[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "no job is claimed"))]
mod job;
#[cfg(feature = "durable")]
mod job_error;
mod notes;
#[cfg(feature = "durable")]
mod of_job;
pub(crate) mod one_shot;
mod pause;
mod poll;
pub(crate) mod runner;
mod shutdown;
mod stop;
pub(crate) mod task;
mod task_error;
mod wait;

pub(crate) use attempt::AttemptStart;
pub use cause::{BoxFuture, Cause, TaskResult};
pub use handle::Run;
pub use info::RunInfo;
pub(crate) use job::ClaimedJob;
#[cfg(feature = "durable")]
pub(crate) use job::instant;
#[cfg(feature = "durable")]
pub use job_error::JobError;
pub(crate) use notes::shortened;
pub use pause::Pause;
pub(crate) use poll::Poll;
pub use shutdown::Shutdown;
pub(crate) use stop::StopCause;
pub use stop::Stopped;
pub(crate) use task_error::JobErrorKind;
pub use task_error::TaskError;
