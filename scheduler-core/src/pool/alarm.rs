//! Calls at a time, and futures that wait on the pool's clock.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::executor::ScheduledThreadPool;
use super::shutdown::Kind;
use super::submit::Submission;
use crate::task::block::TaskBlock;
use crate::task::header::TaskOptions;
use crate::task::steps::Once;
use crate::task::{OnError, Recurrence, TaskFuture, TaskHandle};
use crate::time::Tick;

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
        let submission = Submission { kind: Kind::Alarm, due: at, now: Tick::ZERO, id: None };
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
