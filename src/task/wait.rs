//! Waits for the runs of a task; requests for manual runs.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use scheduler_core::{Clock, Tick};

use crate::base::set_once::{SetOnce, block_on};
use crate::observe::{Counters, RunRecord, TaskState};
use crate::run::ClaimedJob;
use crate::task::control::Control;
use crate::task::error::{ControlError, ControlErrorKind};
use crate::task::scheduled_task::TaskInner;

/// A number of runs to wait for: for [`TaskControl::wait_for`](crate::TaskControl::wait_for).
///
/// Runs count since the task was added.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler, Until};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::fixed_rate("1ms"), |_| {})
///     .spawn()?;
/// scheduler.wait_for("import", Until::successes(3), Duration::from_secs(10))?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it is to be waited for"]
pub struct Until {
    counted: Counted,
    count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Runs,
    Successes,
    Failures,
}

impl Until {
    /// This many runs are over.
    pub const fn runs(count: u64) -> Self {
        Self { counted: Counted::Runs, count }
    }

    /// This many runs have succeeded.
    pub const fn successes(count: u64) -> Self {
        Self { counted: Counted::Successes, count }
    }

    /// This many runs have failed: by an error, a panic or a timeout.
    pub const fn failures(count: u64) -> Self {
        Self { counted: Counted::Failures, count }
    }

    fn is_reached(self, counters: &Counters) -> bool {
        let had = match self.counted {
            Counted::Runs => counters.runs,
            Counted::Successes => counters.successes,
            Counted::Failures => counters.failures(),
        };
        had >= self.count
    }
}

/// `3 runs`
impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, many) = match self.counted {
            Counted::Runs => ("run", "runs"),
            Counted::Successes => ("successful run", "successful runs"),
            Counted::Failures => ("failed run", "failed runs"),
        };
        write!(f, "{} {}", self.count, if self.count == 1 { one } else { many })
    }
}

/// Waits for a condition that a run may make true; leaves no waker behind when it is dropped.
struct Watch<T> {
    control: Control,
    /// Returns the answer, if there is one.
    look: fn(&TaskInner, T) -> Option<Result<(), ControlError>>,
    what: T,
    /// The id of its waker, once it is registered.
    waker_id: Option<u64>,
}

impl<T: Copy + Unpin> Future for Watch<T> {
    type Output = Result<(), ControlError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let waker = context.waker().clone();
        let mut state = this.control.task.lock();
        if let Some(answer) = (this.look)(&state, this.what) {
            return Poll::Ready(answer);
        }
        let old = state.watchers.register(&mut this.waker_id, waker);
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl<T> Drop for Watch<T> {
    fn drop(&mut self) {
        if self.waker_id.is_some() {
            let left = self.control.task.lock().watchers.remove(self.waker_id);
            drop(left);
        }
    }
}

fn has_had(state: &TaskInner, until: Until) -> Option<Result<(), ControlError>> {
    if until.is_reached(&state.history.counters()) {
        return Some(Ok(()));
    }
    let end =
        state.end.filter(|_| state.is_end_reported || state.end == Some(TaskState::Disabled))?;
    Some(Err(match end {
        TaskState::Disabled => ControlError::new(&state.facts.name, ControlErrorKind::Disabled),
        end => ControlError::new(&state.facts.name, ControlErrorKind::Ended(end)),
    }))
}

/// Returns an answer unless events of the task are on their way.
fn is_quiet(state: &TaskInner, (): ()) -> Option<Result<(), ControlError>> {
    let is_quiet = state.outbox.is_empty() && !state.is_delivering;
    is_quiet.then_some(Ok(()))
}

impl Control {
    /// Blocks until the task has had its runs, at most for `limit` on the scheduler's clock.
    pub(crate) fn wait_for(&self, until: Until, limit: Duration) -> Result<(), ControlError> {
        let waited = block_on(self.watch(until), &*self.task.env.clock, limit);
        waited.unwrap_or_else(|| Err(self.too_late(until, limit)))
    }

