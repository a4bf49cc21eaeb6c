//! The delay queue as an exact wheel: far items in coarse slots, near ones in exact order.
//!
//! # What this room is for
//!
//! Most tasks are far away, and most of those are cancelled before they come near. So whatever is
//! far goes unsorted into the bucket of its span ([`far`]), in batches ([`arrivals`]); whatever is near
//! stands in a sorted run, or in a small heap if the run was sorted before it came ([`near`]). The order is
//! exact all the same: near is everything up to a key, the *reach*, and far is everything beyond it.
//!
//! # What it must never do
//!
//! Take long. A lock is held around each call, so each of them does a bounded amount of work, however
//! many items are pending: buckets are split when they overflow, not when their time has come; growth
//! copies nothing ([`bucket`], [`slab`]); the near part is bounded. (Only `extract` and `for_each` look at
//! everything.)
//!
//! # States and invariants
//!
//! An item lies in the slab and never moves. Its entry — key, slot, generation — moves: from the arrivals
//! to a bucket, to a finer bucket, to the run. The slab notes where the entry is, the item's *home*. An item
//! that is removed leaves a *dead* entry behind, which its home counts: a bucket without live entries is
//! dropped at once, and one that is mostly dead is swept. So the dead entries are never more than the live
//! ones, the arrivals and a block per bucket together, and a cancellation touches the item, its mark and the
//! count of its bucket, but no list.
//!
//! Keys need not grow with time: a ring is split where its keys differ, not where a clock stands, and an
//! item before all others is simply near.
//!
//! # How a neighbour uses it
//!
//! Through [`DelayQueue`], as the heap. Both agree in everything that can be observed.

mod arrivals;
#[cfg(test)]
mod bounds;
mod bucket;
mod entry;
mod far;
mod near;
mod overflow;
mod ring;
mod slab;
#[cfg(test)]
mod tests;
mod work;

use crate::delay_queue::{DelayQueue, Key, Ticket};
use arrivals::Arrivals;
use entry::{Entry, rank_of};
use far::{BUCKET_MAX, Far};
use near::{Near, Side};
use ring::Home;
use slab::{Place, Slab};

/// The delay queue as an exact wheel; see the essay of the room.
#[derive(Debug)]
pub struct WheelQueue<T> {
    items: Slab<T>,
    near: Near,
    arrivals: Arrivals,
    far: Far,
    /// The first live entry, while that is known.
    first: Option<(Entry, Side)>,
}

impl<T> WheelQueue<T> {
    /// Creates a queue that calls `prefetch` on each item some time before it is the first: many cache
    /// misses then overlap.
    #[must_use]
    pub fn new(prefetch: fn(&T)) -> Self {
        let (near, arrivals) = (Near::default(), Arrivals::default());
        Self { items: Slab::new(prefetch), near, arrivals, far: Far::new(), first: None }
    }

    /// The first live entry, after dead ones before it are dropped and the near part is filled.
    ///
    /// Bounded: a bucket that is taken from the far part has a live entry.
    #[inline(never)]
    fn settle(&mut self) -> Option<(Entry, Side)> {
        loop {
            while let Some((entry, side)) = self.near.first() {
                if self.items.holds(entry.place) {
                    return Some((entry, side));
                }
                self.near.drop_first(side);
            }
            if !self.arrivals.is_empty() {
                self.arrivals.flush(&mut self.far, &mut self.items);
            }
            if self.far.is_empty() {
                return None;
            }
            self.near.load(self.far.take_first(&mut self.items));
        }
    }

    /// Makes all but the first few of the overflow far again.
    ///
    /// Bounded: of the buckets that get too full only the fullest is split or swept.
    #[inline(never)]
    fn spill(&mut self) {
        let mut fullest = (0, Home::NEAR);
        for entry in self.near.spill(|entry| self.items.holds(entry.place)) {
            let home = self.far.home_for(entry.rank());
            self.items.set_home(entry.place, home.to_bits());
            let len = self.far.put(home, entry);
            if len > fullest.0 {
                fullest = (len, home);
            }
        }
        if fullest.0 >= BUCKET_MAX {
            self.far.make_room(fullest.1, &mut self.items);
        }
    }

