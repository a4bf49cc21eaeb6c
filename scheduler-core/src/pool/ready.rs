//! What is due, in its order, behind a lock of its own: a worker that goes from one task to the next takes no other.
//!
//! With a monotonic clock and delays that are not negative nothing that is submitted later comes before what is due
//! already. So what is due stands in a line, and a worker that has run a task takes the first of it. The rest of
//! the queue is behind the lock of the pool. The core publishes what may be taken without that lock: all that comes
//! before the *limit*, the first of the rest, until something is due by the wall clock.
//!
//! # Rules
//!
//! 1. *What stands in line was due when it came.* So what is submitted later, and not known here yet, comes after it.
//!    But it may have come after the reading of the clock by which it is taken.
//! 2. *A submitter puts a task in line itself only if nothing is staged*, which would have come before; and if the line is
//!    empty, or the submitter is a worker, which comes back to the line next. Another submitter that finds the line filled
//!    [stages](super::staging) its task, and the line is filled many at a time: so submitters and workers do not meet here.
//! 3. *The limit is never after the first of the rest.* It is lowered before anything earlier can be taken, and raised
//!    only under the pool's lock.
//! 4. *What a worker takes is published under this lock*, in its [`Activity`](super::activity::Activity). So a thread
//!    that has drained the line sees all that were taken from it.
//! 5. *A claim wakes no worker.* The next look at the queue is planned with what stands in line counted as due: so a
//!    worker comes for the second task, however soon the first is over.
//! 6. *A worker that has waited goes to the core*, and gives up the lead before it takes anything.

use std::time::Duration;

use super::staging::MayStage;
use crate::sync::{Apart, Mutex, MutexGuard, Ordering, UnexploredU64, planted};
use crate::time::{Now, Tick};
use scheduler_queue::{Key, Line};

/// By how much the wall clock has to be set back to be noticed, in nanoseconds. Within less than that
/// the fire times have been served.
pub(crate) const SET_BACK_MIN: i128 = 500_000_000;

/// What is due, and what of it may be taken.
///
/// INVARIANT: the lock is taken under that of the pool, never the other way round; under it nothing is locked, and no
/// user code runs.
#[derive(Debug)]
pub(crate) struct Ready<T> {
    front: Apart<Mutex<Front<T>>>,
    /// Whether anything stands in line; written under the lock, and only a hint without it.
    is_filled: UnexploredU64,
}

#[derive(Debug)]
pub(crate) struct Front<T> {
    pub(crate) line: Line<T>,
    /// The first of the rest of the queue by the monotonic clock.
    pub(crate) limit: Option<Key>,
    /// What the queue knows of the wall clock, while anything waits for that.
    pub(crate) wall: Option<Wall>,
    may_stage: MayStage,
    /// When the first is due that a submitter has put in line since the core looked.
    pub(crate) came: Option<Tick>,
}

/// What waits for the wall clock, as far as a look at the queue needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wall {
    /// When the first is due; none where nothing waits any more.
    pub(crate) due: Option<u64>,
    /// By how much the wall clock was ahead of the monotonic one, in nanoseconds: at the last look, or when
    /// something came since then, whichever is more.
    pub(crate) lead: i128,
}

impl Wall {
    /// Compares the wall clock with the last look, and returns true if it was set back since.
    pub(crate) fn look(&mut self, now: Now) -> bool {
        let lead = now.wall.lead(now.tick);
        std::mem::replace(&mut self.lead, lead) - lead > SET_BACK_MIN
    }
}

