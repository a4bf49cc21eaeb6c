//! One run of a task, and the thread that executes it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::header::TaskId;
use super::{AnyTask, Interruptible, Queued};
use crate::error::Error;
use crate::sync::local;
use crate::time::{Due, EventCount, Now, Tick};
use crate::unwind::OnDrop;

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

local! {
    static THREAD: Rc<Thread> = Rc::default();
}

/// The run that a thread executes.
#[derive(Default)]
pub(crate) struct Thread {
    /// A task without options, whose only run is executed; borrowed meanwhile, so that it needs no second share. A [`Run`] of
    /// it is made on demand.
    plain: RefCell<Option<Arc<dyn Queued>>>,
    /// When that run started, if its body has asked.
    started: Cell<Option<Now>>,
    /// Any other run; borrowed while it is executed.
    outermost: RefCell<Option<Run>>,
    /// Runs inside that one, the innermost last: a task may run another by hand.
    inner: RefCell<Vec<Run>>,
    /// The address of the pool whose worker this thread is, zero for none, and the worker's number.
    worker: Cell<(usize, u64)>,
    /// The pools and tasks whose end waits for what this thread is dropping or notifying: a wait for them here
    /// would not end. Without a task, it is the end of the pool.
    blocked_ends: RefCell<Vec<(usize, Option<TaskId>)>>,
}

impl Run {
    /// The run that the calling thread executes; none outside a task.
    ///
    /// Hooks, listeners and callbacks that a worker calls for a run are part of it.
    #[must_use]
    pub fn current() -> Option<Self> {
        Self::with_current(Self::clone)
    }

    /// Calls `look` with the run that the calling thread executes; returns none outside a task.
    ///
    /// `look` must not run other tasks on this thread.
    pub fn with_current<R>(look: impl FnOnce(&Self) -> R) -> Option<R> {
        // A thread that is ending may have none any more.
        THREAD.try_with(|thread| thread.with_current(look)).ok().flatten()
    }
}

/// The calling thread; one that is ending has no runs any more, and gets another.
pub(crate) fn this_thread() -> Rc<Thread> {
    THREAD.try_with(Rc::clone).unwrap_or_default()
}

impl Thread {
    fn with_current<R>(&self, look: impl FnOnce(&Run) -> R) -> Option<R> {
        if let Some(inner) = self.inner.borrow().last() {
            return Some(look(inner));
        }
        if let Some(run) = &*self.outermost.borrow() {
            return Some(look(run));
        }
        let plain = Arc::clone(self.plain.borrow().as_ref()?);
        let task = plain.into_task()?;
        let started = self.started.get().unwrap_or_else(|| task.header().link.clock.read());
        self.started.set(Some(started));
        Some(look(&Run::only(task, started)))
    }

    /// Returns true if the thread executes no run.
    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        self.plain.try_borrow_mut().is_ok() && self.outermost.try_borrow_mut().is_ok()
    }

    /// Calls `step` while the only run of a task without options is the current one of this free thread.
    #[inline(always)]
    pub(crate) fn enter_plain<R>(
        &self,
        task: Arc<dyn Queued>,
        step: impl FnOnce(&dyn Queued) -> R,
    ) -> R {
        *self.plain.borrow_mut() = Some(task);
        self.started.set(None);
        // A run whose thread dies: nothing but the clock of its pool can panic, and then the task is cancelled.
        let guard = OnDrop(|| {
            let task = self.plain.take().and_then(Queued::into_task);
            task.iter().for_each(|task| abandon(&**task));
        });
        let plain = self.plain.borrow();
        let Some(task) = &*plain else { unreachable!("it was put there") };
        let result = step(&**task);
        drop(plain);
        std::mem::forget(guard);
        drop(self.plain.take());
        result
    }

    /// Calls `step` while a run is the current one, and gives its task back.
    pub(crate) fn enter<R>(
        &self,
        run: Run,
        step: impl FnOnce(&Run) -> R,
    ) -> (R, Arc<dyn Interruptible>) {
        if !self.is_free() {
            return self.enter_inside(run, step);
        }
        *self.outermost.borrow_mut() = Some(run);
        // The same for a run that this thread owns.
        let guard = OnDrop(|| self.outermost.take().iter().for_each(|run| abandon(&**run.task())));
        let result = self.outermost.borrow().as_ref().map(step);
        std::mem::forget(guard);
        match (result, self.outermost.take()) {
            (Some(result), Some(run)) => (result, run.into_task()),
            _ => unreachable!("it was put there"),
        }
    }

    /// Calls `step` while a run is the current one inside another.
    #[cold]
    fn enter_inside<R>(
        &self,
        run: Run,
        step: impl FnOnce(&Run) -> R,
    ) -> (R, Arc<dyn Interruptible>) {
        self.inner.borrow_mut().push(run.clone());
        // Takes the run back; one whose thread dies is cancelled.
        let inner = OnDrop(|| {
            let run = self.inner.borrow_mut().pop();
            if let Some(run) = run.filter(|_| std::thread::panicking()) {
                abandon(&**run.task());
            }
        });
        let result = step(&run);
        drop(inner);
        (result, run.into_task())
    }
}

fn abandon(task: &dyn Interruptible) {
    if let Some(pool) = task.header().link.pool() {
        pool.abandon(task);
    }
}

/// Marks the calling thread as a worker of this pool until the guard is dropped: then it is what it was before, because a task of
/// one pool may step virtual workers of another.
pub(crate) fn enter_as_worker(pool: usize, number: u64) -> OnDrop<impl FnMut()> {
    let before = THREAD.with(|thread| thread.worker.replace((pool, number)));
    OnDrop(move || _ = THREAD.try_with(|thread| thread.worker.set(before)))
}

/// Returns true if the calling thread is a worker of this pool.
pub(crate) fn works_for(pool: usize) -> bool {
    worker_number(pool).is_some()
}

/// The number of the worker of this pool that the calling thread is, if it is one.
pub(crate) fn worker_number(pool: usize) -> Option<u64> {
    let (of, number) = THREAD.try_with(|thread| thread.worker.get()).ok()?;
    (of == pool).then_some(number)
}

/// Calls `call`, without which a pool and tasks of it do not end.
pub(crate) fn hold_up<R>(ends: &[(usize, Option<TaskId>)], call: impl FnOnce() -> R) -> R {
    let _ = THREAD.try_with(|thread| thread.blocked_ends.borrow_mut().extend_from_slice(ends));
    let _held = OnDrop(|| {
        let _ = THREAD.try_with(|thread| {
            let mut blocked_ends = thread.blocked_ends.borrow_mut();
            let left = blocked_ends.len() - ends.len();
            blocked_ends.truncate(left);
        });
    });
    call()
}

/// Returns true if the end of a task, or else of the pool, waits for the calling thread.
pub(crate) fn holds_up(pool: usize, task: Option<TaskId>) -> bool {
    let held = THREAD.try_with(|thread| thread.blocked_ends.borrow().contains(&(pool, task)));
    held.unwrap_or(false)
}
