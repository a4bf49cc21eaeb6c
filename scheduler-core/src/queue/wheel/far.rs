//! What is not near: rings of slots, and bags of entries in no order.
//!
//! A bag that overflows becomes a ring with a bag for each part of its span. A bag is small enough that
//! this takes a bounded time, and nothing that is far is sorted: most of it is cancelled before its
//! time comes near.

use super::bag::Bag;
use super::entry::Entry;
use super::ring::Held;
use super::ring::Ring;
use super::slab::Place;
use super::slab::Slab;
use crate::queue::Key;

/// The home of an entry that is not in a bag.
pub(super) const NEAR: u32 = u32::MAX;

/// A bag with this many entries is split.
const BAG_MAX: usize = 4096;

/// The far part of a queue.
#[derive(Debug)]
pub(super) struct Far {
    root: Option<Held>,
    rings: Slab<Ring>,
    /// INVARIANT: each bag has a live entry, and the home of its live entries is the bag's number.
    bags: Slab<Bag>,
}

/// A slot: a ring and the digit in it.
type Slot = (u32, usize);

/// The way to what a slot holds: the slot, and the one that holds its ring. None stands for the root.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    slot: Option<Slot>,
    above: Option<Slot>,
}

impl Way {
    fn to(self, slot: Slot) -> Self {
        Self { slot: Some(slot), above: self.slot }
    }
}

