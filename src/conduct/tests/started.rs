//! A task that is told something between its making and its submission.

use super::stage::*;
use crate::conduct::Conductor;
use crate::conduct::Policy;
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
