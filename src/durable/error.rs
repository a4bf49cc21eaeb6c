//! Errors of enqueues and commands, and tasks that no process has.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::time::Duration;

use scheduler_store::{
    CommandOutcome, Next, QueueDepth, Refusal, SessionInfo, StoreError, StoredSchedule,
};

use crate::durable::job::Job;
use crate::durable::jobs::Jobs;
use crate::durable::schedules::Schedules;

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
    /// As many jobs wait as [`waiting`](macro@crate::job) of their kind allows. None of a batch is accepted. They may be sent again later.
    #[non_exhaustive]
    Full {
        /// The jobs, and this in words.
        unsent: Unsent,
        /// The kind of job that is full.
        task: String,
        /// The partition, if the limit is of `each`.
        partition: Option<String>,
        /// The number of due jobs at which no more are accepted.
        waiting: u32,
    },
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
            StoreError::Refused(Refusal::Full { task, partition, waiting }) => {
                let (task, partition, waiting) = (task.clone(), partition.clone(), *waiting);
                Self::Full { unsent, task, partition, waiting }
            }
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
            Self::NotAccepted(unsent) | Self::Unknown(unsent) | Self::Full { unsent, .. } => unsent,
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
            Self::NotAccepted(_) | Self::Full { .. } => write!(f, " not accepted: {reason}"),
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
    /// A command about many jobs ended after some of them.
    #[error("stopped after {done} jobs: {error}")]
    Stopped {
        /// The number of jobs with which it was done.
        done: u64,
        /// The answer of the store about the others.
        error: StoreError,
    },
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
        let answer = self.store_error();
        matches!(answer, Some(StoreError::Unavailable(_) | StoreError::NotExecuted(_)))
    }

    /// The store has answered with an error, such as a missing right or a full disk, and has done nothing.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        matches!(self.store_error(), Some(StoreError::Failed(_)))
    }

    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) | Self::Stopped { error, .. } => Some(error),
            Self::NotDone(_) | Self::Refused(_) => None,
        }
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

/// For how long a job has been due at least.
const DUE: Duration = Duration::from_secs(10);
/// The same if a process had the task lately, or none lives: a deploy in which all processes start again takes less.
const DUE_IN_DEPLOY: Duration = Duration::from_secs(60);

/// A task that no living process can run, though jobs of it are due or a schedule of it fires: it was renamed or removed, its name
/// is mistyped, or the payloads of its jobs are newer than all living processes know, or no process that has it serves the queue of its
/// jobs. See [`Jobs::unknown_tasks`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct UnknownTask {
    /// Its name.
    pub task: String,
    /// The number of its jobs that are due and that no process can run; 0 if only its schedules wait for it.
    pub due: u64,
    /// Its schedules, by name: those that are neither over nor paused.
    pub schedules: Vec<String>,
    /// The name of a known task that may have been meant.
    pub nearest: Option<String>,
    /// The greatest version of the payloads of those jobs, if a living process has the task and knows older ones; none if no process
    /// has it.
    pub version: Option<u32>,
    /// The greatest version that a living process knows; none if no process has the task.
    pub known_version: Option<u32>,
    /// The process that has the task and does not serve the queue of those jobs, in words: `web-1 has it, but serves only mail`.
    pub elsewhere: Option<String>,
}