    /// Waits until the task has had its runs; holds no thread.
    pub(crate) fn wait_for_async(
        &self,
        until: Until,
    ) -> impl Future<Output = Result<(), ControlError>> + Send + use<> {
        self.watch(until)
    }

    /// Blocks until no events of ended tasks are on their way, at most for `limit` in all.
    pub(crate) fn await_events(tasks: &[Self], clock: &dyn Clock, limit: Duration) {
        let deadline = clock.now() + limit;
        for task in tasks {
            let watch = Watch { control: task.clone(), look: is_quiet, what: (), waker_id: None };
            let _ = block_on(watch, clock, deadline.since(clock.now()));
        }
    }

    fn watch(&self, until: Until) -> Watch<Until> {
        Watch { control: self.clone(), look: has_had, what: until, waker_id: None }
    }

    fn too_late(&self, until: Until, limit: Duration) -> ControlError {
        let counters = self.task.lock().history.counters();
        let (runs, failed) = (counters.runs, counters.failures());
        ControlError::too_late(
            self.name(),
            limit,
            format!("{until} were waited for; there were {runs}, {failed} of them failed"),
        )
    }
}

/// The record of a manual run; an error if it did not start.
pub(super) type ManualResult = Result<RunRecord, ControlError>;

/// A run that was asked for by [`TaskControl::run_now`](crate::TaskControl::run_now), and may be waited for: a future, or
/// [`wait`](Self::wait). Dropping it changes nothing.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::cron("@daily"), |run| run.note("17 rows"))
///     .spawn()?;
/// let run = scheduler.tasks().get("import")?.run_now()?;
/// let record = run.wait(Duration::from_secs(10))?;
/// assert!(record.outcome.is_success());
/// assert_eq!(&*record.notes[0], "17 rows");
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ManualRun {
    task: Arc<str>,
    clock: Arc<dyn Clock>,
    ended: SetOnce<ManualResult>,
}

impl ManualRun {
    /// Returns the handle, and what answers it.
    pub(super) fn new(task: Arc<str>, clock: Arc<dyn Clock>) -> (Self, SetOnce<ManualResult>) {
        let ended = SetOnce::new();
        (Self { task, clock, ended: ended.clone() }, ended)
    }

    /// Blocks until the run is over, at most for `limit` on the scheduler's clock.
    ///
    /// # Errors
    ///
    /// The time is over; or the run has not started: the task or the scheduler has ended, or a gate has refused it.
    pub fn wait(self, limit: Duration) -> Result<RunRecord, ControlError> {
        let (task, clock) = (Arc::clone(&self.task), Arc::clone(&self.clock));
        let late = || {
            Err(ControlError::too_late(&task, limit, "its manual run was waited for".to_owned()))
        };
        block_on(self, &*clock, limit).unwrap_or_else(late)
    }
}

impl Future for ManualRun {
    type Output = Result<RunRecord, ControlError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.ended).poll(context)
    }
}

crate::base::opaque! { ManualRun { task } }

/// A run that was asked for.
#[derive(Clone, Debug)]
pub(super) enum RunRequest {
    Manual {
        asked_at: Tick,
        answer: SetOnce<ManualResult>,
    },
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "no job is claimed"))]
    Job {
        asked_at: Tick,
        job: Arc<ClaimedJob>,
    },
}

impl RunRequest {
    pub(super) fn asked_at(&self) -> Tick {
        match self {
            Self::Manual { asked_at, .. } | Self::Job { asked_at, .. } => *asked_at,
        }
    }

    /// Returns the job that is to run, if it asks for one.
    pub(super) fn job(&self) -> Option<&Arc<ClaimedJob>> {
        match self {
            Self::Manual { .. } => None,
            Self::Job { job, .. } => Some(job),
        }
    }
}
