//! Errors by which a job is retried, put off or given up.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::task_error::{JobErrorKind, TaskError};

/// Why a run of a durable job has not done its work: it failed, asks to run again later, or not to be tried again.
///
/// A function returns it in a `Result<(), JobError>`. By `?` an error, a text, a boxed error or `anyhow::Error` becomes one,
/// as in any task; it is a failure that is tried again as `retry` says.
///
/// ```no_run,standalone_crate
/// use scheduler::{JobError, job};
/// use std::time::Duration;
///
/// #[job(name = "send-invoice", retry(max = 5))]
/// fn send_invoice(#[payload] number: u32) -> Result<(), JobError> {
///     if number == 0 {
///         return Err(JobError::give_up("there is no invoice 0"));
///     }
///     let is_printed = std::fs::exists(format!("{number}.pdf"))?; // a failure, which is tried again
///     if !is_printed {
///         return Err(JobError::snooze(Duration::from_secs(60)));
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError(TaskError);

// Like `anyhow::Error` it is no `Error` itself, so that every error can become one. It is no other value in `Ok` either:
// then nothing would say what `Err("no")` is a result of.
impl JobError {
    /// It has failed for this reason, and is tried again as `retry` says.
    #[must_use]
    pub fn failed(reason: impl fmt::Display) -> Self {
        Self(TaskError::from_display(&reason))
    }

    /// It runs again after this time, and this was no attempt. A run of a task that is no job fails.
    ///
    /// With no time it gives the job back: to be returned by a job that leaves early because it was asked to stop. `Ok` would end it.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{JobError, Run, Shutdown, job};
    /// use std::time::Duration;
    ///
    /// #[job(name = "export")]
    /// fn export(run: Run, shutdown: Shutdown) -> Result<(), JobError> {
    ///     for part in 0..1_000 {
    ///         if shutdown.stop_requested() || run.stop_requested() {
    ///             return Err(JobError::snooze(Duration::ZERO));
    ///         }
    ///         println!("part {part}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn snooze(time: Duration) -> Self {
        let error = TaskError::from_display("only a durable job can be put off");
        Self(error.of_kind(JobErrorKind::Snooze(time)))
    }

    /// It has failed for this reason, and is not tried again.
    #[must_use]
    pub fn give_up(reason: impl fmt::Display) -> Self {
        Self(TaskError::from_display(&reason).of_kind(JobErrorKind::GiveUp))
    }

    pub(crate) fn into_task_error(self) -> TaskError {
        self.0
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for JobError {
    fn from(error: E) -> Self {
        Self(TaskError::from_error(&*error.into()))
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
