//! A stop request is reported before the end of its run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::{Clock, ScheduledThreadPool, SystemClock};

use super::stage::*;
use crate::base::sync::Mutex;
use crate::observe::{BusBuilder, Event, EventKind};
use crate::run::Run;
use crate::run::inject::Call;
use crate::task::{Control, Policy, Retry};
use scheduler_expr::Overlap;

/// Asserts that each request to stop comes before the end of its run, and returns how many there are.
fn check_order(events: &[Event]) -> usize {
    let mut ends = BTreeMap::new();
    let mut requests = 0;
    for (index, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::RunFinished { run, .. } => {
                assert_eq!(ends.insert(run.number, index), None, "{run:?} has ended twice");
            }
            EventKind::StopRequested { run, .. } => {
                assert!(!ends.contains_key(&run.number), "{run:?} is over");
                requests += 1;
            }
            _ => {}
        }
    }
    requests
}

#[test]
fn a_request_to_stop_comes_before_the_end_of_its_run() {
    for overlap in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let mut stage = Stage::new();
        let retry = Retry::new(1).base(ms(100));
        let policy = Policy { overlap, retry, timeout: Some(ms(700)), ..Policy::default() };
        let takes = |run: &Run| {
            let takes = run.number() * 313 % 1_100;
            if run.number().is_multiple_of(3) { fails(takes) } else { ok(takes) }
        };
        let control = stage.task(rate(500), policy, takes);
        for step in 1..200 {
            stage.until(step * 170);
            drop(control.cancel_run());
        }
        let requests = check_order(&stage.log.events.lock());
        assert!(requests > 40, "{overlap:?}: {requests}");
    }
}

#[test]
fn a_request_to_stop_comes_before_the_end_of_its_run_on_a_real_pool() {
    for is_async in [false, true] {
        let clock = Arc::new(SystemClock::new());
        let builder = ScheduledThreadPool::builder().core_size(2);
        let pool = Arc::new(builder.clock(Arc::clone(&clock) as _).build().unwrap());
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&events);
        let listener = move |event: &Event| log.lock().push(event.clone());
        let bus = BusBuilder::new().listener(Arc::new(listener)).synchronous();
        let bus = bus.build(Arc::clone(&clock) as _).unwrap();
        let call = if is_async {
            Call::of_async(|run: Run| async move { run.sleep_async(Duration::from_secs(60)).await })
        } else {
            Call::of(|run: &Run| _ = run.sleep(Duration::from_secs(60)))
        };
        let stage = Stage::new();
        let parts = stage.parts(rate(1), Policy::default(), call);
        let parts = Parts {
            pool: Arc::clone(&pool),
            clock: Arc::clone(&clock) as _,
            bus: Arc::new(bus),
            ..parts
        };
        let control = parts.begin().unwrap();
        let (mut cancelled, limit) = (0, clock.now() + Duration::from_secs(60));
        while cancelled < 500 && clock.now() < limit {
            match control.cancel_run() {
                Ok(()) => cancelled += 1,
                Err(_) => std::thread::yield_now(),
            }
        }
        control.cancel().unwrap();
        pool.close().unwrap();
        let tasks = [control];
        Control::await_events(&tasks, &*clock, Duration::from_secs(60));
        let [control] = tasks;
        let counters = control.snapshot().counters;
        let requests = check_order(&events.lock());
        assert!(counters.cancelled > 0 && requests as u64 >= counters.cancelled, "{counters:?}");
        assert!(requests as u64 <= counters.runs, "{requests} requests, {counters:?}");
    }
}

/// Without a limit for all of them, a stop would take a second for each.
#[test]
fn the_wait_for_undelivered_events_has_one_limit_for_all_tasks() {
    let stage = Stage::new();
    let clock = stage.clock.clone();
    let task = || stage.start(rate(500), Policy::default(), Call::noop());
    let tasks = [task(), task(), task()];
    for task in &tasks {
        // As if a listener never returned.
        task.task.lock().is_delivering = true;
    }
    let end = clock.now() + s(1);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| Control::await_events(&tasks, &clock, s(1)));
        clock.await_parked(1);
        clock.advance_to(end);
        let mut further = 0;
        while !waiting.is_finished() {
            if clock.next_deadline().is_some_and(|next| next > end) {
                further += 1;
                clock.advance(s(1));
            }
            std::thread::yield_now();
        }
        assert_eq!(further, 0, "waits after the limit");
    });
}
