//! No call takes long, and no cancelled item stays: counted in entries, not timed.
//!
//! `SCHEDULER_QUEUE_PENDING` says how many items are pending.

use super::far::BUCKET_MAX;
use super::{WheelQueue, work};
use crate::delay_queue::{DelayQueue, Key, Ticket};

/// So many entries are looked at or moved in one call at most. A bucket that is split is read, taken out, put
/// into others and noted, and what is first in it then is taken out again.
const WORK_MAX: usize = 8 * BUCKET_MAX;

/// A queue, and the most that one call on it has cost.
struct Watched {
    queue: WheelQueue<u64>,
    tickets: Vec<Ticket>,
    random: u64,
    most: usize,
    all: usize,
    calls: usize,
}

impl Watched {
    fn filled(due: impl Fn(u64, u64) -> u64) -> Self {
        let queue = WheelQueue::new(|_| ());
        let tickets = Vec::new();
        let mut watched = Self { queue, tickets, random: 1, most: 0, all: 0, calls: 0 };
        work::noted();
        for sequence in 0..pending() {
            let due = due(sequence, watched.random());
            let ticket = watched.call(|queue| queue.push(Key { due, sequence }, sequence));
            watched.tickets.push(ticket);
            watched.call(|queue| queue.first());
        }
        watched
    }

    fn call<R>(&mut self, call: impl FnOnce(&mut WheelQueue<u64>) -> R) -> R {
        let result = call(&mut self.queue);
        let cost = work::noted();
        self.most = self.most.max(cost);
        self.all += cost;
        self.calls += 1;
        assert!(cost <= WORK_MAX, "a call cost {cost} entries");
        result
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.random >> 1
    }

    /// Cancels items for which `goes` holds, in any order.
    fn cancel(&mut self, goes: impl Fn(u64) -> bool) {
        for index in (1..self.tickets.len()).rev() {
            let other = self.random() as usize % (index + 1);
            self.tickets.swap(index, other);
        }
        for index in 0..self.tickets.len() {
            let ticket = self.tickets[index];
            if self.queue.find(ticket).is_some_and(|sequence| goes(*sequence)) {
                self.call(|queue| queue.remove(ticket));
            }
        }
    }

    fn drain(&mut self) {
        let mut last = None;
        while let Some((key, _)) = self.call(|queue| queue.pop()) {
            assert!(last < Some(key));
            last = Some(key);
        }
        assert_eq!(self.queue.len(), 0);
        let mean = self.all / self.calls;
        assert!(mean <= 4, "a call cost {mean} entries on the average, {} at most", self.most);
    }
}

fn pending() -> u64 {
    let text = std::env::var("SCHEDULER_QUEUE_PENDING");
    text.map_or(100_000, |text| text.parse().expect("a number"))
}

/// Fills a queue, cancels a third of it and all that comes first but for the very first, and drains it.
fn take_it_all(due: impl Fn(u64, u64) -> u64) {
    let mut watched = Watched::filled(due);
    watched.cancel(|sequence| sequence % 3 == 0);
    let mut keys = Vec::new();
    watched.queue.for_each(&mut |key, item| keys.push((key, *item)));
    keys.sort_unstable();
    let first: std::collections::HashSet<u64> =
        keys[1..keys.len() / 2].iter().map(|(_, item)| *item).collect();
    watched.cancel(|sequence| first.contains(&sequence));
    watched.drain();
}

#[test]
fn of_long_delays() {
    take_it_all(|_, random| 1_000_000_000 + random % 3_599_000_000_000);
}

#[test]
fn of_one_instant() {
    take_it_all(|_, _| 1_000_000_000);
}

#[test]
fn of_one_microsecond_far_away() {
    take_it_all(|_, random| (1 << 50) + random % 1000);
}

#[test]
fn of_ascending_times() {
    take_it_all(|sequence, _| sequence * 100);
}

#[test]
fn of_descending_times() {
    take_it_all(|sequence, _| u64::MAX - sequence * 100);
}

#[test]
fn of_times_that_crowd_at_one_end() {
    take_it_all(|_, random| (random >> 6) >> (random % 64));
    take_it_all(|_, random| u64::MAX - ((random >> 6) >> (random % 64)));
}

