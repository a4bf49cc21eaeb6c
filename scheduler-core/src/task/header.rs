//! The facts of a task that never change, and the two marks that others leave on it.

use std::fmt;
use std::sync::Arc;
use std::sync::Weak;

use super::Home;
use super::rhythm::Rhythm;
use super::spec::OnError;
use crate::queue::Ticket;
use crate::sync::AtomicBool;
use crate::sync::AtomicU64;
use crate::sync::Ordering;
use crate::time::Tick;

/// The number of a task, unique in its pool and growing in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub(crate) u64);

impl TaskId {
    /// The number itself.
    #[must_use]
    pub fn as_u64(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What a task is, for its whole life.
pub(crate) struct Header {
    pub(crate) id: TaskId,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) rhythm: Rhythm,
    pub(crate) on_error: OnError,
    /// When the task is to have ended; [`Tick::MAX`] for no such time.
    pub(crate) deadline: Tick,
    home: Weak<dyn Home>,
    /// Where the task stands in its pool's queue; written and read under the pool's lock.
    ticket: AtomicU64,
    /// Whether the task has been asked to stop; never taken back.
    stop_asked: AtomicBool,
}

impl Header {
    pub(crate) fn new(id: TaskId, rhythm: Rhythm, home: Weak<dyn Home>) -> Self {
        Self {
            id,
            name: None,
            rhythm,
            on_error: OnError::default(),
            deadline: Tick::MAX,
            home,
            ticket: AtomicU64::new(Ticket::NONE.to_bits()),
            stop_asked: AtomicBool::new(false),
        }
    }

    /// The pool, while it exists.
    pub(crate) fn home(&self) -> Option<Arc<dyn Home>> {
        self.home.upgrade()
    }

    /// Tells the pools of two tasks apart, also when they no longer exist.
    pub(crate) fn home_address(&self) -> usize {
        self.home.as_ptr().addr()
    }

    pub(crate) fn ends_on_failure(&self) -> bool {
        self.on_error == OnError::Stop
    }

    /// How messages call the task: by its name, or else by its number.
    pub(crate) fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("task `{name}`"),
            None => format!("task {}", self.id),
        }
    }

    pub(crate) fn ticket(&self) -> Ticket {
        // ORDERING: relaxed is enough, the pool's lock orders all accesses.
        Ticket::from_bits(self.ticket.load(Ordering::Relaxed))
    }

    pub(crate) fn set_ticket(&self, ticket: Ticket) {
        // ORDERING: relaxed is enough, the pool's lock orders all accesses.
        self.ticket.store(ticket.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn ask_to_stop(&self) {
        // ORDERING: release, so that a body that sees the request sees what its canceller did before.
        self.stop_asked.store(true, Ordering::Release);
    }

    /// Whether the task should have ended.
    pub(crate) fn is_overdue(&self, now: Tick) -> bool {
        self.deadline != Tick::MAX && now >= self.deadline
    }

    pub(crate) fn is_asked_to_stop(&self) -> bool {
        // ORDERING: acquire, see `ask_to_stop`.
        self.stop_asked.load(Ordering::Acquire)
    }
}
