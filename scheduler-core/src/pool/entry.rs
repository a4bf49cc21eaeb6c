//! What stands in the queue: a task, and what the pool knows of it.

use super::agenda::Placed;
use super::shutdown::Kind;
use super::step::Item;
use crate::time::Due;
use scheduler_queue::Ticket;

/// A task in the queue.
#[derive(Debug)]
pub(super) struct Entry<I> {
    pub(super) kind: Kind,
    pub(super) item: I,
}

impl<I: Item> Placed for Entry<I> {
    #[inline]
    fn set_ticket(&self, ticket: Ticket) {
        self.item.set_ticket(ticket);
    }

    /// A run that is polled on has another key than its task, and alarms are counted under the lock of the pool.
    #[inline]
    fn may_stand_in_line(&self) -> bool {
        !matches!(self.kind, Kind::Resumed | Kind::Alarm)
    }

    fn look(&self) {
        self.item.look();
    }
}

/// Notes that a timer has left the queue, and says for when it was armed; none for anything else.
///
/// Of a task nothing is touched here: see `post`.
#[inline]
pub(super) fn disarmed<I: Item>(kind: Kind, item: &I) -> Option<Due> {
    if kind != Kind::Timer {
        return None;
    }
    let armed = item.armed();
    item.set_armed(None);
    armed
}
