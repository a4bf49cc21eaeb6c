//! A task of one pool waits for a task of another.
//!
//! The times of one pool mean nothing to the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::kit::{Journal, ManualPool, Mutex, VirtualPool, ms, value_of, wedge};
use chrono::{DateTime, Utc};
use scheduler_core::time::{Epoch, EventCount};
use scheduler_core::{Clock, Event, ManualClock, Run, ScheduledThreadPool, Tick, VirtualWorkers};

/// A clock on which the first wait takes two seconds, and the second until the workers has worked.
#[derive(Debug)]
struct Slow {
    clock: ManualClock,
    workers: VirtualWorkers,
    waits: AtomicU64,
    untils: Arc<Mutex<Vec<Option<Tick>>>>,
}

impl Clock for Slow {
    fn now(&self) -> Tick {
        self.clock.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.clock.wall()
    }

    fn wait(&self, _: &Arc<EventCount>, _: Epoch, until: Option<Tick>) {
        self.untils.lock().unwrap().push(until);
        match self.waits.fetch_add(1, Ordering::SeqCst) {
            0 => self.clock.advance(Duration::from_secs(2)),
            1 => self.workers.run_until_idle(),
            _ => panic!("there is nothing more to wait for"),
        }
    }
}

#[test]
fn a_wait_for_a_task_of_another_pool_knows_no_limit_and_starves_no_task() {
    let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
    let untils: Arc<Mutex<Vec<Option<Tick>>>> = Arc::default();
    clock.advance(crate::kit::HOUR);
    let waits = AtomicU64::new(0);
    let slow = Slow { clock, workers: workers.clone(), waits, untils: Arc::clone(&untils) };
    let starved = Journal::new();
    let heard = starved.clone();
    let other = ScheduledThreadPool::builder()
        .core_size(1)
        .clock(Arc::new(slow))
        .virtual_workers(&workers)
        .listener(move |event: &Event<'_>| {
            if let Event::WaitStarved { .. } = event {
                heard.note(());
            }
        })
        .build()
        .unwrap();
    let stage = VirtualPool::new(1);
    let awaited = other.submit(|| 6 * 7).unwrap();
    let handle = stage.pool.submit_with_timeout(ms(10), move || awaited.wait()).unwrap();
    stage.run_due();
    assert_eq!(handle.result_now().unwrap(), Ok(42));
    assert_eq!(*untils.lock().unwrap(), [None, None]);
    assert_eq!(starved.len(), 0);
}

/// Steps the workers of one pool inside a task of another, on whose thread they work then.
fn step_inside(outer: &ScheduledThreadPool, inner: &VirtualWorkers) {
    let inner = inner.clone();
    let stepped = outer.submit(move || inner.run_until_idle()).unwrap();
    value_of(&stepped);
}

#[test]
fn a_task_that_is_submitted_inside_a_run_of_another_pool_belongs_to_its_own() {
    fn nothing() {}
    let ManualPool { pool: outer, .. } = ManualPool::new(1);
    let stage = VirtualPool::new(1);
    let (inner, seen) = (stage.pool.clone(), Journal::new());
    let noted = seen.clone();
    let submits = move || {
        let handle = inner.execute(nothing).unwrap();
        noted.note(inner.is_queued(&handle));
    };
    stage.pool.execute(submits).unwrap();
    let wedge = wedge(&outer);
    // Of this type of task the worker keeps the memory for what is submitted next.
    outer.execute(nothing).unwrap();
    let workers = stage.workers.clone();
    let stepped = outer.submit(move || workers.run_until_idle()).unwrap();
    wedge.release();
    value_of(&stepped);
    assert_eq!(seen.entries(), [true]);
}

#[test]
fn a_pool_that_is_stopped_reaches_a_run_inside_one_of_another_pool() {
    let ManualPool { pool: outer, .. } = ManualPool::new(1);
    let stage = VirtualPool::new(1);
    let (inner, seen) = (stage.pool.clone(), Journal::new());
    let noted = seen.clone();
    let stops = move || {
        drop(inner.shutdown_now());
        noted.note(Run::current().expect("inside a run").is_cancelled());
    };
    stage.pool.execute(stops).unwrap();
    step_inside(&outer, &stage.workers);
    assert_eq!(seen.entries(), [true]);
}

#[test]
fn a_pool_that_is_stopped_reaches_a_run_that_steps_another_pool() {
    let ManualPool { pool: outer, .. } = ManualPool::new(1);
    let stage = VirtualPool::new(1);
    let (stopped, workers) = (outer.clone(), stage.workers.clone());
    stage.pool.execute(move || drop(stopped.shutdown_now())).unwrap();
    let seen = Journal::new();
    let noted = seen.clone();
    let steps = move || {
        workers.run_until_idle();
        noted.note(Run::current().expect("inside a run").is_cancelled());
    };
    outer.execute(steps).unwrap();
    seen.await_len(1);
    assert_eq!(seen.entries(), [true]);
}
