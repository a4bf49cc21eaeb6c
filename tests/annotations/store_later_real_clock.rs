//! A start without the store, which is opened later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use scheduler::store::Model;
use scheduler::{Builder, EnqueueError, Jobs, Schedule, Scheduler, Until, job, tasks};

const LIMIT: Duration = Duration::from_secs(60);

#[job(name = "stamp")]
fn stamp() {}

/// A database that is away until the test says that it is there.
#[derive(Clone, Default)]
struct Database {
    store: Model,
    is_there: Arc<AtomicBool>,
    calls: Arc<AtomicU32>,
}

impl Database {
    fn open(&self) -> Result<Model, String> {
        let call = self.calls.fetch_add(1, SeqCst);
        assert!(call != 1, "a driver that panics");
        if self.is_there.load(SeqCst) {
            return Ok(self.store.clone());
        }
        Err("connection refused".to_owned())
    }

    fn builder(&self) -> Builder {
        let own = self.clone();
        let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
        builder.tasks(tasks![stamp]).store_later(move || own.open())
    }

    /// Waits for this many attempts to open it.
    fn await_calls(&self, calls: u32) {
        while self.calls.load(SeqCst) < calls {
            std::thread::yield_now();
        }
    }
}

fn await_store(jobs: &Jobs) {
    while !jobs.is_up() {
        std::thread::yield_now();
    }
}

#[test]
fn a_scheduler_starts_without_its_store_and_durable_tasks_begin_when_it_answers() {
    let database = Database::default();
    let builder = database.builder().task("tick", Schedule::fixed_rate("1h"), |_| {});
    let scheduler = builder.spawn().expect("it needs no store to start");
    scheduler.wait_for("tick", Until::successes(1), LIMIT).expect("tasks in memory run");
    database.await_calls(3);
    let jobs = scheduler.jobs().expect("there is a handle");
    assert!(!jobs.is_up());
    let Err(EnqueueError::NotAccepted(unsent)) = jobs.enqueue(stamp::job()) else {
        panic!("the store is not open")
    };
    let reason = "the store is unavailable: it has not been opened yet: connection refused";
    assert_eq!(unsent.reason, reason);
    database.is_there.store(true, SeqCst);
    await_store(&jobs);
    jobs.enqueue(stamp::job()).expect("it is stored");
    scheduler.wait_for("stamp", Until::successes(1), LIMIT).expect("the job runs");
    let calls = database.calls.load(SeqCst);
    scheduler.shutdown().expect("it stops");
    assert_eq!(database.calls.load(SeqCst), calls, "it is opened once");
}

#[test]
fn a_process_that_only_enqueues_opens_its_store_later_too() {
    let database = Database::default();
    let scheduler = database.builder().enqueue_only().spawn().expect("it starts");
    let jobs = scheduler.jobs().expect("there is a handle");
    database.await_calls(3);
    assert!(!jobs.is_up());
    database.is_there.store(true, SeqCst);
    await_store(&jobs);
    jobs.enqueue(stamp::job()).expect("it is stored");
    scheduler.shutdown().expect("it stops");
}

#[test]
fn a_scheduler_stops_although_its_store_never_came() {
    for is_web in [false, true] {
        let database = Database::default();
        let builder = database.builder();
        let builder = if is_web { builder.enqueue_only() } else { builder };
        let scheduler = builder.spawn().expect("it starts");
        database.await_calls(1);
        scheduler.shutdown().expect("it stops");
    }
}
