//! A task that is changed before it begins, or cannot begin.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use chrono::TimeDelta;
use scheduler_core::{NextFireTime, ScheduledThreadPool, Trigger, TriggerContext};

use super::stage::*;
use crate::observe::TaskState;
use crate::task::{NotBegun, Policy, Rule};

#[test]
fn a_task_that_is_cancelled_before_it_begins_is_cancelled_without_an_error() {
    let mut stage = Stage::new();
    let call = stage.call(|_| ok(0));
    let control = stage.parts(rate(1_000), Policy::default(), call).make();
    stage.until(500);
    control.cancel().unwrap();
    control.begin(&stage.pool).expect("it has no fault");
    stage.until(5_000);
    assert_eq!(stage.heard(), "cancelled 0.5");
    assert_eq!(control.snapshot().state, TaskState::Cancelled);
    assert!(control.cancel().unwrap_err().is_ended());
}

#[test]
fn a_pool_that_is_shut_down_refuses_a_task() {
    let stage = Stage::new();
    let call = stage.call(|_| ok(0));
    let control = stage.parts(rate(1_000), Policy::default(), call).make();
    stage.pool.shutdown();
    let error = control.begin(&stage.pool).unwrap_err();
    assert_eq!(error, NotBegun::Stopping);
    assert_eq!(error.to_string(), "its pool takes no tasks any more");
    assert_eq!(control.snapshot().state, TaskState::Cancelled);
}

#[test]
fn a_pool_that_gets_no_thread_refuses_a_task() {
    let stage = Stage::new();
    let refuse = |_| Err(std::io::Error::other("no more threads"));
    let pool = ScheduledThreadPool::builder().thread_factory(refuse).build().unwrap();
    let pool = Arc::new(pool);
    let parts = stage.parts(rate(1_000), Policy::default(), stage.call(|_| ok(0)));
    let control = Parts { pool: Arc::clone(&pool), ..parts }.make();
    let error = control.begin(&pool).unwrap_err();
    assert_eq!(error, NotBegun::NoThread);
    assert_eq!(error.to_string(), "its pool has no thread, and none can be started");
    assert_eq!(control.snapshot().state, TaskState::Cancelled);
}

/// A trigger that never fires.
struct Never;

impl Trigger for Never {
    fn next_fire_time(&self, _: &TriggerContext) -> NextFireTime {
        Ok(None)
    }
}

#[test]
fn a_task_whose_rule_never_fires_is_completed_when_it_begins() {
    let stage = Stage::new();
    let parts = |rule| stage.parts(rule, Policy::default(), stage.call(|_| ok(0)));
    let control = parts(rate(1_000)).make();
    control.reschedule(Rule::Custom(Arc::new(Never))).unwrap();
    control.begin(&stage.pool).expect("its first rule has no fault");
    assert_eq!(control.snapshot().state, TaskState::Completed);
    let control = parts(Rule::Custom(Arc::new(Never))).make();
    control.begin(&stage.pool).expect("it has no fault");
    assert_eq!(control.snapshot().state, TaskState::Completed);
}

/// Fires each time another second later, and counts how often it is asked.
#[derive(Debug, Default)]
struct Counting {
    asked: AtomicI64,
}

impl Trigger for Counting {
    fn next_fire_time(&self, _: &TriggerContext) -> NextFireTime {
        Ok(Some(start() + TimeDelta::seconds(self.asked.fetch_add(1, Relaxed) + 1)))
    }
}

#[test]
fn a_trigger_that_was_asked_before_is_not_asked_again_when_its_task_begins() {
    let mut stage = Stage::new();
    let counting = Arc::new(Counting::default());
    let rule = Rule::Custom(Arc::<Counting>::clone(&counting));
    let control = stage.parts(rule, Policy::default(), stage.call(|_| ok(0))).make();
    control.ask_trigger();
    assert_eq!(control.first_start(), Some(start() + TimeDelta::seconds(1)));
    control.begin(&stage.pool).unwrap();
    assert_eq!(counting.asked.load(Relaxed), 1);
    stage.until(2_500);
    assert_eq!(stage.heard(), "start 1 | start 2");
}
