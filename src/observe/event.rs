//! Events: plain data that keeps no run and no task alive.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::queue::Priority;
#[cfg(feature = "serde")]
use super::serial::{seconds, seconds_if_any};
use super::{Failure, Outcome, SkipReason, StoreEvent, TaskFacts, TaskState};
use crate::base::metadata::Location;
use crate::run::RunInfo;

/// Something that happened in a scheduler.
///
/// Times come from the scheduler's wall clock. A later version may add kinds and fields, so match with `_` and `..`.
/// [`Display`](std::fmt::Display) writes one line without the time. With the feature `serde`, events serialize.
///
/// ```
/// use scheduler::{Event, EventKind};
///
/// fn listen(event: &Event) {
///     match &event.kind {
///         EventKind::RunFinished { run, outcome, took, .. } if outcome.is_failure() => {
///             println!("run {} of {:?}: {outcome} after {took:?}", run.number, event.task_name());
///         }
///         EventKind::Skipped { reason, count, .. } => println!("{count} skipped: {}", reason.name()),
///         _ => println!("{} {event}", event.at),
///     }
/// }
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Event {
    /// When it happened.
    pub at: DateTime<Utc>,
    /// The task it is about; `None` if it is about a pool or the scheduler.
    pub task: Option<Arc<TaskFacts>>,
    /// The kind, with its facts.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub kind: EventKind,
}

