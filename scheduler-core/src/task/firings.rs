//! The firings in progress of a timer, and requests to stop them.

use std::sync::Arc;

use super::waiters::EventCounts;
use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::time::EventCount;

/// The firings of one timer.
///
/// INVARIANT: the lock is an innermost one; gates are opened after it is given back.
#[derive(Default)]
pub(super) struct Firings {
    list: Mutex<List>,
    /// True if any firing in progress was asked to stop; changed under the lock only.
    is_any_asked: AtomicBool,
    /// Opened when a firing is asked to stop; each waiter then checks whether it was its own.
    gates: EventCounts,
}

#[derive(Default)]
struct List {
    /// The number of the last one that has begun.
    last: u64,
    in_progress: Vec<Firing>,
}

#[derive(Clone, Copy)]
struct Firing {
    number: u64,
    is_asked: bool,
}

impl Firings {
    /// Counts a firing that begins, and returns its number.
    pub(super) fn begin(&self) -> u64 {
        let mut list = self.list.lock();
        list.last += 1;
        let number = list.last;
        list.in_progress.push(Firing { number, is_asked: false });
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
        {
            let mut list = self.list.lock();
            let mut firings = list.in_progress.iter_mut();
            let Some(firing) = firings.find(|firing| firing.number == number) else { return };
            firing.is_asked = true;
            // ORDERING: release, so that a body that sees the request sees what its canceller did before.
            self.is_any_asked.store(true, Ordering::Release);
        }
        self.gates.open_all();
    }

    /// Returns true if a firing was asked to stop.
    pub(super) fn is_asked(&self, number: u64) -> bool {
        // ORDERING: acquire, see `ask`.
        if !self.is_any_asked.load(Ordering::Acquire) {
            return false;
        }
        let list = self.list.lock();
        list.in_progress.iter().any(|firing| firing.number == number && firing.is_asked)
    }

    pub(super) fn add_gate(&self, gate: &Arc<EventCount>) -> u64 {
        self.gates.add(gate)
    }

    pub(super) fn remove_gate(&self, number: u64) {
        self.gates.remove(number);
    }
}
