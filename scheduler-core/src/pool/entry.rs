//! Entries of the queue, and the queue of the wall clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use super::shutdown::EntryKind;
use crate::queue::{self, ByKey, Key, NEVER};
use crate::task::{Queued, TaskId};
use crate::time::{Due, Now, Tick, WallTime};

/// A task or the ticket of a timer in the queue.
pub(super) type Item = Arc<dyn Queued>;
/// An entry of the queue.
pub(super) type Entry = queue::Entry<Item>;

/// The number of bits of a sequence that hold the kind.
const KIND_BITS: u32 = 3;

/// The key of a task: its number orders it among those that are due at the same time. The lowest bits hold the kind, so that the
/// queue can be counted and swept without looking at tasks.
#[inline]
pub(super) fn key(due: u64, id: TaskId, kind: EntryKind) -> Key {
    Key { due, sequence: id.0 << KIND_BITS | kind as u64 }
}

#[inline]
pub(super) fn kind_of(key: Key) -> EntryKind {
    match key.sequence % (1 << KIND_BITS) {
        0 => EntryKind::Plain,
        1 => EntryKind::OneShot,
        2 => EntryKind::Recurring,
        3 => EntryKind::Resumed,
        4 => EntryKind::Alarm,
        5 => EntryKind::Timer,
        _ => EntryKind::WallTimer,
    }
}

/// When an entry is due, on the clock of its kind.
#[inline]
pub(super) fn due_of(key: Key) -> Due {
    match kind_of(key) {
        EntryKind::WallTimer => Due::Wall(WallTime::from_key(key.due)),
        _ => Due::Tick(Tick::from_nanos(key.due)),
    }
}

/// After at most this long a wait for a wall-clock time looks at the wall clock again.
const WALL_CHECK: Duration = Duration::from_millis(500);

/// By how much the wall clock has to be set back to be noticed, in nanoseconds. Within less than that
/// the fire times have been served.
const SET_BACK_MIN: i128 = 500_000_000;

/// Timers by the time on the wall clock at which they are due.
///
/// Their times are never converted to monotonic time: each look compares them with the wall clock. A clock that is set, or that ran on
/// while the machine was suspended, needs no change here. The price is that a wait for them is bounded.
#[derive(Debug, Default)]
pub(super) struct WallQueue {
    heap: BinaryHeap<Reverse<ByKey<Item>>>,
    /// By how much the wall clock was ahead of the monotonic one, in nanoseconds: at the last look, or when
    /// something came since then, whichever is more.
    offset: Option<i128>,
}

impl WallQueue {
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Puts in an entry that came when the wall clock was ahead by `offset`.
    pub(super) fn push(&mut self, entry: Entry, offset: i128) {
        self.offset = self.offset.max(Some(offset));
        self.heap.push(Reverse(ByKey(entry)));
    }

    /// The key that the first one has on the monotonic clock, if it is due.
    pub(super) fn first_due(&self, now: Now) -> Option<Key> {
        let first = self.first().filter(|key| key.due <= now.wall.key() && key.due != NEVER)?;
        Some(on_monotonic_clock(first, now))
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        self.heap.pop().map(|Reverse(ByKey(entry))| entry)
    }

    /// Takes out what waits for a time ahead on a wall clock that was set back since the last look.
    ///
    /// A clock set forward needs nothing: what is due then is due. But a clock set back shows times
    /// again at which something could be due, and for which no worker waits.
    pub(super) fn take_if_set_back(&mut self, now: Now) -> Vec<Entry> {
        if self.heap.is_empty() {
            self.offset = None;
            return Vec::new();
        }
        let offset = now.wall.offset(now.tick);
        let before = self.offset.replace(offset);
        if before.is_none_or(|before| before - offset <= SET_BACK_MIN) {
            return Vec::new();
        }
        // Entries that are due all the same keep their turn.
        let mut ahead = Vec::new();
        self.extract(|entry| entry.key.due > now.wall.key(), |entry| ahead.push(entry));
        ahead
    }

    /// When to look again, on the monotonic clock; [`Tick::MAX`] where nothing waits.
    ///
    /// The wall clock may be set meanwhile, so this is never far away, however much slack there is.
    pub(super) fn look(&self, now: Now, slack: Duration) -> Tick {
        self.first().map_or(Tick::MAX, |key| look_for(key.due, now, slack))
    }

    /// The same by the last look at the wall clock.
    pub(super) fn look_by_last_offset(&self, now: Tick, slack: Duration) -> Tick {
        let Some(offset) = self.offset else { return Tick::MAX };
        let wall = i128::from(now.as_nanos()) + offset;
        let wall = i64::try_from(wall).unwrap_or(if wall < 0 { i64::MIN } else { i64::MAX });
        self.look(Now { tick: now, wall: WallTime::from_nanos(wall) }, slack)
    }

