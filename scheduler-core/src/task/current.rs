//! The run that a thread executes.

use std::cell::RefCell;

use super::run::Run;
use crate::sync::local;

local! {
    static EXECUTED: Executed = const { Executed { current: RefCell::new(None), inner: RefCell::new(Vec::new()) } };
}

/// What this thread executes.
struct Executed {
    /// A run; borrowed while it is executed.
    current: RefCell<Option<Run>>,
    /// Runs inside that one, the innermost last: a task may run another by hand.
    inner: RefCell<Vec<Run>>,
}

/// Looks at the run that the calling thread executes; a thread that is ending may have none any more.
pub(super) fn with<R>(look: impl FnOnce(&Run) -> R) -> Option<R> {
    let looked = EXECUTED.try_with(|executed| match executed.inner.borrow().last() {
        Some(inner) => Some(look(inner)),
        None => executed.current.borrow().as_ref().map(look),
    });
    looked.ok().flatten()
}

/// Calls `step` while a run is the current one.
///
/// The thread's share in the run is the one that is handed in, so that an outermost run costs none.
#[inline]
pub(super) fn enter<R>(run: Run, step: impl FnOnce(&Run) -> R) -> R {
    let is_free = EXECUTED
        .try_with(|executed| executed.current.try_borrow_mut().is_ok_and(|run| run.is_none()));
    if is_free.is_ok_and(|is_free| is_free) {
        EXECUTED.with(|Executed { current, .. }| {
            *current.borrow_mut() = Some(run);
            let _outermost = Outermost(current);
            match &*current.borrow() {
                Some(run) => step(run),
                None => unreachable!("nobody else takes the run of this thread out"),
            }
        })
    } else {
        let _inner = Inner::enter(run.clone());
        step(&run)
    }
}

/// While it lives, the thread executes a run that is not inside another.
struct Outermost<'a>(&'a RefCell<Option<Run>>);

impl Drop for Outermost<'_> {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// While it lives, the thread executes a run inside another.
struct Inner;

impl Inner {
    fn enter(run: Run) -> Self {
        let _ = EXECUTED.try_with(|executed| executed.inner.borrow_mut().push(run));
        Self
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(EXECUTED.try_with(|executed| executed.inner.borrow_mut().pop()));
    }
}
