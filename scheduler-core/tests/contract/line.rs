//! A worker always takes the first task, also while others submit.

use crate::kit::{Blocker, HOUR, Journal, ManualPool, at_wall, ms, wedge};
use chrono::TimeDelta;
use scheduler_core::Clock;

#[test]
fn an_earlier_wall_clock_time_comes_before() {
    let (stage, ran) = (ManualPool::new(1), Journal::new());
    let wedge = wedge(&stage.pool);
    stage.pool.schedule(ms(5), ran.noting("tick")).unwrap();
    let at = stage.clock.wall() + TimeDelta::milliseconds(2);
    at_wall(&stage.pool, &stage.clock, at, ran.noting("wall"));
    stage.clock.advance(ms(10));
    wedge.release();
    ran.await_len(2);
    assert_eq!(ran.entries(), ["wall", "tick"]);
}

/// One task comes into the queue, and then another that is due before it; both are due when the worker is free.
fn check_order(stage: &ManualPool, blocker: Blocker) {
    let ran = Journal::new();
    blocker.await_started();
    stage.pool.schedule(ms(5), ran.noting("in the queue")).unwrap();
    assert_eq!(stage.pool.stats().queued, 1);
    stage.pool.schedule(ms(2), ran.noting("before")).unwrap();
    stage.clock.advance(ms(10));
    drop(blocker);
    ran.await_len(2);
    assert_eq!(ran.entries(), ["before", "in the queue"]);
}

#[test]
fn an_entry_due_before_comes_before() {
    let (stage, blocker) = (ManualPool::new(1), Blocker::new());
    stage.pool.execute(blocker.body()).unwrap();
    check_order(&stage, blocker);
}

#[test]
fn an_entry_due_before_comes_before_when_a_run_recurs() {
    let (stage, blocker) = (ManualPool::new(1), Blocker::new());
    stage.pool.schedule_at_fixed_rate(ms(0), HOUR, blocker.body()).unwrap();
    check_order(&stage, blocker);
}
