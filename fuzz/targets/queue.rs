//! Plays any trace of operations on the queue and on a `BTreeSet`: they agree in all that can be seen.
//!
//! Input: operations of ten bytes each: what, how often, and a number that is a due time or a choice.
#![cfg_attr(fuzzing, no_main)]

use std::collections::BTreeSet;

use scheduler_core::queue::{Entry, Key, NEVER, Queue};

/// More operations than this from one input take too long.
const OPERATIONS_MAX: u64 = 20_000;

#[derive(Default)]
struct Pair {
    queue: Queue<u64>,
    model: BTreeSet<Key>,
    sequence: u64,
    now: u64,
}

impl Pair {
    fn push(&mut self, due: u64) {
        self.sequence += 1;
        let key = Key { due, sequence: self.sequence };
        self.queue.push(Entry { key, item: self.sequence }, self.now);
        assert!(self.model.insert(key));
    }

    /// The first entry, if it is due.
    fn first_due(&self) -> Option<Key> {
        self.model.first().copied().filter(|key| key.due <= self.now && key.due != NEVER)
    }

    fn pop(&mut self) {
        let first = self.first_due();
        assert_eq!(self.queue.first_due(self.now), first);
        let popped = self.queue.pop(self.now);
        assert_eq!(
            popped.as_ref().map(|entry| (entry.key, entry.item)),
            first.map(|key| (key, key.sequence))
        );
        if let Some(key) = first {
            self.model.remove(&key);
        }
    }

    /// Takes some out, whatever their time.
    fn extract(&mut self, number: u64) {
        let leaves = |key: Key| (key.due ^ key.sequence ^ number).is_multiple_of(3);
        let mut out = BTreeSet::new();
        self.queue.extract(|entry| leaves(entry.key), |entry| assert!(out.insert(entry.key)));
        let expected: BTreeSet<Key> =
            self.model.iter().copied().filter(|key| leaves(*key)).collect();
        assert_eq!(out, expected);
        self.model.retain(|key| !leaves(*key));
    }

    /// Time goes to the first entry, or by so much.
    fn pass(&mut self, by: u64) {
        let first = self.model.first().map_or(self.now, |key| key.due);
        self.now = self.now.max(if by == 0 { first } else { self.now.saturating_add(by) });
    }

    fn apply(&mut self, what: u8, times: u64, number: u64) {
        for time in 0..times {
            // The more often, the further apart: from equal times to very different ones.
            let spread = number.wrapping_mul(time.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
            match what % 8 {
                0 => self.push(number),
                1 => self.push(self.now.saturating_add(number.wrapping_add(time))),
                2 => self.push(self.now.saturating_sub(number.wrapping_add(time))),
                3 => self.push(spread),
                4 => self.push(self.now.saturating_add(spread >> (number % 64))),
                5 => self.pop(),
                6 => self.pass(0),
                _ => self.pass(spread >> (number % 64)),
            }
        }
        self.check();
    }

    /// The first two times: the second may be named too early.
    fn check(&self) {
        assert_eq!(
            (self.queue.len(), self.queue.is_empty()),
            (self.model.len(), self.model.is_empty())
        );
        let mut dues = self.model.iter().map(|key| key.due);
        let [first, second] = self.queue.first_two();
        assert_eq!(first, dues.next().unwrap_or(NEVER));
        assert!(first <= second && second <= dues.next().unwrap_or(NEVER));
    }
}

pub fn check(data: &[u8]) {
    let mut pair = Pair::default();
    let mut operations = 0;
    for op in data.chunks_exact(10) {
        let number = op[2..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        // The upper half of the range is for many at once.
        let times = if op[1] < 128 { 1 } else { 1 << (op[1] % 14) };
        operations += times;
        if operations > OPERATIONS_MAX {
            break;
        }
        pair.apply(op[0], times, number);
        if op[0] >= 250 {
            pair.extract(number);
        }
    }
    let mut keys: Vec<Key> = pair.queue.iter().map(|entry| entry.key).collect();
    keys.sort_unstable();
    assert!(keys.iter().eq(&pair.model));
    pair.now = NEVER;
    while pair.first_due().is_some() {
        pair.pop();
    }
    assert!(pair.queue.pop(NEVER).is_none(), "what is due at the end of time is never taken");
    pair.check();
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check(data));
