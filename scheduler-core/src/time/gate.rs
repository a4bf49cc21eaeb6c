//! The event count that everything waits on.

use std::time::Duration;

use crate::sync::Condvar;
use crate::sync::Mutex;

/// What a waiter saw of a [`Gate`] before it looked at what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u64);

/// An event count: it is opened, and whoever saw it earlier goes on.
///
/// ```
/// use scheduler_core::time::{Clock, Gate, SystemClock};
/// use std::sync::Arc;
///
/// let gate = Arc::new(Gate::new());
/// let seen = gate.epoch();              // first read the epoch,
/// gate.open();                          // (here another thread changes something)
/// SystemClock::new().wait(&gate, seen, None);   // then wait: the opening is not lost
/// ```
#[derive(Debug, Default)]
pub struct Gate {
    epoch: Mutex<u64>,
    opened: Condvar,
}

impl Gate {
    /// A gate that nobody waits at.
    #[must_use]
    pub fn new() -> Self {
        Self { epoch: Mutex::new(0), opened: Condvar::new() }
    }

    /// The present epoch; to be read before looking at what the gate announces.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        Epoch(*self.epoch.lock())
    }

    /// Starts a new epoch and lets every waiter go on.
    pub fn open(&self) {
        let mut epoch = self.epoch.lock();
        *epoch = epoch.wrapping_add(1);
        drop(epoch);
        self.opened.notify_all();
    }

    /// Waits until the epoch is no longer `seen`.
    pub(super) fn wait(&self, seen: Epoch) {
        let mut epoch = self.epoch.lock();
        while *epoch == seen.0 {
            epoch = self.opened.wait(epoch);
        }
    }

    /// Waits until the epoch is no longer `seen`, `timeout` has passed, or for no reason at all.
    pub(super) fn wait_timeout(&self, seen: Epoch, timeout: Duration) {
        let epoch = self.epoch.lock();
        if *epoch == seen.0 {
            drop(self.opened.wait_timeout(epoch, timeout));
        }
    }
}