/// The kind of an event, with its facts.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "event", rename_all = "snake_case")
)]
pub enum EventKind {
    /// An attempt of a run is about to start.
    #[non_exhaustive]
    RunStarted {
        /// The run and its attempt.
        run: RunInfo,
        /// The time from its due time to its start.
        #[cfg_attr(feature = "serde", serde(rename = "late_seconds", serialize_with = "seconds"))]
        late: Duration,
    },
    /// An attempt failed, and another one follows.
    #[non_exhaustive]
    AttemptFailed {
        /// The run and the attempt that failed.
        run: RunInfo,
        /// Why it failed.
        failure: Failure,
        /// The wait before the next attempt.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "next_attempt_in_seconds", serialize_with = "seconds")
        )]
        next_attempt_in: Duration,
    },
    /// A run in progress was asked to stop.
    #[non_exhaustive]
    StopRequested {
        /// The run and its attempt.
        run: RunInfo,
        /// Why.
        reason: StopReason,
        /// The time for which its future has held its thread without an `.await`, if that is at least a second.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "blocked_seconds", serialize_with = "seconds_if_any")
        )]
        blocked: Option<Duration>,
    },
    /// A run ended, with its last attempt.
    #[non_exhaustive]
    RunFinished {
        /// The run and its last attempt.
        run: RunInfo,
        /// Its outcome.
        outcome: Outcome,
        /// Its duration by the monotonic clock, including the waits between attempts.
        #[cfg_attr(feature = "serde", serde(rename = "took_seconds", serialize_with = "seconds"))]
        took: Duration,
        /// When the next run starts, as in [`TaskSnapshot::next`](crate::TaskSnapshot::next).
        next: Option<DateTime<Utc>>,
        /// Failed runs in a row, including this one; 0 after a success.
        streak: u64,
    },
    /// Fire times got no run.
    #[non_exhaustive]
    Skipped {
        /// Why.
        reason: SkipReason,
        /// The earliest of these fire times.
        first: DateTime<Utc>,
        /// The latest of these fire times.
        last: DateTime<Utc>,
        /// The count.
        count: u64,
        /// True if there may be more than `count`: of a cron expression at most 10,000 are counted, and a custom
        /// trigger was not asked for all of them.
        at_least: bool,
        /// With [`SkipReason::Overlap`]: how long the future of the run before has held its thread without an `.await`, if
        /// that is at least a second.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "blocked_seconds", serialize_with = "seconds_if_any")
        )]
        blocked: Option<Duration>,
    },
    /// A task was added, at the start or later.
    #[non_exhaustive]
    TaskAdded {
        /// True if it is disabled until it is enabled.
        is_disabled: bool,
        /// When its first run starts, if that is known.
        next: Option<DateTime<Utc>>,
    },
    /// A task will not run again.
    #[non_exhaustive]
    TaskEnded {
        /// Its end: completed, failed or cancelled.
        state: TaskState,
    },
    /// A task was paused: no run starts by its schedule until it is resumed. A durable task is paused for all processes, and each
    /// says so when it hears of it.
    #[non_exhaustive]
    Paused {
        /// The person or program that paused it, if the pause names one.
        by: Option<Arc<str>>,
        /// The reason given with the pause.
        reason: Option<Arc<str>>,
        /// When the pause ends by itself.
        until: Option<DateTime<Utc>>,
        /// When the next run starts; `None` without `until`.
        next: Option<DateTime<Utc>>,
    },
    /// A paused task was resumed, or its pause ended.
    #[non_exhaustive]
    Resumed {
        /// When the next run starts, if that is known.
        next: Option<DateTime<Utc>>,
    },
    /// A task got another rule; the event's task facts are the new ones.
    #[non_exhaustive]
    Rescheduled {
        /// The new rule, such as `every 1s`.
        rule: Arc<str>,
        /// When the next run starts, if that is known.
        next: Option<DateTime<Utc>>,
    },
    /// A disabled task was enabled.
    #[non_exhaustive]
    Enabled {
        /// When the first run starts, if that is known.
        next: Option<DateTime<Utc>>,
    },
    /// A custom trigger failed, panicked, or returned a fire time that is not after the last one. No run starts until
    /// it answers.
    #[non_exhaustive]
    TriggerFailed {
        /// Why.
        failure: Failure,
        /// The wait before it is asked again: 1 s, doubled after each further failure, at most a minute.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "asked_again_in_seconds", serialize_with = "seconds")
        )]
        asked_again_in: Duration,
    },
    /// A run started late, or still waits, because no thread of its pool was free. While it waits, again each minute.
    #[non_exhaustive]
    Starved {
        /// The name of the pool.
        pool: Arc<str>,
        /// The time from the due time of the run to its start; until now if it waits.
        #[cfg_attr(feature = "serde", serde(rename = "late_seconds", serialize_with = "seconds"))]
        late: Duration,
        /// True if the run has not started.
        is_waiting: bool,
        /// The number of threads of the pool, all of them busy.
        busy: usize,
        /// The task that had held a thread for longest.
        longest: Longest,
    },
    /// A run waits for a task of its own pool, which has been due for a second and finds no thread.
    #[non_exhaustive]
    WaitStarved {
        /// The name of the pool.
        pool: Arc<str>,
        /// The name of the task it waits for.
        awaited: Arc<str>,
    },
    /// The thread of a worker could not be started; the pool continues with those it has.
    #[non_exhaustive]
    WorkerRefused {
        /// The name of the pool.
        pool: Arc<str>,
        /// The error of the operating system.
        reason: Arc<str>,
    },
    /// The destructor of something that belonged to a task panicked.
    #[non_exhaustive]
    DropPanicked {
        /// The panic.
        failure: Failure,
    },
    /// A hook, a listener or a trigger panicked outside a run, or a hook returned an error; the scheduler continues.
    #[non_exhaustive]
    HookFailed {
        /// The name of the hook, such as `listener`.
        hook: &'static str,
        /// The panic or the error.
        failure: Failure,
    },
    /// A person has changed something by this process: with the dashboard, the command line, or a signed handle.
    #[non_exhaustive]
    Action {
        /// The person.
        by: Arc<str>,
        /// The change in words, such as `retry of 3 jobs: state parked`.
        what: Arc<str>,
        /// The number of jobs, tasks or queues that were changed.
        count: u64,
        /// Why.
        reason: Option<Arc<str>>,
    },
    /// Something between this process and the store of durable jobs.
    #[non_exhaustive]
    Store {
        /// The event.
        what: StoreEvent,
    },
    /// The scheduler has started: its tasks wait for their first fire times.
    #[non_exhaustive]
    SchedulerStarted {
        /// The number of tasks, without the disabled ones.
        tasks: usize,
    },
    /// The scheduler is stopping: no new runs start.
    #[non_exhaustive]
    SchedulerStopping {},
    /// The scheduler has stopped.
    #[non_exhaustive]
    SchedulerStopped {
        /// The duration of the stop.
        #[cfg_attr(feature = "serde", serde(rename = "took_seconds", serialize_with = "seconds"))]
        took: Duration,
        /// The number of runs still in progress when the stop no longer waited for them.
        unfinished: usize,
    },
    /// Events were dropped here: the queue for listeners was full, or a stop no longer waited for them.
    #[non_exhaustive]
    Lost {
        /// The count.
        count: u64,
    },
}

