//! The queue of a pool, in the order of due time and submission.
//!
//! An entry is first in a `LaterQueue`, a radix heap; when its time comes it moves to the `DueQueue`, from which
//! workers take. The queue knows no task, no clock and no thread: an instant is a number, and
//! who takes says which instant has come.
//!
//! Time goes forward, so the queue is monotone: what is taken is never later than what is put in afterwards, but for
//! entries that are due already. The radix heap relies on that for its speed, not for its order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Entries in the order of their keys.
#[derive(Debug)]
pub struct Queue<T> {
    due: DueQueue<T>,
    later: LaterQueue<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { due: DueQueue::new(), later: LaterQueue::new() }
    }
}

impl<T> Queue<T> {
    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.due.len() + self.later.len()
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an entry in; `now` is an instant that has come.
    #[inline]
    pub fn push(&mut self, entry: Entry<T>, now: u64) {
        let due = entry.key.due;
        if due <= now.max(self.later.limit()) && due != NEVER {
            self.due.push(entry);
        } else {
            self.later.push(entry);
        }
    }

    /// Takes the first entry, if it is due at `now`.
    #[inline(always)]
    pub fn pop(&mut self, now: u64) -> Option<Entry<T>> {
        if let Some(first) = self.due.only_line().filter(|first| *first < self.later.first()) {
            return if first <= now { self.due.pop_line() } else { None };
        }
        self.open(now);
        self.due.pop_until(now)
    }

    /// The key of the first entry, if it is due at `now`.
    pub fn first_due(&mut self, now: u64) -> Option<Key> {
        self.open(now);
        self.due.first().filter(|key| key.due <= now)
    }

    /// Moves what is due and may be first to the due entries.
    fn open(&mut self, now: u64) {
        loop {
            let bound = self.due.first().map_or(now, |key| key.due.min(now));
            if self.later.first() > bound || self.later.first() == NEVER {
                return;
            }
            self.later.open(bound, &mut self.due);
        }
    }

    /// When the first entry is due, and the second; [`NEVER`] where there is none.
    ///
    /// The second may be named too early.
    #[must_use]
    pub fn first_two(&self) -> [u64; 2] {
        let [one, two] = self.due.first_two();
        let [three, four] = self.later.first_two();
        if one <= three { [one, two.min(three)] } else { [three, one.min(four)] }
    }

    /// Takes out the entries that `leaves` picks, and hands them to `out` in no particular order.
    pub fn extract(
        &mut self,
        mut leaves: impl FnMut(&Entry<T>) -> bool,
        mut out: impl FnMut(Entry<T>),
    ) {
        self.due.extract(&mut leaves, &mut out);
        self.later.extract(&mut leaves, &mut out);
    }

    /// Visits all entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Entry<T>> {
        self.due.iter().chain(self.later.iter())
    }
}

/// The place of an entry in the order: its due time, then its number in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When the entry is due, in nanoseconds; `u64::MAX` is never reached.
    pub due: u64,
    /// The number of the entry, unique among those that wait.
    pub sequence: u64,
}

/// An item in the queue.
#[derive(Debug)]
pub struct Entry<T> {
    /// Its place.
    pub key: Key,
    /// The item.
    pub item: T,
}

/// An entry that is compared by its key alone.
#[derive(Debug)]
pub(crate) struct ByKey<T>(pub(crate) Entry<T>);

impl<T> PartialEq for ByKey<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl<T> Eq for ByKey<T> {}

impl<T> PartialOrd for ByKey<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for ByKey<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

/// The end of time: nothing that is due then is ever taken.
pub const NEVER: u64 = u64::MAX;

/// Entries that are due.
///
/// Nearly all come in their order and stand in a line. One that comes before the last in line, because its submitter was slow or
/// its time has long passed, waits in a heap beside it.
#[derive(Debug)]
struct DueQueue<T> {
    line: VecDeque<Entry<T>>,
    late: BinaryHeap<Reverse<ByKey<T>>>,
}

impl<T> DueQueue<T> {
    fn new() -> Self {
        Self { line: VecDeque::new(), late: BinaryHeap::new() }
    }

    fn len(&self) -> usize {
        self.line.len() + self.late.len()
    }

    #[inline]
    fn push(&mut self, entry: Entry<T>) {
        if self.line.back().is_none_or(|last| last.key <= entry.key) {
            self.line.push_back(entry);
        } else {
            self.late.push(Reverse(ByKey(entry)));
        }
    }

    #[inline]
    fn first(&self) -> Option<Key> {
        let line = self.line.front().map(|entry| entry.key);
        match self.late.peek() {
            None => line,
            Some(Reverse(ByKey(late))) => Some(line.map_or(late.key, |line| line.min(late.key))),
        }
    }

