//! With the feature `tokio`: a runtime on the thread of the simulation, whose paused clock goes with ours.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use tokio::time::Instant;

use crate::run::{BoxFuture, TaskResult};
use crate::runner::Builder;
use crate::sync::{Mutex, MutexGuard};

/// How often what has been spawned is polled at one time, at least.
const ROUNDS: usize = 8;

// ORDERING: all atomics of this file are relaxed; they are hints for the thread of the simulation.
const RELAXED: Ordering = Ordering::Relaxed;

/// Drives the timers of Tokio, and what tasks have spawned, in step with the clock of the simulation.
#[derive(Default)]
pub(super) struct Driver {
    /// Present once there is an async task.
    stage: OnceLock<Stage>,
    pulse: Arc<Pulse>,
}

struct Stage {
    runtime: Runtime,
    start: Instant,
    /// How much time has passed in the simulation.
    passed: Mutex<Duration>,
}

/// Whether a future of a task has been woken, and how many are pending.
#[derive(Default)]
struct Pulse {
    is_woken: AtomicBool,
    pending: AtomicUsize,
    /// Who wants to know.
    waker: Mutex<Option<Waker>>,
}

impl Driver {
    pub(super) fn new() -> Self {
        Self::default()
    }

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
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime on this thread");
        let start = runtime.block_on(async { Instant::now() });
        let handle = runtime.handle().clone();
        let stage = Stage { runtime, start, passed: Mutex::default() };
        assert!(self.stage.set(stage).is_ok(), "a simulation starts once");
        builder.runtime(handle)
    }

    pub(super) fn wakeful(&self, future: BoxFuture) -> BoxFuture {
        self.pulse.pending.fetch_add(1, RELAXED);
        Box::pin(Wakeful { future, pulse: Arc::clone(&self.pulse) })
    }

    pub(super) fn has_pending(&self) -> bool {
        self.pulse.pending.load(RELAXED) > 0
    }

    /// Lets everything happen that can at this time, and says whether something may have.
    pub(super) fn settle(&self) -> bool {
        let Some(stage) = self.stage.get().filter(|stage| self.is_needed(stage)) else {
            return false;
        };
        stage.runtime.block_on(async {
            for _ in 0..ROUNDS {
                tokio::task::yield_now().await;
            }
        });
        true
    }

    /// Lets time go on by `length`, or until a future is woken, and says how much has passed.
    pub(super) fn pass(&self, length: Duration) -> Duration {
        let Some(stage) = self.stage.get() else { return length };
        let mut passed = stage.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let target = *passed + length;
        let came = if self.is_needed(stage) {
            self.pulse.is_woken.store(false, RELAXED);
            stage.runtime.block_on(self.sleep_until(stage.start + target));
            let came = stage.runtime.block_on(async { Instant::now() }) - stage.start;
            if self.pulse.is_woken.load(RELAXED) { came.clamp(*passed, target) } else { target }
        } else {
            stage.catch_up(target);
            target
        };
        let by = came - *passed;
        *passed = came;
        by
    }

    /// Whether something waits that only the runtime can wake, or runs in it.
    fn is_needed(&self, stage: &Stage) -> bool {
        self.has_pending() || stage.runtime.metrics().num_alive_tasks() > 0
    }

    /// Ends at an instant, which comes at once because the clock is paused, or when a future is woken.
    async fn sleep_until(&self, instant: Instant) {
        let mut sleep = std::pin::pin!(tokio::time::sleep_until(instant));
        poll_fn(|context| {
            *self.pulse.waker() = Some(context.waker().clone());
            if self.pulse.is_woken.load(RELAXED) {
                return Poll::Ready(());
            }
            sleep.as_mut().poll(context)
        })
        .await;
        *self.pulse.waker() = None;
    }
}

impl Stage {
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

impl Pulse {
    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beat(&self) {
        self.is_woken.store(true, RELAXED);
        let waker = self.waker().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The future of a task whose wake-ups the driver hears.
struct Wakeful {
    future: BoxFuture,
    pulse: Arc<Pulse>,
}

impl Future for Wakeful {
    type Output = TaskResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<TaskResult> {
        let ears = Ears { waker: context.waker().clone(), pulse: Arc::clone(&self.pulse) };
        let waker = Waker::from(Arc::new(ears));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

impl Drop for Wakeful {
    fn drop(&mut self) {
        self.pulse.pending.fetch_sub(1, RELAXED);
    }
}

struct Ears {
    waker: Waker,
    pulse: Arc<Pulse>,
}

impl Wake for Ears {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.waker.wake_by_ref();
        self.pulse.beat();
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}