impl<T> Ready<T> {
    pub(crate) fn new() -> Self {
        let may_stage = MayStage::default();
        let front = Front { line: Line::new(), limit: None, wall: None, may_stage, came: None };
        Self { front: Apart(Mutex::new(front)), is_filled: UnexploredU64::new(0) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Front<T>> {
        self.front.lock()
    }

    /// Records whether anything stands in line; called under the lock.
    #[inline]
    pub(crate) fn note(&self, front: &Front<T>) {
        self.is_filled.store(u64::from(!front.line.is_empty()), Ordering::Relaxed);
    }

    /// Takes items out of the line, at any place.
    pub(crate) fn alter<R>(&self, alter: impl FnOnce(&mut Line<T>) -> R) -> R {
        let mut front = self.front.lock();
        let out = alter(&mut front.line);
        self.note(&front);
        out
    }

    /// Returns true if nothing stands in line, as far as the calling thread knows.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // ORDERING: relaxed, it is a hint: a worker that misses something finds it under the pool's lock, and a line
        // that is not empty takes another item as well.
        self.is_filled.load(Ordering::Relaxed) == 0
    }

    /// Puts an item that is due in line, or hands it back if it has to go to the core.
    #[inline]
    pub(crate) fn submit(
        &self,
        due: Tick,
        sequence: u64,
        item: T,
        grace: impl FnOnce() -> Duration,
    ) -> Result<(), T> {
        let key = Key { due: due.as_nanos(), sequence };
        let mut front = self.front.lock();
        if !front.may_stage.admits(due, grace) || !front.line.admits(key) {
            return Err(item);
        }
        front.came.get_or_insert(due);
        front.line.push(key, item);
        self.is_filled.store(1, Ordering::Relaxed);
        Ok(())
    }

    /// Changes what may be staged, and returns when the first item is due that came since the core looked.
    pub(crate) fn renew(&self, may_stage: MayStage) -> Option<Tick> {
        let mut front = self.front.lock();
        front.may_stage = may_stage;
        front.came.take().filter(|_| !planted("L16 late"))
    }

    /// Takes the first item, if that is allowed; `note` records it under the lock.
    #[inline]
    pub(crate) fn claim<R>(&self, now: Now, note: impl FnOnce(Key, &T) -> R) -> Option<(T, R)> {
        if self.is_empty() {
            return None;
        }
        let mut front = self.front.lock();
        let first = front.line.first()?;
        if !front.admits(first, now) {
            return None;
        }
        let (key, item) = front.line.pop()?;
        if front.line.is_empty() {
            self.is_filled.store(0, Ordering::Relaxed);
        }
        if planted("L16 note") {
            drop(front);
            let noted = note(key, &item);
            return Some((item, noted));
        }
        let noted = note(key, &item);
        Some((item, noted))
    }
}

impl<T> Front<T> {
    /// Returns true if an item comes before all of the rest.
    fn admits(&mut self, first: Key, now: Now) -> bool {
        // RACE: it may have become due after this reading of the clock.
        let is_due = first.due <= now.tick.as_nanos();
        let is_first = self.limit.is_none_or(|limit| first < limit) || planted("L16 limit");
        if !is_due || !is_first {
            return false;
        }
        let Some(wall) = &mut self.wall else { return true };
        let Some(due) = wall.due else {
            self.wall = None;
            return true;
        };
        let before = wall.lead;
        let is_reached = due <= now.wall.key();
        if !is_reached && !wall.look(now) {
            return true;
        }
        // The next look under the pool's lock handles it.
        wall.lead = before;
        false
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::time::WallTime;

    fn key(due: u64) -> Key {
        Key { due, sequence: 0 }
    }

    fn at(wall: i64) -> Now {
        Now { tick: Tick::from_nanos(100), wall: WallTime::from_nanos(wall) }
    }

    fn ready(dues: impl IntoIterator<Item = u64>) -> Ready<u64> {
        let ready = Ready::new();
        let mut front = ready.lock();
        for due in dues {
            front.line.push(key(due), due);
        }
        ready.note(&front);
        drop(front);
        ready
    }

    fn claim(ready: &Ready<u64>, now: Now) -> Option<u64> {
        ready.claim(now, |key, item| assert_eq!(key.due, *item)).map(|(item, ())| item)
    }

    #[test]
    fn what_comes_before_the_limit_is_taken_in_its_order() {
        let ready = ready(1..=5);
        ready.lock().limit = Some(key(4));
        let taken = [(); 5].map(|()| claim(&ready, at(0)));
        assert_eq!(taken, [Some(1), Some(2), Some(3), None, None]);
        ready.lock().limit = None;
        assert_eq!(claim(&ready, at(0)), Some(4));
    }

    #[test]
    fn nothing_is_taken_when_the_wall_clock_shows_a_time_that_something_waits_for() {
        let ready = ready(1..=3);
        let due = Some(WallTime::from_nanos(10).key());
        ready.lock().wall = Some(Wall { due, lead: -100 });
        assert_eq!(claim(&ready, at(9)), Some(1));
        assert_eq!(claim(&ready, at(10)), None);
        assert_eq!(claim(&ready, at(0)), Some(2));
    }

    #[test]
    fn nothing_is_taken_when_the_wall_clock_was_set_back_until_that_is_handled() {
        let ready = ready(1..=3);
        let second = 1_000_000_000;
        ready.lock().wall = Some(Wall { due: Some(u64::MAX), lead: 10 * i128::from(second) });
        assert_eq!(claim(&ready, at(10 * second)), Some(1));
        assert_eq!(claim(&ready, at(9 * second)), None);
        assert_eq!(claim(&ready, at(9 * second)), None);
        assert!(ready.lock().wall.as_mut().unwrap().look(at(9 * second)));
        assert_eq!(claim(&ready, at(9 * second)), Some(2));
    }

    fn submit(ready: &Ready<u64>, due: u64) -> bool {
        ready.is_empty() && ready.submit(Tick::from_nanos(due), 0, due, || Duration::ZERO).is_ok()
    }

    #[test]
    fn a_submitter_puts_in_line_what_may_be_staged_and_the_core_learns_of_it() {
        let (ready, from) = (Ready::new(), |due| MayStage { from: Some(due), removals: true });
        assert!(!submit(&ready, 5));
        assert_eq!(ready.renew(from(Tick::from_nanos(5))), None);
        assert!(!submit(&ready, 4));
        assert!(submit(&ready, 6) && !submit(&ready, 7), "it is empty for one only");
        assert_eq!(claim(&ready, at(0)), Some(6));
        assert!(submit(&ready, 7));
        assert_eq!(ready.renew(from(Tick::ZERO)), Some(Tick::from_nanos(6)));
        assert_eq!(ready.renew(MayStage::default()), None);
        assert_eq!(claim(&ready, at(0)), Some(7));
        assert!(!submit(&ready, 8));
    }
}
