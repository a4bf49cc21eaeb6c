//! The error of a run, as text.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The number of causes of an error that are kept: `Error::source` may lead round in a circle.
const CAUSES_KEPT: usize = 32;

/// Why a run failed: the text of the error that the function returned, and of its causes.
///
/// The original error is not kept, so that it need not be `Send`, `Sync` or `'static`. The causes
/// are found through [`Error::source`], which again gives a `TaskError`.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskError {
    message: Box<str>,
    cause: Option<Box<TaskError>>,
    job_error_kind: Option<JobErrorKind>,
}

/// An error that asks the store for something else than the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there are no jobs"))]
pub(crate) enum JobErrorKind {
    /// The job runs again later, and this was no attempt.
    Snooze(Duration),
    /// The job is not tried again.
    GiveUp,
    /// Its payload could not be decoded, and it has not run.
    Undecodable,
}

impl TaskError {
    /// Keeps the text of something that can only be shown and has no causes.
    #[must_use]
    pub fn from_display(error: &(impl fmt::Display + ?Sized)) -> Self {
        Self { message: error.to_string().into(), cause: None, job_error_kind: None }
    }

    /// Keeps the text of an error and of its causes, at most 32 of them.
    #[must_use]
    pub fn from_error(error: &(impl Error + ?Sized)) -> Self {
        let causes: Vec<String> = std::iter::successors(error.source(), |&cause| cause.source())
            .take(CAUSES_KEPT)
            .map(ToString::to_string)
            .collect();
        let cause = causes.into_iter().rev().fold(None, |cause, message| {
            Some(Box::new(Self { message: message.into(), cause, job_error_kind: None }))
        });
        Self { message: error.to_string().into(), cause, job_error_kind: None }
    }

    /// Makes it an error of this kind.
    #[cfg(feature = "durable")]
    pub(crate) fn of_kind(self, kind: JobErrorKind) -> Self {
        Self { job_error_kind: Some(kind), ..self }
    }

    /// Returns its kind, if it is an error of a job.
    pub(crate) fn job_error_kind(&self) -> Option<JobErrorKind> {
        self.job_error_kind
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for TaskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}
