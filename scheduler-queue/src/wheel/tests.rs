//! The wheel against the heap: in all that can be seen they have to agree.

use super::WheelQueue;
use crate::delay_queue::{DelayQueue, Key, Ticket};
use crate::heap::HeapQueue;
use proptest::prelude::*;

/// Both queues, told the same.
struct Pair {
    heap: HeapQueue<u64>,
    wheel: WheelQueue<u64>,
    /// The tickets of both queues, of items that are here and of some that have left.
    tickets: Vec<(Ticket, Ticket)>,
    sequence: u64,
    /// The due time of the item that was popped last.
    now: u64,
}

#[derive(Clone, Debug)]
enum Op {
    Push(Due),
    Burst(Due, u16),
    Pop(u16),
    Remove(usize),
    /// Removes all of the youngest items but each n-th.
    RemoveMany(u16, u8),
    Extract(u64),
    Look,
}

/// A due time, absolute or from the time of the last pop.
#[derive(Clone, Copy, Debug)]
enum Due {
    At(u64),
    After(u64),
    Before(u64),
    /// Within so many bits from the last pop, at random.
    Within(u32, u64),
}

impl Pair {
    fn new() -> Self {
        let (heap, wheel) = (HeapQueue::new(), WheelQueue::new(|_| ()));
        Self { heap, wheel, tickets: Vec::new(), sequence: 0, now: 0 }
    }

    fn push(&mut self, due: u64) {
        let key = Key { due, sequence: self.sequence };
        let heap = self.heap.push(key, self.sequence);
        let wheel = self.wheel.push(key, self.sequence);
        self.tickets.push((heap, wheel));
        self.sequence += 1;
    }

    /// Some keep their sequence when they come again.
    fn push_again(&mut self, sequence: u64, due: u64) {
        let key = Key { due, sequence };
        self.tickets.push((self.heap.push(key, sequence), self.wheel.push(key, sequence)));
    }

    fn pop(&mut self) {
        let popped = self.heap.pop();
        assert_eq!(self.wheel.pop(), popped);
        if let Some((key, _)) = popped {
            self.now = key.due;
        }
    }

    fn remove(&mut self, index: usize) {
        if self.tickets.is_empty() {
            return;
        }
        let index = index % self.tickets.len();
        let (heap, wheel) = self.tickets[index];
        assert_eq!(self.wheel.find(wheel), self.heap.find(heap));
        let removed = self.heap.remove(heap);
        assert_eq!(self.wheel.remove(wheel), removed);
        // Tickets of what was popped stay for a second, vain try.
        if removed.is_none() {
            self.tickets.swap_remove(index);
        }
    }

    fn extract(&mut self, leaves: impl Fn(Key, u64) -> bool) {
        let mut heap = self.heap.extract(&mut |key, item| leaves(key, *item));
        let mut wheel = self.wheel.extract(&mut |key, item| leaves(key, *item));
        heap.sort_unstable();
        wheel.sort_unstable();
        assert_eq!(wheel, heap);
    }

    fn compare(&mut self) {
        assert_eq!(self.wheel.len(), self.heap.len());
        let first = self.heap.first();
        assert_eq!(self.wheel.first(), first);
        // What is at hand may be dead, even one with the key of the first; but nothing that is alive
        // comes between.
        let (second, at_hand) = (self.heap.second(), self.wheel.second());
        assert!(at_hand.is_none() || first <= at_hand);
        assert!(second.is_none() || at_hand.is_none() || at_hand <= second);
    }

    fn compare_all(&mut self) {
        let (mut heap, mut wheel) = (Vec::new(), Vec::new());
        self.heap.for_each(&mut |key, item| heap.push((key, *item)));
        self.wheel.for_each(&mut |key, item| wheel.push((key, *item)));
        heap.sort_unstable();
        wheel.sort_unstable();
        assert_eq!(wheel, heap);
    }

    fn drain(&mut self) {
        while self.heap.len() > 0 {
            self.pop();
        }
        self.compare();
        assert_eq!(self.wheel.pop(), None);
    }

    fn due(&self, due: Due, random: &mut SplitMix) -> u64 {
        match due {
            Due::At(due) => due,
            Due::After(time) => self.now.saturating_add(time),
            Due::Before(time) => self.now.saturating_sub(time),
            Due::Within(bits, _) => self.now.saturating_add(random.bits(bits)),
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Push(due) => self.push_burst(due, 1),
            Op::Burst(due, count) => self.push_burst(due, count),
            Op::Pop(count) => (0..count).for_each(|_| self.pop()),
            Op::Remove(index) => self.remove(index),
            Op::RemoveMany(count, keep) => {
                let end = self.tickets.len();
                for index in end.saturating_sub(count.into())..end {
                    if index % usize::from(keep.max(1)) != 0 {
                        self.remove(index);
                    }
                }
            }
            Op::Extract(modulus) => self.extract(|key, _| key.sequence % modulus == 0),
            Op::Look => self.compare_all(),
        }
        self.compare();
    }

    fn push_burst(&mut self, due: Due, count: u16) {
        let seed = if let Due::Within(_, seed) = due { seed } else { 0 };
        let mut random = SplitMix(seed);
        for _ in 0..count {
            let due = self.due(due, &mut random);
            self.push(due);
        }
    }
}

/// The generator of Steele, Lea and Flood.
#[derive(Clone, Copy)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn bits(&mut self, bits: u32) -> u64 {
        self.next() >> (64 - bits.clamp(1, 64))
    }
}

