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
mod pause;
mod poll;
mod shutdown;
mod stop;
mod task_error;
mod wait;

pub(crate) use attempt::{Attempt, Execution};
pub use cause::{BoxFuture, Cause, TaskResult};
pub use handle::Run;
pub use info::{JobInfo, RunInfo};
pub(crate) use job::ClaimedJob;
#[cfg(feature = "durable")]
pub(crate) use job::UNDECODABLE_LIMIT;
#[cfg(feature = "durable")]
pub use job_error::JobError;
pub(crate) use notes::truncated;
pub use pause::Pause;
pub(crate) use poll::Poll;
pub use shutdown::Shutdown;
pub(crate) use stop::StopCause;
pub use stop::Stopped;
pub(crate) use task_error::JobErrorKind;
pub use task_error::TaskError;