/// The entries in a queue, dead ones included.
fn entries(queue: &WheelQueue<u64>) -> usize {
    let mut count = queue.near.len();
    queue.arrivals.for_each(|_| count += 1);
    queue.far.for_each(|_| count += 1);
    count
}

#[test]
fn cancelled_items_leave_nothing_behind() {
    let mut watched = Watched::filled(|_, random| random >> 20);
    let pending = watched.queue.len();
    for sequence in pending as u64..8 * pending as u64 {
        let index = watched.random() as usize % watched.tickets.len();
        let (ticket, due) = (watched.tickets[index], watched.random() >> 20);
        watched.call(|queue| queue.remove(ticket));
        watched.tickets[index] = watched.call(|queue| queue.push(Key { due, sequence }, sequence));
        watched.call(|queue| queue.first());
    }
    assert_eq!(watched.queue.len(), pending);
    let dead = entries(&watched.queue) - pending;
    assert!(dead <= pending + pending / 2, "{dead} dead entries beside {pending} live ones");
    watched.cancel(|_| true);
    assert_eq!((watched.queue.len(), entries(&watched.queue)), (0, 0));
    assert!(watched.queue.far.is_empty());
}

/// The common way of a time-out: it is cancelled long before it is due, and another one is set.
#[test]
fn time_outs_that_are_cancelled_at_once_take_no_room() {
    let mut watched = Watched::filled(|_, random| random >> 20);
    let before = entries(&watched.queue);
    for sequence in 0..pending() {
        let key = Key { due: (1 << 43) + sequence, sequence: pending() + sequence };
        let ticket = watched.call(|queue| queue.push(key, sequence));
        watched.call(|queue| queue.first());
        assert_eq!(watched.call(|queue| queue.remove(ticket)), Some(sequence));
    }
    let grown = entries(&watched.queue) - before;
    assert!(grown <= before, "{grown} dead entries are left");
}

// What mixes at random come to seldom.

/// So many items are near while nothing is far. What comes after them is far.
const NEAR: usize = 512;

/// When the first of them is due: what comes later may be due before it.
const START: u64 = 1 << 40;

impl Watched {
    /// A queue with as many near items as there can be, and so many that are far, close together.
    fn with_far(far: usize) -> Self {
        let (queue, tickets) = (WheelQueue::new(|_| ()), Vec::new());
        let mut watched = Self { queue, tickets, random: 1, most: 0, all: 0, calls: 0 };
        work::noted();
        for number in 0..(NEAR + far) as u64 {
            watched.add(START + number);
        }
        watched
    }

    /// Puts an item in, and returns what that cost.
    fn add(&mut self, due: u64) -> usize {
        let (sequence, before) = (self.tickets.len() as u64, self.all);
        let ticket = self.call(|queue| queue.push(Key { due, sequence }, sequence));
        self.tickets.push(ticket);
        self.all - before
    }

    fn last(&self) -> u64 {
        START + self.tickets.len() as u64
    }
}

/// A bound is worth something only if what is done is counted.
#[test]
fn each_entry_of_a_bag_that_is_split_is_read_taken_out_put_in_and_noted() {
    let mut watched = Watched::with_far(BUCKET_MAX - 1);
    let last = watched.last();
    assert!(watched.add(last) >= 4 * BUCKET_MAX);
}

#[test]
fn near_entries_are_counted_too() {
    assert_eq!(entries(&Watched::with_far(0).queue), NEAR);
    assert_eq!(entries(&Watched::with_far(10).queue), NEAR + 10);
}

#[test]
fn a_bag_that_is_split_leaves_what_was_cancelled_behind() {
    let mut watched = Watched::with_far(BUCKET_MAX - 48);
    watched.cancel(|sequence| (1000..1100).contains(&sequence));
    assert_eq!(entries(&watched.queue), watched.queue.len() + 100);
    for _ in 0..48 {
        watched.add(watched.last());
    }
    assert_eq!(entries(&watched.queue), watched.queue.len());
    watched.drain();
}

/// Each item is the first of all when it comes, so what is no longer near is all that ever comes to the bucket.
#[test]
fn a_bag_that_only_fills_from_near_is_split_in_time() {
    let mut watched = Watched::with_far(BUCKET_MAX - 32);
    for before in 1..20_000 {
        watched.add(START - before);
    }
    watched.drain();
}
