//! What is not near: rings of slots, and buckets of entries in no order.
//!
//! A bucket that overflows becomes a ring with a bucket for each part of its span. A bucket is small enough that
//! this takes a bounded time, and nothing that is far is sorted: most of it is cancelled before its
//! time comes near.

use super::bucket::{Blocks, Bucket};
use super::entry::Entry;
use super::near::LOAD_MAX;
use super::ring::{Content, Home, Ring, shift_for};
use super::slab::Slab;
use super::work;
use crate::delay_queue::Key;

/// A bucket with this many entries is split.
pub(super) const BUCKET_MAX: usize = 2048;

/// A bucket with this many entries is split before the first are picked out of it.
const PICK_MAX: usize = 256;

/// The ring of all keys.
const ROOT: u32 = 0;

/// The far part of a queue.
#[derive(Debug)]
pub(super) struct Far {
    /// INVARIANT: each bucket has a live entry, and the home of its live entries is the bucket's slot. Each
    /// ring but the root holds something.
    #[expect(clippy::vec_box, reason = "so growth copies pointers only")]
    rings: Vec<Box<Ring>>,
    /// Rings that are in no slot.
    vacant: Vec<u32>,
    blocks: Blocks,
    /// Room for the entries of one bucket.
    room: Vec<Entry>,
}

