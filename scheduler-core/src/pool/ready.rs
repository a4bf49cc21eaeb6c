//! What is reached without the lock of the pool: the line of what is due, and what is staged.
//!
//! Submitters, cancellers, and workers that go from one task to the next take no other lock than the one here, and hold
//! it for as long as it takes to append to a list or to take the first of one. The rest of the queue is the agenda's,
//! behind the lock of the pool.
//!
//! # The line
//!
//! With a monotonic clock and delays that are not negative nothing that is submitted later comes before what is due
//! already. So what is due stands in a line: whoever submits it puts it at the end, and whoever is through with a task
//! takes the first. All may be taken that comes before the *limit*, the first of the rest of the queue, and before the
//! wall clock shows another time than it shows now.
//!
//! # What is staged
//!
//! Most submissions change nothing that anybody is to be told: all workers are there, and one of them looks at the queue
//! before the task is due; or none waits, and each looks when it is through with what is due. Most removals change
//! nothing either, while the pool runs and no worker waits for it to be empty. The core says beforehand which may be
//! staged ([`MayStage`]), and the next thread that takes a step of the core first puts all that is staged into the
//! queue. So a task whose submission has returned is seen by every later step, and a cancelled one by none.
//!
//! # Rules
//!
//! 1. *What stands in line was due when it came.* So what is submitted later, and not known here yet, comes after it. But
//!    it may have come after the clock was read by which it is taken.
//! 2. *Nothing is put in line while anything is staged*: that was submitted before.
//! 3. *The limit is never after the first of the rest.* It is lowered before anything earlier can be taken, and raised
//!    by whoever has the pool's lock.
//! 4. *What a worker takes is published under this lock*, in its [`Turn`](super::turn::Turn). So whoever has drained
//!    the line sees all that were taken from it.
//! 5. *A claim owes nothing.* Who looks at the queue next, and when, counts what stands in line as due: so whoever is
//!    to come for the second one comes, however soon the first is over.
//! 6. *Whoever has waited comes by the core*, and gives up the lead before it takes anything.
//! 7. *Who changes what may be staged sees what has come under the rule before*: it takes out what is staged, and hears
//!    what was put in line since the step began.
//!
//! All submitters and workers of a pool meet at this lock: beyond a few cores its cache line is what limits them.

use std::mem;
use std::time::Duration;

use crate::sync::Apart;
use crate::sync::AtomicBool;
use crate::sync::Mutex;
use crate::sync::MutexGuard;
use crate::sync::Ordering;
use crate::sync::UnexploredU64;
use crate::sync::planted;
use crate::time::Now;
use crate::time::Tick;
use scheduler_queue::Key;
use scheduler_queue::Line;
use scheduler_queue::Ticket;

/// By how much the wall clock has to be set back to be noticed, in nanoseconds. Within less than that
/// the fire times have been served.
pub(crate) const SET_BACK_MIN: i128 = 500_000_000;

/// After so many staged tasks their submitter puts them into the queue, so that they take little room
/// while the workers sleep for long, and so that submitters wait where others have to. As many removals
/// at once are cheaper than one by one: what they wait for in memory comes at the same time.
const MANY: usize = 64;

/// The most room that is kept for later.
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

/// What the core need not hear of at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MayStage {
    /// The earliest due time of a task that may be staged; none while the core has to hear of each.
    pub(crate) from: Option<Tick>,
    /// Whether removals may be staged.
    pub(crate) removals: bool,
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

