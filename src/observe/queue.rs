//! The bounded queue before the threads for listeners and for messages.
//!
//! `scheduler-core/tests/loom/events.rs` checks this file on the locks of a model checker, with room for one event.

use std::collections::VecDeque;
use std::mem;
use std::sync::PoisonError;
use std::time::Duration;

#[cfg(not(loom))]
use crate::base::sync::platform;
use platform::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
use super::platform;

/// The most items that wait.
pub(crate) const CAPACITY: usize = if cfg!(loom) { 1 } else { 1_024 };

/// The order in which a full queue drops items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Comes with every run. Leaves a quarter of the queue to others.
    Low,
    /// A failure, or a rare kind. Leaves a sixteenth of the queue to others.
    Normal,
    /// Comes once or twice in the life of a scheduler.
    High,
}

impl Priority {
    fn room(self) -> usize {
        match self {
            Self::Low => CAPACITY - CAPACITY / 4,
            Self::Normal => CAPACITY - CAPACITY / 16,
            Self::High => CAPACITY,
        }
    }
}

/// The content of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    Item(T),
    /// The number of items that were dropped here.
    Lost(u64),
}

/// Items on their way to the thread that delivers them; a full queue drops new ones and counts them.
///
/// INVARIANT: at most one thread delivers at a time, so that items are delivered in order.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Waiting<T> {
    items: VecDeque<Next<T>>,
    /// Items that were dropped after the last one that waits.
    lost: u64,
    is_delivering: bool,
    is_closed: bool,
    /// True if the thread in `wait` sleeps: to wake a thread is a system call, also where none sleeps.
    is_asleep: bool,
}

impl<T> Waiting<T> {
    /// The next item in order; dropped ones are counted at their place.
    fn next(&mut self) -> Option<Next<T>> {
        let next = self.items.pop_front().or_else(|| self.take_lost());
        self.is_delivering = next.is_some();
        next
    }

    fn take_lost(&mut self) -> Option<Next<T>> {
        let count = mem::take(&mut self.lost);
        (count > 0).then_some(Next::Lost(count))
    }

    fn is_idle(&self) -> bool {
        self.items.is_empty() && self.lost == 0 && !self.is_delivering
    }
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        let waiting = Waiting {
            items: VecDeque::new(),
            lost: 0,
            is_delivering: false,
            is_closed: false,
            is_asleep: false,
        };
        Self { waiting: Mutex::new(waiting), changed: Condvar::default() }
    }

    pub(crate) fn push(&self, item: T, priority: Priority) {
        let mut waiting = self.lock();
        if waiting.items.len() >= priority.room() {
            waiting.lost += 1;
            return;
        }
        let lost = waiting.take_lost();
        waiting.items.extend(lost);
        waiting.items.push_back(Next::Item(item));
        let is_asleep = mem::take(&mut waiting.is_asleep);
        drop(waiting);
        if is_asleep {
            self.changed.notify_all();
        }
    }

    /// Waits for the next item; `None` if the queue is closed and empty. Marks the item before as delivered.
    pub(crate) fn wait(&self) -> Option<Next<T>> {
        let mut waiting = self.lock();
        loop {
            if let Some(next) = waiting.next() {
                return Some(next);
            }
            self.changed.notify_all();
            if waiting.is_closed {
                return None;
            }
            waiting.is_asleep = true;
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Delivers all waiting items on the calling thread, unless another call is doing so.
    pub(crate) fn drain(&self, deliver: impl Fn(Next<T>)) {
        let mut waiting = self.lock();
        if waiting.is_delivering {
            return;
        }
        while let Some(next) = waiting.next() {
            drop(waiting);
            deliver(next);
            waiting = self.lock();
        }
    }

    /// Waits until all is delivered. Returns false when `limit` is over.
    pub(crate) fn flush(&self, limit: Duration) -> bool {
        let waiting = self.lock();
        let flushed = self.changed.wait_timeout_while(waiting, limit, |waiting| !waiting.is_idle());
        flushed.unwrap_or_else(PoisonError::into_inner).0.is_idle()
    }

    /// Drops all items that wait, and delivers their number in their place. Returns it.
    pub(crate) fn give_up(&self) -> u64 {
        let mut waiting = self.lock();
        let items = mem::take(&mut waiting.items);
        let counts = items.iter().map(|next| if let Next::Lost(count) = next { *count } else { 1 });
        waiting.lost += counts.sum::<u64>();
        waiting.lost
    }

    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