impl Far {
    pub(super) fn new() -> Self {
        Self { root: None, rings: Slab::new(), bags: Slab::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Puts a live entry into the bag of its span.
    pub(super) fn insert<T>(&mut self, entry: Entry, items: &mut Slab<T>) {
        let (way, number) = self.bag_for(entry.rank());
        items.rehome(place(&entry), number);
        let bag = self.bag(number);
        bag.push(entry);
        // A bag of equal keys cannot be split; it is not tried again with each further one.
        if bag.len() >= BAG_MAX && bag.len().is_power_of_two() {
            self.split(way, number, items);
        }
    }

    /// Notes that the item of an entry in this bag has left.
    pub(super) fn bury<T>(&mut self, number: u32, items: &Slab<T>) {
        let bag = self.bag(number);
        bag.bury();
        if bag.live() == 0 {
            let way = bag.any().map(|entry| self.way_to(entry.rank()));
            self.detach(way.unwrap_or_default(), number);
        } else if bag.is_littered() {
            let littered = std::mem::take(bag);
            littered.drain(|entry| {
                if items.holds(place(&entry)) {
                    bag.push(entry);
                }
            });
        }
    }

    /// Takes the first live entries out, `most` at most: from the first bag only, whose later part
    /// is left as it is.
    pub(super) fn take_first<T>(&mut self, most: usize, items: &mut Slab<T>) -> Vec<Entry> {
        let Some((way, number)) = self.first_bag() else { return Vec::new() };
        let bag = std::mem::take(self.bag(number));
        let mut rest = Vec::with_capacity(bag.len());
        let mut live = bag.live();
        bag.drain(|entry| rest.push(entry));
        let mut taken = Vec::new();
        while taken.is_empty() && !rest.is_empty() {
            let later = rest.len().saturating_sub(most);
            if later > 0 {
                rest.select_nth_unstable_by_key(later, |entry| !entry.rank());
            }
            let first = rest.split_off(later);
            taken.extend(first.into_iter().filter(|entry| items.rehome(place(entry), NEAR)));
        }
        live -= taken.len();
        if live == 0 {
            self.detach(way, number);
        } else {
            *self.bag(number) = Bag::refill(rest, live);
        }
        taken
    }

    /// Takes out the items for which `leaves` holds.
    pub(super) fn extract<T>(
        &mut self,
        items: &mut Slab<T>,
        leaves: &mut dyn FnMut(Key, &T) -> bool,
    ) -> Vec<(Key, T)> {
        let mut out = Vec::new();
        let numbers: Vec<u32> = self.bags.taken_slots().collect();
        for number in numbers {
            let old = std::mem::take(self.bag(number));
            let sample = old.any();
            let mut kept = Bag::default();
            old.drain(|entry| match items.get(place(&entry)) {
                Some(item) if leaves(entry.key, item) => {
                    out.extend(items.take(place(&entry)).map(|(item, _)| (entry.key, item)));
                }
                Some(_) => kept.push(entry),
                None => {}
            });
            let is_empty = kept.live() == 0;
            *self.bag(number) = kept;
            if let (Some(sample), true) = (sample, is_empty) {
                self.detach(self.way_to(sample.rank()), number);
            }
        }
        out
    }

    /// Visits all entries, dead ones included.
    pub(super) fn for_each(&self, mut visit: impl FnMut(Entry)) {
        let bags = self.bags.taken_slots().filter_map(|number| self.bags.at(number));
        bags.for_each(|bag| bag.for_each(&mut visit));
    }

    /// The bag for a key, made if it is missing.
    fn bag_for(&mut self, key: u128) -> (Way, u32) {
        let mut way = Way::default();
        let mut next = self.root;
        loop {
            match next {
                None => {
                    let number = self.add_bag();
                    self.put(way.slot, Held::Bag(number));
                    return (way, number);
                }
                Some(Held::Bag(number)) => return (way, number),
                Some(Held::Ring(number)) => {
                    let ring = self.ring(number);
                    if !ring.covers(key) {
                        let bit = ring.difference(key);
                        let mut outer = Ring::new(key, bit, ring.width());
                        outer.set(outer.digit(ring.sample()), Held::Ring(number));
                        let digit = outer.digit(key);
                        let outer = self.rings.insert(outer, 0).slot;
                        self.put(way.slot, Held::Ring(outer));
                        way = way.to((outer, digit));
                        next = None;
                        continue;
                    }
                    let digit = ring.digit(key);
                    next = ring.get(digit);
                    way = way.to((number, digit));
                }
            }
        }
    }

    /// The way to the bag that holds a key.
    fn way_to(&self, key: u128) -> Way {
        let mut way = Way::default();
        let mut next = self.root;
        while let Some(Held::Ring(number)) = next {
            let Some(ring) = self.rings.at(number) else { break };
            let digit = ring.digit(key);
            next = ring.get(digit);
            way = way.to((number, digit));
        }
        way
    }

    fn first_bag(&self) -> Option<(Way, u32)> {
        let mut way = Way::default();
        let mut next = self.root;
        loop {
            match next? {
                Held::Bag(number) => return Some((way, number)),
                Held::Ring(number) => {
                    let (digit, held) = self.rings.at(number)?.first()?;
                    next = Some(held);
                    way = way.to((number, digit));
                }
            }
        }
    }

    /// Makes a ring of a bag whose entries are too many, unless most of them are dead.
    fn split<T>(&mut self, way: Way, number: u32, items: &mut Slab<T>) {
        let bag = std::mem::take(self.bag(number));
        let is_clean = bag.live() == bag.len();
        let mut entries = Vec::with_capacity(bag.len());
        bag.drain(|entry| entries.push(entry));
        if !is_clean {
            entries.retain(|entry| items.holds(place(entry)));
        }
        let sample = entries.first().map_or(0, Entry::rank);
        let difference = entries.iter().fold(0, |all, entry| all | (entry.rank() ^ sample));
        if difference == 0 || entries.len() < BAG_MAX / 2 {
            let bag = self.bag(number);
            entries.into_iter().for_each(|entry| bag.push(entry));
            return;
        }
        let mut ring = Ring::new(sample, 127 - difference.leading_zeros(), 0);
        self.bags.take_at(number);
        for entry in entries {
            let digit = ring.digit(entry.rank());
            let number = match ring.get(digit) {
                Some(Held::Bag(number)) => number,
                _ => self.add_bag(),
            };
            ring.set(digit, Held::Bag(number));
            self.bag(number).push(entry);
        }
        // In a loop of its own, so that the cache misses overlap: this is most of the time it takes.
        for held in ring.held() {
            if let Held::Bag(number) = held {
                self.bag(number).for_each(|entry| {
                    items.rehome(place(&entry), number);
                });
            }
        }
        let ring = self.rings.insert(ring, 0).slot;
        self.put(way.slot, Held::Ring(ring));
    }

    /// Takes a bag away, and with it a ring that would hold one thing only.
    fn detach(&mut self, way: Way, number: u32) {
        self.bags.take_at(number);
        let Some((ring, digit)) = way.slot else {
            self.root = None;
            return;
        };
        self.ring(ring).clear(digit);
        if let Some(only) = self.ring(ring).only() {
            self.rings.take_at(ring);
            self.put(way.above, only);
        }
    }

    fn put(&mut self, slot: Option<Slot>, held: Held) {
        match slot {
            None => self.root = Some(held),
            Some((ring, digit)) => self.ring(ring).set(digit, held),
        }
    }

    fn add_bag(&mut self) -> u32 {
        self.bags.insert(Bag::default(), 0).slot
    }

    fn bag(&mut self, number: u32) -> &mut Bag {
        self.bags.at_mut(number).expect("a slot names a bag that is there")
    }

    fn ring(&mut self, number: u32) -> &mut Ring {
        self.rings.at_mut(number).expect("a slot names a ring that is there")
    }
}

/// Where the item of an entry lies, or lay.
pub(super) fn place(entry: &Entry) -> Place {
    Place { slot: entry.slot, generation: entry.generation }
}
