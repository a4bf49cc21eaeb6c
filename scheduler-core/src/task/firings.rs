//! The firings in progress of a timer, and requests to stop them.

use std::sync::Arc;

use super::state::TaskState;
use super::waiters::{Waiter, Waiters, notify};
use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::time::EventCount;

/// The firings of one timer.
///
/// INVARIANT: the lock is an innermost one; threads are notified after it is given back.
#[derive(Default)]
pub(super) struct Firings {
    list: Mutex<List>,
    /// True if any firing in progress was asked to stop; changed under the lock only.
    is_any_asked: AtomicBool,
}

#[derive(Default)]
struct List {
    /// The number of the last one that has begun.
    last: u64,
    in_progress: Vec<Firing>,
}

struct Firing {
    number: u64,
    is_asked: bool,
    /// The threads that wait inside it, to be woken when it is asked to stop.
    interruptible: Waiters,
}

impl List {
    fn find(&mut self, number: u64) -> Option<&mut Firing> {
        self.in_progress.iter_mut().find(|firing| firing.number == number)
    }
}

impl Firings {
    /// Counts a firing that begins, and returns its number.
    pub(super) fn begin(&self) -> u64 {
        let mut list = self.list.lock();
        list.last += 1;
        let number = list.last;
        // Most timers have one firing at most, and there may be very many timers.
        if list.in_progress.is_empty() {
            list.in_progress.reserve_exact(1);
        }
        let interruptible = Waiters::default();
        list.in_progress.push(Firing { number, is_asked: false, interruptible });
        number
    }

    /// Records that a firing is over; requests to stop it mean nothing from now on.
    pub(super) fn end(&self, number: u64) {
        let mut list = self.list.lock();
        if let Some(index) = list.in_progress.iter().position(|firing| firing.number == number)
            && list.in_progress.swap_remove(index).is_asked
        {
            let is_any_asked = list.in_progress.iter().any(|firing| firing.is_asked);
            self.is_any_asked.store(is_any_asked, Ordering::Release);
        }
    }

    /// Asks one firing to stop, if it is in progress.
    pub(super) fn ask(&self, number: u64) {
        let waiters = {
            let mut list = self.list.lock();
            let Some(firing) = list.find(number) else { return };
            firing.is_asked = true;
            // ORDERING: release, so that a body that sees the request sees what its canceller did before.
            self.is_any_asked.store(true, Ordering::Release);
            firing.interruptible.take()
        };
        notify(waiters, TaskState::Running);
    }

    /// Returns true if a firing was asked to stop.
    pub(super) fn is_asked(&self, number: u64) -> bool {
        // ORDERING: acquire, see `ask`.
        if !self.is_any_asked.load(Ordering::Acquire) {
            return false;
        }
        self.list.lock().find(number).is_some_and(|firing| firing.is_asked)
    }

    /// Adds a thread that waits inside a firing; one that is over is asked no more.
    pub(super) fn add_interruptible(&self, number: u64, gate: &Arc<EventCount>) -> u64 {
        let thread = Waiter::Thread(Arc::clone(gate));
        self.list.lock().find(number).map_or(0, |firing| firing.interruptible.add(thread))
    }

    pub(super) fn remove_interruptible(&self, number: u64, waiter: u64) {
        let removed =
            self.list.lock().find(number).and_then(|firing| firing.interruptible.remove(waiter));
        drop(removed);
    }
}
