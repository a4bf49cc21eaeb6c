//! A task that is told something between its making and its submission.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use chrono::TimeDelta;
use scheduler_core::NextFireTime;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::Trigger;
use scheduler_core::TriggerContext;

use super::stage::*;
use crate::observe::TaskState;
use crate::task::Control;
use crate::task::Policy;
use crate::task::Rule;

#[test]
fn one_that_is_cancelled_before_it_is_submitted_is_cancelled_and_no_fault() {
    let mut stage = Stage::new();
    let call = stage.call(|_| ok(0));
    let control = Control::make(stage.parts(rate(1_000), Policy::default(), call));
    stage.until(500);
    control.cancel().unwrap();
    control.begin(&stage.pool).expect("it has no fault");
    stage.until(5_000);
    assert_eq!(stage.heard(), "cancelled 0.5");
    assert_eq!(control.snapshot().state, TaskState::Cancelled);
    assert!(control.cancel().unwrap_err().is_ended());
}

#[test]
fn a_pool_that_is_shut_down_refuses_it_all_the_same() {
    let stage = Stage::new();
    let call = stage.call(|_| ok(0));
    let control = Control::make(stage.parts(rate(1_000), Policy::default(), call));
    stage.pool.shutdown();
    assert!(control.begin(&stage.pool).is_err());
}

#[test]
fn a_pool_that_gets_no_thread_refuses_it_and_says_why() {
    let stage = Stage::new();
    let refuse = |_| Err(std::io::Error::other("no more threads"));
    let pool = ScheduledThreadPool::builder().thread_factory(refuse).build().unwrap();
    let call = stage.call(|_| ok(0));
    let control = Control::make(stage.parts(rate(1_000), Policy::default(), call));
    let error = control.begin(&pool).unwrap_err().to_string();
    let expected = "task `task` was refused: the pool has no worker, and no thread could be started: \
                    no more threads\nhelp: ";
    assert!(error.starts_with(expected), "{error}");
}

/// A trigger that never fires.
struct Never;

impl Trigger for Never {
    fn next_fire_time(&self, _: &TriggerContext) -> NextFireTime {
        Ok(None)
    }
}

#[test]
fn one_that_another_rule_ends_before_it_is_submitted_is_over_and_no_fault() {
    let stage = Stage::new();
    let parts = |rule| stage.parts(rule, Policy::default(), stage.call(|_| ok(0)));
    let control = Control::make(parts(rate(1_000)));
    control.reschedule(Rule::Custom(Arc::new(Never))).unwrap();
    control.begin(&stage.pool).expect("its first rule has no fault");
    assert_eq!(control.snapshot().state, TaskState::Completed);
    let control = Control::make(parts(Rule::Custom(Arc::new(Never))));
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
fn a_trigger_that_was_asked_before_is_not_asked_again_when_its_task_is_submitted() {
    let mut stage = Stage::new();
    let counting = Arc::new(Counting::default());
    let rule = Rule::Custom(Arc::<Counting>::clone(&counting));
    let control = Control::make(stage.parts(rule, Policy::default(), stage.call(|_| ok(0))));
    control.ask_trigger();
    assert_eq!(control.first_start(), Some(start() + TimeDelta::seconds(1)));
    control.begin(&stage.pool).unwrap();
    assert_eq!(counting.asked.load(Relaxed), 1);
    stage.until(2_500);
    assert_eq!(stage.heard(), "start 1 | start 2");
}
