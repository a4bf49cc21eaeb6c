//! The pool of `scheduler-core` as a peer of the benchmark: see the README beside this file.

use harness::Scheduler;
use scheduler_core::{ScheduledThreadPool, TaskHandle};
use std::time::Duration;

/// A pool with its workers started; ended without waiting for what is not due.
pub struct Pool(ScheduledThreadPool);

/// What every call of a pool that is open answers.
const OPEN: &str = "the pool is open";

impl Scheduler for Pool {
    type Handle = TaskHandle<()>;

    fn new(workers: usize) -> Self {
        let pool = ScheduledThreadPool::new(workers);
        assert_eq!(pool.prestart_all(), workers);
        Self(pool)
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

impl Drop for Pool {
    fn drop(&mut self) {
        drop(self.0.shutdown_now());
        assert!(self.0.await_termination(Duration::from_secs(60)), "a run does not end");
    }
}
