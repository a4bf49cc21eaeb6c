//! The errors of enqueues and of commands.

use std::error::Error;
use std::fmt;

use scheduler_store::{CommandOutcome, StoreError};

use super::job::Job;

/// Why jobs were not enqueued.
///
/// ```
/// use scheduler::{EnqueueError, Job, Jobs};
///
/// fn order(jobs: &Jobs, job: Job) {
///     match jobs.enqueue(job) {
///         Ok(_) => {}
///         // The same job, with its identity: if it was accepted after all, it is not accepted twice.
///         Err(EnqueueError::Unknown(unsent)) => println!("to be sent again: {:?}", unsent.jobs),
///         Err(error) => println!("{error}"),
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnqueueError {
    /// The store has not accepted them, and will not.
    NotAccepted(Unsent),
    /// The store did not answer: it may have accepted them, or may accept them for the next ten seconds. Sending the same
    /// jobs again does no harm, for as long as [jobs that have ended are kept](crate::NodeOptions::keep_done).
    Unknown(Unsent),
}

/// Jobs that were perhaps not enqueued, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsent {
    /// The jobs, with their identities: one, or those of a batch.
    pub jobs: Vec<Job>,
    /// Why.
    pub reason: String,
}

impl EnqueueError {
    pub(super) fn refused(jobs: Vec<Job>, reason: String) -> Self {
        Self::NotAccepted(Unsent { jobs, reason })
    }

    pub(super) fn of(jobs: Vec<Job>, error: &StoreError) -> Self {
        let unsent = Unsent { jobs, reason: error.to_string() };
        match error {
            StoreError::Refused(_) | StoreError::NotExecuted(_) | StoreError::Failed(_) => {
                Self::NotAccepted(unsent)
            }
            _ => Self::Unknown(unsent),
        }
    }

    /// The jobs and the reason.
    #[must_use]
    pub fn unsent(&self) -> &Unsent {
        match self {
            Self::NotAccepted(unsent) | Self::Unknown(unsent) => unsent,
        }
    }

    /// Returns true if the jobs may have been accepted.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}

impl fmt::Display for EnqueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unsent { jobs, reason } = self.unsent();
        match jobs.as_slice() {
            [job] => write!(f, "job {} of `{}`", job.id(), job.task_name())?,
            jobs => write!(f, "{} jobs", jobs.len())?,
        }
        match self {
            Self::NotAccepted(_) => write!(f, " not accepted: {reason}"),
            Self::Unknown(_) => write!(f, " perhaps not accepted: {reason}"),
        }
    }
}

impl fmt::Debug for EnqueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for EnqueueError {}

/// Why the store did not do what was asked of it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobsError {
    /// The store did not answer, or refused the request.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store has not done it, and says why.
    #[error(transparent)]
    NotDone(CommandOutcome),
    /// It was not sent.
    #[error("{0}")]
    Refused(String),
}

impl JobsError {
    pub(crate) fn no_store() -> Self {
        let why = "the scheduler has no store\n\
                   help: give it one: Scheduler::builder().store(Sqlite::open(\"jobs.db\")?)";
        Self::Refused(why.to_owned())
    }

    /// The store did not answer. It may have done it all the same.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Store(StoreError::Unavailable(_) | StoreError::NotExecuted(_)))
    }

    /// The store has answered with an error, such as a missing right or a full disk, and has done nothing.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Store(StoreError::Failed(_)))
    }

    /// There is no such job or schedule.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotDone(CommandOutcome::NotFound))
    }
}

/// Reads the answer of a store to a command.
pub(super) fn answered(answer: Result<CommandOutcome, StoreError>) -> Result<(), JobsError> {
    match answer? {
        CommandOutcome::Done => Ok(()),
        other => Err(JobsError::NotDone(other)),
    }
}

impl fmt::Debug for JobsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
