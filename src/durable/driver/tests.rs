//! A store whose calls hang, and a clock that the test moves.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use scheduler_core::{Clock, ManualClock};
use scheduler_node::{Channel, Config, Node, Rng};
use scheduler_store::{JobId, Model, NewJob, StoreTime, StoredJob, Uuid};

use super::{DriverParts, NodeDriver, Reports};
use crate::durable::node::JobTask;
use crate::durable::rule::TextRules;
use crate::durable::{Client, Jobs, Schedules, StoreCell};
use crate::observe::{BusBuilder, Event, EventKind, Listener, StoreEvent};

/// While it does, each call hangs on a thread that asks for jobs.
struct Hang {
    does: AtomicBool,
    calls: AtomicU64,
    /// The number of calls that have hung.
    count: AtomicU64,
    is_released: Mutex<bool>,
    released: Condvar,
}

struct Heard(Mutex<Sender<StoreEvent>>);

impl Listener for Heard {
    fn on_event(&self, event: &Event) {
        if let EventKind::Store { what } = &event.kind {
            drop(self.0.lock().unwrap().send(what.clone()));
        }
    }
}

struct Stage {
    driver: Arc<NodeDriver>,
    clock: ManualClock,
    hang: Arc<Hang>,
    heard: Receiver<StoreEvent>,
}

impl Stage {
    fn new(is_inline: bool) -> Self {
        let clock = ManualClock::new();
        let hang = Arc::new(Hang {
            does: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            count: AtomicU64::new(0),
            is_released: Mutex::new(false),
            released: Condvar::new(),
        });
        let (of_store, hangs) = (clock.clone(), Arc::clone(&hang));
        let model = Model::with_clock(move || {
            hangs.pass();
            StoreTime::from_micros(of_store.wall().timestamp_micros())
        });
        let (says, heard) = channel();
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let bus = BusBuilder::new().in_place(Arc::new(Heard(Mutex::new(says)))).synchronous();
        let bus = Arc::new(bus.build(Arc::clone(&shared)).expect("no thread is needed"));
        let store = StoreCell::open(Arc::new(model));
        let rules = Arc::new(TextRules::new(&[], BTreeMap::new()));
        let now = shared.boot_time();
        let client = Client::new(store, Arc::clone(&shared), false);
        let driver = NodeDriver::new(DriverParts {
            client: client.clone(),
            reports: Reports::new(
                bus,
                Arc::clone(&shared),
                Schedules::of(&Jobs::new(client.clone())),
                "shop",
            ),
            clock: shared,
            node: Node::new(
                Arc::new(Config::default()),
                rules,
                Rng::new(7),
                now,
                StoreTime::default(),
            ),
            tasks: BTreeMap::<Arc<str>, JobTask>::new(),
            is_inline,
            rest: None,
        });
        Self { driver, clock, hang, heard }
    }

    /// Moves time until this was heard, and returns all that was.
    fn advance_until(&self, is_it: impl Fn(&StoreEvent) -> bool) -> Vec<StoreEvent> {
        let mut all = Vec::new();
        for _ in 0..1_000 {
            while let Ok(event) = self.heard.try_recv() {
                all.push(event);
                if is_it(&all[all.len() - 1]) {
                    return all;
                }
            }
            self.advance(Duration::from_millis(200));
        }
        panic!("it was not heard, but {all:?}");
    }

    /// Moves time once all threads are at rest: the node's, the lease's, and the store's unless it hangs.
    fn advance(&self, by: Duration) {
        let replaced = || self.driver.slot(Channel::Store).thread();
        let hangs = || self.hang.count.load(SeqCst) > replaced();
        while self.clock.parked() < if hangs() { 2 } else { 3 } {
            std::thread::yield_now();
        }
        self.clock.advance(by);
    }
}

impl Hang {
    fn pass(&self) {
        let thread = std::thread::current();
        if thread.name() != Some("scheduler-store") {
            return;
        }
        self.calls.fetch_add(1, SeqCst);
        if !self.does.load(SeqCst) {
            return;
        }
        self.count.fetch_add(1, SeqCst);
        let mut is_released = self.is_released.lock().unwrap();
        while !*is_released {
            is_released = self.released.wait(is_released).unwrap();
        }
    }

    fn release(&self) {
        self.does.store(false, SeqCst);
        self.count.store(0, SeqCst);
        *self.is_released.lock().unwrap() = true;
        self.released.notify_all();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.hang.release();
        self.driver.give_up();
    }
}

#[test]
fn r1_a_call_that_hangs_is_given_up_and_another_thread_asks_on() {
    let stage = Stage::new(false);
    stage.driver.start_threads().expect("threads");
    stage.advance_until(|event| matches!(event, StoreEvent::SessionOpened { .. }));
    stage.hang.does.store(true, SeqCst);
    while stage.hang.count.load(SeqCst) == 0 {
        stage.advance(Duration::from_millis(200));
    }
    // Only this one hangs.
    stage.hang.does.store(false, SeqCst);
    let before = stage.hang.calls.load(SeqCst);
    for _ in 0..60 {
        stage.advance(Duration::from_secs(1));
    }
    assert_eq!(stage.heard.try_iter().collect::<Vec<_>>(), [], "the session lives");
    assert_eq!(stage.driver.slot(Channel::Store).thread(), 1, "one thread was replaced");
    let calls = stage.hang.calls.load(SeqCst) - before;
    assert!(calls > 30, "{calls} calls in a minute");
}

#[test]
fn r20_a_process_whose_calls_all_hang_loses_its_lease_and_has_few_threads() {
    let stage = Stage::new(false);
    stage.driver.start_threads().expect("threads");
    stage.advance_until(|event| matches!(event, StoreEvent::SessionOpened { .. }));
    stage.hang.does.store(true, SeqCst);
    stage.advance_until(|event| matches!(event, StoreEvent::SessionLost { .. }));
    for _ in 0..100 {
        stage.advance(Duration::from_secs(1));
    }
    let hanging = stage.hang.count.load(SeqCst);
    assert_eq!(hanging, 4, "three were given up, and the fourth is waited for");
    stage.hang.release();
    stage.advance_until(|event| matches!(event, StoreEvent::SessionOpened { .. }));
}

#[test]
fn the_run_of_a_job_that_its_task_drops_has_an_end() {
    let stage = Stage::new(true);
    let new = NewJob::new(JobId::from_uuid(Uuid::from_u128(1)), "sweep");
    let job = StoredJob::new(&new, StoreTime::default(), StoreTime::default());
    let run = stage.driver.new_run(job.into());
    assert_eq!(stage.driver.runs().len(), 1);
    drop(run);
    assert_eq!(stage.driver.runs().len(), 0, "its end was told");
}
