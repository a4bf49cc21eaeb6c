//! A task as the core sees it.

use std::sync::Arc;

use super::staging::Place;
use super::step::Item;
use crate::task::AnyTask;
use crate::task::Header;
use crate::time::Due;
use scheduler_queue::Key;
use scheduler_queue::Ticket;

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
