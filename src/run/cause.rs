//! The cause of a run, and the result of an attempt.

use std::future::Future;
use std::pin::Pin;

use super::task_error::TaskError;

/// The result of one call of a scheduled function.
pub type TaskResult = Result<(), TaskError>;

/// The future of an async scheduled function.
pub type BoxFuture = Pin<Box<dyn Future<Output = TaskResult> + Send>>;

/// Why a run happens.
///
/// ```no_run,standalone_crate
/// use scheduler::{Cause, Run, scheduled};
///
/// #[scheduled(cron = "@daily")]
/// fn report(run: Run) {
///     if run.cause() == Cause::Manual {
///         println!("a manual run");
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Cause {
    /// The task's schedule.
    Schedule,
    /// A request: [`run_now`](crate::TaskControl::run_now).
    Manual,
    /// A durable job that code has enqueued.
    Job,
}

impl Cause {
    /// The cause in one word: `schedule`, `manual` or `job`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Manual => "manual",
            Self::Job => "job",
        }
    }
}
