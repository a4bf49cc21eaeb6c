//! The pool of `scheduler-core` as peers of the benchmark: see the README beside this file.

use harness::Scheduler;
use scheduler_core::{PoolBuilder, ScheduledThreadPool, TaskHandle};
use std::marker::PhantomData;
use std::time::Duration;

/// The way in which a pool waits.
pub trait Waiting {
    fn dress(builder: PoolBuilder) -> PoolBuilder;
}

/// As it does by default.
pub struct Plain;

/// With a slack of a millisecond, as wheels with ticks of a millisecond have it.
pub struct Slack;

/// Spinning at the end.
pub struct Precise;

impl Waiting for Plain {
    fn dress(builder: PoolBuilder) -> PoolBuilder {
        builder
    }
}

impl Waiting for Slack {
    fn dress(builder: PoolBuilder) -> PoolBuilder {
        builder.slack(Duration::from_millis(1))
    }
}

impl Waiting for Precise {
    fn dress(builder: PoolBuilder) -> PoolBuilder {
        builder.precise()
    }
}

/// A pool with its workers started; ended without waiting for what is not due.
pub struct Pool<W: Waiting>(ScheduledThreadPool, PhantomData<fn(W)>);

/// The result of calls of an open pool.
const OPEN: &str = "the pool is open";

impl<W: Waiting + 'static> Scheduler for Pool<W> {
    type Handle = TaskHandle<()>;

    fn new(workers: usize) -> Self {
        let builder = ScheduledThreadPool::builder().core_size(workers);
        let pool = W::dress(builder).build().expect("valid settings");
        assert_eq!(pool.prestart_all(), workers);
        Self(pool, PhantomData)
    }

    fn schedule<F: FnOnce() + Send + 'static>(&self, delay: Duration, task: F) -> Self::Handle {
        self.0.schedule(delay, task).expect(OPEN)
    }

    fn cancel(&self, handle: Self::Handle) {
        handle.cancel();
    }

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.execute(task).expect(OPEN);
    }

    fn fixed_rate<F: FnMut() + Send + 'static>(
        &self,
        initial: Duration,
        period: Duration,
        task: F,
    ) {
        self.0.schedule_at_fixed_rate(initial, period, task).expect(OPEN);
    }
}

impl<W: Waiting> Drop for Pool<W> {
    fn drop(&mut self) {
        drop(self.0.shutdown_now());
        assert!(self.0.await_termination(Duration::from_secs(60)), "a run does not end");
    }
}