impl Event {
    /// An event of a task.
    #[inline]
    pub(crate) fn of(at: DateTime<Utc>, task: &Arc<TaskFacts>, kind: EventKind) -> Self {
        Self { at, task: Some(Arc::clone(task)), kind }
    }

    /// An event of a pool or of the scheduler.
    pub(crate) fn global(at: DateTime<Utc>, kind: EventKind) -> Self {
        Self { at, task: None, kind }
    }

    /// The name of the task it is about.
    #[must_use]
    pub fn task_name(&self) -> Option<&str> {
        self.task.as_ref().map(|task| &*task.name)
    }

    /// The run it is about, in the state of its attempt at that time.
    #[must_use]
    pub fn run(&self) -> Option<&RunInfo> {
        match &self.kind {
            EventKind::RunStarted { run, .. }
            | EventKind::AttemptFailed { run, .. }
            | EventKind::StopRequested { run, .. }
            | EventKind::RunFinished { run, .. } => Some(run),
            _ => None,
        }
    }
}

impl EventKind {
    /// The name of the kind in snake case, such as `run_finished`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run_started",
            Self::AttemptFailed { .. } => "attempt_failed",
            Self::StopRequested { .. } => "stop_requested",
            Self::RunFinished { .. } => "run_finished",
            Self::Skipped { .. } => "skipped",
            Self::TaskAdded { .. } => "task_added",
            Self::TaskEnded { .. } => "task_ended",
            Self::Paused { .. } => "paused",
            Self::Resumed { .. } => "resumed",
            Self::Rescheduled { .. } => "rescheduled",
            Self::Enabled { .. } => "enabled",
            Self::TriggerFailed { .. } => "trigger_failed",
            Self::Starved { .. } => "starved",
            Self::WaitStarved { .. } => "wait_starved",
            Self::WorkerRefused { .. } => "worker_refused",
            Self::DropPanicked { .. } => "drop_panicked",
            Self::HookFailed { .. } => "hook_failed",
            Self::Action { .. } => "action",
            Self::Store { .. } => "store",
            Self::SchedulerStarted { .. } => "scheduler_started",
            Self::SchedulerStopping { .. } => "scheduler_stopping",
            Self::SchedulerStopped { .. } => "scheduler_stopped",
            Self::Lost { .. } => "lost",
        }
    }

    /// The kinds that a full queue drops first.
    pub(super) fn priority(&self) -> Priority {
        match self {
            Self::RunFinished { outcome, .. } if outcome.is_failure() => Priority::Normal,
            Self::RunStarted { .. }
            | Self::AttemptFailed { .. }
            | Self::StopRequested { .. }
            | Self::RunFinished { .. }
            | Self::Skipped { .. }
            | Self::Starved { .. }
            | Self::WaitStarved { .. }
            | Self::WorkerRefused { .. } => Priority::Low,
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
/// use scheduler::{Event, EventKind, StopReason};
///
/// fn is_too_slow(event: &Event) -> bool {
///     matches!(event.kind, EventKind::StopRequested { reason: StopReason::Timeout, .. })
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum StopReason {
    /// Its `timeout` is over.
    Timeout,
    /// The run or its task was cancelled.
    Cancelled,
    /// The scheduler stops, and the time for runs to finish is over.
    Shutdown,
    /// This process has lost the durable job that runs: it could not reach the store for too long.
    Lost,
}

/// The task that has held a thread for longest: by a run of a plain function, or by one poll of a future.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Longest {
    /// The name of the task.
    pub task: Arc<str>,
    /// True if it is a future, which should not have blocked its thread.
    pub is_async: bool,
    /// Its place in the source.
    pub location: Option<Location>,
    /// The time for which it has held the thread.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "running_for_seconds", serialize_with = "seconds")
    )]
    pub running_for: Duration,
}

impl Longest {
    pub(crate) fn new(task: &TaskFacts, running_for: Duration) -> Self {
        let (is_async, location) = (task.is_async, task.location);
        Self { task: Arc::clone(&task.name), is_async, location, running_for }
    }
}
