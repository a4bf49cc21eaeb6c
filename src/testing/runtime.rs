//! A Tokio runtime in simulated time, on the simulation's thread.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use tokio::time::Instant;

use crate::base::sync::{Mutex, MutexGuard};
use crate::run::{BoxFuture, TaskResult};
use crate::start::Builder;

/// The least number of times that spawned futures are polled at one time.
const ROUNDS: usize = 8;

// ORDERING: all atomics of this file are relaxed; they are hints for the thread of the simulation.
const RELAXED: Ordering = Ordering::Relaxed;

/// Drives the timers of Tokio, and what tasks have spawned, in step with the clock of the simulation.
#[derive(Default)]
pub(super) struct Driver {
    /// Present once there is an async task.
    paused: OnceLock<PausedRuntime>,
    wake_ups: Arc<WakeUps>,
}

struct PausedRuntime {
    runtime: Runtime,
    start: Instant,
    /// The time that has passed in the simulation.
    passed: Mutex<Duration>,
}

/// Wake-ups of the tasks' futures, and the number of pending ones.
#[derive(Default)]
struct WakeUps {
    is_woken: AtomicBool,
    pending: AtomicUsize,
    /// Woken when a future is woken.
    waker: Mutex<Option<Waker>>,
}

impl Driver {
    /// Gives the scheduler the runtime of its tasks.
    ///
    /// # Panics
    ///
    /// Inside another runtime, whose thread a simulation must not block.
    #[track_caller]
    pub(super) fn lend(&self, builder: Builder) -> Builder {
        assert!(
            Handle::try_current().is_err(),
            "a simulation drives a Tokio runtime of its own, and cannot do so inside another one\n\
             help: write `#[test] fn`, not `#[tokio::test] async fn`"
        );
        let paused = self.paused.get_or_init(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .expect("a runtime on this thread");
            let start = runtime.block_on(async { Instant::now() });
            PausedRuntime { runtime, start, passed: Mutex::default() }
        });
        builder.runtime(paused.runtime.handle().clone())
    }

    pub(super) fn wakeful(&self, future: BoxFuture) -> BoxFuture {
        self.wake_ups.pending.fetch_add(1, RELAXED);
        Box::pin(Wakeful { future, wake_ups: Arc::clone(&self.wake_ups) })
    }

    /// Returns true if the program has spawned something that is in progress.
    pub(super) fn has_spawned(&self) -> bool {
        self.paused.get().is_some_and(|paused| paused.runtime.metrics().num_alive_tasks() > 0)
    }

    pub(super) fn has_pending(&self) -> bool {
        self.wake_ups.pending.load(RELAXED) > 0
    }

    /// Polls all that can proceed at this time. Returns true if something may have happened.
    pub(super) fn settle(&self) -> bool {
        let Some(paused) = self.paused.get().filter(|paused| self.is_needed(paused)) else {
            return false;
        };
        paused.runtime.block_on(async {
            for _ in 0..ROUNDS {
                tokio::task::yield_now().await;
            }
        });
        true
    }

    /// Advances by `length`, or until a future is woken. Returns how much time has passed.
    pub(super) fn pass(&self, length: Duration) -> Duration {
        let Some(paused) = self.paused.get() else { return length };
        let mut passed = paused.passed.lock();
        let target = *passed + length;
        let came = if self.is_needed(paused) {
            self.wake_ups.is_woken.store(false, RELAXED);
            paused.runtime.block_on(self.sleep_until(paused.start + target));
            let came = paused.runtime.block_on(async { Instant::now() }) - paused.start;
            if self.wake_ups.is_woken.load(RELAXED) { came.clamp(*passed, target) } else { target }
        } else {
            paused.catch_up(target);
            target
        };
        let by = came - *passed;
        *passed = came;
        by
    }

    /// Returns true if something runs in the runtime, or waits for it.
    fn is_needed(&self, paused: &PausedRuntime) -> bool {
        self.has_pending() || paused.runtime.metrics().num_alive_tasks() > 0
    }

    /// Ends at an instant, which comes at once because the clock is paused, or when a future is woken.
    async fn sleep_until(&self, instant: Instant) {
        let mut sleep = std::pin::pin!(tokio::time::sleep_until(instant));
        poll_fn(|context| {
            *self.wake_ups.waker() = Some(context.waker().clone());
            if self.wake_ups.is_woken.load(RELAXED) {
                return Poll::Ready(());
            }
            sleep.as_mut().poll(context)
        })
        .await;
        *self.wake_ups.waker() = None;
    }
}

impl PausedRuntime {
    /// Sets the clock of the runtime, in which nothing waits.
    fn catch_up(&self, target: Duration) {
        self.runtime.block_on(async {
            let left = (self.start + target).saturating_duration_since(Instant::now());
            if !left.is_zero() {
                tokio::time::advance(left).await;
            }
        });
    }
}

impl WakeUps {
    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock()
    }

    fn beat(&self) {
        self.is_woken.store(true, RELAXED);
        let waker = self.waker().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The future of a task. The driver sees its wake-ups.
struct Wakeful {
    future: BoxFuture,
    wake_ups: Arc<WakeUps>,
}

impl Future for Wakeful {
    type Output = TaskResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<TaskResult> {
        let ears = Ears { waker: context.waker().clone(), wake_ups: Arc::clone(&self.wake_ups) };
        let waker = Waker::from(Arc::new(ears));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

impl Drop for Wakeful {
    fn drop(&mut self) {
        self.wake_ups.pending.fetch_sub(1, RELAXED);
    }
}

struct Ears {
    waker: Waker,
    wake_ups: Arc<WakeUps>,
}

impl Wake for Ears {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.waker.wake_by_ref();
        self.wake_ups.beat();
    }
}

crate::base::opaque! { Driver }
