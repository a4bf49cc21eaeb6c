//! Where submitters put tasks for which no worker has to be woken, and cancellers what is to leave the queue,
//! without the lock of the pool.
//!
//! Most submissions need no worker to be woken: all workers are there, and one of them looks at the queue before the
//! task is due; or none waits, and each looks after what is due has run. Most removals need none either, while the pool
//! runs and no worker waits for it to be empty. The core publishes beforehand which may be *staged* ([`MayStage`]),
//! behind a lock that is held for as long as it takes to append to a list. The next thread that takes a step of the
//! core first puts all that is staged into the queue; so a task whose submission has returned is seen by every later
//! step, and a cancelled one by none.
//!
//! INVARIANT: what is staged is what the present rule allows. The rule changes only under this lock, together with
//! taking out what is staged, so nothing is left behind that was staged under another rule.

use std::mem;
use std::time::Duration;

use crate::sync::{AtomicU64, Mutex, Ordering, planted};
use crate::time::Tick;
use scheduler_queue::{Key, Ticket};

/// After so many staged tasks their submitter puts them into the queue, so that they take little room
/// while the workers sleep for long, and so that submitters take their turn at the pool's lock. So many removals
/// at once are cheaper than one by one: their cache misses overlap.
const MANY: usize = 64;

/// The greatest capacity that is kept.
const ROOM_MAX: usize = 1024;

/// An item of the monotonic clock on its way into the queue.
#[derive(Debug)]
pub(crate) struct Newcomer<T> {
    pub(crate) due: Tick,
    pub(crate) sequence: u64,
    pub(crate) item: T,
    /// Whether it was due when it came.
    pub(crate) is_due: bool,
}

impl<T> Newcomer<T> {
    #[inline]
    pub(crate) fn key(&self) -> Key {
        Key { due: self.due.as_nanos(), sequence: self.sequence }
    }
}

/// Where an item is found: by its ticket, unless it stands in line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) ticket: Ticket,
    pub(crate) key: Key,
}

/// What may be staged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MayStage {
    /// The earliest due time of a task that may be staged; none while no task may be.
    pub(crate) from: Option<Tick>,
    /// Whether removals may be staged.
    pub(crate) removals: bool,
}

impl MayStage {
    /// Returns true if a task may be staged that is due then: a worker looks within this grace after it is due.
    #[inline]
    pub(crate) fn admits(self, due: Tick, grace: impl FnOnce() -> Duration) -> bool {
        self.from.is_some_and(|from| due >= from || due + grace() >= from)
    }
}

/// What is staged.
#[derive(Debug)]
pub(crate) struct Staged<T> {
    pub(crate) newcomers: Vec<Newcomer<T>>,
    /// Where those stand that have ended and are to leave the queue.
    pub(crate) removals: Vec<Place>,
}

impl<T> Staged<T> {
    pub(crate) const fn new() -> Self {
        Self { newcomers: Vec::new(), removals: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.newcomers.is_empty() && self.removals.is_empty()
    }

    /// Room for what comes next: that of emptied lists, unless they are large.
    pub(crate) fn trim(&mut self) {
        if self.newcomers.capacity() > ROOM_MAX {
            self.newcomers = Vec::new();
        }
        if self.removals.capacity() > ROOM_MAX {
            self.removals = Vec::new();
        }
    }
}

/// Tasks that are not in the queue yet, and tasks that are to leave it.
#[derive(Debug)]
pub(crate) struct Staging<T> {
    lists: Mutex<Lists<T>>,
    /// One of the three below; changed under the lock only.
    state: AtomicU64,
}

/// Nothing is staged.
const EMPTY: u64 = 0;
/// Something is staged.
const FILLED: u64 = 1;
/// What was staged is on its way into the queue, and nothing has come since.
const IN_TRANSIT: u64 = 2;

#[derive(Debug)]
struct Lists<T> {
    staged: Staged<T>,
    may_stage: MayStage,
}

impl<T> Staging<T> {
    pub(crate) fn new() -> Self {
        let lists = Lists { staged: Staged::new(), may_stage: MayStage::default() };
        Self { lists: Mutex::new(lists), state: AtomicU64::new(EMPTY) }
    }

    /// Returns true if all that was staged is in the queue, as far as the calling thread can know.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // ORDERING: acquire, see `announce` and `arrived`.
        self.state.load(Ordering::Acquire) == EMPTY
    }

    /// Stages a task, or hands it back if it has to go to the core. Returns true if it is time to put what is staged
    /// into the queue.
    #[inline]
    pub(crate) fn stage(
        &self,
        newcomer: Newcomer<T>,
        grace: impl FnOnce() -> Duration,
    ) -> Result<bool, T> {
        let mut lists = self.lists.lock();
        if !lists.may_stage.admits(newcomer.due, grace) {
            return Err(newcomer.item);
        }
        lists.staged.newcomers.push(newcomer);
        self.announce(&lists.staged);
        Ok(lists.staged.newcomers.len() >= MANY)
    }

    /// Stages a removal, and returns whether it is time to handle what is staged; none if it has to go to the core.
    pub(crate) fn stage_removal(&self, place: Place) -> Option<bool> {
        let mut lists = self.lists.lock();
        if !lists.may_stage.removals {
            return None;
        }
        lists.staged.removals.push(place);
        self.announce(&lists.staged);
        Some(lists.staged.removals.len() >= MANY)
    }

