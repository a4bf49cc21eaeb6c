//! The events: what happened, in words of ours, each with its time.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;

use super::Failure;
use super::Outcome;
use super::SkipReason;
use super::TaskFacts;
use super::TaskState;
use super::queue::Priority;
use crate::run::Run;

/// Something that happened in a scheduler: owned data, cheap to clone.
///
/// Times are read from the wall clock of the scheduler. New kinds of events can come with any
/// version, so a listener has to ignore those it does not know.
///
/// ```
/// use scheduler::Event;
///
/// fn listen(event: &Event) {
///     match event {
///         Event::RunFinished { run, outcome, took, .. } => {
///             println!("{} {} after {took:?}", run.task_name(), outcome.name());
///         }
///         Event::Skipped { task, reason, count, .. } => {
///             println!("{task} was skipped {count} times: {}", reason.name());
///         }
///         _ => {}
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The scheduler has started: its tasks are waiting for their first fire times.
    SchedulerStarted {
        /// When.
        at: DateTime<Utc>,
        /// How many tasks it has, without the disabled ones.
        tasks: usize,
    },
    /// A run, or a further attempt of it, is about to begin.
    RunStarted {
        /// The run; [`Run::started_at`] says when, [`Run::attempt`] which attempt it is.
        run: Run,
        /// How long after it was due.
        late: Duration,
    },
    /// An attempt failed, and there will be another one.
    AttemptFailed {
        /// The run.
        run: Run,
        /// Why it failed.
        failure: Failure,
        /// The how-manieth attempt it was, from 1.
        attempt: u32,
        /// How long until the next attempt.
        next_attempt_in: Duration,
        /// When it failed.
        at: DateTime<Utc>,
    },
    /// A run in progress was asked to stop.
    StopAsked {
        /// The run.
        run: Run,
        /// Why.
        why: StopReason,
        /// When.
        at: DateTime<Utc>,
    },
    /// A run is over, after its last attempt.
    RunFinished {
        /// The run, as its last attempt saw it.
        run: Run,
        /// What came of it.
        outcome: Outcome,
        /// How long it took, by the monotonic clock, with the waits between attempts.
        took: Duration,
        /// When the next run of the task starts, as
        /// [`TaskSnapshot::next`](crate::TaskSnapshot::next) says it; none when it has ended.
        next: Option<DateTime<Utc>>,
        /// How many runs of the task in a row have failed, this one included; 0 after a success.
        streak: u64,
        /// When it ended.
        at: DateTime<Utc>,
    },
    /// Fire times passed without a run.
    Skipped {
        /// The name of the task.
        task: Arc<str>,
        /// Why.
        reason: SkipReason,
        /// The fire time, or the latest of them.
        fire_time: DateTime<Utc>,
        /// How many.
        count: u64,
        /// When this was decided.
        at: DateTime<Utc>,
    },
    /// A task was paused: no run starts until it is resumed.
    Paused {
        /// The name of the task.
        task: Arc<str>,
        /// What whoever paused it noted.
        note: Option<Arc<str>>,
        /// When it goes on by itself.
        until: Option<DateTime<Utc>>,
        /// When its next run starts; none while it is paused without an end.
        next: Option<DateTime<Utc>>,
        /// When.
        at: DateTime<Utc>,
    },
    /// A paused task goes on.
    Resumed {
        /// The name of the task.
        task: Arc<str>,
        /// When its next run starts, as [`TaskSnapshot::next`](crate::TaskSnapshot::next) says it.
        next: Option<DateTime<Utc>>,
        /// When.
        at: DateTime<Utc>,
    },
    /// A task was given another rule.
    Rescheduled {
        /// The name of the task.
        task: Arc<str>,
        /// The new rule, as people read it.
        rule: Arc<str>,
        /// What is known of the task from now on.
        facts: Arc<TaskFacts>,
        /// When its next run starts; none while it is paused without an end.
        next: Option<DateTime<Utc>>,
        /// When.
        at: DateTime<Utc>,
    },
    /// A task was added: at the start, or at run time.
    TaskAdded {
        /// What is known of it.
        task: Arc<TaskFacts>,
        /// Whether it is disabled, and does not run until it is enabled.
        is_disabled: bool,
        /// When its first run starts; none where there is none, or only a custom trigger will say.
        next: Option<DateTime<Utc>>,
        /// When.
        at: DateTime<Utc>,
    },
    /// A disabled task was enabled.
    Enabled {
        /// The name of the task.
        task: Arc<str>,
        /// When its first run starts; none where there is none, or only a custom trigger will say.
        next: Option<DateTime<Utc>>,
        /// When.
        at: DateTime<Utc>,
    },
    /// A task will not run again.
    TaskEnded {
        /// The name of the task.
        task: Arc<str>,
        /// How it ended: completed, failed or cancelled.
        state: TaskState,
        /// When.
        at: DateTime<Utc>,
    },
    /// A run began late because no thread of its pool was free.
    Starved {
        /// The name of the task.
        task: Arc<str>,
        /// The pool's name.
        pool: Arc<str>,
        /// How long after it was due the run began.
        late: Duration,
        /// How many threads the pool has, all of them busy.
        busy: usize,
        /// The run that had been in progress for longest; none where async tasks were in progress, and
        /// must have blocked threads: which of them, nobody knows.
        longest: Option<Longest>,
        /// When the run began.
        at: DateTime<Utc>,
    },
    /// The scheduler is stopping: no new runs start.
    SchedulerStopping {
        /// When.
        at: DateTime<Utc>,
    },
    /// The scheduler has stopped.
    SchedulerStopped {
        /// When.
        at: DateTime<Utc>,
        /// How long the stop took.
        took: Duration,
    },
    /// Events were dropped, because the listeners are slower than the tasks.
    Lost {
        /// How many.
        count: u64,
    },
    /// A worker's thread could not be started; its pool goes on with those it has.
    WorkerRefused {
        /// The pool's name.
        pool: Arc<str>,
        /// What the system said.
        reason: Arc<str>,
        /// When.
        at: DateTime<Utc>,
    },
    /// The destructor of something that belonged to a task panicked.
    DropPanicked {
        /// The name of the task.
        task: Arc<str>,
        /// The panic.
        failure: Failure,
        /// When.
        at: DateTime<Utc>,
    },
    /// A custom trigger returned an error, panicked, or named a fire time that is not after the last one. It is
    /// asked again, and until it answers no run starts.
    TriggerFailed {
        /// The name of the task.
        task: Arc<str>,
        /// Why it could not say the next fire time.
        failure: Failure,
        /// How long until it is asked again: 1 s, and twice as long after each further failure, at most a minute.
        asked_again_in: Duration,
        /// When.
        at: DateTime<Utc>,
    },
    /// A hook panicked; the scheduler goes on.
    HookPanicked {
        /// Which hook it was.
        hook: &'static str,
        /// The panic.
        failure: Failure,
        /// When.
        at: DateTime<Utc>,
    },
    /// A run waits for a task of its own pool, which has been due for a second and finds no thread.
    WaitStarved {
        /// The name of the task that waits.
        task: Arc<str>,
        /// The pool's name.
        pool: Arc<str>,
        /// The name of the task it waits for.
        awaited: Arc<str>,
        /// When.
        at: DateTime<Utc>,
    },
}