    /// As [`push`](DelayQueue::push), and calls `tell` with the ticket before the item is moved into its place,
    /// while it is in the cache.
    #[inline]
    pub fn push_with(&mut self, key: Key, item: T, tell: impl FnOnce(&T, Ticket)) -> Ticket {
        let rank = rank_of(key);
        let is_nothing_far = self.far.is_empty() && self.arrivals.is_empty();
        let is_near = self.near.admits(rank, is_nothing_far);
        let home = if is_near { Home::NEAR } else { Home::ARRIVALS };
        let tell = |item: &T, place: Place| tell(item, ticket_of(place));
        let entry = Entry { key, place: self.items.insert_with(item, home.to_bits(), tell) };
        if !is_near {
            if self.arrivals.push(entry) {
                self.arrivals.flush(&mut self.far, &mut self.items);
            }
        } else {
            self.first = None;
            if self.near.push(entry) {
                self.spill();
            }
        }
        ticket_of(entry.place)
    }
}

impl<T> DelayQueue<T> for WheelQueue<T> {
    fn push(&mut self, key: Key, item: T) -> Ticket {
        self.push_with(key, item, |_, _| ())
    }

    #[inline]
    fn first(&mut self) -> Option<Key> {
        if self.items.len() == 0 {
            return None;
        }
        if self.first.is_none() {
            self.first = self.settle();
        }
        self.first.map(|(entry, _)| entry.key)
    }

    fn second(&self) -> Option<Key> {
        self.near.second().map(|entry| entry.key)
    }

    fn pop(&mut self) -> Option<(Key, T)> {
        let first = self.first.take();
        let (entry, side) = first.or_else(|| self.settle())?;
        self.near.drop_first(side);
        let (item, _) = self.items.take(entry.place)?;
        Some((entry.key, item))
    }

    fn remove(&mut self, ticket: Ticket) -> Option<T> {
        let (item, home) = self.items.take(place_of(ticket))?;
        match Home::from_bits(home) {
            Home::NEAR => self.first = None,
            Home::ARRIVALS => {}
            home => self.far.note_dead(home, &self.items),
        }
        if self.items.len() == 0 {
            self.near.clear();
            self.arrivals.clear();
        }
        Some(item)
    }

    fn find(&self, ticket: Ticket) -> Option<&T> {
        self.items.get(place_of(ticket))
    }

    fn extract(&mut self, leaves: &mut dyn FnMut(Key, &T) -> bool) -> Vec<(Key, T)> {
        self.first = None;
        let mut out = self.far.extract(&mut self.items, leaves);
        let items = &mut self.items;
        let mut stays = |entry: &Entry| match items.get(entry.place) {
            Some(item) if leaves(entry.key, item) => {
                out.extend(items.take(entry.place).map(|(item, _)| (entry.key, item)));
                false
            }
            Some(_) => true,
            None => false,
        };
        self.near.retain(&mut stays);
        self.arrivals.retain(stays);
        out
    }

    fn for_each(&self, visit: &mut dyn FnMut(Key, &T)) {
        let mut show = |entry: Entry| {
            if let Some(item) = self.items.get(entry.place) {
                visit(entry.key, item);
            }
        };
        self.near.iter().copied().for_each(&mut show);
        self.arrivals.for_each(&mut show);
        self.far.for_each(&mut show);
    }

    fn len(&self) -> usize {
        self.items.len()
    }
}

fn ticket_of(place: Place) -> Ticket {
    Ticket(u64::from(place.generation) << 32 | u64::from(place.slot))
}

fn place_of(ticket: Ticket) -> Place {
    Place { slot: ticket.0 as u32, generation: (ticket.0 >> 32) as u32 }
}
