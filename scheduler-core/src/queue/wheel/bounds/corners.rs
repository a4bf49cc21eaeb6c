//! What mixes at random come to seldom: a bag that only fills from near, cancelled items in a bag that is
//! split, and whether the meter of these tests counts at all.

use super::Watched;
use super::entries;
use crate::queue::DelayQueue;
use crate::queue::Key;
use crate::queue::wheel::WheelQueue;
use crate::queue::wheel::far::BAG_MAX;
use crate::queue::wheel::work;

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

    /// Puts an item in, and tells what that has cost.
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
    let mut watched = Watched::with_far(BAG_MAX - 1);
    let last = watched.last();
    assert!(watched.add(last) >= 4 * BAG_MAX);
}

#[test]
fn near_entries_are_counted_too() {
    assert_eq!(entries(&Watched::with_far(0).queue), NEAR);
    assert_eq!(entries(&Watched::with_far(10).queue), NEAR + 10);
}

#[test]
fn a_bag_that_is_split_leaves_what_was_cancelled_behind() {
    let mut watched = Watched::with_far(BAG_MAX - 48);
    watched.cancel(|sequence| (1000..1100).contains(&sequence));
    assert_eq!(entries(&watched.queue), watched.queue.len() + 100);
    for _ in 0..48 {
        watched.add(watched.last());
    }
    assert_eq!(entries(&watched.queue), watched.queue.len());
    watched.drain();
}

/// Each item is the first of all when it comes, so what is no longer near is all that ever comes to the bag.
#[test]
fn a_bag_that_only_fills_from_near_is_split_in_time() {
    let mut watched = Watched::with_far(BAG_MAX - 32);
    for before in 1..20_000 {
        watched.add(START - before);
    }
    watched.drain();
}
