//! An indexed 4-ary heap with inline keys.
//!
//! Keys and slot numbers lie in one flat vector that is sifted; items lie in a slab and never move.
//! Each slab slot knows where its key stands in the heap, so an item can be removed without a
//! search. Four children instead of two halve the depth: fewer cache lines per sift.

use crate::delay_queue::{DelayQueue, Key, Ticket};

const ARITY: usize = 4;

/// Generations take 30 bits of a ticket.
const GENERATIONS: u32 = 1 << 30;

/// The delay queue as an indexed 4-ary heap.
#[derive(Debug)]
pub struct HeapQueue<T> {
    /// INVARIANT: each entry's key is not before that of its parent at `(index - 1) / ARITY`.
    heap: Vec<Node>,
    /// INVARIANT: `slots[node.slot].position` is the index of that node in `heap`.
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    slot: u32,
}

#[derive(Debug)]
struct Slot<T> {
    /// Counts the items this slot has held, so that an old ticket does not fit a new item.
    generation: u32,
    position: u32,
    item: Option<T>,
}

impl<T> Default for HeapQueue<T> {
    fn default() -> Self {
        Self { heap: Vec::new(), slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> HeapQueue<T> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn occupy(&mut self, item: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize].item = Some(item);
            return slot;
        }
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 tasks are pending");
        self.slots.push(Slot { generation: 0, position: 0, item: Some(item) });
        slot
    }

    fn vacate(&mut self, slot: u32) -> Option<T> {
        let entry = &mut self.slots[slot as usize];
        entry.generation = (entry.generation + 1) % GENERATIONS;
        self.free.push(slot);
        entry.item.take()
    }

    fn locate(&self, ticket: Ticket) -> Option<u32> {
        let slot = ticket.0 as u32;
        let entry = self.slots.get(slot as usize)?;
        (entry.generation == (ticket.0 >> 32) as u32 && entry.item.is_some()).then_some(slot)
    }

    fn remove_at(&mut self, index: usize) -> Option<(Key, T)> {
        let node = self.heap.swap_remove(index);
        if index < self.heap.len() {
            let index = self.sift_down(index);
            self.sift_up(index);
        }
        self.vacate(node.slot).map(|item| (node.key, item))
    }

    fn place(&mut self, index: usize, node: Node) {
        self.heap[index] = node;
        self.slots[node.slot as usize].position = index as u32;
    }

    fn sift_up(&mut self, mut index: usize) {
        let node = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / ARITY;
            if self.heap[parent].key <= node.key {
                break;
            }
            self.place(index, self.heap[parent]);
            index = parent;
        }
        self.place(index, node);
    }

    fn sift_down(&mut self, mut index: usize) -> usize {
        let node = self.heap[index];
        loop {
            let first = index * ARITY + 1;
            let last = (first + ARITY).min(self.heap.len());
            let Some(least) = (first..last).min_by_key(|&child| self.heap[child].key) else {
                break;
            };
            if node.key <= self.heap[least].key {
                break;
            }
            self.place(index, self.heap[least]);
            index = least;
        }
        self.place(index, node);
        index
    }

    /// Restores the order of the whole heap in one pass.
    fn rebuild(&mut self) {
        for index in (0..self.heap.len()).rev() {
            self.sift_down(index);
        }
    }
}

impl<T> DelayQueue<T> for HeapQueue<T> {
    fn push(&mut self, key: Key, item: T) -> Ticket {
        let slot = self.occupy(item);
        self.heap.push(Node { key, slot });
        self.sift_up(self.heap.len() - 1);
        Ticket(u64::from(self.slots[slot as usize].generation) << 32 | u64::from(slot))
    }

    fn first(&mut self) -> Option<Key> {
        self.heap.first().map(|node| node.key)
    }

    fn second(&self) -> Option<Key> {
        self.heap.iter().skip(1).take(ARITY).map(|node| node.key).min()
    }

    fn pop(&mut self) -> Option<(Key, T)> {
        if self.heap.is_empty() { None } else { self.remove_at(0) }
    }

    fn remove(&mut self, ticket: Ticket) -> Option<T> {
        let slot = self.locate(ticket)?;
        let position = self.slots[slot as usize].position as usize;
        self.remove_at(position).map(|(_, item)| item)
    }

    fn find(&self, ticket: Ticket) -> Option<&T> {
        self.slots[self.locate(ticket)? as usize].item.as_ref()
    }

