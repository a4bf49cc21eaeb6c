//! A worker whose thread dies is replaced. Nothing of the user's can kill one but a clock that panics.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Clock;
use scheduler_core::Event;
use scheduler_core::ManualClock;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::Tick;
use scheduler_core::time::Epoch;
use scheduler_core::time::Gate;

/// A clock on which the first wait with a deadline panics.
#[derive(Debug)]
struct Trap {
    clock: ManualClock,
    is_set: AtomicBool,
}

impl Clock for Trap {
    fn now(&self) -> Tick {
        self.clock.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.clock.wall()
    }

    fn wait(&self, gate: &Arc<Gate>, seen: Epoch, until: Option<Tick>) {
        assert!(!self.is_set.swap(false, Ordering::SeqCst), "the trap");
        self.clock.wait(gate, seen, until);
    }
}

#[test]
fn a_worker_that_dies_is_replaced_and_the_tasks_run_on() {
    let clock = ManualClock::new();
    let trap = Arc::new(Trap { clock: clock.clone(), is_set: AtomicBool::new(true) });
    let (started, deaths) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (starts, dead) = (Arc::clone(&started), Arc::clone(&deaths));
    let pool = ScheduledThreadPool::builder()
        .core_size(1)
        .clock(trap)
        .listener(move |event: &Event<'_>| match event {
            Event::WorkerStarted { .. } => drop(starts.fetch_add(1, Ordering::SeqCst)),
            Event::WorkerRefused { reason, .. } => {
                assert_eq!(*reason, "the worker's thread has died");
                dead.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        })
        .build()
        .unwrap();
    let handle = pool.schedule(Duration::from_millis(10), || 42).unwrap();
    clock.await_parked(1);
    assert_eq!(pool.stats().pool_size, 1);
    clock.advance(Duration::from_millis(10));
    assert_eq!(handle.wait_for(Duration::from_secs(10)).unwrap(), 42);
    pool.close().unwrap();
    assert_eq!((started.load(Ordering::SeqCst), deaths.load(Ordering::SeqCst)), (2, 1));
}
