//! The queue against a `BTreeMap`, and at its edges.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Entry, Key, NEVER, Queue};

/// An operation on the queue.
#[derive(Clone, Debug)]
enum Op {
    /// An entry comes that is due so much later than now.
    Push(u64),
    /// An entry comes that was due so long ago.
    PushLate(u64),
    /// Time passes.
    Pass(u64),
    Pop,
    /// Entries leave whose number leaves no rest.
    Extract(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let delay = (0u32..64, any::<u64>()).prop_map(|(bits, random)| random >> bits);
    prop_oneof![
        6 => delay.clone().prop_map(Op::Push),
        2 => (0u64..5).prop_map(Op::Push),
        1 => Just(Op::Push(NEVER)),
        1 => delay.clone().prop_map(Op::PushLate),
        3 => (0u32..40, any::<u64>()).prop_map(|(bits, random)| Op::Pass(random >> 24 >> bits)),
        8 => Just(Op::Pop),
        1 => (2u64..5).prop_map(Op::Extract),
    ]
}

/// The queue and what it has to hold.
#[derive(Default)]
struct Pair {
    queue: Queue<u64>,
    model: BTreeMap<Key, u64>,
    now: u64,
    sequence: u64,
}

impl Pair {
    fn push(&mut self, due: u64) {
        self.sequence += 1;
        let key = Key { due, sequence: self.sequence };
        self.queue.push(Entry { key, item: self.sequence }, self.now);
        self.model.insert(key, self.sequence);
    }

    fn take(&mut self, op: &Op) {
        match *op {
            Op::Push(delay) => self.push(self.now.saturating_add(delay)),
            Op::PushLate(by) => self.push(self.now.saturating_sub(by)),
            Op::Pass(by) => self.now = self.now.saturating_add(by),
            Op::Pop => {
                let first = self.model.first_key_value();
                let expected = first.map(|(key, item)| (*key, *item));
                let expected = expected.filter(|(key, _)| key.due <= self.now && key.due != NEVER);
                let popped = self.queue.pop(self.now).map(|entry| (entry.key, entry.item));
                assert_eq!(popped, expected);
                if let Some((key, _)) = popped {
                    self.model.remove(&key);
                }
            }
            Op::Extract(by) => {
                let mut out = Vec::new();
                self.queue
                    .extract(|entry| entry.item.is_multiple_of(by), |entry| out.push(entry.key));
                out.sort_unstable();
                let mut leaving = Vec::new();
                self.model.retain(|key, item| {
                    let leaves = item.is_multiple_of(by);
                    leaving.extend(leaves.then_some(*key));
                    !leaves
                });
                assert_eq!(out, leaving);
            }
        }
        self.check();
    }

    fn check(&self) {
        let mut dues = self.model.keys().map(|key| key.due);
        let [first, second] = self.queue.first_two();
        assert_eq!(first, dues.next().unwrap_or(NEVER));
        assert!((first..=dues.next().unwrap_or(NEVER)).contains(&second));
        assert_eq!(self.queue.len(), self.model.len());
    }
}

proptest! {
    #[test]
    fn entries_leave_in_the_order_of_their_keys(ops in vec(op(), 0..400), start in any::<u64>()) {
        let mut pair = Pair { now: start >> 20, ..Pair::default() };
        for op in &ops {
            pair.take(op);
        }
        pair.now = NEVER;
        while pair.model.first_key_value().is_some_and(|(key, _)| key.due != NEVER) {
            pair.take(&Op::Pop);
        }
        pair.take(&Op::Pop);
        prop_assert_eq!(pair.queue.iter().count(), pair.model.len());
    }
}

#[test]
fn entries_at_one_instant_leave_in_the_order_of_submission() {
    let mut pair = Pair::default();
    for _ in 0..100_000 {
        pair.sequence += 1;
        let key = Key { due: 1 << 40, sequence: pair.sequence };
        pair.queue.push(Entry { key, item: pair.sequence }, 0);
    }
    assert!(pair.queue.pop((1 << 40) - 1).is_none());
    for expected in 1..=100_000 {
        assert_eq!(pair.queue.pop(1 << 40).map(|entry| entry.item), Some(expected));
    }
    assert!(pair.queue.is_empty());
}

#[test]
fn an_entry_that_is_never_due_is_never_taken() {
    let mut pair = Pair::default();
    pair.push(NEVER);
    pair.push(NEVER - 1);
    pair.now = NEVER;
    pair.push(NEVER);
    pair.take(&Op::Pop);
    pair.take(&Op::Pop);
    assert_eq!((pair.queue.len(), pair.queue.first_two()), (2, [NEVER; 2]));
}

#[test]
fn the_second_due_time_is_known_across_buckets() {
    let mut queue = Queue::default();
    for (sequence, due) in (0..).zip([1 << 50, 1 << 30, 5_000, 4_000]) {
        queue.push(Entry { key: Key { due, sequence }, item: () }, 0);
    }
    for expected in [[4_000, 5_000], [5_000, 1 << 30], [1 << 30, 1 << 50], [1 << 50, NEVER]] {
        assert_eq!(queue.first_two(), expected);
        queue.pop(NEVER);
    }
}
