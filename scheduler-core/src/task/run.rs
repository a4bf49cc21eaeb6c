//! One run of a task, as the body sees it from inside.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;

use super::any::AnyTask;
use super::any::Begun;
use super::current;
use super::header::TaskId;
use super::rhythm::LastRun;
use crate::error::Error;
use crate::time::Due;
use crate::time::Gate;
use crate::time::Now;
use crate::time::Tick;

/// One run of a task: which one it is, when it was meant to start, and whether it shall stop.
///
/// ```
/// use scheduler_core::{Run, ScheduledThreadPool};
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let handle = pool.schedule(Duration::ZERO, || {
///     let run = Run::current().expect("this is a task");
///     assert!(!run.is_cancelled());
///     run.number()
/// })?;
/// assert_eq!(handle.wait()?, 1);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
pub struct Run {
    task: Arc<dyn AnyTask>,
    number: u64,
    last: LastRun,
    entry: Entry,
}

/// How a worker came to a run. As wide as its neighbours, so that a run is copied without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Entry {
    /// It begins.
    Begun,
    /// It has begun before, and its future is polled on.
    Resumed,
}

impl Run {
    /// The run that the calling thread executes; none outside a task.
    ///
    /// Hooks, listeners and callbacks that a worker calls for a run are part of it.
    #[must_use]
    pub fn current() -> Option<Self> {
        current::with(Self::clone)
    }

    /// Looks at the run that the calling thread executes, without a share in it; none outside a task.
    ///
    /// The look is not to be one that runs other tasks on this thread.
    pub fn with_current<R>(look: impl FnOnce(&Self) -> R) -> Option<R> {
        current::with(look)
    }

    /// The number of the task.
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        self.task.header().id()
    }

    /// The name of the task, where it has one.
    #[must_use]
    pub fn task_name(&self) -> Option<&str> {
        self.task.header().name()
    }

    /// The how-manieth run of its task this is; the first is 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The instant this run was meant to start at, as the wall clock tells it.
    #[inline]
    #[must_use]
    pub fn fire_time(&self) -> DateTime<Utc> {
        self.last.scheduled().to_utc()
    }

    /// When this run did start, as the wall clock told it.
    #[inline]
    #[must_use]
    pub fn started_at(&self) -> DateTime<Utc> {
        self.last.started.wall.to_utc()
    }

    /// The instant this run was due at, on its own clock; see [`fire_time`](Self::fire_time).
    #[inline]
    #[must_use]
    pub fn due(&self) -> Due {
        self.last.due
    }

    /// When this run did start, on both clocks.
    #[inline]
    #[must_use]
    pub fn started(&self) -> Now {
        self.last.started
    }

    /// Asks this run to stop, as [`TaskHandle::ask_to_stop`](super::TaskHandle::ask_to_stop) does the
    /// present one. No effect when it is over.
    pub fn ask_to_stop(&self) {
        Arc::clone(&self.task).ask_to_stop(Some(self.number));
    }

    /// Whether this run was asked to stop, by [`TaskHandle::cancel_now`](super::TaskHandle::cancel_now),
    /// [`TaskHandle::ask_to_stop`](super::TaskHandle::ask_to_stop) or
    /// [`ScheduledThreadPool::shutdown_now`](crate::ScheduledThreadPool::shutdown_now), or because its
    /// time is over
    /// ([`submit_with_timeout`](crate::ScheduledThreadPool::submit_with_timeout)).
    ///
    /// It stands for the interrupt of the JDK and, like it, is a request that the body may follow.
    #[must_use]
    #[doc(alias = "isInterrupted")]
    pub fn is_cancelled(&self) -> bool {
        let header = self.task.header();
        self.task.is_asked_to_stop(self.number)
            || header.deadline() != Tick::MAX
                && header.home().is_none_or(|home| header.is_overdue(home.clock().now()))
    }

    /// Blocks the worker for this long, or until the run is asked to stop.
    ///
    /// # Errors
    ///
    /// [`Error::is_interrupted`] when the run was asked to stop, before or during the wait.
    pub fn sleep(&self, duration: Duration) -> Result<(), Error> {
        let Some(home) = self.task.header().home() else { return Err(Error::interrupted()) };
        let clock = home.clock();
        let until = clock.now() + duration;
        let look = until.min(self.task.header().deadline());
        let gate = Arc::new(Gate::new());
        let _interruptible = Interruptible::new(Some(self), &gate);
        loop {
            let seen = gate.epoch();
            if self.is_cancelled() {
                return Err(Error::interrupted());
            }
            if clock.now() >= until {
                return Ok(());
            }
            clock.wait(&gate, seen, Some(look));
        }
    }

    #[inline]
    pub(crate) fn new(task: Arc<dyn AnyTask>, begun: Begun) -> Self {
        let Begun { number, last, entry } = begun;
        Self { task, number, last, entry }
    }

    /// Whether the run has begun before, and its future is polled on.
    pub(crate) fn is_resumed(&self) -> bool {
        self.entry == Entry::Resumed
    }

    /// What is left when the run is over.
    pub(crate) fn into_task(self) -> Arc<dyn AnyTask> {
        self.task
    }

    /// The run's task.
    pub(crate) fn task(&self) -> &Arc<dyn AnyTask> {
        &self.task
    }

    /// Calls `step` as part of this run.
    #[inline]
    pub(crate) fn enter<R>(self, step: impl FnOnce(&Self) -> R) -> R {
        current::enter(self, false, step).0
    }

    /// As [`enter`](Self::enter), on the thread of a worker if `is_hidden`, and gives the task back.
    #[inline]
    pub(crate) fn pass_through<R>(
        self,
        is_hidden: bool,
        step: impl FnOnce(&Self) -> R,
    ) -> (R, Arc<dyn AnyTask>) {
        current::enter(self, is_hidden, step)
    }

    /// When the run was due, and when it has started.
    pub(super) fn last(&self) -> LastRun {
        self.last
    }

    /// How long this run has taken so far.
    pub(crate) fn elapsed(&self, now: Tick) -> Duration {
        now.since(self.last.started.tick)
    }
}

/// A copy of the last run of a task becomes one of its present run at no cost.
impl Clone for Run {
    fn clone(&self) -> Self {
        Self { task: Arc::clone(&self.task), ..*self }
    }

    #[inline]
    fn clone_from(&mut self, source: &Self) {
        let Self { task, number, last, entry } = source;
        if !Arc::ptr_eq(&self.task, task) {
            self.task = Arc::clone(task);
        }
        (self.number, self.last, self.entry) = (*number, *last, *entry);
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("task", &self.task.header().label())
            .field("number", &self.number)
            .field("fire_time", &self.last.scheduled())
            .finish_non_exhaustive()
    }
}

/// A wait inside a task that ends when the task is asked to stop.
pub(crate) struct Interruptible<'a> {
    registered: Option<(&'a Run, u64)>,
}

impl<'a> Interruptible<'a> {
    pub(crate) fn new(run: Option<&'a Run>, gate: &Arc<Gate>) -> Self {
        Self { registered: run.map(|run| (run, run.task.add_interruptible(gate))) }
    }

    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.registered.is_some_and(|(run, _)| run.is_cancelled())
    }
}

impl Drop for Interruptible<'_> {
    fn drop(&mut self) {
        if let Some((run, number)) = self.registered {
            run.task.remove_interruptible(number);
        }
    }
}
