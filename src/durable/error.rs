//! The errors of enqueues and of commands.

use std::error::Error;
use std::fmt;

use scheduler_store::{CommandOutcome, JobId, JobState, StoreError};

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
#[derive(Clone, Debug, PartialEq, Eq)]
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
            StoreError::Refused(_) | StoreError::NotExecuted(_) => Self::NotAccepted(unsent),
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

impl Error for EnqueueError {}

/// Why the store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobsError(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Store(StoreError),
    NotFound,
    Conflict(JobId),
    State(JobState),
    Changed,
    InCode,
    Refused(String),
}

impl JobsError {
    pub(super) fn refused(reason: String) -> Self {
        Self(Kind::Refused(reason))
    }

    pub(super) fn not_found() -> Self {
        Self(Kind::NotFound)
    }

    pub(crate) fn no_store() -> Self {
        let why = "the scheduler has no store\n\
                   help: give it one: Scheduler::builder().store(Sqlite::open(\"jobs.db\")?)";
        Self::refused(why.to_owned())
    }

    /// The store did not answer. It may have done it all the same.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self.0, Kind::Store(StoreError::Unavailable(_) | StoreError::NotExecuted(_)))
    }

    /// There is no such job or schedule.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self.0, Kind::NotFound)
    }

    /// The schedule stands in the code of a process, and can only be changed there.
    #[must_use]
    pub fn is_in_code(&self) -> bool {
        matches!(self.0, Kind::InCode)
    }

    /// The unfinished job that is in the way: it has the same key, or is of the same schedule.
    #[must_use]
    pub fn conflict(&self) -> Option<JobId> {
        match self.0 {
            Kind::Conflict(job) => Some(job),
            _ => None,
        }
    }

    /// The job was claimed since it was read, and may be another one by now.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        matches!(self.0, Kind::Changed)
    }

    /// The state of the job, in which this is not possible.
    #[must_use]
    pub fn state(&self) -> Option<JobState> {
        match self.0 {
            Kind::State(state) => Some(state),
            _ => None,
        }
    }
}

impl From<StoreError> for JobsError {
    fn from(error: StoreError) -> Self {
        Self(Kind::Store(error))
    }
}

/// Reads the answer of a store to a command.
pub(super) fn answered(answer: Result<CommandOutcome, StoreError>) -> Result<(), JobsError> {
    Err(JobsError(match answer? {
        CommandOutcome::Done => return Ok(()),
        CommandOutcome::NotFound => Kind::NotFound,
        CommandOutcome::Conflict(job) => Kind::Conflict(job),
        CommandOutcome::State(state) => Kind::State(state),
        CommandOutcome::Changed => Kind::Changed,
        CommandOutcome::InCode => Kind::InCode,
    }))
}

impl fmt::Display for JobsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Store(error) => error.fmt(f),
            Kind::NotFound => f.write_str("there is no such job or schedule"),
            Kind::Conflict(job) => write!(f, "job {job} is unfinished, and in the way"),
            Kind::State(state) => write!(f, "not possible for a job that is {}", state.word()),
            Kind::Changed => f.write_str("the job was claimed since it was read; read it again"),
            Kind::InCode => {
                f.write_str("the schedule stands in the code, and can only be changed there")
            }
            Kind::Refused(reason) => f.write_str(reason),
        }
    }
}

impl Error for JobsError {}
