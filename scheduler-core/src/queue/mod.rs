//! The queue of a pool, in the order of due time and submission.
//!
//! An entry is first in a `LaterQueue`, a radix heap; when its time comes it moves to the `DueQueue`, from which
//! workers take. The queue knows no task, no clock and no thread: an instant is a number, and
//! who takes says which instant has come.
//!
//! Time goes forward, so the queue is monotone: what is taken is never later than what is put in afterwards, but for
//! entries that are due already. The radix heap relies on that for its speed, not for its order.

mod due;
mod entry;
mod later;
#[cfg(test)]
mod tests;

use due::DueQueue;
pub(crate) use entry::ByKey;
pub use entry::{Entry, Key, NEVER};
use later::LaterQueue;

/// Entries in the order of their keys.
#[derive(Debug)]
pub struct Queue<T> {
    due: DueQueue<T>,
    later: LaterQueue<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { due: DueQueue::new(), later: LaterQueue::new() }
    }
}

impl<T> Queue<T> {
    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.due.len() + self.later.len()
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an entry in; `now` is an instant that has come.
    #[inline]
    pub fn push(&mut self, entry: Entry<T>, now: u64) {
        let due = entry.key.due;
        if due <= now.max(self.later.limit()) && due != NEVER {
            self.due.push(entry);
        } else {
            self.later.push(entry);
        }
    }

    /// Takes the first entry, if it is due at `now`.
    #[inline(always)]
    pub fn pop(&mut self, now: u64) -> Option<Entry<T>> {
        if let Some(first) = self.due.only_line().filter(|first| *first < self.later.first()) {
            return if first <= now { self.due.pop_line() } else { None };
        }
        self.open(now);
        self.due.pop_until(now)
    }

    /// The key of the first entry, if it is due at `now`.
    pub fn first_due(&mut self, now: u64) -> Option<Key> {
        self.open(now);
        self.due.first().filter(|key| key.due <= now)
    }

    /// Moves what is due and may be first to the due entries.
    fn open(&mut self, now: u64) {
        loop {
            let bound = self.due.first().map_or(now, |key| key.due.min(now));
            if self.later.first() > bound || self.later.first() == NEVER {
                return;
            }
            self.later.open(bound, &mut self.due);
        }
    }

    /// When the first entry is due, and the second; [`NEVER`] where there is none.
    ///
    /// The second may be named too early.
    #[must_use]
    pub fn first_two(&self) -> [u64; 2] {
        let [one, two] = self.due.first_two();
        let [three, four] = self.later.first_two();
        if one <= three { [one, two.min(three)] } else { [three, one.min(four)] }
    }

    /// Takes out the entries that `leaves` picks, and hands them to `out` in no particular order.
    pub fn extract(
        &mut self,
        mut leaves: impl FnMut(&Entry<T>) -> bool,
        mut out: impl FnMut(Entry<T>),
    ) {
        self.due.extract(&mut leaves, &mut out);
        self.later.extract(&mut leaves, &mut out);
    }

    /// Visits all entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Entry<T>> {
        self.due.iter().chain(self.later.iter())
    }
}
