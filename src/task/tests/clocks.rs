//! Clocks that are set, and machines that are suspended.

use std::sync::Arc;

use chrono::TimeDelta;
use scheduler_core::{NextFireTime, Trigger, TriggerContext};

use super::overlap_misfire::{MISFIRES, OVERLAPS, check, policy};
use super::stage::*;
use crate::run::Run;
use crate::task::{Policy, Retry, Rule};
use scheduler_expr::{Misfire, Overlap};

#[test]
fn a_machine_that_was_suspended_and_a_clock_that_is_set_forward() {
    type Jump = fn(&mut Stage);
    let jumps: [Jump; 2] = [
        |stage| {
            stage.clock.suspend(s(4 * 3_600));
            stage.settle();
        },
        |stage| stage.step_wall(4 * 3_600),
    ];
    for jump in jumps {
        let act = move |stage: &mut Stage| {
            stage.until(1_800_000);
            jump(stage);
            stage.until(1_800_500);
        };
        let hourly = || cron("0 0 * * * *");
        for overlap in OVERLAPS {
            let run_once = policy(overlap, Misfire::RunOnce);
            check(&hourly(), run_once, act, 0, "misfire 10800 x3 | start 16200 (14400)");
            check(&hourly(), policy(overlap, Misfire::Skip), act, 0, "misfire 14400 x4");
            let catch_up = policy(overlap, Misfire::CatchUp);
            let expected = "start 16200 (3600) | start 16200 (7200) | start 16200 (10800) | \
                            start 16200 (14400)";
            check(&hourly(), catch_up, act, 0, expected);
        }
    }
}

#[test]
fn a_clock_that_is_set_forward_during_a_run_brings_fire_times_that_overlap() {
    let play = |overlap, expected: &str| {
        let act = |stage: &mut Stage| {
            stage.until(3_600_000 + 60_000);
            stage.step_wall(3 * 3_600);
            stage.until(2 * 3_600_000);
        };
        check(&cron("0 0 * * * *"), policy(overlap, Misfire::CatchUp), act, 600_000, expected);
    };
    play(Overlap::Skip, "start 3600 | overlap 14400 x3 | start 18000");
    play(Overlap::QueueOne, "start 3600 | overlap 10800 x2 | start 15000 (14400) | start 18000");
}

#[test]
fn no_fire_time_comes_twice_when_the_clock_is_set_back() {
    for overlap in OVERLAPS {
        for misfire in MISFIRES {
            let act = |stage: &mut Stage| {
                stage.until(130_000);
                stage.step_wall(-120);
                stage.until(301_000);
            };
            let expected = "start 60 | start 120 | start 180";
            check(&cron("0 * * * * *"), policy(overlap, misfire), act, 0, expected);
        }
    }
}

#[test]
fn an_hourly_task_whose_clock_is_set_back_by_two_hours_goes_on_after_what_has_fired() {
    let act = |stage: &mut Stage| {
        stage.until(7_800_000);
        stage.step_wall(-7_200);
        stage.until(7_800_000 + 10_200_001);
    };
    let expected = "start 3600 | start 7200 | start 10800";
    check(&cron("0 0 * * * *"), Policy::default(), act, 0, expected);
}

#[test]
fn a_fixed_rate_misses_nothing_while_the_machine_is_suspended() {
    for misfire in MISFIRES {
        let mut stage = Stage::new();
        let control = stage.task(rate(1_000), policy(Overlap::Skip, misfire), |_| ok(0));
        stage.until(1_500);
        stage.clock.suspend(s(3_600));
        stage.until(3_500);
        let counters = control.snapshot().counters;
        assert_eq!((counters.runs, counters.skipped()), (4, 0), "{misfire:?}");
    }
}

#[test]
fn a_clock_that_was_far_ahead_does_not_silence_a_task_when_it_is_set_right() {
    let act = |stage: &mut Stage| {
        stage.step_wall(30 * 86_400 + 60);
        stage.until(1_000);
        stage.heard();
        stage.step_wall(-30 * 86_400 - 60);
        stage.until(3_700_000);
    };
    let mut stage = Stage::new();
    let _control = stage.task(cron("0 0 * * * *"), Policy::default(), |_| ok(0));
    act(&mut stage);
    assert_eq!(stage.heard(), "start 3600");
}

#[test]
fn a_clock_that_is_far_ahead_for_a_moment_silences_no_task() {
    for overlap in OVERLAPS {
        for misfire in [Misfire::RunOnce, Misfire::Skip] {
            let mut stage = Stage::new();
            let policy = policy(overlap, misfire);
            let _control = stage.task(cron("0 0 * * * *"), policy, |_| ok(0));
            stage.until(3_600_500);
            stage.step_wall(365 * 86_400);
            stage.until(3_601_000);
            stage.heard();
            stage.step_wall(-365 * 86_400);
            stage.until(7_201_000);
            assert_eq!(stage.heard(), "start 7200", "{overlap:?} {misfire:?}");
        }
    }
}

