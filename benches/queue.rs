//! The queues of the engine: the exact wheel and the indexed heap, beside the heap of `std`.
//!
//! `cargo bench -p benches --bench queue`. With `SCHEDULER_BENCH_HUGE=1` there
//! are 10^7 pending items, too. Due times are long delays, uniform between a second and an hour; `std`'s
//! heap cannot cancel, so it has no part where that is asked for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divan::{Bencher, black_box};
use scheduler_queue::{DelayQueue, HeapQueue, Key, Ticket, WheelQueue};

fn main() {
    divan::main();
}

const SECOND: u64 = 1_000_000_000;

/// Operations of one sample.
const OPS: u64 = 1000;

fn sizes() -> impl Iterator<Item = u64> {
    let huge = std::env::var_os("SCHEDULER_BENCH_HUGE").map(|_| 10_000_000);
    [1000, 100_000, 1_000_000].into_iter().chain(huge)
}

/// Which queue: the wheel, the heap, or that of `std`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Wheel,
    Heap,
    Std,
}

/// A queue and how many items are pending.
#[derive(Clone, Copy)]
struct Case(Kind, u64);

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>8} {:?}", self.1, self.0)
    }
}

fn cases() -> impl Iterator<Item = Case> {
    sizes().flat_map(|size| [Kind::Wheel, Kind::Heap, Kind::Std].map(|kind| Case(kind, size)))
}

fn cancelling_cases() -> impl Iterator<Item = Case> {
    cases().filter(|case| case.0 != Kind::Std)
}

/// The generator of Steele, Lea and Flood.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn long_delay(&mut self) -> u64 {
        SECOND + self.next() % (3599 * SECOND)
    }
}

enum Queue {
    Own(Box<dyn DelayQueue<u64>>),
    Std(BinaryHeap<Reverse<(u64, u64, u64)>>),
}

/// A queue in use.
struct Stage {
    queue: Queue,
    random: SplitMix,
    tickets: Vec<Ticket>,
    sequence: u64,
}

impl Stage {
    fn empty(kind: Kind) -> Self {
        let queue = match kind {
            Kind::Wheel => Queue::Own(Box::new(WheelQueue::new(|_| ()))),
            Kind::Heap => Queue::Own(Box::new(HeapQueue::new())),
            Kind::Std => Queue::Std(BinaryHeap::new()),
        };
        Self { queue, random: SplitMix(42), tickets: Vec::new(), sequence: 0 }
    }

    fn filled(Case(kind, size): Case) -> Self {
        let mut stage = Self::empty(kind);
        for _ in 0..size {
            let due = stage.random.long_delay();
            let ticket = stage.push(due);
            stage.tickets.push(ticket);
        }
        stage
    }

    fn push(&mut self, due: u64) -> Ticket {
        self.sequence += 1;
        match &mut self.queue {
            Queue::Own(queue) => queue.push(Key { due, sequence: self.sequence }, due),
            Queue::Std(queue) => {
                queue.push(Reverse((due, self.sequence, due)));
                Ticket::NONE
            }
        }
    }

    fn pop(&mut self) -> Option<u64> {
        match &mut self.queue {
            Queue::Own(queue) => queue.pop().map(|(key, _)| key.due),
            Queue::Std(queue) => queue.pop().map(|Reverse((due, _, _))| due),
        }
    }

    fn cancel_and_push(&mut self) {
        let index = self.random.next() as usize % self.tickets.len();
        let due = self.random.long_delay();
        let ticket = self.push(due);
        let old = std::mem::replace(&mut self.tickets[index], ticket);
        if let Queue::Own(queue) = &mut self.queue {
            black_box(queue.remove(old));
            black_box(queue.first());
        }
    }

    fn push_and_cancel_it(&mut self) {
        let due = 30 * SECOND + self.sequence;
        let ticket = self.push(due);
        if let Queue::Own(queue) = &mut self.queue {
            black_box(queue.first());
            black_box(queue.remove(ticket));
        }
    }

    fn pop_and_push(&mut self) {
        let due = self.pop().unwrap_or_default() + self.random.long_delay();
        self.push(due);
    }
}

/// Fills an empty queue, and drops it.
#[divan::bench(args = cases(), sample_count = 5, sample_size = 1)]
fn push(bencher: Bencher, case: Case) {
    bencher.counter(case.1).bench(|| Stage::filled(case));
}

/// Cancels any pending item, and pushes another.
#[divan::bench(args = cancelling_cases(), sample_count = 200, sample_size = 1)]
fn push_and_cancel(bencher: Bencher, case: Case) {
    let mut stage = Stage::filled(case);
    bencher.counter(OPS).bench_local(|| (0..OPS).for_each(|_| stage.cancel_and_push()));
}

/// Pushes an item that is due in half a minute, and cancels it, as with time-outs that never come.
#[divan::bench(args = cancelling_cases(), sample_count = 200, sample_size = 1)]
fn time_out(bencher: Bencher, case: Case) {
    let mut stage = Stage::filled(case);
    bencher.counter(OPS).bench_local(|| (0..OPS).for_each(|_| stage.push_and_cancel_it()));
}

/// Pops the first item, and pushes it again with a new delay.
#[divan::bench(args = cases(), sample_count = 200, sample_size = 1)]
fn pop_and_push(bencher: Bencher, case: Case) {
    let mut stage = Stage::filled(case);
    bencher.counter(OPS).bench_local(|| (0..OPS).for_each(|_| stage.pop_and_push()));
}

/// Takes everything out in order.
#[divan::bench(args = cases(), sample_count = 5, sample_size = 1)]
fn drain(bencher: Bencher, case: Case) {
    let filled = bencher.counter(case.1).with_inputs(|| Stage::filled(case));
    filled.bench_local_values(|mut stage| while black_box(stage.pop()).is_some() {});
}

/// Two cancels to each pop, as with time-outs.
#[divan::bench(args = cancelling_cases(), sample_count = 200, sample_size = 1)]
fn mixed(bencher: Bencher, case: Case) {
    let mut stage = Stage::filled(case);
    bencher.counter(OPS).bench_local(|| {
        for op in 0..OPS {
            if op % 3 == 0 { stage.pop_and_push() } else { stage.cancel_and_push() }
        }
    });
}
