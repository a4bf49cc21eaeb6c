//! The firings of a timer that are in progress, and the requests to stop them.

use std::sync::Arc;

use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::time::Gate;

/// The firings of one timer.
///
/// INVARIANT: the lock is an innermost one; gates are opened after it is given back.
#[derive(Default)]
pub(super) struct Firings {
    list: Mutex<List>,
    /// Whether any firing in progress, or every one, was asked to stop; changed under the lock only.
    is_any_asked: AtomicBool,
}

#[derive(Default)]
struct List {
    /// The number of the last one that has begun.
    last: u64,
    in_progress: Vec<Firing>,
    is_every_asked: bool,
    /// Opened when a firing is asked to stop, by number; each waiter then checks whether it was its own.
    gates: Vec<(u64, Arc<Gate>)>,
    next_gate: u64,
}

#[derive(Clone, Copy)]
struct Firing {
    number: u64,
    is_asked: bool,
}

impl List {
    fn find(&mut self, number: u64) -> Option<&mut Firing> {
        self.in_progress.iter_mut().find(|firing| firing.number == number)
    }

    fn gates(&self) -> Vec<Arc<Gate>> {
        self.gates.iter().map(|(_, gate)| Arc::clone(gate)).collect()
    }
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
            let is_any_asked =
                list.is_every_asked || list.in_progress.iter().any(|firing| firing.is_asked);
            self.is_any_asked.store(is_any_asked, Ordering::Release);
        }
    }

    /// Asks one firing to stop, if it is in progress.
    pub(super) fn ask(&self, number: u64) {
        let gates = {
            let mut list = self.list.lock();
            let Some(firing) = list.find(number) else { return };
            firing.is_asked = true;
            // ORDERING: release, so that a body that sees the request sees what its canceller did before.
            self.is_any_asked.store(true, Ordering::Release);
            list.gates()
        };
        gates.iter().for_each(|gate| gate.open());
    }

    /// Asks every firing to stop, those in progress and those to come.
    pub(super) fn ask_every(&self) {
        let gates = {
            let mut list = self.list.lock();
            list.is_every_asked = true;
            // ORDERING: release, see `ask`.
            self.is_any_asked.store(true, Ordering::Release);
            list.gates()
        };
        gates.iter().for_each(|gate| gate.open());
    }

    pub(super) fn is_any_asked(&self) -> bool {
        // ORDERING: acquire, see `ask`.
        self.is_any_asked.load(Ordering::Acquire)
    }

    /// Returns true if a firing was asked to stop.
    pub(super) fn is_asked(&self, number: u64) -> bool {
        if !self.is_any_asked() {
            return false;
        }
        let mut list = self.list.lock();
        list.is_every_asked || list.find(number).is_some_and(|firing| firing.is_asked)
    }

    pub(super) fn add_gate(&self, gate: &Arc<Gate>) -> u64 {
        let mut list = self.list.lock();
        let number = list.next_gate;
        list.next_gate += 1;
        list.gates.push((number, Arc::clone(gate)));
        number
    }

    pub(super) fn remove_gate(&self, number: u64) {
        self.list.lock().gates.retain(|(each, _)| *each != number);
    }
}
