//! Submissions that no step of the core has seen.

use std::time::Duration;

use super::entry::{Entry, Item, key};
use super::shutdown::Kind;
use super::wall_queue;
use crate::queue::{self, Key};
use crate::task::TaskId;
use crate::time::{Due, Now, Tick};

/// After so many submissions one of the submitters moves them to the queue.
const MANY: usize = 256;

/// Submissions, in their order, until the next step of the core collects them.
///
/// INVARIANT: a task that is due before `wake_before` is due before any worker looks at the queue, and its submitter wakes one.
/// The core raises `wake_before`, or refuses calls, only while the inbox is empty.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    next_id: u64,
    entries: Vec<Entry>,
    /// Timers that are armed for a time on the wall clock.
    wall_queue: Vec<Entry>,
    /// By how much the wall clock was ahead at most when one of these came.
    offset: Option<i128>,
    /// The latest time at which something was submitted.
    now: Tick,
    submit_state: SubmitState,
    /// By how much a look at the queue may be late: a copy of the core's, which never changes.
    slack: Duration,
}

/// The state of the core that submitters read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SubmitState {
    /// An entry that is due before this needs a worker to be woken.
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
    /// A worker is to be woken or started.
    EnsureWorkers,
    /// The submissions are to be moved to the queue.
    Collect,
}

impl Inbox {
    pub(super) fn new(slack: Duration) -> Self {
        Self { slack, ..Self::default() }
    }

    /// Draws the number of a task.
    #[inline]
    pub(super) fn draw_id(&mut self) -> TaskId {
        let id = self.next_id;
        self.next_id += 1;
        TaskId(id)
    }

    pub(super) fn takes(&self, kind: Kind) -> bool {
        if kind.is_internal() { self.submit_state.takes_calls } else { self.submit_state.is_open }
    }

    /// Puts a task in.
    #[inline]
    pub(super) fn push(&mut self, item: Item, key: Key, now: Tick) -> FollowUp {
        self.now = self.now.max(now);
        self.entries.push(Entry { key, item });
        self.follow_up(key.due < self.submit_state.wake_before.as_nanos())
    }

    /// Puts a timer in that is armed for this time.
    pub(super) fn push_timer(&mut self, timer: Item, place: Due, now: Now) -> FollowUp {
        let id = timer.id();
        match place {
            Due::Tick(due) => self.push(timer, key(due.as_nanos(), id, Kind::Timer), now.tick),
            Due::Wall(wall) => {
                let key = key(wall.key(), id, Kind::Timer);
                self.wall_queue.push(queue::Entry { key, item: timer });
                self.offset = self.offset.max(Some(now.wall.offset(now.tick)));
                // A look at the wall clock is at most half a second away, whatever the slack.
                let look = wall_queue::look_for(key.due, now, self.slack);
                let before = self.submit_state.wake_before;
                self.follow_up(before != Tick::ZERO && look < before + self.slack)
            }
        }
    }

    #[inline]
    fn follow_up(&mut self, needs_worker: bool) -> FollowUp {
        if needs_worker || self.submit_state.is_short {
            // Whoever is woken looks at all that comes meanwhile.
            self.submit_state.wake_before = Tick::ZERO;
            FollowUp::EnsureWorkers
        } else if self.entries.len() >= MANY {
            FollowUp::Collect
        } else {
            FollowUp::Nothing
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.wall_queue.is_empty()
    }

    /// Takes the submissions, and leaves empty vectors with their capacity.
    pub(super) fn collect(&mut self, collected: &mut Collected) {
        std::mem::swap(&mut self.entries, &mut collected.entries);
        if !self.wall_queue.is_empty() {
            std::mem::swap(&mut self.wall_queue, &mut collected.wall_queue);
            collected.offset = self.offset.take();
        }
        collected.now = self.now;
        collected.wake_before = self.submit_state.wake_before;
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

/// Submissions on their way to the queue.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) entries: Vec<Entry>,
    pub(super) wall_queue: Vec<Entry>,
    pub(super) offset: Option<i128>,
    pub(super) now: Tick,
    pub(super) wake_before: Tick,
}
