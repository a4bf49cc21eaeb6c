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

/// Calls `step` while a run is the current one, and gives the run back.
///
/// The thread's share in the run is the one that is handed in, so that an outermost run costs none.
#[inline]
pub(super) fn enter<R>(run: Run, step: impl FnOnce(&Run) -> R) -> (R, Run) {
    let mut parts = Some((run, step));
    let outermost = EXECUTED.try_with(|Executed { current, .. }| {
        if !current.try_borrow_mut().is_ok_and(|current| current.is_none()) {
            return None;
        }
        let (run, step) = parts.take()?;
        current.replace(Some(run));
        let outermost = Outermost(current);
        let result = step(current.borrow().as_ref()?);
        Some((result, outermost.0.take()?))
    });
    match (outermost, parts) {
        (Ok(Some(answer)), _) => answer,
        (_, Some((run, step))) => {
            let inner = Inner::enter(run.clone());
            let result = step(&run);
            drop(inner);
            (result, run)
        }
        _ => unreachable!("a step that was taken has an answer"),
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
