//! A small 4-ary heap with inline keys, for entries that come when their neighbours are sorted already.

use super::entry::Entry;

const ARITY: usize = 4;

/// Entries in the order of a heap, some of them dead.
#[derive(Debug, Default)]
pub(super) struct Overflow {
    /// INVARIANT: no entry is before its parent at `(index - 1) / ARITY`.
    heap: Vec<Entry>,
}

impl Overflow {
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) fn first(&self) -> Option<&Entry> {
        self.heap.first()
    }

    pub(super) fn second(&self) -> Option<&Entry> {
        self.least_child(0).map(|child| &self.heap[child])
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.heap.push(entry);
        let mut index = self.heap.len() - 1;
        while index > 0 {
            let parent = (index - 1) / ARITY;
            if self.heap[parent].rank() <= entry.rank() {
                break;
            }
            self.heap[index] = self.heap[parent];
            index = parent;
        }
        self.heap[index] = entry;
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else { return Some(last) };
        let mut index = 0;
        while let Some(least) = self.least_child(index) {
            if last.rank() <= self.heap[least].rank() {
                break;
            }
            self.heap[index] = self.heap[least];
            index = least;
        }
        self.heap[index] = last;
        Some(first)
    }

    fn least_child(&self, index: usize) -> Option<usize> {
        let first = index * ARITY + 1;
        let last = (first + ARITY).min(self.heap.len());
        (first..last).min_by_key(|&child| self.heap[child].rank())
    }

    /// Takes all entries out, in no order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Entry> {
        self.heap.drain(..)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.heap.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_leave_in_order(dues in prop::collection::vec(0..50u64, 0..300), pops in 0..300usize) {
            let mut overflow = Overflow::default();
            let mut sorted: Vec<Entry> = Vec::new();
            for (sequence, due) in (0..).zip(dues) {
                overflow.push(Entry::sample(due, sequence));
                sorted.push(Entry::sample(due, sequence));
            }
            sorted.sort_by_key(Entry::rank);
            for expected in sorted.iter().take(pops) {
                prop_assert_eq!(overflow.first().map(Entry::rank), Some(expected.rank()));
                prop_assert_eq!(overflow.pop().map(|entry| entry.rank()), Some(expected.rank()));
            }
            let mut left: Vec<u128> = overflow.drain().map(|entry| entry.rank()).collect();
            left.sort_unstable();
            prop_assert!(left.into_iter().eq(sorted.iter().skip(pops).map(Entry::rank)));
        }
    }
}