/// What is due, and what of it may be taken; what is staged, and what may be.
///
/// INVARIANT: the lock is taken under that of the pool, never the other way round; under it nothing is locked, and no
/// user code runs.
#[derive(Debug)]
pub(crate) struct Ready<T> {
    front: Apart<Mutex<Front<T>>>,
    /// Whether anything stands in line; written under the lock, and only a hint without it.
    is_filled: UnexploredU64,
    /// Whether a step of the core has anything to see here; written under the lock.
    has_news: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Front<T> {
    pub(crate) line: Line<T>,
    /// The first of the rest of the queue by the monotonic clock.
    pub(crate) limit: Option<Key>,
    /// What the queue knows of the wall clock, while anything waits for that.
    pub(crate) wall: Option<Wall>,
    /// INVARIANT: what is staged is what `may_stage` allows.
    staged: Staged<T>,
    may_stage: MayStage,
    /// When the first is due that a submitter has put in line since a step of the core began.
    came: Option<Tick>,
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
    /// Looks at the wall clock, and says whether it was set back since the last look.
    pub(crate) fn look(&mut self, now: Now) -> bool {
        let lead = now.wall.lead(now.tick);
        std::mem::replace(&mut self.lead, lead) - lead > SET_BACK_MIN
    }
}

impl<T> Ready<T> {
    pub(crate) fn new() -> Self {
        let (staged, may_stage) = (Staged::new(), MayStage::default());
        let front =
            Front { line: Line::new(), limit: None, wall: None, staged, may_stage, came: None };
        let (is_filled, has_news) = (UnexploredU64::new(0), AtomicBool::new(false));
        Self { front: Apart(Mutex::new(front)), is_filled, has_news }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Front<T>> {
        self.front.lock()
    }

    /// Notes whether anything stands in line; called under the lock.
    #[inline]
    pub(crate) fn note(&self, front: &Front<T>) {
        self.is_filled.store(u64::from(!front.line.is_empty()), Ordering::Relaxed);
    }

    /// Puts an item in line or stages it, or hands it back because the core has to hear of it: nobody looks within this
    /// grace after it is due. The answer says whether it is time to put what is staged into the queue.
    #[inline]
    pub(crate) fn submit(
        &self,
        newcomer: Newcomer<T>,
        grace: impl FnOnce() -> Duration,
    ) -> Result<bool, T> {
        let (due, key) = (newcomer.due, newcomer.key());
        let mut front = self.front.lock();
        let is_too_early = |from| due < from && due + grace() < from;
        if front.may_stage.from.is_none_or(is_too_early) {
            return Err(newcomer.item);
        }
        if newcomer.is_due && front.staged.newcomers.is_empty() && front.line.admits(key) {
            front.line.push(key, newcomer.item);
            self.is_filled.store(1, Ordering::Relaxed);
            if front.came.is_none() {
                front.came = Some(due);
                self.announce();
            }
            return Ok(false);
        }
        front.staged.newcomers.push(newcomer);
        let len = front.staged.newcomers.len();
        if len == 1 {
            self.announce();
        }
        Ok(len >= MANY)
    }

    /// Stages a removal, and says whether it is time to see to what is staged; none where the core has to hear of it.
    pub(crate) fn stage_removal(&self, place: Place) -> Option<bool> {
        let mut front = self.front.lock();
        if !front.may_stage.removals {
            return None;
        }
        front.staged.removals.push(place);
        let len = front.staged.removals.len();
        if len == 1 {
            self.announce();
        }
        Some(len >= MANY)
    }

    fn announce(&self) {
        // ORDERING: release, so that who comes after this submission sees the flag, and then the lock
        // shows what has come. Only the first of many sets it: the others find it set.
        self.has_news.store(true, Ordering::Release);
    }

    /// Takes out what is staged, in exchange for empty lists: a step of the core begins.
    pub(crate) fn take(&self, room: &mut Staged<T>) {
        // ORDERING: acquire, see `announce`.
        if !self.has_news.load(Ordering::Acquire) {
            return;
        }
        let mut front = self.front.lock();
        mem::swap(&mut front.staged, room);
        front.came = None;
        if planted("L11 flag") {
            drop(front);
        }
        self.has_news.store(false, Ordering::Release);
    }

    /// Changes what may be staged, and takes out what was staged under the rule before, in exchange for empty lists.
    /// Says when the first is due that was put in line meanwhile.
    pub(crate) fn renew(&self, may_stage: MayStage, room: &mut Staged<T>) -> Option<Tick> {
        let mut front = self.front.lock();
        front.may_stage = may_stage;
        if planted("L11") {
            return None;
        }
        self.has_news.store(false, Ordering::Release);
        if !front.staged.is_empty() {
            mem::swap(&mut front.staged, room);
        }
        front.came.take()
    }

    /// Takes the first item, if that is allowed; `note` takes note of it under the lock.
    #[inline]
    pub(crate) fn claim<R>(&self, now: Now, note: impl FnOnce(Key, &T) -> R) -> Option<(T, R)> {
        // ORDERING: relaxed, it is a hint: who misses something finds it with the pool's lock.
        if self.is_filled.load(Ordering::Relaxed) == 0 {
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
    /// Whether an item comes before all of the rest.
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
        // Whoever has the lock of the pool sees to it.
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
    fn nothing_is_taken_when_the_wall_clock_was_set_back_until_somebody_has_seen_to_it() {
        let ready = ready(1..=3);
        let second = 1_000_000_000;
        ready.lock().wall = Some(Wall { due: Some(u64::MAX), lead: 10 * i128::from(second) });
        assert_eq!(claim(&ready, at(10 * second)), Some(1));
        assert_eq!(claim(&ready, at(9 * second)), None);
        assert_eq!(claim(&ready, at(9 * second)), None);
        assert!(ready.lock().wall.as_mut().unwrap().look(at(9 * second)));
        assert_eq!(claim(&ready, at(9 * second)), Some(2));
    }

    fn stage(ready: &Ready<u8>, item: u8, due: u64) -> Result<bool, u8> {
        let (due, sequence) = (Tick::from_nanos(due), u64::from(item));
        ready.submit(Newcomer { due, sequence, item, is_due: false }, || Duration::ZERO)
    }

    fn submit(ready: &Ready<u8>, item: u8, due: u64) -> Result<bool, u8> {
        let (due, sequence) = (Tick::from_nanos(due), u64::from(item));
        ready.submit(Newcomer { due, sequence, item, is_due: true }, || Duration::ZERO)
    }

    fn removal(sequence: u64) -> Place {
        Place { ticket: Ticket::NONE, key: Key { due: 0, sequence } }
    }

    fn from(due: u64) -> MayStage {
        MayStage { from: Some(Tick::from_nanos(due)), removals: true }
    }

    fn taken(ready: &Ready<u8>) -> (Vec<u8>, Vec<u64>) {
        let mut staged = Staged::new();
        ready.take(&mut staged);
        contents(&staged)
    }

    fn renewed(ready: &Ready<u8>, may_stage: MayStage) -> (Vec<u8>, Vec<u64>) {
        let mut staged = Staged::new();
        ready.renew(may_stage, &mut staged);
        contents(&staged)
    }

    fn contents(staged: &Staged<u8>) -> (Vec<u8>, Vec<u64>) {
        let newcomers = staged.newcomers.iter().map(|newcomer| newcomer.item).collect();
        (newcomers, staged.removals.iter().map(|place| place.key.sequence).collect())
    }

    #[test]
    fn only_what_the_core_can_wait_for_is_staged() {
        let ready = Ready::new();
        assert_eq!(stage(&ready, 1, 5), Err(1));
        assert_eq!(ready.stage_removal(removal(1)), None);
        assert_eq!(renewed(&ready, from(5)), (vec![], vec![]));
        assert_eq!(stage(&ready, 2, 5), Ok(false));
        assert_eq!(stage(&ready, 3, 4), Err(3));
        assert_eq!(stage(&ready, 4, 9), Ok(false));
        assert_eq!(ready.stage_removal(removal(7)), Some(false));
        assert_eq!(taken(&ready), (vec![2, 4], vec![7]));
        assert_eq!(taken(&ready), (vec![], vec![]));
    }

    #[test]
    fn who_changes_what_may_be_staged_gets_what_was_staged_before() {
        let ready = Ready::new();
        renewed(&ready, from(0));
        assert_eq!(ready.stage_removal(removal(7)), Some(false));
        assert_eq!(stage(&ready, 1, 0), Ok(false));
        assert_eq!(renewed(&ready, MayStage::default()), (vec![1], vec![7]));
        assert_eq!(taken(&ready), (vec![], vec![]));
        assert_eq!(stage(&ready, 2, 0), Err(2));
        assert_eq!(ready.stage_removal(removal(8)), None);
    }

    #[test]
    fn what_is_due_is_put_in_line_unless_something_is_staged_that_came_before() {
        let ready = Ready::new();
        assert_eq!(submit(&ready, 1, 5), Err(1));
        renewed(&ready, from(0));
        assert_eq!(
            [submit(&ready, 1, 5), submit(&ready, 2, 5), submit(&ready, 3, 4)],
            [Ok(false); 3]
        );
        assert_eq!(submit(&ready, 4, 9), Ok(false));
        assert_eq!(taken(&ready), (vec![3, 4], vec![]));
        assert_eq!(submit(&ready, 5, 9), Ok(false));
        let claimed = [(); 4].map(|()| ready.claim(at(0), |_, _| ()).map(|(item, ())| item));
        assert_eq!(claimed, [Some(1), Some(2), Some(5), None]);
    }

    #[test]
    fn who_changes_what_may_be_staged_hears_what_was_put_in_line_since_the_step_began() {
        let (ready, mut staged) = (Ready::new(), Staged::new());
        renewed(&ready, from(0));
        submit(&ready, 1, 5).unwrap();
        assert_eq!(taken(&ready), (vec![], vec![]));
        assert_eq!(ready.renew(from(0), &mut staged), None);
        submit(&ready, 2, 6).unwrap();
        submit(&ready, 3, 7).unwrap();
        assert_eq!(ready.renew(from(0), &mut staged), Some(Tick::from_nanos(6)));
        assert_eq!(ready.renew(from(0), &mut staged), None);
    }

    #[test]
    fn a_full_list_says_so() {
        let ready = Ready::new();
        renewed(&ready, from(0));
        let answers: Vec<bool> = (0..MANY).map(|_| stage(&ready, 0, 0).unwrap()).collect();
        assert_eq!(answers.iter().filter(|is_full| **is_full).count(), 1);
        assert!(answers[MANY - 1]);
        let answers = (0..MANY as u64).map(|number| ready.stage_removal(removal(number)));
        assert_eq!(answers.filter(|is_full| *is_full == Some(true)).count(), 1);
    }

    #[test]
    fn the_room_of_large_lists_is_given_back() {
        for (room, kept) in [(ROOM_MAX, ROOM_MAX), (ROOM_MAX + 1, 0)] {
            let (newcomers, removals) = (Vec::with_capacity(room), Vec::with_capacity(room));
            let mut staged: Staged<u8> = Staged { newcomers, removals };
            staged.trim();
            assert_eq!((staged.newcomers.capacity(), staged.removals.capacity()), (kept, kept));
        }
    }
}
