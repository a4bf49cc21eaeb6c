//! The run that a thread executes.

use std::cell::RefCell;

use super::Run;

thread_local! {
    static CURRENT: RefCell<Option<Run>> = const { RefCell::new(None) };
}

/// The run that the calling thread executes; a thread that is ending may have none any more.
pub(super) fn get() -> Option<Run> {
    CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
}

/// Makes a run the current one, until the answer is dropped.
pub(super) fn enter(run: Run) -> Entered {
    Entered { outer: exchange(Some(run)) }
}

/// While it lives, the thread executes a run.
pub(super) struct Entered {
    outer: Option<Run>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        drop(exchange(self.outer.take()));
    }
}

/// The old run is handed out: dropping it may free what belongs to its task.
fn exchange(run: Option<Run>) -> Option<Run> {
    CURRENT.try_with(|current| current.replace(run)).ok().flatten()
}
