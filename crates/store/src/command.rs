//! Commands of people and of the program, answers, and pauses.

use std::borrow::Cow;
use std::fmt;

use crate::action::Signature;
use crate::check::storable;
use crate::id::{Fence, JobId, SessionId, StoreTime};
use crate::job::{JobState, Payload, StoredJob};
use crate::limit::{LimitOverride, LimitScope};
use crate::request::JobFilter;
use crate::schedule::{Rule, ScheduleSpec};

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
    /// Sets a limit of a task's jobs in place of the one in the code, which counts again when it is none.
    SetLimit {
        /// The task.
        task: String,
        /// The jobs that it counts together.
        scope: LimitScope,
        /// The limit.
        limit: Option<LimitOverride>,
    },
    /// Pauses a process by its session: it takes no jobs and fires no ticks, and its runs go on. A session that replaces this one is
    /// paused, too. A pause that holds gets a new end and reason.
    PauseNode {
        /// The session.
        session: SessionId,
        /// When the pause ends; none until it is resumed.
        until: Option<StoreTime>,
        /// The person or program that pauses it.
        by: String,
        /// Why.
        reason: String,
    },
    /// Ends the pause of a process, if there is one.
    ResumeNode {
        /// The session.
        session: SessionId,
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
    /// There is no such schedule, job or session.
    #[error("there is no such job, schedule or session")]
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
    /// The word for it in the list of actions.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Delete => "delete",
        }
    }

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
    /// The person who asks, if it is an action by hand.
    pub signature: Option<Signature>,
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

/// A pause of a schedule, of jobs, or of a process.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Pause {
    /// When it began.
    pub since: StoreTime,
    /// When it ends, or has ended; none until it is resumed by hand. Ticks in the pause of a schedule are skipped as paused,
    /// also after it (R18). A tick exactly at its end is not in it.
    pub until: Option<StoreTime>,
    /// The person or program that paused it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// When a [`Pause`] began, and when it ends or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseSpan {
    /// When it began.
    pub since: StoreTime,
    /// When it ends; none until it is resumed by hand.
    pub until: Option<StoreTime>,
}

impl Pause {
    /// A pause, with texts as a store keeps them.
    #[must_use]
    pub fn new(since: StoreTime, until: Option<StoreTime>, by: &str, reason: &str) -> Self {
        Self { since, until, by: storable(by), reason: storable(reason) }
    }

    /// When it began, and when it ends.
    #[must_use]
    pub fn span(&self) -> PauseSpan {
        PauseSpan { since: self.since, until: self.until }
    }

    /// Returns true if the pause holds at this instant.
    #[must_use]
    pub fn holds(&self, now: StoreTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// Returns true if a tick falls into the pause.
    #[must_use]
    pub fn contains(&self, tick: StoreTime) -> bool {
        self.since < tick && self.until.is_none_or(|until| tick < until)
    }
}

/// Jobs that are paused together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(tag = "scope", content = "name", rename_all = "lowercase")]
pub enum PauseScope {
    /// The jobs of a task: a kind of job.
    Task(String),
    /// The jobs in a queue.
    Queue(String),
    /// Those of a task in a partition. Polls name none of these.
    #[serde(serialize_with = "serialize_partition")]
    Partition(String, String),
}

/// Between a task and a partition in one name.
const OF_TASK: char = '\u{1F}';

fn serialize_partition<S: serde::Serializer>(
    _: &str,
    partition: &str,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.serialize_str(partition)
}

impl PauseScope {
    /// The scope from its word and its name.
    #[must_use]
    pub fn of(word: &str, name: String) -> Option<Self> {
        match word {
            "task" => Some(Self::Task(name)),
            "queue" => Some(Self::Queue(name)),
            "partition" => {
                let (task, partition) = name.split_once(OF_TASK)?;
                Some(Self::Partition(task.to_owned(), partition.to_owned()))
            }
            _ => None,
        }
    }

    /// `task`, `queue` or `partition`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Task(_) => "task",
            Self::Queue(_) => "queue",
            Self::Partition(..) => "partition",
        }
    }

    /// The name of the task or the queue; both names of a partition, as stores keep them.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Task(name) | Self::Queue(name) => name.into(),
            Self::Partition(task, partition) => format!("{task}{OF_TASK}{partition}").into(),
        }
    }

    /// Returns true if all jobs of this task in this queue are among them.
    #[must_use]
    pub fn has(&self, task: &str, queue: &str) -> bool {
        match self {
            Self::Task(name) => name == task,
            Self::Queue(name) => name == queue,
            Self::Partition(..) => false,
        }
    }
}

impl fmt::Display for PauseScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Partition(task, partition) => write!(f, "partition `{partition}` of `{task}`"),
            _ => write!(f, "{} `{}`", self.word(), self.name()),
        }
    }
}

/// A pause of jobs, for all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobPause {
    /// The jobs.
    pub scope: PauseScope,
    /// The pause.
    pub pause: Pause,
}

impl JobPause {
    /// A pause of these jobs.
    #[must_use]
    pub fn new(scope: PauseScope, pause: Pause) -> Self {
        Self { scope, pause }
    }
}