    /// When the first is due on the monotonic clock, as both clocks go now; [`NEVER`] where none is.
    pub(super) fn first_tick(&self, now: Now) -> u64 {
        self.first().map_or(NEVER, |key| on_monotonic_clock(key, now).due)
    }

    pub(super) fn extract(
        &mut self,
        mut leaves: impl FnMut(&Entry) -> bool,
        mut out: impl FnMut(Entry),
    ) {
        for Reverse(ByKey(entry)) in std::mem::take(&mut self.heap) {
            if leaves(&entry) {
                out(entry);
            } else {
                self.heap.push(Reverse(ByKey(entry)));
            }
        }
    }

    fn first(&self) -> Option<Key> {
        self.heap.peek().map(|Reverse(ByKey(entry))| entry.key)
    }
}

/// When to look for what is due then on the wall clock, by its key.
pub(super) fn look_for(due: u64, now: Now, slack: Duration) -> Tick {
    let left = Duration::from_nanos(due.saturating_sub(now.wall.key()));
    now.tick + left.saturating_add(slack).min(WALL_CHECK)
}

/// The key that a wall-clock entry would have on the monotonic clock.
pub(super) fn on_monotonic_clock(wall: Key, now: Now) -> Key {
    let (wall_now, tick) = (now.wall.key(), now.tick.as_nanos());
    let due = if wall.due >= wall_now {
        tick.saturating_add(wall.due - wall_now)
    } else {
        tick.saturating_sub(wall_now - wall.due)
    };
    Key { due, sequence: wall.sequence }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::pool::ScheduledThreadPool;
    use crate::task::{Fire, Fired, Run, Timer};
    use std::sync::Arc;

    #[test]
    fn the_kind_comes_out_of_the_key_and_the_number_orders() {
        use EntryKind::{Alarm, OneShot, Plain, Recurring, Resumed, Timer, WallTimer};
        for kind in [Plain, OneShot, Recurring, Resumed, Alarm, Timer, WallTimer] {
            assert_eq!(kind_of(key(9, TaskId(1 << 59), kind)), kind);
        }
        assert!(key(9, TaskId(4), EntryKind::Timer) < key(9, TaskId(5), EntryKind::OneShot));
    }

    struct Idle;

    impl Fire for Idle {
        fn fire(_: &Arc<Timer<Self>>, _: &Run) -> Fired {
            Fired::NothingToFinish
        }
    }

    const SECOND: i64 = 1_000_000_000;

    fn at(tick: i64, wall: i64) -> Now {
        let tick = Tick::from_nanos((tick * SECOND).unsigned_abs());
        Now { tick, wall: WallTime::from_nanos(wall * SECOND) }
    }

    /// A timer for this time on the wall clock, in seconds, that comes at another.
    fn push(wall_queue: &mut WallQueue, due: i64, now: Now) {
        let item = ScheduledThreadPool::new(1).timer("idle", Idle).ticket();
        let due = WallTime::from_nanos(due * SECOND).key();
        let entry = Entry { key: Key { due, sequence: 0 }, item };
        wall_queue.push(entry, now.wall.offset(now.tick));
    }

    /// Timers for these times that come when both clocks show one second.
    fn wall_queue(dues: &[i64]) -> WallQueue {
        let mut wall_queue = WallQueue::default();
        dues.iter().for_each(|due| push(&mut wall_queue, *due, at(1, 1)));
        wall_queue
    }

    #[test]
    fn entries_ahead_of_a_clock_that_was_set_back_are_given_back() {
        let mut wall_queue = wall_queue(&[10, 100]);
        assert!(wall_queue.take_if_set_back(at(1, 50)).is_empty());
        assert!(wall_queue.take_if_set_back(at(2, 51)).is_empty());
        assert_eq!(wall_queue.take_if_set_back(at(3, 20)).len(), 1, "10 is due all the same");
        assert_eq!(wall_queue.len(), 1);
    }

    #[test]
    fn entries_added_while_the_clock_was_ahead_are_given_back_too() {
        let mut wall_queue = wall_queue(&[100]);
        assert!(wall_queue.take_if_set_back(at(1, 1)).is_empty());
        push(&mut wall_queue, 200, at(1, 90));
        assert_eq!(wall_queue.take_if_set_back(at(2, 2)).len(), 2);
    }

    #[test]
    fn a_wait_for_the_wall_clock_is_bounded_and_a_small_correction_is_none() {
        let mut wall_queue = wall_queue(&[100]);
        let now = at(1, 1);
        assert!(wall_queue.take_if_set_back(now).is_empty());
        let corrected = Now { wall: now.wall - Duration::from_millis(400), ..now };
        assert!(wall_queue.take_if_set_back(corrected).is_empty());
        assert_eq!(wall_queue.look(now, Duration::from_secs(9)), now.tick + WALL_CHECK);
        assert_eq!(wall_queue.first_due(now), None);
        assert_eq!(wall_queue.first_due(at(9, 100)).map(|key| key.due), Some(9_000_000_000));
    }
}