impl Far {
    pub(super) fn new() -> Self {
        let blocks = Blocks::default();
        Self { rings: vec![Box::new(Ring::root())], vacant: Vec::new(), blocks, room: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rings[0].is_empty()
    }

    /// The slot for a key, which holds a bucket or nothing.
    #[inline]
    pub(super) fn home_for(&mut self, key: u128) -> Home {
        let (mut number, mut ring) = (ROOT, self.ring(ROOT));
        let mut digit = ring.digit(key).expect("the root has room for all keys");
        while let &Content::Ring(inner) = ring.get(digit) {
            ring = self.ring(inner);
            let Some(finer) = ring.digit(key) else {
                return self.widen(Home::new(number, digit), inner, key);
            };
            (number, digit) = (inner, finer);
        }
        Home::new(number, digit)
    }

    /// Puts a ring between a slot and the ring in it, so that there is a slot for a key of neither.
    #[inline(never)]
    fn widen(&mut self, home: Home, inner: u32, key: u128) -> Home {
        let (start, width) = (self.ring(inner).start(), self.ring(inner).width());
        let bit = 127 - (start ^ key).leading_zeros();
        let mut ring = Ring::new(key, shift_for(bit).max(width), home);
        let (old, new) = (ring.digit(start), ring.digit(key));
        let (old, new) = old.zip(new).expect("the new ring has room for both");
        ring.set(old, Content::Ring(inner));
        let outer = self.add_ring(ring);
        self.ring_mut(home.ring()).set(home.digit(), Content::Ring(outer));
        self.ring_mut(inner).above = Home::new(outer, old);
        Home::new(outer, new)
    }

    /// Adds a live entry to the bucket of a slot, without splitting it. Returns the length of the bucket.
    #[inline]
    pub(super) fn put(&mut self, home: Home, entry: Entry) -> usize {
        let ring = &mut self.rings[home.ring() as usize];
        if let Some(bucket) = ring.bucket_mut(home.digit()) {
            bucket.push(entry, &mut self.blocks);
            return bucket.len();
        }
        ring.set(home.digit(), Content::Bucket(Bucket::new(entry, &mut self.blocks)));
        1
    }

    /// Counts an entry with this home as dead.
    #[inline]
    pub(super) fn note_dead<T>(&mut self, home: Home, items: &Slab<T>) {
        let Some(bucket) = self.ring_mut(home.ring()).bucket_mut(home.digit()) else { return };
        bucket.note_dead();
        if bucket.is_mostly_dead() {
            self.sift(home, |entry| items.holds(entry.place));
        }
    }

    /// Keeps the entries of a bucket for which `stays` holds: live ones only.
    #[inline(never)]
    fn sift(&mut self, home: Home, mut stays: impl FnMut(&Entry) -> bool) {
        let Some(bucket) = self.ring_mut(home.ring()).take_bucket(home.digit()) else { return };
        let mut kept: Option<Bucket> = None;
        bucket.drain(&mut self.blocks, |entry, blocks| {
            if stays(&entry) {
                match &mut kept {
                    None => kept = Some(Bucket::new(entry, blocks)),
                    Some(bucket) => bucket.push(entry, blocks),
                }
            }
        });
        match kept {
            Some(bucket) => self.ring_mut(home.ring()).set(home.digit(), Content::Bucket(bucket)),
            None => self.drop_empty(home.ring()),
        }
    }

    /// Makes room in a bucket that is too full: drops dead entries if there are many, or splits it.
    #[inline(never)]
    pub(super) fn make_room<T>(&mut self, home: Home, items: &mut Slab<T>) {
        let Content::Bucket(bucket) = self.ring(home.ring()).get(home.digit()) else { return };
        if bucket.live() < bucket.len() / 4 * 3 {
            self.sift(home, |entry| items.holds(entry.place));
        } else {
            self.split(home, items);
        }
    }

    /// Replaces a bucket by a ring, and drops its dead entries.
    #[inline(never)]
    fn split<T>(&mut self, home: Home, items: &mut Slab<T>) {
        let Content::Bucket(bucket) = self.ring(home.ring()).get(home.digit()) else { return };
        work::note(2 * bucket.len());
        let (mut any, mut every) = (0, u128::MAX);
        bucket.for_each(|entry| (any, every) = (any | entry.rank(), every & entry.rank()));
        if any == every {
            return;
        }
        let bit = 127 - (any ^ every).leading_zeros();
        let number = self.add_ring(Ring::new(any, shift_for(bit), home));
        let ring = self.ring_mut(home.ring());
        let Some(bucket) = ring.take_bucket(home.digit()) else { return };
        ring.set(home.digit(), Content::Ring(number));
        let ring = &mut self.rings[number as usize];
        let is_clean = bucket.live() == bucket.len();
        bucket.drain(&mut self.blocks, |entry, blocks| {
            if !is_clean && !items.holds(entry.place) {
                return;
            }
            let digit = ring.digit(entry.rank()).expect("the ring has room for the whole bucket");
            match ring.bucket_mut(digit) {
                Some(bucket) => bucket.push(entry, blocks),
                None => ring.set(digit, Content::Bucket(Bucket::new(entry, blocks))),
            }
        });
        // In a loop of its own, so that the cache misses overlap: this is most of the time it takes.
        for (digit, bucket) in ring.buckets() {
            let home = Home::new(number, digit).to_bits();
            bucket.for_each(|entry| {
                items.set_home(entry.place, home);
            });
        }
    }

    /// Takes the first live entries out, sorted: out of the first bucket, after it is split if it has many.
    ///
    /// Bounded: a bucket is split once. What is first in it then may still have many entries.
    pub(super) fn take_first<T>(&mut self, items: &mut Slab<T>) -> &[Entry] {
        self.room.clear();
        if let Some((home, PICK_MAX..)) = self.first_bucket() {
            self.split(home, items);
        }
        if let Some((home, _)) = self.first_bucket() {
            self.pick(home, items);
        }
        self.room.sort_unstable_by_key(Entry::rank);
        &self.room
    }

    /// Moves the first live entries of a bucket into the room for them, `LOAD_MAX` at most.
    fn pick<T>(&mut self, home: Home, items: &mut Slab<T>) {
        let Some(bucket) = self.ring_mut(home.ring()).take_bucket(home.digit()) else { return };
        let mut room = std::mem::take(&mut self.room);
        bucket.drain(&mut self.blocks, |entry, _| room.push(entry));
        room.retain(|entry| items.holds(entry.place));
        if room.len() > LOAD_MAX {
            work::note(room.len());
            room.select_nth_unstable_by_key(LOAD_MAX, Entry::rank);
            for entry in room.drain(LOAD_MAX..) {
                self.put(home, entry);
            }
        } else {
            self.drop_empty(home.ring());
        }
        for entry in &room {
            items.prefetch(entry.place, Home::NEAR.to_bits());
        }
        self.room = room;
    }

    /// Takes out the items for which `leaves` holds.
    pub(super) fn extract<T>(
        &mut self,
        items: &mut Slab<T>,
        leaves: &mut dyn FnMut(Key, &T) -> bool,
    ) -> Vec<(Key, T)> {
        let mut out = Vec::new();
        for home in self.homes() {
            self.sift(home, |entry| match items.get(entry.place) {
                Some(item) if leaves(entry.key, item) => {
                    out.extend(items.take(entry.place).map(|(item, _)| (entry.key, item)));
                    false
                }
                item => item.is_some(),
            });
        }
        out
    }

    /// Visits all entries, dead ones included.
    pub(super) fn for_each(&self, mut visit: impl FnMut(Entry)) {
        let buckets = self.rings.iter().flat_map(|ring| ring.buckets());
        buckets.for_each(|(_, bucket)| bucket.for_each(&mut visit));
    }

    /// The slots of all buckets.
    fn homes(&self) -> Vec<Home> {
        let rings = (0..).zip(&self.rings);
        rings
            .flat_map(|(number, ring)| {
                ring.buckets().map(move |(digit, _)| Home::new(number, digit))
            })
            .collect()
    }

    fn first_bucket(&self) -> Option<(Home, usize)> {
        let mut number = ROOT;
        loop {
            let ring = self.ring(number);
            let digit = ring.first()?;
            match ring.get(digit) {
                Content::Nothing => return None,
                Content::Ring(inner) => number = *inner,
                Content::Bucket(bucket) => return Some((Home::new(number, digit), bucket.len())),
            }
        }
    }

    /// Removes a ring if it is empty, and the rings around it that held nothing else.
    fn drop_empty(&mut self, mut number: u32) {
        while number != ROOT && self.ring(number).is_empty() {
            self.vacant.push(number);
            let above = self.ring(number).above;
            self.ring_mut(above.ring()).clear(above.digit());
            number = above.ring();
        }
    }

    fn add_ring(&mut self, ring: Ring) -> u32 {
        if let Some(number) = self.vacant.pop() {
            *self.ring_mut(number) = ring;
            return number;
        }
        self.rings.push(Box::new(ring));
        self.vacant.reserve(self.rings.len());
        self.rings.len() as u32 - 1
    }

    fn ring(&self, number: u32) -> &Ring {
        &self.rings[number as usize]
    }

    fn ring_mut(&mut self, number: u32) -> &mut Ring {
        &mut self.rings[number as usize]
    }
}