#[test]
fn skipped_fire_times_do_not_come_again_when_the_clock_is_set_back() {
    for misfire in [Misfire::RunOnce, Misfire::Skip] {
        let mut stage = Stage::new();
        let _control = stage.task(cron("0 * * * * *"), policy(Overlap::Skip, misfire), |_| ok(0));
        stage.until(90_000);
        stage.stall_until(400_000);
        stage.heard();
        stage.step_wall(-200);
        stage.until(700_000);
        assert_eq!(stage.heard(), "start 420 | start 480", "{misfire:?}");
    }
}

#[test]
fn a_clock_that_was_far_ahead_does_not_silence_a_task_whose_clock_then_jumps_often() {
    let mut stage = Stage::new();
    stage.step_wall(365 * 86_400 - 60);
    let catch_up = policy(Overlap::Skip, Misfire::CatchUp);
    let _control = stage.task(cron("0 0 * * * *"), catch_up, |_| ok(0));
    stage.until(60_000);
    assert_eq!(stage.heard(), "start 31536000");
    stage.step_wall(-365 * 86_400);
    // A task that catches up jumps from one fire time to the next.
    stage.step_wall(86_400);
    stage.until(3_660_000);
    assert_eq!(stage.heard().matches("start").count(), 25);
}

#[test]
fn a_fire_time_whose_jitter_is_running_is_not_lost_when_the_clock_is_set_back_a_little() {
    let mut has_met = 0;
    for seed in 0..20 {
        let mut stage = Stage::new();
        let policy = Policy { jitter: s(20), seed, ..Policy::default() };
        let _control = stage.task(cron("15,45 * * * * *"), policy, |_| ok(0));
        stage.until(20_000);
        let is_running = stage.heard().is_empty();
        // The wall clock shows 17 s now: the fire time has come before and after the step.
        stage.step_wall(-3);
        stage.until(43_000);
        let heard = stage.heard();
        assert_eq!(heard.matches("(15)").count(), usize::from(is_running), "{heard}");
        has_met += u32::from(is_running);
    }
    assert!(has_met > 5, "{has_met}");
}

/// The whole tens of seconds.
#[derive(Debug)]
struct EveryTen;

impl Trigger for EveryTen {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        let last = context.last_scheduled().unwrap_or_else(|| context.now());
        let since = (last - start()).num_seconds();
        Ok(Some(start() + TimeDelta::seconds((since.div_euclid(10) + 1) * 10)))
    }
}

#[test]
fn fire_times_that_a_pause_skipped_do_not_come_again_when_the_clock_is_set_back() {
    let mut stage = Stage::new();
    let policy = Policy { overlap: Overlap::QueueOne, ..Policy::default() };
    let long = |run: &Run| ok(if run.number() == 1 { 15_000 } else { 0 });
    let control = stage.task(cron("*/10 * * * * *"), policy, long);
    stage.until(22_000);
    control.pause(&Pause::new()).unwrap();
    stage.until(29_000);
    stage.step_wall(-60);
    stage.until(31_000);
    control.resume().unwrap();
    stage.until(92_000);
    // The fire time of 20 s was skipped as the run ended, in the pause.
    let expected = "start 10 | paused 22 | paused 20 | resumed -29 | start -20 | start -10 | start 0 | \
                    start 30";
    assert_eq!(stage.heard(), expected);
}

#[test]
fn a_late_time_of_a_trigger_does_not_come_again_when_the_clock_is_set_back() {
    for overlap in [Overlap::Skip, Overlap::QueueOne] {
        let mut stage = Stage::new();
        let policy = policy(overlap, Misfire::RunOnce);
        let long = |run: &Run| ok(if run.number() == 1 { 35_000 } else { 0 });
        let _control = stage.task(Rule::Custom(Arc::new(EveryTen)), policy, long);
        stage.until(46_000);
        stage.step_wall(-40);
        stage.until(97_000);
        let expected = "start 10 | start 45 (20) | start 45 (30) | start 45 (40) | start 50";
        assert_eq!(stage.heard(), expected, "{overlap:?}");
    }
}

#[test]
fn nothing_comes_twice_when_the_clock_is_set_back_between_two_attempts() {
    for overlap in [Overlap::Skip, Overlap::QueueOne] {
        let retry = Retry::new(1).base(s(1)).cap(s(1));
        let mut stage = Stage::new();
        let play = |run: &Run| if run.number() == 1 { fails(0) } else { ok(0) };
        let policy = Policy { overlap, retry, ..Policy::default() };
        let _control = stage.task(cron("*/10 * * * * *"), policy, play);
        stage.until(10_000);
        stage.step_wall(-15);
        stage.until(46_000);
        let heard = stage.heard();
        let starts: Vec<&str> =
            heard.split(" | ").filter(|event| event.starts_with("start")).collect();
        assert_eq!(starts, ["start 10", "start 0", "start 20", "start 30"], "{overlap:?}");
    }
}
