//! Timers: made, armed and disarmed; and firings that continue as a task.

use std::sync::Arc;

use super::executor::ScheduledThreadPool;
use super::inbox::FollowUp;
use super::pool_state::{PoolState, state_of};
use super::shutdown::Kind;
use super::submit::{Submission, decorated};
use super::wake::Wake;
use crate::error::Failure;
use crate::observe::Event;
use crate::task::block::TaskBlock;
use crate::task::header::{Header, TaskOptions};
use crate::task::steps::Around;
use crate::task::{Arming, Fire, Interruptible, Recurrence, Run, Task, TaskHandle, TaskId, Timer};
use crate::time::{Due, Now};

impl ScheduledThreadPool {
    /// Makes a timer of this content, which is not armed; see [`Timer`].
    ///
    /// If the decorator of the pool panics the timer has none.
    #[must_use]
    pub fn timer<T: Fire>(&self, name: impl Into<Arc<str>>, content: T) -> Arc<Timer<T>> {
        let (state, name) = (self.state(), name.into());
        let id = state.draw_id();
        let around = state.decorate(id, Some(&name)).unwrap_or_default();
        let header = Header::new(Arc::clone(&state.link));
        header.set_id(id);
        Timer::new(header, name, around, content)
    }
}

impl<T: Fire> Timer<T> {
    /// Arms the timer for this time, in place of an earlier one; nothing happens where it is the same.
    ///
    /// Takes its place in the queue at once, but no more than that: the workers to wake or to start for it are in the
    /// answer, to be [performed](Wake::perform) when the caller has released its own locks. `now` is a reading of the
    /// pool's clock.
    ///
    /// [Refused](Wake::is_refused) by a pool that stops or has terminated. A worker is started if the pool has fewer
    /// than its core size, as for a submission; where there is none and none can be started, the timer is
    /// [dropped](Fire::dropped).
    pub fn arm(self: &Arc<Self>, due: Due, now: Now) -> Wake {
        let Some(state) = state_of(self.link()) else { return Wake::refused() };
        let place = due.not_overtaking(now);
        let (follow_up, arming) = {
            let mut inbox = state.inbox.lock();
            if !inbox.takes(Kind::Timer) {
                return Wake::refused();
            }
            let arming = self.note_armed(due, place);
            if arming == Arming::Unchanged {
                return Wake::none();
            }
            let follow_up = inbox.push_timer(self.id(), self.ticket(), place, now);
            state.note_filled();
            (follow_up, arming)
        };
        let is_called = arming == Arming::Replaces && state.link.dead.announce(false);
        Wake::of(
            state,
            if is_called && follow_up == FollowUp::Nothing { FollowUp::Collect } else { follow_up },
        )
    }

    /// Disarms the timer; a worker that has taken it fires it all the same.
    pub fn disarm(&self) -> Wake {
        if !self.note_disarmed() || !self.link().dead.announce(false) {
            return Wake::none();
        }
        state_of(self.link()).map_or_else(Wake::none, |state| Wake::of(state, FollowUp::Collect))
    }

    /// The time that the timer is armed for, while it is.
    #[must_use]
    pub fn due(&self) -> Option<Due> {
        self.armed_due()
    }
}

impl Run {
    /// Continues this run of a timer as a task that is a future, or any other that runs once, now.
    ///
    /// The pool runs it also while it shuts down, and waits for it. When it stops it cancels the task, and does not
    /// hand it out. The recurrence and the initial delay of the task have no effect. The task is cancelled at once where
    /// the pool takes none any more, or where its decorator panics.
    pub fn continue_as(&self, task: Task<()>) -> TaskHandle<()> {
        let link = Arc::clone(&self.task().header().link);
        let now = link.clock.now();
        let Task { name, on_error, deadline, body, .. } = task;
        let Some(state) = state_of(&link) else {
            return TaskHandle::cancelled(TaskBlock::new(link, (), body, now));
        };
        let id = state.draw_id();
        let around = state.decorate(id, name.as_deref());
        let options = TaskOptions::new(name, Recurrence::Once, on_error, deadline, false);
        let Ok(around) = around else {
            let block = TaskBlock::new(link, options, body, now);
            block.header().set_id(id);
            return TaskHandle::cancelled(block);
        };
        let block = TaskBlock::queued(link, options, decorated(body, around), now);
        let submission = Submission { kind: Kind::Resumed, due: now, now, id: Some(id) };
        state.submit_or_cancel(block, submission)
    }
}

impl PoolState {
    /// As `Hooks::decorate`, and reports a panic, because the caller returns no error.
    fn decorate(&self, id: TaskId, name: Option<&str>) -> Result<Option<Around>, Failure> {
        let hook = "decorate_task";
        let report = |failure: &_| self.announcer.announce(&Event::HookPanicked { hook, failure });
        self.hooks.decorate(id, name).inspect_err(report)
    }
}
