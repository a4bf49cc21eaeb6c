//! A task as the core sees it.

use std::sync::Arc;

use super::step::Item;
use crate::task::AnyTask;
use crate::time::Due;
use scheduler_queue::Ticket;

/// A task as the core sees it.
pub(super) type AnyItem = Arc<dyn AnyTask>;

impl Item for AnyItem {
    fn sequence(&self) -> u64 {
        self.header().id().0
    }

    fn ticket(&self) -> Ticket {
        self.header().ticket()
    }

    fn due(&self) -> Due {
        (**self).due()
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
