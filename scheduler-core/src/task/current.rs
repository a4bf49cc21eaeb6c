//! The run that a thread executes, and whether others can find it.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;

use super::header::{Header, TaskId};
use super::run::{AnyTask, Run};
use crate::sync::local;

local! {
    static EXECUTED: Executed = const {
        Executed {
            current: RefCell::new(None),
            inner: RefCell::new(Vec::new()),
            shown: RefCell::new(None),
            home: Cell::new(0),
            is_hidden: Cell::new(false),
            held_up: RefCell::new(Vec::new()),
            spent: RefCell::new(Vec::new()),
        }
    };
}

/// Where a worker lays the task that it runs, so that others can ask the run to stop.
pub(crate) trait ShownTask: Send + Sync {
    fn show_task(&self, task: &Arc<dyn AnyTask>);
    fn clear(&self);
    /// Notes that the worker runs nothing any more, because its run is suspended.
    fn end_activity(&self);
}

/// What this thread executes.
struct Executed {
    /// A run; borrowed while it is executed.
    current: RefCell<Option<Run>>,
    /// Runs inside that one, the innermost last: a task may run another by hand.
    inner: RefCell<Vec<Run>>,
    /// Where the worker whose thread this is shows its task.
    shown: RefCell<Option<Arc<dyn ShownTask>>>,
    /// The address of the pool of that worker.
    home: Cell<usize>,
    /// Whether the current run is a worker's, whose task is not shown yet.
    is_hidden: Cell<bool>,
    /// The pools and tasks whose end waits for what this thread is dropping or notifying: a wait for them here
    /// would not end. Without a task, it is the end of the pool.
    held_up: RefCell<Vec<(usize, Option<TaskId>)>>,
    /// Tasks that this worker has ended, whose memory may be taken for others.
    spent: RefCell<Vec<Arc<dyn AnyTask>>>,
}

impl Executed {
    /// Shows the task of the current run, unless it is shown already.
    #[inline]
    fn show(&self) {
        if self.is_hidden.get() && self.inner.borrow().is_empty() {
            self.is_hidden.set(false);
            if let (Some(shown), Some(run)) = (&*self.shown.borrow(), &*self.current.borrow()) {
                shown.show_task(run.task());
            }
        }
    }
}

impl Run {
    /// The run that the calling thread executes; none outside a task.
    ///
    /// Hooks, listeners and callbacks that a worker calls for a run are part of it.
    #[must_use]
    pub fn current() -> Option<Self> {
        with(Self::clone)
    }

    /// Calls `look` with the run that the calling thread executes, without cloning it; returns none outside a task.
    ///
    /// `look` must not run other tasks on this thread.
    pub fn with_current<R>(look: impl FnOnce(&Self) -> R) -> Option<R> {
        with(look)
    }

    /// Calls `step` as part of this run, and gives the task back. The run of a worker is hidden until it is
    /// looked at.
    #[inline]
    pub(crate) fn enter<R>(
        self,
        by_worker: bool,
        step: impl FnOnce(&Self) -> R,
    ) -> (R, Arc<dyn AnyTask>) {
        enter(self, by_worker, step)
    }
}

/// The calling thread is that of a worker of this pool while the answer lives.
pub(crate) fn enter_as_worker(home: usize, shown: Arc<dyn ShownTask>) -> AsWorker {
    EXECUTED.with(|executed| AsWorker {
        home: executed.home.replace(home),
        shown: executed.shown.replace(Some(shown)),
        spent: executed.spent.take(),
    })
}

/// Returns true if the calling thread is that of a worker of this pool.
#[inline]
pub(crate) fn works_for(home: usize) -> bool {
    EXECUTED.try_with(|executed| executed.home.get() == home).unwrap_or(false)
}

/// The tasks that the calling thread has ended, if it is that of a worker of this pool.
#[inline]
pub(crate) fn with_spent<R>(
    home: usize,
    look: impl FnOnce(&mut Vec<Arc<dyn AnyTask>>) -> R,
) -> Option<R> {
    let looked = EXECUTED.try_with(|executed| {
        (executed.home.get() == home).then(|| look(&mut executed.spent.borrow_mut()))
    });
    looked.ok().flatten()
}

/// Notes that the run of the calling worker is suspended.
pub(crate) fn end_activity() {
    let _ = EXECUTED.try_with(|executed| {
        if let Some(shown) = &*executed.shown.borrow() {
            shown.end_activity();
        }
    });
}

/// Returns true if the calling thread is that of such a worker.
pub(crate) fn is_worker_with(is_it: impl FnOnce(*const ()) -> bool) -> bool {
    let looked = EXECUTED.try_with(|executed| {
        let shown = executed.shown.borrow().as_ref().map(|shown| Arc::as_ptr(shown).cast::<()>());
        shown.is_some_and(is_it)
    });
    looked.unwrap_or(false)
}

/// See [`enter_as_worker`]: what the thread was before. A task of one pool may step virtual workers of another.
pub(crate) struct AsWorker {
    home: usize,
    shown: Option<Arc<dyn ShownTask>>,
    spent: Vec<Arc<dyn AnyTask>>,
}

