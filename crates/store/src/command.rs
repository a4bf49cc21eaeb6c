//! The commands of people and of the program, and the answers.

use std::fmt;

use crate::id::{Fence, JobId};
use crate::job::{JobState, Payload, StoredJob};
use crate::pause::PauseScope;
use crate::request::JobFilter;
use crate::schedule::{Rule, ScheduleSpec};
use crate::time::StoreTime;

/// A command of a person or of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Pauses a schedule; a pause that holds gets a new end and reason.
    Pause {
        /// The schedule.
        schedule: String,
        /// When the pause ends; none until it is resumed.
        until: Option<StoreTime>,
        /// The person or program that pauses it.
        by: String,
        /// Why.
        reason: String,
    },
    /// Ends the pause of a schedule.
    Resume {
        /// The schedule.
        schedule: String,
    },
    /// Pauses jobs: none of them is claimed any more (R21). A pause that holds gets a new end and reason.
    PauseJobs {
        /// The jobs.
        scope: PauseScope,
        /// When the pause ends; none until they are resumed.
        until: Option<StoreTime>,
        /// The person or program that pauses them.
        by: String,
        /// Why.
        reason: String,
    },
    /// Ends the pause of jobs, if there is one.
    ResumeJobs {
        /// The jobs.
        scope: PauseScope,
    },
    /// Makes a job without a tick; also while the schedule is paused.
    RunNow {
        /// The schedule.
        schedule: String,
        /// The identity of the job.
        job: JobId,
    },
    /// Replaces the rule of a schedule from now on, or restores the one in the code.
    Reschedule {
        /// The schedule.
        schedule: String,
        /// The rule; none for the one in the code.
        rule: Option<Rule>,
    },
    /// Makes a dynamic schedule, or changes it.
    Put {
        /// The schedule.
        definition: Box<ScheduleSpec>,
    },
    /// Removes a schedule. Its jobs stay.
    Remove {
        /// The schedule.
        schedule: String,
    },
    /// Cancels a job: at once if it waits; else its session asks it to stop.
    Cancel {
        /// The job.
        job: JobId,
    },
    /// Makes a job ready at once that waits or has ended, and gives it one attempt at least.
    Retry {
        /// The job.
        job: JobId,
    },
    /// Deletes a job that is not running.
    Delete {
        /// The job.
        job: JobId,
    },
    /// Gives a job that waits or is parked another payload. The count of failures to decode it begins again.
    Edit {
        /// The job.
        job: JobId,
        /// The fence of the job as the writer has read it: a job that was claimed since then is left alone. None for any.
        fence: Option<Fence>,
        /// The payload.
        payload: Payload,
    },
}

/// The answer to a [`Command`].
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandOutcome {
    /// It is done.
    #[error("done")]
    Done,
    /// There is no such schedule or job.
    #[error("there is no such job or schedule")]
    NotFound,
    /// Another job is in the way: it has the key, or it is unfinished and of the same schedule.
    #[error("job {0} is unfinished, and in the way")]
    Conflict(JobId),
    /// Not possible for a job in this state.
    #[error("not possible for a job that is {}", .0.word())]
    NotInState(JobState),
    /// The job was claimed since it was read: its fence is another one.
    #[error("the job was claimed since it was read; read it again")]
    Changed,
    /// The schedule stands in the code of a process, and is not dynamic.
    #[error("the schedule stands in the code, and can only be changed there")]
    InCode,
}

impl fmt::Debug for CommandOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The action of a [`CommandAll`] on each job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobAction {
    /// As [`Command::Cancel`].
    Cancel,
    /// As [`Command::Retry`].
    Retry,
    /// As [`Command::Delete`].
    Delete,
}

impl JobAction {
    /// The command that does it with one job.
    #[must_use]
    pub const fn of(self, job: JobId) -> Command {
        match self {
            Self::Cancel => Command::Cancel { job },
            Self::Retry => Command::Retry { job },
            Self::Delete => Command::Delete { job },
        }
    }
}

/// Does the same with the newest jobs that a filter selects, in the order of their identities, in one transaction: each is as
/// the filter says when it happens to it. Where it is not possible for a job, the others are not kept from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandAll {
    /// The action.
    pub action: JobAction,
    /// The jobs.
    pub filter: JobFilter,
    /// The greatest number of selected jobs.
    pub limit: u32,
    /// When the request expires.
    pub not_after: StoreTime,
}

impl CommandAll {
    /// The oldest of the selected jobs, if there may be older ones.
    #[must_use]
    pub fn last_of(&self, selected: &[StoredJob]) -> Option<JobId> {
        let is_full = selected.len() >= self.limit as usize;
        selected.last().filter(|_| is_full).map(|job| job.id)
    }
}

/// The answer to a [`CommandAll`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkOutcome {
    /// With how many jobs it was done.
    pub done: u64,
    /// The oldest job that was selected, if as many were as the limit allows: there may be older ones, after it in the list.
    pub last: Option<JobId>,
}
