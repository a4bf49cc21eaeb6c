//! `overlap` and `misfire`, for every kind of rule.

use super::stage::*;
use crate::conduct::Misfire;
use crate::conduct::Overlap;
use crate::conduct::Policy;
use crate::conduct::Rule;

fn policy(overlap: Overlap, misfire: Misfire) -> Policy {
    Policy { overlap, misfire, ..Policy::default() }
}

#[track_caller]
fn check(rule: Rule, policy: Policy, act: impl FnOnce(&mut Stage), takes: u64, expected: &str) {
    let mut stage = Stage::new();
    let control = stage.task(rule.clone(), policy, move |_| ok(takes));
    act(&mut stage);
    assert_eq!(stage.heard(), expected, "{rule} {policy:?}");
    drop(control);
}

#[test]
fn runs_that_take_longer_than_the_period() {
    let skip = "start 0 | overlap 1 | start 2 | overlap 3 | start 4";
    let queue = "start 0 | start 1.5 (1) | start 3 | start 4.5 (4)";
    let allow = "start 0 | start 1 | start 2 | start 3 | start 4";
    for (overlap, expected) in
        [(Overlap::Skip, skip), (Overlap::QueueOne, queue), (Overlap::Allow, allow)]
    {
        for misfire in [Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp] {
            let policy = policy(overlap, misfire);
            check(rate(1_000), policy, |stage| stage.until(4_700), 1_500, expected);
        }
    }
}
