//! An entry of the queue: a task with its kind.

use std::sync::Arc;

use super::shutdown::Kind;
use crate::queue::{self, Key};
use crate::task::{Queued, TaskId};
use crate::time::{Due, Tick, WallTime};

/// A task or the ticket of a timer in the queue.
pub(super) type Item = Arc<dyn Queued>;
/// An entry of the queue.
pub(super) type Entry = queue::Entry<Item>;

/// The number of bits of a sequence that hold the kind.
const KIND_BITS: u32 = 3;

/// The key of a task: its number orders it among those that are due at the same time. The lowest bits hold the kind, so that the
/// queue can be counted and swept without looking at tasks.
#[inline]
pub(super) fn key(due: u64, id: TaskId, kind: Kind) -> Key {
    Key { due, sequence: id.0 << KIND_BITS | kind as u64 }
}

#[inline]
pub(super) fn kind_of(key: Key) -> Kind {
    match key.sequence % (1 << KIND_BITS) {
        0 => Kind::Plain,
        1 => Kind::OneShot,
        2 => Kind::Recurring,
        3 => Kind::Resumed,
        4 => Kind::Alarm,
        5 => Kind::Timer,
        _ => Kind::WallTimer,
    }
}

/// When an entry is due, on the clock of its kind.
#[inline]
pub(super) fn due_of(key: Key) -> Due {
    match kind_of(key) {
        Kind::WallTimer => Due::Wall(WallTime::from_key(key.due)),
        _ => Due::Tick(Tick::from_nanos(key.due)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_comes_out_of_the_key_and_the_number_orders() {
        use Kind::{Alarm, OneShot, Plain, Recurring, Resumed, Timer, WallTimer};
        for kind in [Plain, OneShot, Recurring, Resumed, Alarm, Timer, WallTimer] {
            assert_eq!(kind_of(key(9, TaskId(1 << 59), kind)), kind);
        }
        assert!(key(9, TaskId(4), Kind::Timer) < key(9, TaskId(5), Kind::OneShot));
    }
}