impl Drop for AsWorker {
    fn drop(&mut self) {
        drop(EXECUTED.try_with(|executed| {
            executed.home.set(self.home);
            let spent = executed.spent.replace(mem::take(&mut self.spent));
            (executed.shown.replace(self.shown.take()), spent)
        }));
    }
}

/// Calls `call`, without which a task does not end.
pub(super) fn hold_up_task<R>(header: &Header, call: impl FnOnce() -> R) -> R {
    hold_up(&[(header.home_address(), Some(header.id()))], call)
}

/// Calls `call`, without which a pool and tasks of it do not end.
pub(crate) fn hold_up<R>(ends: &[(usize, Option<TaskId>)], call: impl FnOnce() -> R) -> R {
    let _ = EXECUTED.try_with(|executed| executed.held_up.borrow_mut().extend_from_slice(ends));
    let _held = HeldUp(ends.len());
    call()
}

/// Returns true if the end of a task, or else of the pool, waits for the calling thread.
pub(crate) fn holds_up(home: usize, task: Option<TaskId>) -> bool {
    let held = EXECUTED.try_with(|executed| executed.held_up.borrow().contains(&(home, task)));
    held.unwrap_or(false)
}

/// See [`hold_up`].
struct HeldUp(usize);

impl Drop for HeldUp {
    fn drop(&mut self) {
        let _ = EXECUTED.try_with(|executed| {
            let mut held_up = executed.held_up.borrow_mut();
            let left = held_up.len() - self.0;
            held_up.truncate(left);
        });
    }
}

/// Calls `look` with the run that the calling thread executes; a thread that is ending may have none any more.
///
/// The caller may wait for a request to stop, so other threads must find the run from now on.
pub(super) fn with<R>(look: impl FnOnce(&Run) -> R) -> Option<R> {
    let looked = EXECUTED.try_with(|executed| {
        executed.show();
        match executed.inner.borrow().last() {
            Some(inner) => Some(look(inner)),
            None => executed.current.borrow().as_ref().map(look),
        }
    });
    looked.ok().flatten()
}

/// Shows the task of the worker's run that the calling thread executes.
pub(super) fn show() {
    let _ = EXECUTED.try_with(Executed::show);
}

/// Calls `step` while a run is the current one, and gives its task back.
///
/// The thread's share in the run is the one that is handed in, so that an outermost run costs none. A run that
/// is `hidden` is shown when it is looked at, if at all; inside another run at once.
#[inline]
pub(super) fn enter<R>(
    run: Run,
    is_hidden: bool,
    step: impl FnOnce(&Run) -> R,
) -> (R, Arc<dyn AnyTask>) {
    let is_free = EXECUTED
        .try_with(|executed| executed.current.try_borrow_mut().is_ok_and(|run| run.is_none()));
    if is_free.is_ok_and(|is_free| is_free) {
        EXECUTED.with(|executed| {
            *executed.current.borrow_mut() = Some(run);
            executed.is_hidden.set(is_hidden);
            let outermost = Outermost { executed, is_shown: is_hidden };
            let result = match &*executed.current.borrow() {
                Some(run) => step(run),
                None => unreachable!("only this function takes the run of this thread out"),
            };
            (result, outermost.leave())
        })
    } else {
        let inner = Inner::enter(run.clone(), is_hidden);
        let result = step(&run);
        drop(inner);
        (result, run.into_task())
    }
}

/// While it lives, the thread executes a run that is not inside another.
struct Outermost<'a> {
    executed: &'a Executed,
    is_shown: bool,
}

impl Outermost<'_> {
    #[inline]
    fn leave(self) -> Arc<dyn AnyTask> {
        let is_hidden = self.executed.is_hidden.replace(false);
        if self.is_shown
            && !is_hidden
            && let Some(shown) = &*self.executed.shown.borrow()
        {
            shown.clear();
        }
        match self.executed.current.take() {
            Some(run) => run.into_task(),
            None => unreachable!("only this function takes the run of this thread out"),
        }
    }
}

/// A worker whose thread dies shows what it runs.
impl Drop for Outermost<'_> {
    fn drop(&mut self) {
        if self.executed.current.borrow().is_some() {
            self.executed.show();
            drop(self.executed.current.take());
        }
    }
}

/// While it lives, the thread executes a run inside another.
struct Inner {
    /// Where the run is shown, if a worker executes it.
    shown: Option<Arc<dyn ShownTask>>,
}

impl Inner {
    fn enter(run: Run, is_worker: bool) -> Self {
        let shown = EXECUTED.try_with(|executed| {
            let shown = executed.shown.borrow().clone().filter(|_| is_worker);
            if let Some(shown) = &shown {
                shown.show_task(run.task());
            }
            executed.inner.borrow_mut().push(run);
            shown
        });
        Self { shown: shown.ok().flatten() }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(shown) = &self.shown {
            shown.clear();
        }
        drop(EXECUTED.try_with(|executed| executed.inner.borrow_mut().pop()));
    }
}
