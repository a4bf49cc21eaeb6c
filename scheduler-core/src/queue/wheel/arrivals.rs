//! What has just come and is far: it waits here until there is more of it.
//!
//! The way to a bag, and the bag's end, lie anywhere in memory, and with many items pending they are not in
//! the cache. Many entries that are put away at once wait for theirs at the same time; and what is
//! cancelled before that, as most time-outs are, is never put away.

use super::entry::Entry;
use super::far::BAG_MAX;
use super::far::Far;
use super::ring::Home;
use super::slab::Slab;
use super::work;

/// So many entries are put away at once.
const ARRIVALS_MAX: usize = 256;

/// Entries on their way to bags, some of them dead.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// INVARIANT: live ones have [`Home::ARRIVALS`] for a home, and keys beyond the reach of the near part.
    entries: Vec<Entry>,
    /// Room for the bags they go to; none for a dead one.
    homes: Vec<Option<Home>>,
}

impl Arrivals {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes an entry in, and says whether it is time to put all away.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        work::note(1);
        self.entries.push(entry);
        self.entries.len() >= ARRIVALS_MAX
    }

    /// Puts the live entries into their bags.
    ///
    /// Bounded: of the bags that overflow by that one is relieved, the fullest.
    #[inline(never)]
    pub(super) fn put_away<T>(&mut self, far: &mut Far, items: &mut Slab<T>) {
        work::note(2 * self.entries.len());
        // A loop of its own, in which no turn waits for the one before: so the cache misses overlap. A bag
        // that was found stays where it is, because a ring comes only between a slot and a ring.
        let home_of = |entry: &Entry| items.holds(entry.place).then(|| far.home_for(entry.rank()));
        self.homes.extend(self.entries.iter().map(home_of));
        let mut fullest = (0, Home::NEAR);
        for (entry, home) in self.entries.drain(..).zip(self.homes.drain(..)) {
            let Some(home) = home else { continue };
            items.rehome(entry.place, home.to_bits());
            let len = far.put(home, entry);
            if len > fullest.0 {
                fullest = (len, home);
            }
        }
        if fullest.0 >= BAG_MAX {
            far.relieve(fullest.1, items);
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
    use crate::queue::Key;

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
        arrivals.put_away(&mut far, &mut items);
        // It is read, noted, and put into its bag.
        assert_eq!(work::noted(), 3 * ARRIVALS_MAX);
        assert_eq!((arrivals.is_empty(), far.is_empty()), (true, false));
    }
}