    /// When the first entry is due, if it stands in line and nothing beside it.
    #[inline]
    fn only_line(&self) -> Option<u64> {
        if self.late.is_empty() { self.line.front().map(|entry| entry.key.due) } else { None }
    }

    /// Takes the first entry in line.
    #[inline]
    fn pop_line(&mut self) -> Option<Entry<T>> {
        self.line.pop_front()
    }

    /// Takes the first entry, if it is due at `now`.
    fn pop_until(&mut self, now: u64) -> Option<Entry<T>> {
        let first = self.first().filter(|key| key.due <= now)?;
        if self.line.front().is_some_and(|entry| entry.key == first) {
            return self.line.pop_front();
        }
        self.late.pop().map(|Reverse(ByKey(entry))| entry)
    }

    /// When the first two are due; the second may be named too early.
    fn first_two(&self) -> [u64; 2] {
        let due = |index: usize| self.line.get(index).map_or(NEVER, |entry| entry.key.due);
        match self.late.peek() {
            None => [due(0), due(1)],
            Some(Reverse(ByKey(late))) => {
                let late = late.key.due;
                [due(0).min(late), due(0).max(late).min(due(1)).min(late)]
            }
        }
    }

    fn extract(
        &mut self,
        leaves: &mut impl FnMut(&Entry<T>) -> bool,
        out: &mut impl FnMut(Entry<T>),
    ) {
        for entry in std::mem::take(&mut self.line) {
            if leaves(&entry) {
                out(entry);
            } else {
                self.line.push_back(entry);
            }
        }
        for Reverse(ByKey(entry)) in std::mem::take(&mut self.late) {
            if leaves(&entry) {
                out(entry);
            } else {
                self.late.push(Reverse(ByKey(entry)));
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Entry<T>> {
        self.line.iter().chain(self.late.iter().map(|Reverse(ByKey(entry))| entry))
    }
}

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

/// Entries that are due later: a radix heap.
///
/// After Ahuja, Mehlhorn, Orlin and Tarjan, *Faster Algorithms for the Shortest Path Problem* (1990). Entries lie unsorted in buckets.
/// The bucket of an entry is given by the highest group of bits in which its due time differs from `limit`, an instant
/// that has come: the level is that group, the bucket its value. So a push is a shift, a mask and an append. When the first
/// bucket is due it is opened: its entries move to lower levels, and the few that are due leave.
///
/// INVARIANT: every entry is due after `limit`; in a level above the lowest its bucket is after the bucket of `limit`, and all its higher
/// bits are those of `limit`. So the first bucket of the lowest level that has any holds the first entry.
#[derive(Debug)]
struct LaterQueue<T> {
    /// An instant that has come, and that no entry is due before.
    limit: u64,
    /// When the first entry is due.
    first: u64,
    levels: Vec<RadixLevel<T>>,
    len: usize,
}

#[derive(Debug)]
struct RadixLevel<T> {
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
    fn new() -> Self {
        let buckets = || Box::new(std::array::from_fn(|_| Bucket::new()));
        let level = || RadixLevel { filled: 0, buckets: buckets() };
        Self { limit: 0, first: NEVER, levels: (0..LEVELS).map(|_| level()).collect(), len: 0 }
    }

    fn len(&self) -> usize {
        self.len
    }

    /// When the first entry is due; [`NEVER`] where none ever is.
    #[inline]
    fn first(&self) -> u64 {
        self.first
    }

    /// An instant that has come; what is due by then does not belong here.
    #[inline]
    fn limit(&self) -> u64 {
        self.limit
    }

    /// Puts in an entry that is due after the limit.
    #[inline]
    fn push(&mut self, entry: Entry<T>) {
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
    fn open(&mut self, now: u64, due: &mut DueQueue<T>) {
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
    fn first_two(&self) -> [u64; 2] {
        let Some((level, index, bucket)) = self.first_bucket(0, 0) else { return [NEVER; 2] };
        if bucket.entries.len() > 1 {
            return [bucket.first, bucket.second];
        }
        let next = self.first_bucket(level, index + 1);
        [bucket.first, next.map_or(NEVER, |(_, _, bucket)| bucket.first)]
    }

    fn extract(
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

    fn iter(&self) -> impl Iterator<Item = &Entry<T>> {
        let buckets = self.levels.iter().flat_map(|level| level.buckets.iter());
        buckets.flat_map(|bucket| &bucket.entries)
    }
}

#[cfg(test)]
mod tests;
