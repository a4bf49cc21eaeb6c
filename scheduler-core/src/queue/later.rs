//! Entries that are due later: a radix heap.
//!
//! After Ahuja, Mehlhorn, Orlin and Tarjan, *Faster Algorithms for the Shortest Path Problem* (1990). Entries lie unsorted in buckets.
//! The bucket of an entry is given by the highest group of bits in which its due time differs from `limit`, an instant
//! that has come: the level is that group, the bucket its value. So a push is a shift, a mask and an append. When the first
//! bucket is due it is opened: its entries move to lower levels, and the few that are due leave.
//!
//! INVARIANT: every entry is due after `limit`; in a level above the lowest its bucket is after the bucket of `limit`, and all its higher
//! bits are those of `limit`. So the first bucket of the lowest level that has any holds the first entry.

use super::due::DueQueue;
use super::entry::{Entry, NEVER};

/// The number of bits that tell the buckets of a level apart.
const BITS: u32 = 6;
/// The number of buckets of a level.
const BUCKETS: usize = 1 << BITS;
/// The lowest bits, which buckets ignore: the finest one is about a microsecond wide.
const FINEST: u32 = 10;
/// So many levels cover all due times.
const LEVELS: usize = (u64::BITS - FINEST).div_ceil(BITS) as usize;
/// A bucket with no more entries is sorted rather than spread over lower levels.
const FEW: usize = 64;

/// Entries that are due later.
#[derive(Debug)]
pub(super) struct LaterQueue<T> {
    /// An instant that has come, and that no entry is due before.
    limit: u64,
    /// When the first entry is due.
    first: u64,
    levels: Vec<Level<T>>,
    len: usize,
}

#[derive(Debug)]
struct Level<T> {
    /// A bit for each bucket that has entries.
    filled: u64,
    buckets: Box<[Bucket<T>; BUCKETS]>,
}

#[derive(Debug)]
struct Bucket<T> {
    entries: Vec<Entry<T>>,
    /// When the first two entries are due.
    first: u64,
    second: u64,
}

impl<T> Bucket<T> {
    fn new() -> Self {
        Self { entries: Vec::new(), first: NEVER, second: NEVER }
    }

    #[inline]
    fn push(&mut self, entry: Entry<T>) {
        self.update_first(entry.key.due);
        self.entries.push(entry);
    }

    #[inline]
    fn update_first(&mut self, due: u64) {
        if due < self.first {
            (self.first, self.second) = (due, self.first);
        } else if due < self.second {
            self.second = due;
        }
    }
}

impl<T> Bucket<T> {
    /// Takes out the entries that `leaves` picks, and returns how many.
    #[inline(never)]
    fn extract(
        &mut self,
        leaves: &mut impl FnMut(&Entry<T>) -> bool,
        out: &mut impl FnMut(Entry<T>),
    ) -> usize {
        let before = self.entries.len();
        (self.first, self.second) = (NEVER, NEVER);
        let mut index = 0;
        // They lie in no order.
        while let Some(entry) = self.entries.get(index) {
            if leaves(entry) {
                out(self.entries.swap_remove(index));
            } else {
                let due = entry.key.due;
                self.update_first(due);
                index += 1;
            }
        }
        if self.entries.len() < self.entries.capacity() / 4 {
            self.entries.shrink_to(FEW.max(2 * self.entries.len()));
        }
        before - self.entries.len()
    }
}

