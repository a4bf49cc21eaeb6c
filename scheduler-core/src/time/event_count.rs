//! The event count that every wait uses.

use std::time::Duration;

use crate::sync::{AtomicU64, Condvar, Mutex, Ordering};

/// The count of an [`EventCount`] that a waiter reads before it checks its condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u64);

/// An event count: opening it lets every waiter go on that saw an earlier epoch.
///
/// ```
/// use scheduler_core::time::{Clock, EventCount, SystemClock};
/// use std::sync::Arc;
///
/// let gate = Arc::new(EventCount::new());
/// let seen = gate.epoch();              // first read the epoch,
/// gate.open();                          // (here another thread changes something)
/// SystemClock::new().wait(&gate, seen, None);   // then wait: the opening is not lost
/// ```
#[derive(Debug, Default)]
pub struct EventCount {
    /// Changed under the lock only.
    epoch: AtomicU64,
    sleepers: Mutex<usize>,
    opened: Condvar,
}

impl EventCount {
    /// A gate without waiters.
    #[must_use]
    pub fn new() -> Self {
        Self { epoch: AtomicU64::new(0), sleepers: Mutex::new(0), opened: Condvar::new() }
    }

    /// The present epoch; to be read before looking at what the gate announces.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        // ORDERING: acquire, so that a thread that sees an opening sees what led to it.
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    /// Starts a new epoch and lets every waiter go on.
    pub fn open(&self) {
        let sleepers = self.sleepers.lock();
        // ORDERING: release, see `epoch`. Under the lock, so that no thread misses it and falls asleep.
        self.epoch.fetch_add(1, Ordering::Release);
        let has_sleepers = *sleepers > 0;
        drop(sleepers);
        if has_sleepers {
            self.opened.notify_all();
        }
    }

    /// Waits until the epoch is no longer `seen`.
    pub(super) fn wait(&self, seen: Epoch) {
        let mut sleepers = self.sleepers.lock();
        *sleepers += 1;
        while self.epoch() == seen {
            sleepers = self.opened.wait(sleepers);
        }
        *sleepers -= 1;
    }

    /// Waits until the epoch is no longer `seen`, `timeout` has passed, or for no reason at all.
    pub(super) fn wait_timeout(&self, seen: Epoch, timeout: Duration) {
        let mut sleepers = self.sleepers.lock();
        if self.epoch() == seen {
            *sleepers += 1;
            sleepers = self.opened.wait_timeout(sleepers, timeout);
            *sleepers -= 1;
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn who_waits_no_longer_is_not_counted_among_the_sleepers() {
        let gate = EventCount::new();
        let seen = gate.epoch();
        gate.wait_timeout(seen, Duration::ZERO);
        assert_eq!(*gate.sleepers.lock(), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| gate.wait(seen));
            while *gate.sleepers.lock() == 0 {
                std::thread::yield_now();
            }
            gate.open();
        });
        assert_eq!(*gate.sleepers.lock(), 0);
    }
}
