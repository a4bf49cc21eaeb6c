//! What stands in the queue: a task as the core sees it, and what the pool knows of it.

use std::sync::Arc;

use super::queues::Placed;
use super::shutdown::Kind;
use super::staging::Place;
use super::step::Item;
use crate::task::{AnyTask, Header};
use crate::time::Due;
use scheduler_queue::{Key, Ticket};

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

/// Records that a timer has left the queue, and returns what it was armed for; none for anything else.
///
/// Of a task nothing is touched here: see `shared_worker`.
#[inline]
pub(super) fn disarmed<I: Item>(kind: Kind, item: &I) -> Option<Due> {
    if kind != Kind::Timer {
        return None;
    }
    let armed = item.armed();
    item.set_armed(None);
    armed
}

/// A task as the core sees it.
pub(super) type AnyItem = Arc<dyn AnyTask>;

/// Where a task is found while it waits in the queue.
pub(super) fn place_of(header: &Header, due: Due) -> Place {
    let (_, due) = due.into_parts();
    Place { ticket: header.ticket(), key: Key { due, sequence: header.id().0 } }
}

impl Item for AnyItem {
    fn sequence(&self) -> u64 {
        self.header().id().0
    }

    fn place(&self) -> Place {
        place_of(self.header(), (**self).due())
    }

    fn set_ticket(&self, ticket: Ticket) {
        self.header().set_ticket(ticket);
    }

    fn look(&self) {
        // The counts lie in front of the task.
        std::hint::black_box(Arc::strong_count(self));
        AnyTask::look(&**self);
    }

    fn armed(&self) -> Option<Due> {
        (**self).armed()
    }

    fn set_armed(&self, due: Option<Due>) {
        (**self).set_armed(due);
    }

    fn is_ended(&self) -> bool {
        self.is_over()
    }
}
