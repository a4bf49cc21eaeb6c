//! The queue of the engine, beside the heap of `std`.
//!
//! `cargo bench -p benches --bench queue`. With `BENCH_HUGE=1` there
//! are 10^7 pending items, too. Due times are long delays, uniform between a second and an hour. Neither queue takes an
//! item out by its handle: what is cancelled stays as a dead entry, which is swept out with others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divan::{Bencher, black_box};
use scheduler_core::queue::{Entry, Key, Queue};

fn main() {
    divan::main();
}

const SECOND: u64 = 1_000_000_000;

/// Operations of one sample.
const OPS: u64 = 1000;

fn sizes() -> impl Iterator<Item = u64> {
    let huge = std::env::var_os("BENCH_HUGE").map(|_| 10_000_000);
    [1000, 100_000, 1_000_000].into_iter().chain(huge)
}

/// The queue of the engine, or a heap of `std`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Radix,
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
    sizes().flat_map(|size| [Kind::Radix, Kind::Std].map(|kind| Case(kind, size)))
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

enum Pending {
    Radix(Queue<u64>),
    Std(BinaryHeap<Reverse<(u64, u64, u64)>>),
}

/// A queue in use.
struct Stage {
    pending: Pending,
    random: SplitMix,
    sequence: u64,
    /// The present time: the due time of the last entry that was taken.
    now: u64,
    /// The number of dead entries: those whose number is a multiple of this.
    dead: usize,
    sweeps: u64,
}

impl Stage {
    fn filled(Case(kind, size): Case) -> Self {
        let pending = match kind {
            Kind::Radix => Pending::Radix(Queue::default()),
            Kind::Std => Pending::Std(BinaryHeap::new()),
        };
        let mut stage =
            Self { pending, random: SplitMix(42), sequence: 0, now: 0, dead: 0, sweeps: 0 };
        for _ in 0..size {
            stage.push();
        }
        stage
    }

    fn push(&mut self) {
        self.sequence += 1;
        let (due, sequence) = (self.now + self.random.long_delay(), self.sequence);
        match &mut self.pending {
            Pending::Radix(queue) => {
                queue.push(Entry { key: Key { due, sequence }, item: due }, self.now);
            }
            Pending::Std(heap) => heap.push(Reverse((due, sequence, due))),
        }
    }

    /// Lets time come to the first item, and takes it.
    fn pop(&mut self) -> Option<u64> {
        let due = match &mut self.pending {
            Pending::Radix(queue) => {
                let due = queue.first_two()[0];
                queue.pop(due).map(|entry| entry.item)
            }
            Pending::Std(heap) => heap.pop().map(|Reverse((_, _, due))| due),
        };
        self.now = due.unwrap_or(self.now);
        due
    }

    fn pop_and_push(&mut self) {
        black_box(self.pop());
        self.push();
    }

    /// Pushes an item, and counts another as dead; half of all are swept out when so many are dead.
    fn cancel_and_push(&mut self) {
        self.push();
        self.dead += 1;
        match &mut self.pending {
            Pending::Radix(queue) if self.dead * 2 > queue.len() => {
                self.sweeps += 1;
                let parity = self.sweeps % 2;
                queue.extract(
                    |entry| entry.key.sequence % 2 == parity,
                    |entry| {
                        black_box(entry);
                    },
                );
            }
            Pending::Std(heap) if self.dead * 2 > heap.len() => {
                self.sweeps += 1;
                let parity = self.sweeps % 2;
                heap.retain(|Reverse((_, sequence, _))| sequence % 2 != parity);
            }
            _ => return,
        }
        self.dead = 0;
    }
}

/// Fills an empty queue, and drops it.
#[divan::bench(args = cases(), sample_count = 5, sample_size = 1)]
fn push(bencher: Bencher, case: Case) {
    bencher.counter(case.1).bench(|| Stage::filled(case));
}

/// Cancels an item, and pushes another.
#[divan::bench(args = cases(), sample_count = 200, sample_size = 1)]
fn push_and_cancel(bencher: Bencher, case: Case) {
    let mut stage = Stage::filled(case);
    bencher.counter(OPS).bench_local(|| (0..OPS).for_each(|_| stage.cancel_and_push()));
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
#[divan::bench(args = cases(), sample_count = 200, sample_size = 1)]
fn mixed(bencher: Bencher, case: Case) {
    let mut stage = Stage::filled(case);
    bencher.counter(OPS).bench_local(|| {
        for op in 0..OPS {
            if op % 3 == 0 { stage.pop_and_push() } else { stage.cancel_and_push() }
        }
    });
}
