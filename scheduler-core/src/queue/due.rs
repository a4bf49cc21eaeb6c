//! Entries that are due, in their order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::entry::{ByKey, Entry, Key, NEVER};

/// Entries that are due.
///
/// Nearly all come in their order and stand in a line. One that comes before the last in line, because its submitter was slow or
/// its time has long passed, waits in a heap beside it.
#[derive(Debug)]
pub(super) struct DueQueue<T> {
    line: VecDeque<Entry<T>>,
    late: BinaryHeap<Reverse<ByKey<T>>>,
}

impl<T> DueQueue<T> {
    pub(super) fn new() -> Self {
        Self { line: VecDeque::new(), late: BinaryHeap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.line.len() + self.late.len()
    }

    #[inline]
    pub(super) fn push(&mut self, entry: Entry<T>) {
        if self.line.back().is_none_or(|last| last.key <= entry.key) {
            self.line.push_back(entry);
        } else {
            self.late.push(Reverse(ByKey(entry)));
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<Key> {
        let line = self.line.front().map(|entry| entry.key);
        match self.late.peek() {
            None => line,
            Some(Reverse(ByKey(late))) => Some(line.map_or(late.key, |line| line.min(late.key))),
        }
    }

    /// When the first entry is due, if it stands in line and nothing beside it.
    #[inline]
    pub(super) fn only_line(&self) -> Option<u64> {
        if self.late.is_empty() { self.line.front().map(|entry| entry.key.due) } else { None }
    }

    /// Takes the first entry in line.
    #[inline]
    pub(super) fn pop_line(&mut self) -> Option<Entry<T>> {
        self.line.pop_front()
    }

    /// Takes the first entry, if it is due at `now`.
    pub(super) fn pop_until(&mut self, now: u64) -> Option<Entry<T>> {
        let first = self.first().filter(|key| key.due <= now)?;
        if self.line.front().is_some_and(|entry| entry.key == first) {
            return self.line.pop_front();
        }
        self.late.pop().map(|Reverse(ByKey(entry))| entry)
    }

    /// When the first two are due; the second may be named too early.
    pub(super) fn first_two(&self) -> [u64; 2] {
        let due = |index: usize| self.line.get(index).map_or(NEVER, |entry| entry.key.due);
        match self.late.peek() {
            None => [due(0), due(1)],
            Some(Reverse(ByKey(late))) => {
                let late = late.key.due;
                [due(0).min(late), due(0).max(late).min(due(1)).min(late)]
            }
        }
    }

    pub(super) fn extract(
        &mut self,
        leaves: &mut impl FnMut(&Entry<T>) -> bool,
        out: &mut impl FnMut(Entry<T>),
    ) {
        for entry in std::mem::take(&mut self.line) {
            if leaves(&entry) {
                out(entry);
            } else {
                self.line.push_back(entry);
            }
        }
        for Reverse(ByKey(entry)) in std::mem::take(&mut self.late) {
            if leaves(&entry) {
                out(entry);
            } else {
                self.late.push(Reverse(ByKey(entry)));
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<T>> {
        self.line.iter().chain(self.late.iter().map(|Reverse(ByKey(entry))| entry))
    }
}
