//! Submissions that no step of the core has seen, and the workers to wake.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::entry;
use super::entry::{Entry, Item, key};
use super::pool_state::PoolState;
use super::shutdown::EntryKind;
use crate::queue::Key;
use crate::task::TaskId;
use crate::time::{Due, Now, Tick};

/// After so many submissions one of the submitters moves them to the queue.
const MANY: usize = 256;

/// Submissions, in their order, until the next step of the core collects them.
///
/// INVARIANT: a task that is to be looked at before `wake_before` needs a worker earlier than any looks by itself, and its
/// submitter wakes one. The core raises `wake_before`, or refuses calls, only while the inbox is empty.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    next_id: u64,
    batch: InboxBatch,
    submit_state: SubmitState,
    /// By how much a look at the queue may be late, in nanoseconds: a copy of the core's, which never changes.
    slack: u64,
}

/// Submissions that go to the queue together.
#[derive(Debug, Default)]
pub(super) struct InboxBatch {
    pub(super) entries: Vec<Entry>,
    /// Timers that are armed for a time on the wall clock, and by how much that was ahead when they came.
    pub(super) wall_queue: Vec<(Entry, i128)>,
    /// The latest time at which something was submitted.
    pub(super) now: Tick,
}

/// The state of the core that submitters read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SubmitState {
    /// A submitter wakes a worker for an entry that is to be looked at before this time: the earliest look of a sleeping worker.
    /// Zero while none sleeps, because a busy one looks.
    pub(super) wake_before: Tick,
    /// True if tasks are taken.
    pub(super) is_open: bool,
    /// True if alarms, timers and futures that go on are taken.
    pub(super) takes_calls: bool,
    /// True if there are fewer workers than there should be.
    pub(super) is_short: bool,
}

/// The work that a submission leaves to its submitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FollowUp {
    /// Nothing: a worker will look in time.
    Nothing,
    /// Wake or start a worker.
    EnsureWorkers,
    /// Move the submissions to the queue.
    Collect,
}

impl Inbox {
    pub(super) fn new(slack: Duration) -> Self {
        Self { slack: (Tick::ZERO + slack).as_nanos(), ..Self::default() }
    }

    /// Draws the number of a task.
    #[inline]
    pub(super) fn draw_id(&mut self) -> TaskId {
        let id = self.next_id;
        self.next_id += 1;
        TaskId(id)
    }

    pub(super) fn takes(&self, kind: EntryKind) -> bool {
        if kind.is_internal() { self.submit_state.takes_calls } else { self.submit_state.is_open }
    }

    /// Puts a task in.
    #[inline]
    pub(super) fn push(&mut self, item: Item, key: Key, now: Tick) -> FollowUp {
        self.batch.now = self.batch.now.max(now);
        self.batch.entries.push(Entry { key, item });
        self.follow_up(Tick::from_nanos(key.due.saturating_add(self.slack)))
    }

    /// Puts a timer in that is armed for this time.
    pub(super) fn push_timer(
        &mut self,
        id: TaskId,
        ticket: Item,
        place: Due,
        now: Now,
    ) -> FollowUp {
        match place {
            Due::Tick(due) => {
                self.push(ticket, key(due.as_nanos(), id, EntryKind::Timer), now.tick)
            }
            Due::Wall(wall) => {
                let key = key(wall.key(), id, EntryKind::WallTimer);
                self.batch
                    .wall_queue
                    .push((Entry { key, item: ticket }, now.wall.offset(now.tick)));
                // A look at the wall clock is at most half a second away, whatever the slack.
                let slack = Duration::from_nanos(self.slack);
                self.follow_up(entry::look_for(key.due, now, slack))
            }
        }
    }

    /// Returns the work for an entry that is to be looked at then.
    #[inline]
    fn follow_up(&mut self, look: Tick) -> FollowUp {
        if look < self.submit_state.wake_before || self.submit_state.is_short {
            // Whoever is woken looks at all that comes meanwhile.
            self.submit_state.wake_before = Tick::ZERO;
            FollowUp::EnsureWorkers
        } else if self.batch.entries.len() >= MANY {
            FollowUp::Collect
        } else {
            FollowUp::Nothing
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.entries.is_empty() && self.batch.wall_queue.is_empty()
    }

    /// Swaps the submissions for an empty batch, and returns `wake_before` as submitters have left it.
    pub(super) fn collect(&mut self, empty: &mut InboxBatch) -> Tick {
        std::mem::swap(&mut self.batch, empty);
        self.submit_state.wake_before
    }

    /// Lets submitters know how the core stands; false if something has come that the core has to see first.
    pub(super) fn set_submit_state(&mut self, submit_state: SubmitState) -> bool {
        let asks_more = submit_state.wake_before > self.submit_state.wake_before
            || submit_state.is_short && !self.submit_state.is_short
            || !submit_state.takes_calls && self.submit_state.takes_calls;
        if asks_more && !self.is_empty() {
            return false;
        }
        self.submit_state = submit_state;
        true
    }

    /// Takes no more tasks, and no more calls unless `takes_calls`.
    pub(super) fn close(&mut self, takes_calls: bool) {
        self.submit_state.is_open = false;
        self.submit_state.takes_calls &= takes_calls;
    }
}

/// The workers to wake or to start after a timer was armed, when the caller has released its locks.
///
/// Dropping it performs it, too.
#[must_use = "it is to be performed when no lock is held"]
#[derive(Default)]
pub struct Wake {
    is_refused: bool,
    follow_up: Option<(Arc<PoolState>, FollowUp)>,
}

impl Wake {
    /// Wakes no worker.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// The answer of a pool that has gone, or takes no timers.
    pub(super) fn refused() -> Self {
        Self { is_refused: true, follow_up: None }
    }

    pub(super) fn of(state: Arc<PoolState>, follow_up: FollowUp) -> Self {
        let follow_up = (follow_up != FollowUp::Nothing).then_some((state, follow_up));
        Self { is_refused: false, follow_up }
    }

    /// Wakes and starts workers; to be called with no lock held.
    pub fn perform(self) {
        drop(self);
    }

    /// Returns true if the pool has refused to arm the timer.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        if let Some((state, follow_up)) = self.follow_up.take() {
            state.run_follow_up(follow_up);
        }
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wake").field("is_refused", &self.is_refused).finish_non_exhaustive()
    }
}