    fn extract(&mut self, leaves: &mut dyn FnMut(Key, &T) -> bool) -> Vec<(Key, T)> {
        let mut out = Vec::new();
        let mut kept = Vec::with_capacity(self.heap.len());
        for node in std::mem::take(&mut self.heap) {
            let goes = self.slots[node.slot as usize]
                .item
                .as_ref()
                .is_some_and(|item| leaves(node.key, item));
            if goes {
                out.extend(self.vacate(node.slot).map(|item| (node.key, item)));
            } else {
                kept.push(node);
            }
        }
        self.heap = kept;
        self.rebuild();
        out
    }

    fn for_each(&self, visit: &mut dyn FnMut(Key, &T)) {
        for node in &self.heap {
            if let Some(item) = &self.slots[node.slot as usize].item {
                visit(node.key, item);
            }
        }
    }

    fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::delay_queue::{DelayQueue, Key, Ticket};
    use crate::heap::HeapQueue;
    use proptest::prelude::*;

    fn key(due: u64, sequence: u64) -> Key {
        Key { due, sequence }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Push(u64),
        Pop,
        Remove(usize),
        RemoveStale(usize),
        ExtractOdd,
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let due = prop_oneof![0..8u64, Just(u64::MAX), any::<u64>()];
        let op = prop_oneof![
            4 => due.prop_map(Op::Push),
            3 => Just(Op::Pop),
            2 => any::<usize>().prop_map(Op::Remove),
            1 => any::<usize>().prop_map(Op::RemoveStale),
            1 => Just(Op::ExtractOdd),
        ];
        prop::collection::vec(op, 0..200)
    }

    proptest! {
        /// Against the slowest queue there is: a vector that is searched.
        #[test]
        fn every_operation_agrees_with_a_searched_vector(ops in ops()) {
            let mut queue = HeapQueue::new();
            let mut model: Vec<(Key, Ticket)> = Vec::new();
            let mut gone: Vec<Ticket> = Vec::new();
            for (sequence, op) in (0u64..).zip(ops) {
                match op {
                    Op::Push(due) => {
                        let key = key(due, sequence);
                        let ticket = queue.push(key, sequence);
                        model.push((key, ticket));
                    }
                    Op::Pop => {
                        let first = model.iter().min_by_key(|(key, _)| *key).copied();
                        model.retain(|entry| Some(*entry) != first);
                        gone.extend(first.map(|(_, ticket)| ticket));
                        prop_assert_eq!(queue.pop(), first.map(|(key, _)| (key, key.sequence)));
                    }
                    Op::Remove(pick) if !model.is_empty() => {
                        let (key, ticket) = model.swap_remove(pick % model.len());
                        prop_assert_eq!(queue.find(ticket), Some(&key.sequence));
                        prop_assert_eq!(queue.remove(ticket), Some(key.sequence));
                        gone.push(ticket);
                    }
                    Op::RemoveStale(pick) if !gone.is_empty() => {
                        let ticket = gone[pick % gone.len()];
                        prop_assert_eq!(queue.find(ticket), None);
                        prop_assert_eq!(queue.remove(ticket), None);
                    }
                    Op::ExtractOdd => {
                        let mut out = queue.extract(&mut |key, _| key.sequence % 2 == 1);
                        out.sort();
                        let mut odd: Vec<_> =
                            model.iter().filter(|(key, _)| key.sequence % 2 == 1).copied().collect();
                        odd.sort_by_key(|(key, _)| *key);
                        model.retain(|(key, _)| key.sequence % 2 == 0);
                        gone.extend(odd.iter().map(|(_, ticket)| *ticket));
                        let odd: Vec<_> = odd.iter().map(|(key, _)| (*key, key.sequence)).collect();
                        prop_assert_eq!(out, odd);
                    }
                    Op::Remove(_) | Op::RemoveStale(_) => {}
                }
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.first(), model.iter().map(|(key, _)| *key).min());
            }
        }
    }

    #[test]
    fn equal_times_leave_in_the_order_of_their_sequence() {
        let mut queue = HeapQueue::new();
        for sequence in 0..100 {
            queue.push(key(7, sequence), sequence);
        }
        queue.push(key(u64::MAX, 100), 100);
        let order: Vec<u64> =
            std::iter::from_fn(|| queue.pop()).map(|(_, sequence)| sequence).collect();
        assert_eq!(order, (0..=100).collect::<Vec<_>>());
    }

    #[test]
    fn no_ticket_fits_an_empty_queue() {
        let mut queue: HeapQueue<()> = HeapQueue::new();
        assert_eq!(queue.remove(Ticket::NONE), None);
        assert_eq!(queue.find(Ticket::from_bits(0)), None);
    }
}
