//! Entries that are far and were just pushed: they reach their buckets in batches.
//!
//! The path to a bucket, and the bucket's end, lie anywhere in memory, and with many items pending they are
//! not in the cache. In a batch these cache misses overlap; and what is cancelled before the next batch, as
//! most time-outs are, never reaches a bucket.

use super::entry::Entry;
use super::far::{BUCKET_MAX, Far};
use super::ring::Home;
use super::slab::Slab;
use super::work;

/// The number of entries that are flushed at once.
const ARRIVALS_MAX: usize = 256;

/// Entries on their way to buckets, some of them dead.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// INVARIANT: live ones have [`Home::ARRIVALS`] for a home, and keys beyond the reach of the near part.
    entries: Vec<Entry>,
    /// Room for the buckets they go to; none for a dead one.
    homes: Vec<Option<Home>>,
}

impl Arrivals {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry. Returns true if it is time to flush.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        work::note(1);
        self.entries.push(entry);
        self.entries.len() >= ARRIVALS_MAX
    }

    /// Moves the live entries to their buckets.
    ///
    /// Bounded: of the buckets that get too full only the fullest is split or swept.
    #[inline(never)]
    pub(super) fn flush<T>(&mut self, far: &mut Far, items: &mut Slab<T>) {
        work::note(2 * self.entries.len());
        // A loop of its own, in which no turn waits for the one before: so the cache misses overlap. A bucket
        // that was found stays where it is, because a ring comes only between a slot and a ring.
        let home_of = |entry: &Entry| items.holds(entry.place).then(|| far.home_for(entry.rank()));
        self.homes.extend(self.entries.iter().map(home_of));
        let mut fullest = (0, Home::NEAR);
        for (entry, home) in self.entries.drain(..).zip(self.homes.drain(..)) {
            let Some(home) = home else { continue };
            items.set_home(entry.place, home.to_bits());
            let len = far.put(home, entry);
            if len > fullest.0 {
                fullest = (len, home);
            }
        }
        if fullest.0 >= BUCKET_MAX {
            far.make_room(fullest.1, items);
        }
    }

    pub(super) fn for_each(&self, visit: impl FnMut(Entry)) {
        self.entries.iter().copied().for_each(visit);
    }

    pub(super) fn retain(&mut self, stays: impl FnMut(&Entry) -> bool) {
        self.entries.retain(stays);
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay_queue::Key;

    #[test]
    fn many_entries_are_put_away_at_once_and_each_is_counted() {
        let (mut arrivals, mut far) = (Arrivals::default(), Far::new());
        let mut items = Slab::new(|_| ());
        let mut push = |due| {
            let place = items.insert((), Home::ARRIVALS.to_bits());
            arrivals.push(Entry { key: Key { due, sequence: due }, place })
        };
        assert!((1..ARRIVALS_MAX as u64).all(|due| !push(due)));
        assert!(push(ARRIVALS_MAX as u64));
        work::noted();
        arrivals.flush(&mut far, &mut items);
        // It is read, noted, and put into its bucket.
        assert_eq!(work::noted(), 3 * ARRIVALS_MAX);
        assert_eq!((arrivals.is_empty(), far.is_empty()), (true, false));
    }
}