impl Event {
    /// When it happened; where events were lost, that is not known.
    pub(crate) fn at(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::RunStarted { run, .. } => Some(run.started_at()),
            Self::Lost { .. } => None,
            Self::SchedulerStarted { at, .. }
            | Self::AttemptFailed { at, .. }
            | Self::StopAsked { at, .. }
            | Self::RunFinished { at, .. }
            | Self::Skipped { at, .. }
            | Self::Paused { at, .. }
            | Self::Resumed { at, .. }
            | Self::Rescheduled { at, .. }
            | Self::Enabled { at, .. }
            | Self::TriggerFailed { at, .. }
            | Self::TaskAdded { at, .. }
            | Self::TaskEnded { at, .. }
            | Self::Starved { at, .. }
            | Self::SchedulerStopping { at }
            | Self::SchedulerStopped { at, .. }
            | Self::WorkerRefused { at, .. }
            | Self::DropPanicked { at, .. }
            | Self::HookPanicked { at, .. }
            | Self::WaitStarved { at, .. } => Some(*at),
        }
    }

    /// The name of the task that it is about, if it is about one.
    pub(crate) fn task(&self) -> Option<&str> {
        match self {
            Self::RunStarted { run, .. }
            | Self::AttemptFailed { run, .. }
            | Self::StopAsked { run, .. }
            | Self::RunFinished { run, .. } => Some(run.task_name()),
            Self::TaskAdded { task, .. } => Some(&task.name),
            Self::Skipped { task, .. }
            | Self::Paused { task, .. }
            | Self::Resumed { task, .. }
            | Self::Rescheduled { task, .. }
            | Self::Enabled { task, .. }
            | Self::TriggerFailed { task, .. }
            | Self::TaskEnded { task, .. }
            | Self::Starved { task, .. }
            | Self::DropPanicked { task, .. }
            | Self::WaitStarved { task, .. } => Some(task),
            Self::SchedulerStarted { .. }
            | Self::SchedulerStopping { .. }
            | Self::SchedulerStopped { .. }
            | Self::WorkerRefused { .. }
            | Self::HookPanicked { .. }
            | Self::Lost { .. } => None,
        }
    }

    /// Whether a full queue drops it before others.
    pub(super) fn priority(&self) -> Priority {
        match self {
            Self::RunStarted { .. } | Self::AttemptFailed { .. } | Self::Skipped { .. } => {
                Priority::Low
            }
            Self::RunFinished { outcome, .. } if !outcome.is_failure() => Priority::Low,
            Self::SchedulerStarted { .. }
            | Self::SchedulerStopping { .. }
            | Self::SchedulerStopped { .. } => Priority::High,
            _ => Priority::Normal,
        }
    }
}

/// Why a run in progress was asked to stop.
///
/// ```
/// use scheduler::{Event, StopReason};
///
/// fn listen(event: &Event) {
///     if let Event::StopAsked { run, why: StopReason::Timeout, .. } = event {
///         println!("{} takes too long", run.task_name());
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// Its `timeout` is over.
    Timeout,
    /// Somebody cancelled it.
    Cancelled,
    /// The scheduler stops, and waits for it no longer.
    Shutdown,
}

/// The run in progress that has kept a thread for longest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Longest {
    /// The name of its task.
    pub task: Arc<str>,
    /// How long it has been in progress.
    pub running_for: Duration,
}

impl Longest {
    pub(crate) fn new(task: Arc<str>, running_for: Duration) -> Self {
        Self { task, running_for }
    }
}
