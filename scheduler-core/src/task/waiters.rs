//! The waiters for the end of a task: threads, wakers, callbacks.

use std::sync::Arc;
use std::task::Waker;
use std::{fmt, mem};

use super::state::TaskState;
use crate::sync::Mutex;
use crate::time::EventCount;
use crate::unwind::catch;

/// A callback that is called with the final state of a task, once.
pub(crate) type Callback = Box<dyn FnOnce(TaskState) + Send>;

/// The waiters for the end of one task.
#[derive(Default)]
pub(crate) struct Waiters {
    next_number: u64,
    list: Vec<(u64, Waiter)>,
}

/// A waiter for the end of a task.
pub(crate) enum Waiter {
    Thread(Arc<EventCount>),
    Future(Waker),
    Callback(Callback),
}

impl Waiters {
    /// Adds a waiter and returns the number under which it can leave again.
    pub(crate) fn add(&mut self, waiter: Waiter) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        // Most tasks have one waiter at most, and there may be very many tasks.
        if self.list.is_empty() {
            self.list.reserve_exact(1);
        }
        self.list.push((number, waiter));
        number
    }

    /// Takes a waiter out, if it is still here.
    #[must_use = "dropping a waker runs user code, which must not happen under a lock"]
    pub(crate) fn remove(&mut self, number: u64) -> Option<Waiter> {
        let index = self.list.iter().position(|(each, _)| *each == number)?;
        Some(self.list.swap_remove(index).1)
    }

    /// Takes all waiters out, in the order in which they came unless one was removed.
    #[must_use = "the waiters must be notified"]
    pub(crate) fn take(&mut self) -> Vec<(u64, Waiter)> {
        mem::take(&mut self.list)
    }
}

/// Notifies all waiters; a panic of a waker or a callback is contained.
#[inline]
pub(crate) fn notify(waiters: Vec<(u64, Waiter)>, state: TaskState) {
    if !waiters.is_empty() {
        notify_all(waiters, state);
    }
}

#[inline(never)]
fn notify_all(waiters: Vec<(u64, Waiter)>, state: TaskState) {
    for (_, waiter) in waiters {
        match waiter {
            Waiter::Thread(gate) => gate.open(),
            Waiter::Future(waker) => drop(catch(|| waker.wake())),
            Waiter::Callback(callback) => drop(catch(|| callback(state))),
        }
    }
}

/// The event counts of waiting threads, to be notified together.
#[derive(Default)]
pub(crate) struct EventCounts {
    list: Mutex<Vec<(u64, Arc<EventCount>)>>,
}

impl EventCounts {
    /// Adds a gate and returns the number under which it can leave again.
    pub(crate) fn add(&self, gate: &Arc<EventCount>) -> u64 {
        let mut list = self.list.lock();
        let number = list.last().map_or(0, |(last, _)| last + 1);
        list.push((number, Arc::clone(gate)));
        number
    }

    pub(crate) fn remove(&self, number: u64) {
        self.list.lock().retain(|(each, _)| *each != number);
    }

    /// Opens all gates; each waiter then checks what has changed.
    pub(crate) fn open_all(&self) {
        let gates: Vec<_> = self.list.lock().iter().map(|(_, gate)| Arc::clone(gate)).collect();
        for gate in gates {
            gate.open();
        }
    }
}

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("count", &self.list.len()).finish()
    }
}
