//! Plays any trace of operations on the wheel and on the heap: they agree in all that can be seen.
//!
//! Input: operations of ten bytes each: what, how often, and a number that is a due time or a choice.

use scheduler_core::probe::Probe;

/// More operations than this from one input take too long.
const OPERATIONS_MAX: u64 = 20_000;

struct Pair {
    heap: Probe<u64>,
    wheel: Probe<u64>,
    tickets: Vec<(u64, u64)>,
    sequence: u64,
    now: u64,
}

impl Pair {
    fn push(&mut self, due: u64) {
        self.sequence += 1;
        let heap = self.heap.push(due, self.sequence, self.sequence);
        let wheel = self.wheel.push(due, self.sequence, self.sequence);
        self.tickets.push((heap, wheel));
    }

    fn pop(&mut self) {
        let popped = self.heap.pop();
        assert_eq!(self.wheel.pop(), popped);
        self.now = popped.map_or(self.now, |(due, _, _)| due);
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

pub fn check(data: &[u8]) {
    let (heap, wheel) = (Probe::heap(), Probe::wheel());
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
            let leaves = |due: u64, item: &u64| (due ^ item).is_multiple_of(3);
            assert_eq!(pair.wheel.extract(leaves), pair.heap.extract(leaves));
        }
    }
    assert_eq!(pair.wheel.keys(), pair.heap.keys());
    while !pair.heap.is_empty() {
        pair.pop();
    }
    assert_eq!(pair.wheel.pop(), None);
}
