//! Timers and alarms, and firings that continue as a task.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::ScheduledThreadPool;
use super::inbox::{FollowUp, Wake};
use super::pool_state::{PoolState, state_of};
use super::shutdown::EntryKind;
use super::submit::{Submission, decorated};
use crate::error::Failure;
use crate::observe::Event;
use crate::task::block::TaskBlock;
use crate::task::header::{Header, TaskOptions};
use crate::task::spec::{Around, Once};
use crate::task::{
    Arming, Fire, Interruptible, OnError, Recurrence, Run, Task, TaskFuture, TaskHandle, TaskId,
    Timer,
};
use crate::time::{Due, Now, Tick};

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
            if !inbox.takes(EntryKind::Timer) {
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
        let submission = Submission { kind: EntryKind::Resumed, due: now, now, id: Some(id) };
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

impl ScheduledThreadPool {
    /// Has a worker make a call at a time of the pool's clock, unless the answer is dropped before.
    ///
    /// A call that is to be short: a timer, not a task. It takes its turn in the queue and is made by the
    /// first worker that is free, as part of a run of its own; a panic of it is contained. It is not
    /// reported: it is not counted in the [`stats`](Self::stats), and no listener and no hook is called for it.
    ///
    /// A pool that shuts down still makes the call while there are tasks that wait or run, but does not
    /// wait for it when all have ended. Then, and when the pool stops, the call is dropped without having
    /// been made.
    ///
    /// ```
    /// use scheduler_core::{Clock, ManualClock, ScheduledThreadPool, VirtualWorkers};
    /// use std::{sync::Arc, sync::mpsc, time::Duration};
    ///
    /// let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
    /// let pool = ScheduledThreadPool::builder()
    ///     .clock(Arc::new(clock.clone()))
    ///     .virtual_workers(&workers)
    ///     .build()?;
    /// let (sender, receiver) = mpsc::channel();
    /// let second = Duration::from_secs(1);
    /// let early = pool.call_at(clock.now() + second, move || sender.send("now").unwrap());
    /// let late = pool.call_at(clock.now() + second * 2, || unreachable!("it is taken back"));
    /// drop(late);
    /// clock.advance(second * 3);
    /// workers.run_until_idle();
    /// assert_eq!(receiver.try_recv(), Ok("now"));
    /// # drop(early);
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    pub fn call_at(&self, at: Tick, call: impl FnOnce() + Send + 'static) -> Alarm {
        let state = self.state();
        let options = TaskOptions::new(None, Recurrence::Once, OnError::Stop, Tick::MAX, true);
        let block = TaskBlock::queued(Arc::clone(&state.link), options, Once(call), at);
        // The time of the start is not needed yet.
        let submission = Submission { kind: EntryKind::Alarm, due: at, now: Tick::ZERO, id: None };
        Alarm { handle: state.submit_or_cancel(block, submission) }
    }

    /// Waits for this long from now on the pool's clock, and holds no worker meanwhile.
    ///
    /// The future may be awaited anywhere, inside a task of the pool or in another runtime. It ends early
    /// when the pool stops, because nothing would end it later.
    ///
    /// ```
    /// use scheduler_core::ScheduledThreadPool;
    /// use std::time::Duration;
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let pause = pool.sleep(Duration::from_millis(5));
    /// pool.schedule_async(Duration::ZERO, pause)?.wait()?;
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    pub fn sleep(&self, duration: Duration) -> Sleep {
        let alarm = self.call_at(self.state().clock.now() + duration, || {});
        Sleep { ended: alarm.handle.clone().into_future(), _alarm: alarm }
    }
}

/// A call that a pool makes at a time; see [`ScheduledThreadPool::call_at`].
///
/// Dropping it takes the call back: it is dropped at once if it has not begun. One that has begun goes
/// on.
#[must_use = "dropping an alarm takes it back"]
pub struct Alarm {
    handle: TaskHandle<()>,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.handle.cancel();
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Alarm").field(&self.handle).finish()
    }
}

/// A future that waits on a pool's clock; see [`ScheduledThreadPool::sleep`].
///
/// Dropping it takes its alarm out of the pool.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Sleep {
    ended: TaskFuture<()>,
    _alarm: Alarm,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.ended).poll(context).map(drop)
    }
}
