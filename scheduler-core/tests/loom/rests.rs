//! Workers that only meet at the lock: one of them rests, and the pool ends.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Clock;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::Tick;
use scheduler_core::time::Epoch;
use scheduler_core::time::Gate;

use crate::kit::Counter;
use crate::kit::Latch;
use crate::kit::build;
use crate::kit::builder;
use crate::kit::models;
use crate::kit::staged;
use crate::times::Hand;

models! {
    l16_a_rest_ends_with_the_pool: end, with "L16" says "deadlock", with "L16 epoch" says "deadlock";
}

/// A clock that nobody moves, by which a wake-up takes some time.
#[derive(Debug)]
struct Slow(Hand);

impl Clock for Slow {
    fn now(&self) -> Tick {
        self.0.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.0.wall()
    }

    fn wake_up(&self) -> Duration {
        Duration::from_micros(40)
    }

    fn wait(&self, gate: &Arc<Gate>, seen: Epoch, until: Option<Tick>) {
        self.0.wait(gate, seen, until);
    }
}

/// A worker has met others three times. It takes one more task, which ends when the other worker has taken the
/// next one; so it rests, while the pool is shut down. A checker's locks always say that they meet somebody.
fn end() {
    let (ran, second) = (Counter::default(), Latch::default());
    let pool = staged(pool_that_has_met_others);
    let (count, awaited) = (ran.clone(), second.clone());
    let first = move || {
        awaited.wait();
        count.add();
    };
    pool.execute(first).unwrap();
    let count = ran.clone();
    let last = move || {
        second.open();
        count.add();
    };
    pool.execute(last).unwrap();
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    assert_eq!(ran.get(), 2, "each task runs once");
}

fn pool_that_has_met_others() -> ScheduledThreadPool {
    let clock = Hand::new();
    let pool = build(builder(2).clock(Arc::new(Slow(clock.clone()))));
    assert_eq!(pool.prestart_all(), 2);
    clock.await_parked(2);
    pool.submit(|| ()).unwrap().wait().unwrap();
    clock.await_parked(2);
    pool
}
