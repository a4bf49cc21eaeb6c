//! The run that a thread executes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::header::TaskId;
use super::run::Run;
use super::{Interruptible, Queued};
use crate::sync::local;
use crate::time::Now;
use crate::unwind::OnDrop;

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
