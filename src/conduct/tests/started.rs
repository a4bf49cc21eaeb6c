//! A task that is told something between its making and its submission.

use std::sync::Arc;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Trigger;
use scheduler_core::TriggerContext;

use super::stage::*;
use crate::conduct::Conductor;
use crate::conduct::Policy;
use crate::conduct::Rule;
use crate::observe::TaskState;

#[test]
fn one_that_is_cancelled_before_it_is_submitted_is_cancelled_and_no_fault() {
    let mut stage = Stage::new();
    let call = stage.call(|_| ok(0));
    let control = Conductor::make(stage.parts(rate(1_000), Policy::default(), call));
    stage.until(500);
    control.cancel().unwrap();
    control.submit(&stage.pool).expect("it has no fault");
    stage.until(5_000);
    assert_eq!(stage.heard(), "cancelled 0.5");
    assert_eq!(control.snapshot().state, TaskState::Cancelled);
    assert!(control.cancel().unwrap_err().is_ended());
}

#[test]
fn a_pool_that_is_shut_down_refuses_it_all_the_same() {
    let stage = Stage::new();
    let call = stage.call(|_| ok(0));
    let control = Conductor::make(stage.parts(rate(1_000), Policy::default(), call));
    stage.pool.shutdown();
    assert!(control.submit(&stage.pool).is_err());
}

/// A trigger that never fires, or fails to say so.
#[derive(Debug)]
struct Never {
    panics: bool,
}

impl Trigger for Never {
    fn next_fire_time(&self, _: &TriggerContext) -> Option<DateTime<Utc>> {
        assert!(!self.panics, "no idea");
        None
    }
}

#[test]
fn one_that_another_rule_ends_before_it_is_submitted_is_over_and_no_fault() {
    for (panics, state) in [(false, TaskState::Completed), (true, TaskState::Failed)] {
        let stage = Stage::new();
        let never = || Rule::Custom(Arc::new(Never { panics }));
        let parts = |rule| stage.parts(rule, Policy::default(), stage.call(|_| ok(0)));
        let control = Conductor::make(parts(rate(1_000)));
        control.reschedule(never()).unwrap();
        control.submit(&stage.pool).expect("its first rule has no fault");
        assert_eq!(control.snapshot().state, state);
        assert!(Conductor::make(parts(never())).submit(&stage.pool).is_err());
    }
}
