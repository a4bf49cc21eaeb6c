//! Entries of the queue that will not be run.

use crate::sync::{AtomicU64, Ordering};

/// The number of entries of a queue that have died since the pool looked.
///
/// A task that is cancelled touches no queue: its entry stays as a dead one, which is skipped when it comes, or swept out
/// with others. So the number of live entries is the number of all entries less the dead ones.
#[derive(Debug, Default)]
pub(crate) struct DeadEntries {
    /// From the lowest bit: whether the pool wants to hear of each; how many alarms; how many others.
    word: AtomicU64,
}

/// The number of dead entries after which the pool looks whether to sweep.
const MANY: u64 = 256;
const HEARS: u64 = 1;
const ALARM: u64 = 1 << 1;
const OTHER: u64 = 1 << 32;

impl DeadEntries {
    /// Counts one more, and returns true if the pool is to look.
    #[inline]
    pub(crate) fn announce(&self, is_alarm: bool) -> bool {
        // ORDERING: one atomic holds count and wish, so that either the pool sees this entry when it says that it wants to
        // hear, or this thread sees that wish. Release, so that a thread that sees the count sees the end of the task.
        let before = self.word.fetch_add(if is_alarm { ALARM } else { OTHER }, Ordering::AcqRel);
        before & HEARS != 0 || (before / OTHER + 1).is_multiple_of(MANY)
    }

    /// Takes the counts of alarms and of others, and says whether the pool wants to hear of each from now on.
    pub(crate) fn take(&self, wants_death_notices: bool) -> (i64, i64) {
        // ORDERING: see `announce`.
        let word = self.word.swap(u64::from(wants_death_notices), Ordering::AcqRel);
        let alarms = (word % OTHER) / ALARM;
        (alarms.cast_signed(), (word / OTHER).cast_signed())
    }

    /// Returns true if nothing was announced since, and the wish is the same.
    pub(crate) fn is_quiet(&self, wants_death_notices: bool) -> bool {
        // ORDERING: relaxed, a look without a lock; what came in between is found at the next.
        self.word.load(Ordering::Relaxed) == u64::from(wants_death_notices)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{DeadEntries, MANY};

    #[test]
    fn the_pool_is_called_for_each_entry_if_it_wants_and_otherwise_for_many() {
        let dead = DeadEntries::default();
        assert!(!dead.announce(true) && !dead.announce(false));
        assert_eq!(dead.take(true), (1, 1));
        assert!(dead.is_quiet(true) && !dead.is_quiet(false));
        assert!(dead.announce(true) && dead.announce(false));
        assert_eq!(dead.take(false), (1, 1));
        let called = (0..MANY).filter(|_| dead.announce(false)).count();
        assert_eq!((called, dead.take(false)), (1, (0, MANY.cast_signed())));
    }
}
