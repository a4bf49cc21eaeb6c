//! The bounded queue between the listener and the thread of a monitor.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scheduler_core::time::EventCount;

use crate::ping::Ping;

/// The most items that wait.
pub(crate) const CAPACITY: usize = 1_024;

/// Work for the thread.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Ping(Ping),
    /// A task has ended.
    Ended(Arc<str>),
    /// The reason why the monitor gets no pings.
    Problem(String),
}

/// The items that came since the last look.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) items: VecDeque<Item>,
    /// The number of items that did not fit.
    pub(crate) dropped: u64,
    /// Pings that are held back are sent, too.
    pub(crate) is_flush: bool,
    /// Each ping has its last try.
    pub(crate) is_last: bool,
    pub(crate) is_closed: bool,
}

/// Items on their way to the thread. A full queue drops items, failures last.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: Mutex<Waiting>,
    /// Notified when the thread has finished a batch.
    settled: Condvar,
    /// Opened when there is something to look at.
    pub(crate) gate: Arc<EventCount>,
    pub(crate) counts: Counters,
}

#[derive(Debug, Default)]
struct Waiting {
    batch: Batch,
    /// The thread works on a batch.
    is_busy: bool,
}

/// Counts that anyone may read.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) coalesced: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

impl Inbox {
    /// Adds an item, or drops it if the queue is full. A quarter of the places is for urgent ones.
    pub(crate) fn push(&self, item: Item, is_urgent: bool) {
        let limit = if is_urgent { CAPACITY } else { CAPACITY - CAPACITY / 4 };
        let mut waiting = self.lock();
        if waiting.batch.items.len() < limit {
            waiting.batch.items.push_back(item);
        } else {
            waiting.batch.dropped += 1;
            // ORDERING: a count that nothing depends on.
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
        drop(waiting);
        self.gate.open();
    }

    /// Takes all items; the thread is busy until it calls [`rest`](Self::rest).
    pub(crate) fn take(&self) -> Batch {
        let mut waiting = self.lock();
        waiting.is_busy = true;
        let is_closed = waiting.batch.is_closed;
        mem::replace(&mut waiting.batch, Batch { is_closed, ..Batch::default() })
    }

    /// The thread has finished its batch.
    pub(crate) fn rest(&self) {
        self.lock().is_busy = false;
        self.settled.notify_all();
    }

    /// Asks for a last try of everything that waits or is held back.
    pub(crate) fn begin_flush(&self) {
        self.lock().batch.is_last = true;
        self.gate.open();
    }

    /// Waits until that is done, for at most so long. Returns false when that was too short.
    pub(crate) fn await_flush(&self, limit: Duration) -> bool {
        let is_at_work = |waiting: &mut Waiting| {
            waiting.is_busy || waiting.batch.is_last || !waiting.batch.items.is_empty()
        };
        let flushed = self.settled.wait_timeout_while(self.lock(), limit, is_at_work);
        !flushed.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Asks for the pings that are held back, without waiting.
    pub(crate) fn hurry(&self) {
        self.lock().batch.is_flush = true;
        self.gate.open();
    }

    /// Ends the thread once it has sent all pings.
    pub(crate) fn close(&self) {
        self.lock().batch.is_closed = true;
        self.gate.open();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
