//! The run that a thread executes.

use std::cell::RefCell;

use super::handle::Run;

thread_local! {
    /// The run that this thread executes; borrowed while it does.
    static CURRENT: RefCell<Option<Run>> = const { RefCell::new(None) };
    /// Runs that it executes inside that one, the innermost last: a task may step a simulation.
    static INNER: RefCell<Vec<Run>> = const { RefCell::new(Vec::new()) };
}

impl Run {
    /// The run that the calling thread executes; `None` outside a scheduled task.
    ///
    /// ```
    /// use scheduler::Run;
    ///
    /// assert!(Run::current().is_none());
    /// ```
    #[must_use]
    pub fn current() -> Option<Self> {
        get()
    }

    /// Calls `step` with this run as the [`current`](Self::current) one.
    pub(crate) fn enter<R>(self, step: impl FnOnce(&Self) -> R) -> R {
        enter(self, step)
    }
}

/// The run that the calling thread executes; a thread that is ending may have none any more.
fn get() -> Option<Run> {
    let inner = INNER.try_with(|inner| inner.borrow().last().cloned()).ok().flatten();
    inner.or_else(|| CURRENT.try_with(|current| current.borrow().clone()).ok().flatten())
}

/// Calls `step` while a run is the current one.
///
/// The thread's share in the run is the one that is handed in, so that an outermost run costs none.
#[inline]
fn enter<R>(run: Run, step: impl FnOnce(&Run) -> R) -> R {
    let (mut run, mut step) = (Some(run), Some(step));
    let answer = CURRENT.try_with(|current| {
        let is_outermost = current.try_borrow_mut().is_ok_and(|current| current.is_none());
        if !is_outermost {
            return None;
        }
        current.replace(run.take());
        let _outermost = Outermost(current);
        let current = current.borrow();
        Some((step.take()?)(current.as_ref()?))
    });
    match (answer, run, step) {
        (Ok(Some(answer)), ..) => answer,
        (_, Some(run), Some(step)) => {
            let _inner = Inner::enter(run.clone());
            step(&run)
        }
        _ => unreachable!("a step that was taken has an answer"),
    }
}

/// While it lives, the thread executes a run that is not inside another.
struct Outermost<'a>(&'a RefCell<Option<Run>>);

impl Drop for Outermost<'_> {
    fn drop(&mut self) {
        // Dropping the run may free its task, and so comes last.
        drop(self.0.take());
    }
}

/// While it lives, the thread executes a run inside another.
struct Inner;

impl Inner {
    fn enter(run: Run) -> Self {
        let _ = INNER.try_with(|inner| inner.borrow_mut().push(run));
        Self
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(INNER.try_with(|inner| inner.borrow_mut().pop()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn current() -> Option<String> {
        Run::current().map(|run| run.task_name().to_owned())
    }

    fn is(name: &str) -> bool {
        current().as_deref() == Some(name)
    }

    #[test]
    fn runs_inside_others_are_current_until_they_are_over() {
        assert_eq!(current(), None);
        Run::detached("outer").enter(|outer| {
            assert!(is("outer"));
            for name in ["first", "second"] {
                Run::detached(name).enter(|run| {
                    assert!(is(name));
                    outer.clone().enter(|_| assert!(is("outer")));
                    assert!(is(name) && run.task_name() == name);
                });
            }
            assert!(is("outer"));
        });
        assert_eq!(current(), None);
    }

    #[test]
    fn a_run_that_unwinds_is_not_current_any_more() {
        let unwinds = |name| {
            let step = || Run::detached(name).enter(|_| panic!("no"));
            catch_unwind(AssertUnwindSafe(step)).unwrap_err()
        };
        drop(unwinds("alone"));
        assert_eq!(current(), None);
        Run::detached("outer").enter(|_| {
            drop(unwinds("inner"));
            assert!(is("outer"));
        });
        assert_eq!(current(), None);
    }
}
