//! Why a run failed, as text.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// How many causes of an error are kept: `Error::source` may lead round in a circle.
const CAUSES_KEPT: usize = 32;

/// Why a run failed: the text of the error that the function returned, and of its causes.
///
/// The original error is not kept, so that it need not be `Send`, `Sync` or `'static`. The causes
/// are found through [`Error::source`], which again gives a `TaskError`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskError {
    message: Box<str>,
    cause: Option<Box<TaskError>>,
    verdict: Option<Verdict>,
}

/// What the run of a durable job asks for beside its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there are no jobs"))]
pub(crate) enum Verdict {
    /// To run again later: this was no attempt.
    Snooze(Duration),
    /// Not to be tried again.
    GiveUp,
    /// Its payload could not be decoded, and it has not run.
    Undecodable,
}

impl TaskError {
    /// Keeps the text of something that can only be shown and has no causes.
    #[must_use]
    pub fn from_display(error: &(impl fmt::Display + ?Sized)) -> Self {
        Self { message: error.to_string().into(), cause: None, verdict: None }
    }

    /// Keeps the text of an error and of its causes, at most 32 of them.
    #[must_use]
    pub fn from_error(error: &(impl Error + ?Sized)) -> Self {
        let causes: Vec<String> = std::iter::successors(error.source(), |&cause| cause.source())
            .take(CAUSES_KEPT)
            .map(ToString::to_string)
            .collect();
        let cause = causes.into_iter().rev().fold(None, |cause, message| {
            Some(Box::new(Self { message: message.into(), cause, verdict: None }))
        });
        Self { message: error.to_string().into(), cause, verdict: None }
    }

    /// The same error of a run that asks for this.
    #[cfg(feature = "durable")]
    pub(crate) fn asking_for(self, verdict: Verdict) -> Self {
        Self { verdict: Some(verdict), ..self }
    }

    /// What the run asks for.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for TaskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}
