//! One run as its task sees it, and its arguments.
//!
//! A task takes a [`Run`]: its number, its fire time, its cause, and the request to stop. It lets the task wait on the
//! scheduler's clock and leave notes. [`Shutdown`] shows that the scheduler stops. [`TaskError`] is the error of a failed
//! run.
//!
//! Nothing here decides anything. The folder `task` [begins](Run::begin) a run for each attempt, and calls the task inside
//! [`Run::enter`], so that [`Run::current`] answers. A run that is tried again is a new attempt with the same number. An
//! attempt is asked to stop at most once, for one cause.

mod attempt;
mod handle;
mod info;
pub(crate) mod inject;
#[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "no job is claimed"))]
mod job;
#[cfg(feature = "durable")]
mod of_job;
mod stop;

pub(crate) use attempt::{Attempt, Execution, Poll, truncated};
pub use handle::Run;
pub(crate) use info::JobErrorKind;
pub use info::{BoxFuture, Cause, JobInfo, Pause, RunInfo, TaskError, TaskResult};
pub(crate) use job::ClaimedJob;
#[cfg(feature = "durable")]
pub(crate) use job::UNDECODABLE_LIMIT;
#[cfg(feature = "durable")]
pub use of_job::JobError;
pub(crate) use stop::StopCause;
pub use stop::{Shutdown, Stopped};
