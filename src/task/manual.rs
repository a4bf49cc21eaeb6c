//! The handle of a manual run, to wait for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use scheduler_core::Clock;

use super::error::ControlError;
use crate::base::set_once::{SetOnce, block_on};
use crate::observe::RunRecord;

/// The record of a manual run; an error if it did not start.
pub(super) type ManualResult = Result<RunRecord, ControlError>;

/// A run that was asked for by [`TaskControl::run_now`](crate::TaskControl::run_now), and may be waited for: a future, or
/// [`wait`](Self::wait). Dropping it changes nothing.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::cron("@daily"), |run| run.note("17 rows"))
///     .spawn()?;
/// let run = scheduler.tasks().get("import")?.run_now()?;
/// let record = run.wait(Duration::from_secs(10))?;
/// assert!(record.outcome.is_success());
/// assert_eq!(&*record.notes[0], "17 rows");
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ManualRun {
    task: Arc<str>,
    clock: Arc<dyn Clock>,
    ended: SetOnce<ManualResult>,
}

impl ManualRun {
    /// Returns the handle, and what answers it.
    pub(super) fn new(task: Arc<str>, clock: Arc<dyn Clock>) -> (Self, SetOnce<ManualResult>) {
        let ended = SetOnce::new();
        (Self { task, clock, ended: ended.clone() }, ended)
    }

    /// Blocks until the run is over, at most for `limit` on the scheduler's clock.
    ///
    /// # Errors
    ///
    /// The time is over; or the run has not started: the task or the scheduler has ended, or a gate has refused it.
    pub fn wait(self, limit: Duration) -> Result<RunRecord, ControlError> {
        let (task, clock) = (Arc::clone(&self.task), Arc::clone(&self.clock));
        let late = || {
            Err(ControlError::too_late(&task, limit, "its manual run was waited for".to_owned()))
        };
        block_on(self, &*clock, limit).unwrap_or_else(late)
    }
}

impl Future for ManualRun {
    type Output = Result<RunRecord, ControlError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.ended).poll(context)
    }
}

crate::base::opaque::opaque! { ManualRun { task } }
