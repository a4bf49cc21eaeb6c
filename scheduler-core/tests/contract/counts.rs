//! Counters at moments that are over at once, and alarms at such moments.

use std::sync::Arc;

use crate::kit::{Journal, VirtualPool, ms};
use scheduler_core::{Begun, Stepped, Tick};

#[test]
fn who_makes_the_call_of_an_alarm_is_not_active() {
    let (stage, seen) = (VirtualPool::new(2), Journal::new());
    stage.pool.submit(|| ()).unwrap();
    let Begun::Run(run) = stage.workers.begin(1) else { panic!("the task is due") };
    let (pool, noted) = (stage.pool.clone(), seen.clone());
    let _alarm = stage.pool.call_at(Tick::ZERO, move || {
        let stats = pool.stats();
        noted.note((stats.active, stats.tasks));
    });
    assert!(matches!(stage.workers.step(2), Stepped::Ran));
    assert_eq!(seen.entries(), [(1, 1)]);
    run.finish();
}

#[test]
fn an_alarm_for_a_pool_that_stops_is_dropped_at_once_and_no_worker_is_started_for_it() {
    let (stage, held) = (VirtualPool::new(2), Arc::new(()));
    stage.pool.submit(|| ()).unwrap();
    let Begun::Run(run) = stage.workers.begin(1) else { panic!("the task is due") };
    assert!(stage.pool.shutdown_now().is_empty());
    let inside = Arc::clone(&held);
    let _alarm = stage.pool.call_at(Tick::ZERO + ms(10), move || drop(inside));
    assert_eq!(Arc::strong_count(&held), 1);
    assert_eq!(stage.workers.numbers(), [1]);
    run.finish();
    stage.run_due();
    assert!(stage.pool.is_terminated());
}
