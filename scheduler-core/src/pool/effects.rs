//! The effects of a step of the core, performed without its lock.

use std::sync::Arc;

use super::entry::Item;
use super::workers::WorkerNumber;
use crate::task::Interruptible;
use crate::time::EventCount;

/// Actions to perform after unlocking.
///
/// The core can only ask for these things. So user code — destructors, wakers, callbacks — cannot
/// run under the lock: there is no line in the core that could run it.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Workers to wake.
    pub(super) wake: Vec<Arc<EventCount>>,
    /// Workers whose threads are to be started.
    pub(super) start: Vec<WorkerNumber>,
    /// Tasks and timers that will not run; their handles become cancelled. The pool does not terminate before they are.
    pub(super) cancel: Vec<Arc<dyn Interruptible>>,
    /// Timers that are to learn that the wall clock was set back. The pool does not terminate before they have.
    pub(super) set_back: Vec<Arc<dyn Interruptible>>,
    /// Tasks that the core no longer holds.
    pub(super) release: Vec<Item>,
    /// True if the pool stops, so that runs are to be asked to stop.
    pub(super) stop: bool,
    /// True if nothing is left, and the pool is to be declared terminated.
    pub(super) terminate: bool,
}

impl Effects {
    /// Returns true if there is nothing to do.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.wake.is_empty()
            && self.start.is_empty()
            && self.cancel.is_empty()
            && self.set_back.is_empty()
            && self.release.is_empty()
            && !self.stop
            && !self.terminate
    }

    /// The number of calls that the core waits for.
    pub(super) fn calls(&self) -> usize {
        self.cancel.len() + self.set_back.len()
    }
}
