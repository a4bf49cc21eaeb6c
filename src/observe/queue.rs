//! The bounded queue between the scheduler and the listeners of the program.
//!
//! A model checker explores this file by itself: `scheduler-core/tests/loom/events.rs` mounts it on locks of
//! the checker, with room for one event, and can plant bugs.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

#[cfg(not(loom))]
use crate::sync as platform;
use platform::Condvar;
use platform::Mutex;
use platform::MutexGuard;

use super::Event;
#[cfg(loom)]
use super::planted;
#[cfg(loom)]
use super::platform;

/// How many events wait for the listeners at most.
pub(super) const CAPACITY: usize = if cfg!(loom) { 1 } else { 1_024 };

/// Whether the bug of this name is planted: never in a build that is used.
#[cfg(not(loom))]
const fn planted(_bug: &str) -> bool {
    false
}

/// Events on their way to whoever delivers them; a full queue drops new ones and counts them.
///
/// INVARIANT: at most one thread delivers at a time, so that each listener hears events in order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// Events that were dropped after the last one that waits.
    lost: u64,
    is_delivering: bool,
    is_closed: bool,
}

impl Waiting {
    /// The next event in order: those that were dropped are told of where they are missing.
    fn next(&mut self) -> Option<Event> {
        let next = self.events.pop_front().or_else(|| self.take_lost());
        self.is_delivering = next.is_some() && !planted("L13 flush");
        next
    }

    fn take_lost(&mut self) -> Option<Event> {
        let count = std::mem::take(&mut self.lost);
        (count > 0).then_some(Event::Lost { count })
    }

    fn is_idle(&self) -> bool {
        self.events.is_empty() && self.lost == 0 && !self.is_delivering
    }
}

impl Queue {
    pub(super) fn push(&self, event: Event) {
        let mut waiting = self.lock();
        if waiting.events.len() >= CAPACITY {
            waiting.lost += u64::from(!planted("L13"));
            return;
        }
        let lost = waiting.take_lost();
        waiting.events.extend(lost);
        waiting.events.push_back(event);
        drop(waiting);
        self.changed.notify_all();
    }

    /// The next event, awaited; none when the queue is closed and empty. The one before is delivered.
    pub(super) fn wait(&self) -> Option<Event> {
        let mut waiting = self.lock();
        loop {
            if let Some(next) = waiting.next() {
                return Some(next);
            }
            self.changed.notify_all();
            if waiting.is_closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has all events that wait delivered by the calling thread, unless one is at it already.
    pub(super) fn drain(&self, deliver: impl Fn(&Event)) {
        let mut waiting = self.lock();
        if waiting.is_delivering && !planted("L13 turn") {
            return;
        }
        while let Some(event) = waiting.next() {
            drop(waiting);
            deliver(&event);
            waiting = self.lock();
        }
    }

    /// Waits until everything is delivered, and says whether it is.
    pub(super) fn flush(&self, limit: Duration) -> bool {
        let waiting = self.lock();
        let flushed = self.changed.wait_timeout_while(waiting, limit, |waiting| !waiting.is_idle());
        flushed.unwrap_or_else(PoisonError::into_inner).0.is_idle()
    }

    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
