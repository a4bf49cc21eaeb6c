//! Plays any trace of operations on the wheel and on the heap: they agree in all that can be seen.
//!
//! Input: operations of ten bytes each: what, how often, and a number that is a due time or a choice.
#![cfg_attr(fuzzing, no_main)]

use scheduler_queue::{DelayQueue, HeapQueue, Key, Ticket, WheelQueue};

/// More operations than this from one input take too long.
const OPERATIONS_MAX: u64 = 20_000;

struct Pair {
    heap: HeapQueue<u64>,
    wheel: WheelQueue<u64>,
    tickets: Vec<(Ticket, Ticket)>,
    sequence: u64,
    now: u64,
}

impl Pair {
    fn push(&mut self, due: u64) {
        self.sequence += 1;
        let key = Key { due, sequence: self.sequence };
        let heap = self.heap.push(key, self.sequence);
        let wheel = self.wheel.push(key, self.sequence);
        self.tickets.push((heap, wheel));
    }

    fn pop(&mut self) {
        let popped = self.heap.pop();
        assert_eq!(self.wheel.pop(), popped);
        self.now = popped.map_or(self.now, |(key, _)| key.due);
    }

    fn remove(&mut self, choice: u64) {
        if self.tickets.is_empty() {
            return;
        }
        let (heap, wheel) = self.tickets[choice as usize % self.tickets.len()];
        assert_eq!(self.wheel.find(wheel), self.heap.find(heap));
        assert_eq!(self.wheel.remove(wheel), self.heap.remove(heap));
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
                6 => self.remove(number.wrapping_add(time)),
                _ => self.remove(spread),
            }
        }
        assert_eq!(self.wheel.len(), self.heap.len());
        assert_eq!(self.wheel.first(), self.heap.first());
    }
}

/// Some of the items, sorted, as they are extracted.
fn extracted(queue: &mut impl DelayQueue<u64>) -> Vec<(Key, u64)> {
    let mut out = queue.extract(&mut |key, item| (key.due ^ item).is_multiple_of(3));
    out.sort_unstable();
    out
}

/// The keys of all items, sorted.
fn keys(queue: &impl DelayQueue<u64>) -> Vec<Key> {
    let mut keys = Vec::new();
    queue.for_each(&mut |key, _| keys.push(key));
    keys.sort_unstable();
    keys
}

pub fn check(data: &[u8]) {
    let (heap, wheel) = (HeapQueue::new(), WheelQueue::new(|_| ()));
    let mut pair = Pair { heap, wheel, tickets: Vec::new(), sequence: 0, now: 0 };
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
            assert_eq!(extracted(&mut pair.wheel), extracted(&mut pair.heap));
        }
    }
    assert_eq!(keys(&pair.wheel), keys(&pair.heap));
    while !pair.heap.is_empty() {
        pair.pop();
    }
    assert_eq!(pair.wheel.pop(), None);
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check(data));
