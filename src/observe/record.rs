//! What is known of a task: its facts, its state, its last runs, its counters. Plain data.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::trigger::Zone;
use scheduler_expr::RuleKind;

use super::Failure;
use super::Outcome;
use crate::entry::Location;
use crate::run::Cause;

/// What is known of a task whatever it does: its name, its rule, its place in the source.
///
/// ```rust,standalone_crate
/// use scheduler::{RuleKind, Schedule, Scheduler};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("sweep", Schedule::fixed_delay("30s"), |_| {})
///     .spawn()?;
/// let facts = &scheduler.tasks().list()[0].facts;
/// assert_eq!(facts.kind, RuleKind::FixedDelay);
/// assert_eq!(facts.period, Some(Duration::from_secs(30)));
/// assert_eq!(&*facts.rule, "30s after each run");
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskFacts {
    /// The name of the task.
    pub name: Arc<str>,
    /// The path of its function, such as `shop::jobs::report`; none for a closure.
    pub function: Option<Arc<str>>,
    /// What kind of rule it has.
    pub kind: RuleKind,
    /// The rule as people read it, such as `every 1s` or `0 0 9 * * MON-FRI in Europe/Berlin`.
    pub rule: Arc<str>,
    /// How long from one fire time to the next, where the rule says that.
    pub period: Option<Duration>,
    /// The zone in which its times are shown; that of its cron expression.
    pub zone: Zone,
    /// The name of its pool.
    pub pool: Arc<str>,
    /// The tags it was given, for operations on several tasks at once.
    pub tags: Arc<[Arc<str>]>,
    /// Whether its runs are futures, which hold no thread while they wait.
    pub is_async: bool,
    /// Where it stands in the source.
    pub location: Option<Location>,
}

/// Why a fire time passed without a run.
///
/// ```
/// use scheduler::{Event, SkipReason};
///
/// fn listen(event: &Event) {
///     if let Event::Skipped { task, reason: SkipReason::Misfire, count, .. } = event {
///         println!("{task} missed {count} fire times");
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SkipReason {
    /// A run of the task was in progress (`overlap`).
    Overlap,
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
    pub const ALL: [Self; 5] =
        [Self::Overlap, Self::Paused, Self::Misfire, Self::Rescheduled, Self::Refused];

    /// The reason in one word: `overlap`, `paused`, `misfire`, `rescheduled` or `refused`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::Paused => "paused",
            Self::Misfire => "misfire",
            Self::Rescheduled => "rescheduled",
            Self::Refused => "refused",
        }
    }
}

/// What a task is doing, as people see it.
///
/// ```
/// use scheduler::TaskState;
///
/// assert!(TaskState::Cancelled.is_ended());
/// assert_eq!(TaskState::Retrying.name(), "retrying");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// It has no further fire time: it was a one-time task, or its trigger says so.
    Completed,
    /// A run failed, and `on_error = "stop"` ended it.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl TaskState {
    /// Whether the task will not run again.
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

/// A run that is over.
///
/// ```rust,standalone_crate
/// use scheduler::{Schedule, Scheduler, runs};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::once("0s"), |run| run.note("17 rows"))
///     .spawn()?;
/// scheduler.wait_for("import", runs(1), Duration::from_secs(10))?;
/// let import = scheduler.tasks().get("import")?.snapshot();
/// let last = &import.last_runs[0];
/// assert_eq!((last.number, last.attempts), (1, 1));
/// assert!(last.outcome.is_success());
/// assert_eq!(&*last.notes[0], "17 rows");
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunRecord {
    /// The how-manieth run of its task it was, from 1.
    pub number: u64,
    /// Why it happened.
    pub cause: Cause,
    /// The instant that the task's rule asked for.
    pub fire_time: DateTime<Utc>,
    /// When its first attempt began.
    pub started_at: DateTime<Utc>,
    /// How long it took, with the waits between attempts.
    pub took: Duration,
    /// How many attempts it had.
    pub attempts: u32,
    /// What came of it.
    pub outcome: Outcome,
    /// What the task noted of it; see [`Run::note`](crate::Run::note).
    pub notes: Vec<Box<str>>,
}

/// How often what happened to a task, since it was added.
///
/// ```rust,standalone_crate
/// use scheduler::{Schedule, Scheduler, runs};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::once("0s"), |_| Err::<(), _>("disk full"))
///     .spawn()?;
/// scheduler.wait_for("import", runs(1), Duration::from_secs(10))?;
/// let counters = scheduler.tasks().get("import")?.snapshot().counters;
/// assert_eq!((counters.runs, counters.errors, counters.failures()), (1, 1, 1));
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Runs that are over.
    pub runs: u64,
    /// Runs that ended well.
    pub successes: u64,
    /// Runs whose last attempt returned an error.
    pub errors: u64,
    /// Runs whose last attempt panicked.
    pub panics: u64,
    /// Runs whose last attempt did not end in time.
    pub timeouts: u64,
    /// Runs that were cancelled.
    pub cancelled: u64,
    /// Attempts of all runs that are over.
    pub attempts: u64,
    /// Fire times that passed because a run was in progress.
    pub skipped_overlap: u64,
    /// Fire times that passed because the task was paused.
    pub skipped_paused: u64,
    /// Fire times that were missed.
    pub skipped_misfire: u64,
    /// Fire times that came under a rule that was replaced before they could start.
    pub skipped_rescheduled: u64,
    /// Fire times whose run a hook refused.
    pub skipped_refused: u64,
}

impl Counters {
    /// Runs that failed: by an error, a panic or a timeout.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.errors.saturating_add(self.panics).saturating_add(self.timeouts)
    }

    /// Fire times that passed without a run, for whatever reason.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        let skipped = self.skipped_overlap.saturating_add(self.skipped_paused);
        skipped.saturating_add(self.skipped_misfire).saturating_add(self.skipped_rescheduled)
    }
}

/// A task at one moment.
///
/// ```rust,standalone_crate
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
#[non_exhaustive]
pub struct TaskSnapshot {
    /// What is known of it whatever it does; the rule is the present one.
    pub facts: Arc<TaskFacts>,
    /// What it is doing.
    pub state: TaskState,
    /// Whether it is paused; a run that was in progress then goes on.
    pub is_paused: bool,
    /// What whoever paused it noted.
    pub pause_note: Option<Arc<str>>,
    /// Since when it has been paused.
    pub paused_since: Option<DateTime<Utc>>,
    /// When it goes on by itself, where it is paused until then.
    pub paused_until: Option<DateTime<Utc>>,
    /// When the next run starts if nobody does anything, and a run in progress is over by then; none while
    /// it is paused without an end, and when it has ended. None also where it is not known: it follows the
    /// run in progress, whenever that ends, or only a custom trigger will say.
    pub next: Option<DateTime<Utc>>,
    /// Why its custom trigger could not say the next fire time, when it was asked last; it is asked again. None when it
    /// could.
    pub trigger_failure: Option<Failure>,
    /// What `next` would be if the task were resumed now; only while it is paused.
    pub would_run_at: Option<DateTime<Utc>>,
    /// How many runs are in progress.
    pub running: usize,
    /// When the run in progress began, the oldest of them.
    pub running_since: Option<DateTime<Utc>>,
    /// The last runs, the latest first; at most 20.
    pub last_runs: Vec<RunRecord>,
    /// How many runs in a row have failed.
    pub streak: u64,
    /// When the last run that succeeded ended.
    pub last_success: Option<DateTime<Utc>>,
    /// How often what happened.
    pub counters: Counters,
}

impl TaskSnapshot {
    /// The name of the task.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.facts.name
    }
}