    fn announce(&self, staged: &Staged<T>) {
        if staged.newcomers.len() + staged.removals.len() == 1 {
            // ORDERING: release, so that a thread that comes after this submission sees the flag, and then the lock
            // shows what is staged. Only the first of many sets it.
            self.state.store(FILLED, Ordering::Release);
        }
    }

    /// Takes out what is staged, in exchange for empty lists; [`arrived`](Self::arrived) is called when it is in the
    /// queue.
    pub(crate) fn take(&self, room: &mut Staged<T>) {
        if self.is_empty() {
            return;
        }
        let mut lists = self.lists.lock();
        mem::swap(&mut lists.staged, room);
        if planted("L11 flag") {
            drop(lists);
        }
        self.leave();
    }

    /// Notes that what was staged is on its way; called under the lock.
    ///
    /// RACE: a later submitter must not take the lists for empty while what was in them is in no queue.
    fn leave(&self) {
        self.state.store(IN_TRANSIT, Ordering::Release);
    }

    /// Notes that what was taken out is in the queue.
    pub(crate) fn arrived(&self) {
        let _lists = self.lists.lock();
        // If something was staged since then, the state has changed.
        if self.state.load(Ordering::Relaxed) == IN_TRANSIT {
            // ORDERING: release, so that a thread that sees it finds the queue as it is now.
            self.state.store(EMPTY, Ordering::Release);
        }
    }

    /// Changes what may be staged, and takes out what was staged under the rule before, in exchange for empty lists.
    pub(crate) fn renew(&self, may_stage: MayStage, room: &mut Staged<T>) {
        let mut lists = self.lists.lock();
        lists.may_stage = may_stage;
        if !lists.staged.is_empty() && !planted("L11") {
            self.leave();
            mem::swap(&mut lists.staged, room);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn stage(staging: &Staging<u8>, item: u8, due: u64) -> Result<bool, u8> {
        let (due, sequence) = (Tick::from_nanos(due), u64::from(item));
        staging.stage(Newcomer { due, sequence, item, is_due: false }, || Duration::ZERO)
    }

    fn removal(sequence: u64) -> Place {
        Place { ticket: Ticket::NONE, key: Key { due: 0, sequence } }
    }

    fn from(due: u64) -> MayStage {
        MayStage { from: Some(Tick::from_nanos(due)), removals: true }
    }

    fn taken(staging: &Staging<u8>) -> (Vec<u8>, Vec<u64>) {
        let mut staged = Staged::new();
        staging.take(&mut staged);
        contents(&staged)
    }

    fn renewed(staging: &Staging<u8>, may_stage: MayStage) -> (Vec<u8>, Vec<u64>) {
        let mut staged = Staged::new();
        staging.renew(may_stage, &mut staged);
        contents(&staged)
    }

    fn contents(staged: &Staged<u8>) -> (Vec<u8>, Vec<u64>) {
        let newcomers = staged.newcomers.iter().map(|newcomer| newcomer.item).collect();
        (newcomers, staged.removals.iter().map(|place| place.key.sequence).collect())
    }

    #[test]
    fn only_what_may_be_staged_is_staged() {
        let staging = Staging::new();
        assert_eq!(stage(&staging, 1, 5), Err(1));
        assert_eq!(staging.stage_removal(removal(1)), None);
        assert_eq!(renewed(&staging, from(5)), (vec![], vec![]));
        assert_eq!(stage(&staging, 2, 5), Ok(false));
        assert_eq!(stage(&staging, 3, 4), Err(3));
        assert_eq!(stage(&staging, 4, 9), Ok(false));
        assert_eq!(staging.stage_removal(removal(7)), Some(false));
        assert_eq!(taken(&staging), (vec![2, 4], vec![7]));
        assert_eq!(taken(&staging), (vec![], vec![]));
    }

    #[test]
    fn a_change_of_what_may_be_staged_takes_out_what_was_staged_before() {
        let staging = Staging::new();
        renewed(&staging, from(0));
        assert_eq!(staging.stage_removal(removal(7)), Some(false));
        assert_eq!(stage(&staging, 1, 0), Ok(false));
        assert_eq!(renewed(&staging, MayStage::default()), (vec![1], vec![7]));
        assert_eq!(taken(&staging), (vec![], vec![]));
        assert_eq!(stage(&staging, 2, 0), Err(2));
        assert_eq!(staging.stage_removal(removal(8)), None);
    }

    #[test]
    fn a_full_list_is_reported() {
        let staging = Staging::new();
        renewed(&staging, from(0));
        let answers: Vec<bool> = (0..MANY).map(|_| stage(&staging, 0, 0).unwrap()).collect();
        assert_eq!(answers.iter().filter(|is_full| **is_full).count(), 1);
        assert!(answers[MANY - 1]);
        let answers = (0..MANY as u64).map(|number| staging.stage_removal(removal(number)));
        assert_eq!(answers.filter(|is_full| *is_full == Some(true)).count(), 1);
    }

    #[test]
    fn the_memory_of_large_lists_is_freed() {
        for (room, kept) in [(ROOM_MAX, ROOM_MAX), (ROOM_MAX + 1, 0)] {
            let (newcomers, removals) = (Vec::with_capacity(room), Vec::with_capacity(room));
            let mut staged: Staged<u8> = Staged { newcomers, removals };
            staged.trim();
            assert_eq!((staged.newcomers.capacity(), staged.removals.capacity()), (kept, kept));
        }
    }
}
