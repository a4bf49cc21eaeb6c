//! One run of a task, as its body sees it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::header::TaskId;
use super::{AnyTask, Interruptible};
use crate::error::Error;
use crate::time::{Due, EventCount, Now, Tick};

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
    task: Arc<dyn Interruptible>,
    number: u64,
    due: Due,
    started: Now,
    by_worker: bool,
    /// True if it has begun before, and its future is polled on.
    is_resumed: bool,
}

impl Run {
    /// The number of the task.
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        self.task.header().id()
    }

    /// The name of the task, where it has one.
    #[must_use]
    pub fn task_name(&self) -> Option<&str> {
        self.task.name()
    }

    /// The number of this run among those of its task, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The instant this run was meant to start at, as the wall clock shows it.
    #[inline]
    #[must_use]
    pub fn fire_time(&self) -> DateTime<Utc> {
        self.due.as_wall(self.started()).to_utc()
    }

    /// When this run started, by the wall clock.
    #[inline]
    #[must_use]
    pub fn started_at(&self) -> DateTime<Utc> {
        self.started().wall.to_utc()
    }

    /// The instant this run was due at, on its own clock; see [`fire_time`](Self::fire_time).
    #[inline]
    #[must_use]
    pub fn due(&self) -> Due {
        self.due
    }

    /// When this run started, by both clocks.
    #[inline]
    #[must_use]
    pub fn started(&self) -> Now {
        self.started
    }

    /// Asks this run to stop, as [`TaskHandle::ask_to_stop`](super::TaskHandle::ask_to_stop) does the
    /// present one. No effect when it is over.
    pub fn ask_to_stop(&self) {
        Arc::clone(&self.task).ask_to_stop(self.number);
    }

    /// Returns true if this run was asked to stop, by [`TaskHandle::cancel_now`](super::TaskHandle::cancel_now),
    /// [`TaskHandle::ask_to_stop`](super::TaskHandle::ask_to_stop) or
    /// [`ScheduledThreadPool::shutdown_now`](crate::ScheduledThreadPool::shutdown_now), or because its
    /// time is over
    /// ([`submit_with_timeout`](crate::ScheduledThreadPool::submit_with_timeout)).
    ///
    /// It stands for the interrupt of the JDK and, like it, is a request that the body may follow.
    #[must_use]
    #[doc(alias = "isInterrupted")]
    pub fn is_cancelled(&self) -> bool {
        let link = &self.task.header().link;
        self.task.is_asked_to_stop(self.number)
            || self.by_worker && link.is_stopping()
            || self.task.deadline() != Tick::MAX && self.task.is_overdue(link.clock.now())
    }

    /// Blocks the worker for this long, or until the run is asked to stop.
    ///
    /// # Errors
    ///
    /// [`Error::is_interrupted`] when the run was asked to stop, before or during the wait.
    pub fn sleep(&self, duration: Duration) -> Result<(), Error> {
        let clock = &self.task.header().link.clock;
        let until = clock.now() + duration;
        let look = until.min(self.task.deadline());
        let gate = Arc::new(EventCount::new());
        let _interruptible = InterruptibleWait::new(Some(self), &gate);
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

    pub(crate) fn new(
        task: Arc<dyn Interruptible>,
        number: u64,
        due: Due,
        started: Now,
        by_worker: bool,
    ) -> Self {
        Self { task, number, due, started, by_worker, is_resumed: false }
    }

    /// The only run of a task without options, by a worker.
    pub(super) fn only(task: Arc<dyn AnyTask>, started: Now) -> Self {
        let due = task.due();
        Self::new(task, 1, due, started, true)
    }

    /// This run, to be polled on.
    pub(crate) fn resumed(self, by_worker: bool) -> Self {
        Self { is_resumed: true, by_worker, ..self }
    }

    /// Returns true if the run has begun before, and its future is polled on.
    pub(crate) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Takes the task out when the run is over.
    pub(crate) fn into_task(self) -> Arc<dyn Interruptible> {
        self.task
    }

    /// The run's task.
    pub(crate) fn task(&self) -> &Arc<dyn Interruptible> {
        &self.task
    }

    /// Returns true if it is a run of the pool with this address.
    pub(crate) fn belongs_to(&self, pool: usize) -> bool {
        self.task.header().link.address() == pool
    }

    /// When a run of this pool is to have ended, if it has a limit. The deadline of another pool is a time of another clock, and
    /// that pool enforces it.
    pub(crate) fn deadline_in(&self, pool: usize) -> Option<Tick> {
        let deadline = self.task.deadline();
        (deadline != Tick::MAX && self.belongs_to(pool)).then_some(deadline)
    }

    /// The time that this run has taken so far.
    pub(crate) fn elapsed(&self, now: Tick) -> Duration {
        now.since(self.started().tick)
    }
}

impl Clone for Run {
    fn clone(&self) -> Self {
        Self { task: Arc::clone(&self.task), ..*self }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("task", &self.task.label())
            .field("number", &self.number)
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}

/// A wait inside a task that ends when the task is asked to stop.
pub(crate) struct InterruptibleWait<'a> {
    registered: Option<(&'a Run, u64, u64)>,
}

impl<'a> InterruptibleWait<'a> {
    pub(crate) fn new(run: Option<&'a Run>, gate: &Arc<EventCount>) -> Self {
        let register = |run: &'a Run| {
            let in_pool = run.task.header().link.waits.add(gate);
            (run, run.task.add_interruptible(run.number, gate), in_pool)
        };
        Self { registered: run.map(register) }
    }

    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.registered.is_some_and(|(run, ..)| run.is_cancelled())
    }
}

impl Drop for InterruptibleWait<'_> {
    fn drop(&mut self) {
        if let Some((run, number, in_pool)) = self.registered {
            run.task.remove_interruptible(run.number, number);
            run.task.header().link.waits.remove(in_pool);
        }
    }
}
