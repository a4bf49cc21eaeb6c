//! What the function of a job may return beside `()`.

use std::time::Duration;

use super::cause::TaskResult;
use super::task_error::{TaskError, Verdict};

/// How a run of a durable job ended, where the function says more than success or failure.
///
/// A function returns it as it is, or in a `Result`. It is no error, so that `?` still means a failure, and the reason of
/// an error cannot be mistaken for a request.
///
/// ```
/// use scheduler::{JobOutcome, job};
/// use std::time::Duration;
///
/// #[job(name = "send-invoice", retry(max = 5))]
/// fn send_invoice(#[payload] number: u32) -> Result<JobOutcome, std::io::Error> {
///     if number == 0 {
///         return Ok(JobOutcome::give_up("there is no invoice 0"));
///     }
///     let is_printed = std::fs::exists(format!("{number}.pdf"))?; // a failure, which is tried again
///     if !is_printed {
///         return Ok(JobOutcome::Snooze(Duration::from_secs(60)));
///     }
///     Ok(JobOutcome::Done)
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum JobOutcome {
    /// It is done.
    #[default]
    Done,
    /// It runs again after this time, and this was no attempt.
    Snooze(Duration),
    /// It has failed for this reason, and is not tried again.
    GiveUp(String),
}

impl JobOutcome {
    /// It has failed for this reason, and is not tried again.
    #[must_use]
    pub fn give_up(reason: impl Into<String>) -> Self {
        Self::GiveUp(reason.into())
    }

    /// The result of the attempt. A run that is not that of a job fails if it asks for what only a job can have.
    pub(crate) fn into_task_result(self) -> TaskResult {
        match self {
            Self::Done => Ok(()),
            Self::Snooze(time) => {
                let error = TaskError::from_display("only a durable job can be put off");
                Err(error.asking_for(Verdict::Snooze(time)))
            }
            Self::GiveUp(reason) => {
                Err(TaskError::from_display(&reason).asking_for(Verdict::GiveUp))
            }
        }
    }
}