fn dues() -> impl Strategy<Value = Due> {
    prop_oneof![
        (0..8u64).prop_map(Due::At),
        prop_oneof![Just(0), Just(1), Just(u64::MAX - 1), Just(u64::MAX)].prop_map(Due::At),
        any::<u64>().prop_map(Due::At),
        (0..64u32, any::<u64>()).prop_map(|(bit, low)| Due::At((1 << bit) | low & 1)),
        (0..64u32).prop_map(|bit| Due::After(1 << bit)),
        (0..64u32).prop_map(|bit| Due::Before(1 << bit)),
        (1..64u32, any::<u64>()).prop_map(|(bits, seed)| Due::Within(bits, seed)),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        8 => dues().prop_map(Op::Push),
        4 => (dues(), 1..3000u16).prop_map(|(due, count)| Op::Burst(due, count)),
        4 => (1..4u16).prop_map(Op::Pop),
        2 => (1..2000u16).prop_map(Op::Pop),
        4 => any::<usize>().prop_map(Op::Remove),
        2 => (1..4000u16, any::<u8>()).prop_map(|(count, keep)| Op::RemoveMany(count, keep)),
        1 => (1..5u64).prop_map(Op::Extract),
        1 => Just(Op::Look),
    ];
    prop::collection::vec(op, 0..40)
}

proptest! {
    #[test]
    fn any_trace_gives_what_the_heap_gives(ops in ops()) {
        let mut pair = Pair::new();
        ops.iter().for_each(|op| pair.apply(op));
        pair.drain();
    }
}

/// How the due times of a phase of the long run are drawn.
#[derive(Clone, Copy, Debug)]
enum Crowd {
    /// Long delays, as of time-outs.
    Far,
    /// Delays of all lengths alike.
    AnyLength,
    /// Just ahead of the last pop.
    Close,
    /// Few different times.
    Equal,
    /// The whole range.
    Extreme,
    /// A clock that is set back, again and again.
    Backwards,
    /// Each earlier than the last.
    Descending,
}

const CROWDS: [Crowd; 7] = [
    Crowd::Far,
    Crowd::AnyLength,
    Crowd::Close,
    Crowd::Equal,
    Crowd::Extreme,
    Crowd::Backwards,
    Crowd::Descending,
];

impl Crowd {
    fn due(self, pair: &mut Pair, random: &mut SplitMix) -> u64 {
        let now = pair.now;
        match self {
            Self::Far => now.saturating_add(1_000_000_000 + random.below(3_599_000_000_000)),
            Self::AnyLength => {
                let bits = random.below(64) as u32;
                now.saturating_add(random.bits(bits))
            }
            Self::Close => now.saturating_add(random.below(5_000)),
            Self::Equal => (now & !0xFFFF).saturating_add(random.below(3) << 16),
            Self::Extreme => {
                [0, u64::MAX, random.next(), 1 << random.below(64)][random.below(4) as usize]
            }
            Self::Backwards => {
                if random.below(500) == 0 {
                    pair.now = now.saturating_sub(random.bits(45));
                }
                now.saturating_add(random.bits(40))
            }
            Self::Descending => (1 << 50) - pair.sequence.min(1 << 49),
        }
    }
}

/// A phase: what is drawn, and how the operations are mixed.
fn phase(pair: &mut Pair, random: &mut SplitMix, count: u64) {
    let crowd = CROWDS[random.below(CROWDS.len() as u64) as usize];
    let (pushes, removes) = (20 + random.below(50), random.below(60));
    for _ in 0..count {
        let draw = random.below(100);
        if draw < pushes {
            let due = crowd.due(pair, random);
            if random.below(16) == 0 && pair.sequence > 0 {
                pop_and_push_again(pair, due);
            } else {
                pair.push(due);
            }
        } else if draw < pushes + removes {
            pair.remove(random.next() as usize);
        } else {
            pair.pop();
        }
        pair.compare();
    }
    match random.below(24) {
        0 => pair.drain(),
        1 => pair.extract(|key, _| key.sequence % 3 != 0),
        2 => (0..pair.tickets.len() * 2).for_each(|_| pair.remove(random.next() as usize)),
        3 => pair.compare_all(),
        _ => {}
    }
    if pair.tickets.len() > 2 * pair.heap.len() + 1000 {
        pair.tickets.retain(|(heap, _)| pair.heap.find(*heap).is_some());
    }
}

fn pop_and_push_again(pair: &mut Pair, due: u64) {
    let popped = pair.heap.pop();
    assert_eq!(pair.wheel.pop(), popped);
    if let Some((key, _)) = popped {
        pair.push_again(key.sequence, due.max(key.due.saturating_add(1)));
    }
}

/// `SCHEDULER_QUEUE_OPS` says how many operations, `SCHEDULER_QUEUE_SEED` from which seed on.
#[test]
fn a_long_run_gives_what_the_heap_gives() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let count = number("SCHEDULER_QUEUE_OPS", 1_000_000);
    let mut seed = number("SCHEDULER_QUEUE_SEED", 1);
    let mut done = 0;
    while done < count {
        let mut random = SplitMix(seed);
        let mut pair = Pair::new();
        // Some runs stay small, some grow.
        let (phases, each) = (1 + random.below(40), 1 << (4 + random.below(13)));
        for _ in 0..phases {
            phase(&mut pair, &mut random, each);
        }
        pair.compare_all();
        pair.drain();
        done += phases * each;
        seed += 1;
    }
}