/// Jobs and schedules that wait for a process.
impl Jobs {
    /// The tasks that no living process has, though jobs of them have been due for ten seconds, or for a minute if a process had the
    /// task within the last hour; or schedules of them fire; and those with such jobs whose [payloads](crate::job#payloads) are newer than all living processes know, or wait in a queue that no process
    /// with the task serves; by name. It asks nothing: it compares what [`depths`](Self::depths), [`sessions`](Self::sessions) and
    /// [`Schedules::list`](crate::Schedules::list) have returned.
    ///
    /// One of the processes warns of them once a minute: [`StoreEvent::TaskUnknown`](crate::StoreEvent::TaskUnknown). A task is
    /// not among them any more as soon as a process can run it, or its jobs and schedules are gone.
    ///
    /// ```
    /// use scheduler::{Jobs, JobsError, Schedules};
    ///
    /// fn is_anything_lost(jobs: &Jobs, schedules: &Schedules) -> Result<bool, JobsError> {
    ///     let (sessions, schedules) = (jobs.sessions()?, schedules.list()?);
    ///     let unknown = jobs.unknown_tasks(&jobs.depths()?, &sessions, &schedules);
    ///     for it in &unknown {
    ///         println!("{}: {} jobs are due; nearest name: {:?}", it.task, it.due, it.nearest);
    ///     }
    ///     Ok(!unknown.is_empty())
    /// }
    /// ```
    #[must_use]
    pub fn unknown_tasks<'a>(
        &self,
        depths: &[QueueDepth],
        sessions: &[SessionInfo],
        stored: impl IntoIterator<Item = &'a StoredSchedule>,
    ) -> Vec<UnknownTask> {
        let known = &KnownTasks::of(sessions);
        let of_sessions = sessions.iter().flat_map(|session| &session.tasks);
        let lately = of_sessions.map(|task| &*task.name).collect();
        let mut waiting = Waiting { known, lately, found: BTreeMap::new() };
        for depth in depths {
            waiting.add_due(depth);
        }
        let (schedules, has_processes) = (Schedules::of(self), !known.0.is_empty());
        let fires = |schedule: &StoredSchedule| self.fires(&schedules, schedule, has_processes);
        for StoredSchedule { definition, .. } in
            stored.into_iter().filter(|schedule| fires(schedule))
        {
            // A process fires ticks whatever queues it serves.
            if !known.0.contains_key(&*definition.task) {
                waiting.of(&definition.task, None).schedules.push(definition.name.clone());
            }
        }
        waiting.found.into_values().collect()
    }

    /// True if a schedule should fire. Without any process, such as in the middle of a deploy, only one whose tick is late.
    fn fires(&self, schedules: &Schedules, schedule: &StoredSchedule, has_processes: bool) -> bool {
        let now = self.inner.client.store_now();
        let is_late = || schedule.next_tick().is_some_and(|at| at.after(DUE_IN_DEPLOY) <= now);
        let is_silent = schedule.next == Next::Never || schedules.is_paused(schedule);
        !is_silent && (has_processes || is_late())
    }
}

/// The tasks that living processes have: each with the processes, and the greatest version of payloads that each knows.
pub(super) struct KnownTasks<'a>(BTreeMap<&'a str, Vec<(&'a SessionInfo, u32)>>);

impl<'a> KnownTasks<'a> {
    pub(super) fn of(sessions: &'a [SessionInfo]) -> Self {
        let mut known = BTreeMap::<_, Vec<_>>::new();
        for session in sessions.iter().filter(|session| session.is_alive()) {
            for task in &session.tasks {
                known.entry(&*task.name).or_default().push((session, task.version));
            }
        }
        Self(known)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.0.keys().copied()
    }

    /// The greatest version that a process knows which serves the queue.
    fn version(&self, task: &str, queue: &str) -> Option<u32> {
        let known = self.0.get(task)?.iter();
        known.filter(|(session, _)| session.serves(queue)).map(|(_, version)| *version).max()
    }

    /// A process that has the task, and what it serves.
    fn elsewhere(&self, task: &str) -> Option<String> {
        let (session, _) = self.0.get(task)?.first()?;
        let serves = match session.queues.as_deref().unwrap_or_default() {
            [] => "no queue".to_owned(),
            queues => format!("only {}", queues.join(", ")),
        };
        Some(format!("{} has it, but serves {serves}", session.label))
    }
}

/// Tasks that wait for a process.
struct Waiting<'a> {
    known: &'a KnownTasks<'a>,
    /// The tasks of living processes, and of those that have ended within the last hour.
    lately: BTreeSet<&'a str>,
    found: BTreeMap<String, UnknownTask>,
}

impl Waiting<'_> {
    /// Counts the jobs that have been due for long, and that no process can run.
    fn add_due(&mut self, depth: &QueueDepth) {
        let known = self.known.version(&depth.task, &depth.queue);
        let is_unknown = |version: &u32| known.is_none_or(|known| *version > known);
        let is_deploy = self.known.0.is_empty() || self.lately.contains(&*depth.task);
        let due = if is_deploy { DUE_IN_DEPLOY } else { DUE };
        for each in depth.versions.iter().filter(|each| is_unknown(&each.version)) {
            if each.oldest >= due {
                let task = self.of(&depth.task, known);
                task.due += each.due;
                task.version = known.and(task.version.max(Some(each.version)));
            }
        }
    }

    /// The row of a task that no process has, or not with payloads of some version, or not in some queue.
    fn of(&mut self, task: &str, known_version: Option<u32>) -> &mut UnknownTask {
        let elsewhere = || match known_version {
            None => self.known.elsewhere(task),
            Some(_) => None,
        };
        let nearest = || match self.known.0.contains_key(task) {
            false => scheduler_expr::nearest(task, self.known.names()),
            true => None,
        };
        let new = || UnknownTask {
            task: task.to_owned(),
            due: 0,
            schedules: Vec::new(),
            nearest: nearest().map(str::to_owned),
            version: None,
            known_version,
            elsewhere: elsewhere(),
        };
        self.found.entry(task.to_owned()).or_insert_with(new)
    }
}
