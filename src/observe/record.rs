//! Snapshots of tasks and pools, and records of runs.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

#[cfg(feature = "serde")]
use super::serial::{seconds, seconds_if_any};
use super::{Failure, Outcome};
use crate::base::metadata::TaskFacts;
use crate::run::Cause;

/// Why a fire time got no run.
///
/// ```
/// use scheduler::{Event, EventKind, SkipReason};
///
/// fn listen(event: &Event) {
///     if let EventKind::Skipped { reason: SkipReason::Misfire, count, .. } = &event.kind {
///         println!("{:?} missed {count} fire times", event.task_name());
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum SkipReason {
    /// A run of the task was in progress (`overlap`).
    Overlap,
    /// The job before had not begun, because the durable task has a limit.
    Limit,
    /// The task was paused.
    Paused,
    /// It was missed: no thread was free, or the process was suspended (`misfire`).
    Misfire,
    /// Its rule was replaced before it could start (`reschedule`).
    Rescheduled,
    /// A hook refused the run.
    Refused,
}

impl SkipReason {
    /// All reasons.
    pub const ALL: [Self; 6] =
        [Self::Overlap, Self::Limit, Self::Paused, Self::Misfire, Self::Rescheduled, Self::Refused];

    /// The reason in one word: `overlap`, `limit`, `paused`, `misfire`, `rescheduled` or `refused`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::Limit => "limit",
            Self::Paused => "paused",
            Self::Misfire => "misfire",
            Self::Rescheduled => "rescheduled",
            Self::Refused => "refused",
        }
    }
}

/// The state of a task.
///
/// ```
/// use scheduler::TaskState;
///
/// assert!(TaskState::Cancelled.is_ended());
/// assert_eq!(TaskState::Retrying.name(), "retrying");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum TaskState {
    /// It waits for its next fire time.
    Waiting,
    /// A run is in progress.
    Running,
    /// An attempt failed; the run goes on with the next one.
    Retrying,
    /// It is paused, and no run is in progress.
    Paused,
    /// It is disabled, by `enabled = false` or the cron expression `-`, until it is
    /// [enabled](crate::TaskControl::enable).
    Disabled,
    /// It has no further fire time: it was a one-time task, or its trigger has ended it.
    Completed,
    /// A run failed, and `on_error = "stop"` ended it.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl TaskState {
    /// Returns true if the task will not run again.
    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The state in one word: `waiting`, `running`, `retrying`, `paused`, `disabled`, `completed`, `failed`
    /// or `cancelled`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A finished run.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler, Until};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::once("0s"), |run| run.note("17 rows"))
///     .spawn()?;
/// scheduler.wait_for("import", Until::runs(1), Duration::from_secs(10))?;
/// let import = scheduler.tasks().get("import")?.snapshot();
/// let last = &import.last_runs[0];
/// assert_eq!((last.number, last.attempts), (1, 1));
/// assert!(last.outcome.is_success());
/// assert_eq!(&*last.notes[0], "17 rows");
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RunRecord {
    /// The number of the run within its task, from 1.
    pub number: u64,
    /// Why the run happened.
    pub cause: Cause,
    /// The instant that the task's rule asked for.
    pub fire_time: DateTime<Utc>,
    /// When its first attempt started.
    pub started_at: DateTime<Utc>,
    /// Its duration, with the waits between attempts.
    #[cfg_attr(feature = "serde", serde(rename = "took_seconds", serialize_with = "seconds"))]
    pub took: Duration,
    /// The number of attempts; of a durable job, over all processes.
    pub attempts: u32,
    /// Its outcome.
    pub outcome: Outcome,
    /// The notes of the task; see [`Run::note`](crate::Run::note).
    pub notes: Vec<Box<str>>,
}

/// Counts of a task since it was added.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler, Until};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::once("0s"), |_| Err::<(), _>("disk full"))
///     .spawn()?;
/// scheduler.wait_for("import", Until::runs(1), Duration::from_secs(10))?;
/// let counters = scheduler.tasks().get("import")?.snapshot().counters;
/// assert_eq!((counters.runs, counters.errors, counters.failures()), (1, 1, 1));
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Counters {
    /// Finished runs. Attempts of a durable job that is tried again are none.
    pub runs: u64,
    /// Runs that succeeded.
    pub successes: u64,
    /// Runs whose last attempt returned an error.
    pub errors: u64,
    /// Runs whose last attempt panicked.
    pub panics: u64,
    /// Runs whose last attempt did not end in time.
    pub timeouts: u64,
    /// Runs that were cancelled.
    pub cancelled: u64,
    /// Runs of durable jobs that asked to run again later.
    pub snoozed: u64,
    /// Runs of durable jobs that this process had lost before they were over.
    pub lost: u64,
    /// Attempts of all finished runs, and of durable jobs that are tried again.
    pub attempts: u64,
    /// Fire times skipped because a run was in progress.
    pub skipped_overlap: u64,
    /// Fire times skipped because the job before waited for a limit.
    pub skipped_limit: u64,
    /// Fire times skipped because the task was paused.
    pub skipped_paused: u64,
    /// Fire times that were missed.
    pub skipped_misfire: u64,
    /// Fire times skipped because their rule was replaced first.
    pub skipped_rescheduled: u64,
    /// Fire times whose run a hook refused.
    pub skipped_refused: u64,
    /// True if more fire times than counted may have been skipped: of a cron expression at most 10,000 are counted at
    /// once, and a custom trigger may not have been asked for all.
    pub skipped_at_least: bool,
}

