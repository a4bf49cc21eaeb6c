//! Bounds of runs: `until`, `max_runs`, `max_concurrent`, `skip_days`; and `at`.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use chrono::Weekday;

use super::overlap_misfire::{MISFIRES, OVERLAPS, policy};
use super::stage::*;
use crate::define::calendar::Calendar;
use crate::observe::TaskState;
use crate::task::{Policy, Rule};
use scheduler_core::WallTime;
use scheduler_expr::{Misfire, OnError, Overlap};

fn until(seconds: u64) -> Policy {
    Policy { until: Some(start() + s(seconds)), ..Policy::default() }
}

fn max_runs(max: u64) -> Policy {
    Policy { max_runs: NonZeroU64::new(max), ..Policy::default() }
}

fn max_concurrent(max: u32) -> Policy {
    let max_concurrent = NonZeroU32::new(max);
    Policy { max_concurrent, overlap: Overlap::Allow, ..Policy::default() }
}

#[test]
fn a_fire_time_at_until_starts_and_none_after_it() {
    for (rule, first) in [(rate(1_000), "start 0 | "), (cron("* * * * * *"), "")] {
        let mut stage = Stage::new();
        let control = stage.task(rule.clone(), until(2), |_| ok(100));
        stage.until(1_500);
        assert_eq!(control.snapshot().next.map(seconds), Some(2.0));
        stage.until(9_000);
        assert_eq!(stage.heard(), format!("{first}start 1 | start 2 | completed 2.1"), "{rule}");
        assert_eq!(control.snapshot().next, None);
        assert!(control.run_now().unwrap_err().is_ended());
    }
}

#[test]
fn a_fixed_delay_ends_with_the_run_whose_next_one_would_be_after_until() {
    let mut stage = Stage::new();
    let _control = stage.task(delay(1_000), until(3), |_| ok(500));
    stage.until(9_000);
    assert_eq!(stage.heard(), "start 0 | start 1.5 | start 3 | completed 3.5");
}

#[test]
fn fire_times_missed_before_until_are_counted_and_none_after_it() {
    let play = |misfire, expected: &str| {
        let mut stage = Stage::new();
        let policy = Policy { misfire, ..until(4) };
        let control = stage.task(rate(1_000), policy, |_| ok(0));
        stage.until(500);
        stage.stall_until(20_500);
        stage.until(21_000);
        assert_eq!(stage.heard(), format!("start 0 | {expected}"), "{misfire:?}");
        let counters = control.snapshot().counters;
        assert_eq!(counters.runs + counters.skipped(), 5, "{misfire:?}");
    };
    play(Misfire::RunOnce, "misfire 3 x3 | start 20.5 (4) | completed 20.5");
    play(Misfire::Skip, "misfire 4 x4 | completed 20.5");
    let all = "start 20.5 (1) | start 20.5 (2) | start 20.5 (3) | start 20.5 (4)";
    play(Misfire::CatchUp, &format!("{all} | completed 20.5"));
}

#[test]
fn a_task_ends_with_the_last_of_its_runs() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), max_runs(3), |_| ok(300));
    stage.until(2_100);
    assert_eq!(control.snapshot().next, None);
    stage.until(9_000);
    assert_eq!(stage.heard(), "start 0 | start 1 | start 2 | completed 2.3");
    assert_eq!(control.snapshot().state, TaskState::Completed);
}

#[test]
fn manual_runs_do_not_count_for_max_runs() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), max_runs(2), |_| ok(100));
    for at in [200, 400, 600] {
        stage.until(at);
        control.run_now().unwrap();
    }
    stage.until(9_000);
    let manual = "manual 0.2 | manual 0.4 | manual 0.6";
    assert_eq!(stage.heard(), format!("start 0 | {manual} | start 1 | completed 1.1"));
}

#[test]
fn fire_times_behind_the_last_run_are_dropped_and_not_counted() {
    let mut stage = Stage::new();
    let policy = Policy { misfire: Misfire::CatchUp, ..max_runs(3) };
    let control = stage.task(rate(1_000), policy, |_| ok(0));
    stage.until(500);
    stage.stall_until(20_500);
    stage.until(21_000);
    assert_eq!(stage.heard(), "start 0 | start 20.5 (1) | start 20.5 (2) | completed 20.5");
    assert_eq!(control.snapshot().counters.skipped(), 0);
}