impl<T> LaterQueue<T> {
    pub(super) fn new() -> Self {
        let buckets = || Box::new(std::array::from_fn(|_| Bucket::new()));
        let level = || Level { filled: 0, buckets: buckets() };
        Self { limit: 0, first: NEVER, levels: (0..LEVELS).map(|_| level()).collect(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// When the first entry is due; [`NEVER`] where none ever is.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// An instant that has come; what is due by then does not belong here.
    #[inline]
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Puts in an entry that is due after the limit.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<T>) {
        self.first = self.first.min(entry.key.due);
        self.len += 1;
        self.place(entry);
    }

    #[inline]
    fn place(&mut self, entry: Entry<T>) {
        let due = entry.key.due;
        let differ = (due ^ self.limit) >> FINEST;
        let level = (u64::BITS - 1 - (differ | 1).leading_zeros()) / BITS;
        let index = (due >> (FINEST + BITS * level)) as usize % BUCKETS;
        let level = &mut self.levels[level as usize];
        level.filled |= 1 << index;
        level.buckets[index].push(entry);
    }

    /// Opens the first bucket, which has an entry that is due at `now`. The due entries of a bucket of the lowest level, or of a
    /// small one, leave; all others move to lower levels.
    pub(super) fn open(&mut self, now: u64, due: &mut DueQueue<T>) {
        let Some(level) = self.levels.iter().position(|level| level.filled != 0) else { return };
        let index = self.levels[level].filled.trailing_zeros() as usize;
        self.levels[level].filled &= !(1 << index);
        let empty = Bucket::new();
        let bucket = std::mem::replace(&mut self.levels[level].buckets[index], empty);
        let shift = FINEST + BITS * level as u32;
        let begin = (self.limit >> shift >> BITS << BITS | index as u64) << shift;
        let end = begin | ((1 << shift) - 1);
        let mut entries = bucket.entries;
        if level == 0 || entries.len() <= FEW {
            // Still in the bucket, so that the higher bits of all other entries agree with it.
            self.limit = self.limit.max(begin).max(now.min(end));
            entries.sort_unstable_by_key(|entry| entry.key);
        } else {
            self.limit = self.limit.max(begin);
        }
        for entry in entries.drain(..) {
            if entry.key.due <= self.limit && entry.key.due != NEVER {
                self.len -= 1;
                due.push(entry);
            } else {
                self.place(entry);
            }
        }
        self.keep_memory(level, index, entries);
        self.find_first();
    }

    /// Keeps the memory of a small bucket that was opened, for the next entries.
    fn keep_memory(&mut self, level: usize, index: usize, entries: Vec<Entry<T>>) {
        let bucket = &mut self.levels[level].buckets[index];
        if bucket.entries.capacity() == 0 && entries.capacity() <= FEW {
            bucket.entries = entries;
        }
    }

    fn find_first(&mut self) {
        self.first = self.first_bucket(0, 0).map_or(NEVER, |(_, _, bucket)| bucket.first);
    }

    /// The first bucket with entries, from a level and an index on.
    fn first_bucket(&self, level: usize, index: usize) -> Option<(usize, usize, &Bucket<T>)> {
        let mut from = index;
        for (number, level) in self.levels.iter().enumerate().skip(level) {
            let filled = if from < BUCKETS { level.filled >> from << from } else { 0 };
            if filled != 0 {
                let index = filled.trailing_zeros() as usize;
                return Some((number, index, &level.buckets[index]));
            }
            from = 0;
        }
        None
    }

    /// When the first two are due.
    pub(super) fn first_two(&self) -> [u64; 2] {
        let Some((level, index, bucket)) = self.first_bucket(0, 0) else { return [NEVER; 2] };
        if bucket.entries.len() > 1 {
            return [bucket.first, bucket.second];
        }
        let next = self.first_bucket(level, index + 1);
        [bucket.first, next.map_or(NEVER, |(_, _, bucket)| bucket.first)]
    }

    pub(super) fn extract(
        &mut self,
        leaves: &mut impl FnMut(&Entry<T>) -> bool,
        out: &mut impl FnMut(Entry<T>),
    ) {
        let mut left = 0;
        for level in self.levels.iter_mut().filter(|level| level.filled != 0) {
            for (index, bucket) in level.buckets.iter_mut().enumerate() {
                if level.filled & (1 << index) != 0 {
                    left += bucket.extract(leaves, out);
                    if bucket.entries.is_empty() {
                        level.filled &= !(1 << index);
                    }
                }
            }
        }
        self.len -= left;
        self.find_first();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<T>> {
        let buckets = self.levels.iter().flat_map(|level| level.buckets.iter());
        buckets.flat_map(|bucket| &bucket.entries)
    }
}