impl Counters {
    /// Runs that failed: by an error, a panic or a timeout.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.errors.saturating_add(self.panics).saturating_add(self.timeouts)
    }

    /// Attempts that failed, also those after which another one followed.
    #[must_use]
    pub fn failed_attempts(&self) -> u64 {
        let others = [self.successes, self.cancelled, self.snoozed, self.lost];
        others.into_iter().fold(self.attempts, u64::saturating_sub)
    }

    /// Skipped fire times, for any reason.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        let counts = SkipReason::ALL.into_iter().map(|reason| self.skipped_by(reason));
        counts.fold(0, u64::saturating_add)
    }

    /// Fire times skipped for a reason.
    #[must_use]
    pub fn skipped_by(&self, reason: SkipReason) -> u64 {
        let mut counters = *self;
        *counters.skipped_mut(reason)
    }

    pub(crate) fn skipped_mut(&mut self, reason: SkipReason) -> &mut u64 {
        match reason {
            SkipReason::Overlap => &mut self.skipped_overlap,
            SkipReason::Limit => &mut self.skipped_limit,
            SkipReason::Paused => &mut self.skipped_paused,
            SkipReason::Misfire => &mut self.skipped_misfire,
            SkipReason::Rescheduled => &mut self.skipped_rescheduled,
            SkipReason::Refused => &mut self.skipped_refused,
        }
    }
}

/// A task at one moment.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler, TaskState};
///
/// let scheduler = Scheduler::builder()
///     .task("report", Schedule::cron("0 0 9 * * MON-FRI").zone("Europe/Berlin"), |_| {})
///     .spawn()?;
/// let report = scheduler.tasks().get("report")?.snapshot();
/// assert_eq!(report.state, TaskState::Waiting);
/// assert!(report.next.is_some());
/// assert_eq!(report.counters.runs, 0);
/// assert!(report.facts.rule.starts_with("0 0 9 * * MON-FRI"));
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TaskSnapshot {
    /// Its name, its present rule, its place in the source.
    pub facts: Arc<TaskFacts>,
    /// Its cron expression, if it has one.
    pub expression: Option<Arc<str>>,
    /// The time from its start to its first fire time, where the rule has one.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "initial_delay_seconds", serialize_with = "seconds_if_any")
    )]
    pub initial_delay: Option<Duration>,
    /// Its state.
    pub state: TaskState,
    /// True if it is paused; a run that was in progress then goes on.
    pub is_paused: bool,
    /// The person or program that paused it, if the pause names one.
    pub paused_by: Option<Arc<str>>,
    /// The reason given with the pause.
    pub pause_reason: Option<Arc<str>>,
    /// Since when it has been paused.
    pub paused_since: Option<DateTime<Utc>>,
    /// When the pause ends by itself.
    pub paused_until: Option<DateTime<Utc>>,
    /// When the next run starts, if nothing is changed and a run in progress is over by then. `None` if the task has
    /// ended or is paused without an end, and while it is unknown: it depends on the end of the run in progress, or on
    /// a custom trigger.
    pub next: Option<DateTime<Utc>>,
    /// Why its custom trigger failed when it was asked last; it is asked again. `None` if it answered.
    pub trigger_failure: Option<Failure>,
    /// The value of `next` if the task were resumed now; only while it is paused.
    pub would_run_at: Option<DateTime<Utc>>,
    /// The due time of a run that waits for a thread of its pool. A run that is about to start has one for a moment.
    pub late_since: Option<DateTime<Utc>>,
    /// The first fire time that came during the run in progress and got no run, because that one still holds the task.
    /// `None` for fixed delays, which have no fire times during a run.
    pub stuck_since: Option<DateTime<Utc>>,
    /// The number of runs in progress.
    pub running: usize,
    /// When the oldest run in progress started.
    pub running_since: Option<DateTime<Utc>>,
    /// The last runs, the latest first; at most 20.
    pub last_runs: Vec<RunRecord>,
    /// Failed runs in a row.
    pub streak: u64,
    /// When the first of them started.
    pub failing_since: Option<DateTime<Utc>>,
    /// The failure of the first of them.
    pub first_failure: Option<Failure>,
    /// When the last successful run ended.
    pub last_success: Option<DateTime<Utc>>,
    /// Its counts.
    pub counters: Counters,
}

impl TaskSnapshot {
    /// The name of the task.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.facts.name
    }
}

/// A pool of threads at one moment: see [`Tasks::pools`](crate::Tasks::pools).
///
/// ```rust
/// use scheduler::Scheduler;
///
/// let scheduler = Scheduler::builder().pool_size(4).spawn()?;
/// let pools = scheduler.tasks().pools();
/// assert_eq!((&*pools[0].name, pools[0].core_size, pools[0].active), ("default", 4, 0));
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PoolSnapshot {
    /// The name of the pool. Tasks that choose none run in `default`.
    pub name: Arc<str>,
    /// The most threads that it starts.
    pub core_size: usize,
    /// The number of its threads.
    pub threads: usize,
    /// The number of threads that are executing a task.
    pub active: usize,
    /// The number of tasks that wait for their due time, or for a thread.
    pub queued: usize,
    /// Executions that have ended.
    pub completed: u64,
}