#[test]
fn a_fire_time_during_the_last_run_is_not_counted() {
    for overlap in OVERLAPS {
        let mut stage = Stage::new();
        let policy = Policy { overlap, ..max_runs(1) };
        let control = stage.task(rate(1_000), policy, |_| ok(3_500));
        stage.until(9_000);
        assert_eq!(stage.heard(), "start 0 | completed 3.5", "{overlap:?}");
        assert_eq!(control.snapshot().counters.skipped(), 0, "{overlap:?}");
    }
}

#[test]
fn as_many_runs_as_may_be_are_in_progress_and_further_fire_times_are_skipped() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), max_concurrent(2), |_| ok(2_500));
    stage.until(1_500);
    let refused = control.run_now().unwrap_err();
    assert!(refused.is_running());
    assert!(refused.to_string().contains("for 1.5s"), "{refused}");
    stage.until(2_700);
    control.run_now().unwrap();
    assert!(control.run_now().unwrap_err().is_running(), "one was just asked for");
    stage.until(5_900);
    let expected = "start 0 | start 1 | overlap 2 | manual 2.7 | overlap 3 | start 4 | overlap 5";
    assert_eq!(stage.heard(), expected);
    assert_eq!(control.snapshot().counters.skipped_overlap, 3);
}

#[test]
fn a_run_that_waits_for_its_next_attempt_counts_for_max_concurrent() {
    let mut stage = Stage::new();
    let retry = crate::task::Retry::new(1).base(s(60)).cap(s(60));
    let policy = Policy { retry, ..max_concurrent(1) };
    let _control = stage.task(rate(1_000), policy, |_| fails(0));
    stage.until(1_500);
    assert_eq!(stage.heard(), "start 0 | overlap 1");
}

#[test]
fn a_day_that_is_skipped_has_no_fire_times() {
    // 2 March 2026 is a Monday.
    let days = Calendar::new().weekdays([Weekday::Tue]).dates(["2026-03-05".parse().unwrap()]);
    let policy = Policy { skip_days: Some(Arc::new(days)), ..Policy::default() };
    let mut stage = Stage::new();
    let control = stage.task(cron("0 0 12 * * *"), policy, |_| ok(0));
    for day in 0..5 {
        stage.stall_until((day * 86_400 + 43_200) * 1_000);
    }
    let noon = |day: u32| format!("start {}", day * 86_400 + 43_200);
    assert_eq!(stage.heard(), [0, 2, 4].map(noon).join(" | "));
    assert_eq!(control.snapshot().counters.skipped(), 0, "there was nothing to skip");
}

fn at(seconds: u64) -> Rule {
    Rule::At(WallTime::from(start() + s(seconds)))
}

#[test]
fn a_task_at_an_instant_runs_once_by_the_wall_clock() {
    for (overlap, misfire) in
        OVERLAPS.into_iter().flat_map(|how| MISFIRES.map(|misfire| (how, misfire)))
    {
        let play = |steps: &[(u64, i64)], expected: &str| {
            let mut stage = Stage::new();
            let _control = stage.task(at(60), policy(overlap, misfire), |_| ok(0));
            for (when, step) in steps {
                stage.until(*when);
                stage.step_wall(*step);
            }
            stage.until(200_000);
            assert_eq!(stage.heard(), expected, "{overlap:?} {misfire:?} {steps:?}");
        };
        play(&[], "start 60 | completed 60");
        play(&[(20_000, 30)], "start 60 | completed 60");
        play(&[(20_000, 60)], "start 80 (60) | completed 80");
        play(&[(20_000, 86_400)], "start 86420 (60) | completed 86420");
        play(&[(20_000, -30)], "start 60 | completed 60");
        play(&[(70_000, -30)], "start 60 | completed 60");
    }
}

#[test]
fn a_task_at_an_instant_that_has_passed_runs_at_once() {
    let mut stage = Stage::new();
    stage.until(10_000);
    let _control = stage.task(at(5), Policy::default(), |_| ok(0));
    stage.until(20_000);
    assert_eq!(stage.heard(), "start 10 (5) | completed 10");
}

#[test]
fn fire_times_skipped_until_the_end_count() {
    let policy = Policy { on_error: OnError::Stop, ..Policy::default() };
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), policy, |_| fails(30_500));
    stage.until(31_000);
    assert_eq!(control.snapshot().state, TaskState::Failed);
    assert_eq!(control.snapshot().counters.skipped_overlap, 30);

    let mut stage = Stage::new();
    let control = stage.task(rate(1), Policy::default(), |_| ok(60_000));
    stage.until(1_999);
    control.cancel().unwrap();
    assert_eq!(control.snapshot().counters.skipped_overlap, 1_998);
}
