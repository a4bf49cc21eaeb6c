//! A run beside others (`overlap = "allow"`) that has found no thread yet: until it begins, whatever holds
//! for a fire time that waits holds for its own.

use std::sync::Arc;

use chrono::TimeDelta;
use scheduler_core::NextFireTime;
use scheduler_core::Trigger;
use scheduler_core::TriggerContext;

use super::overlap_misfire::MISFIRES;
use super::stage::*;
use crate::run::Run;
use crate::task::Control;
use crate::task::Policy;
use crate::task::Rule;
use scheduler_expr::Misfire;
use scheduler_expr::Overlap;

/// One at a whole minute.
#[derive(Debug)]
struct EveryMinute;

impl Trigger for EveryMinute {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        let last = context.last_scheduled().unwrap_or_else(start);
        Ok(Some(last + TimeDelta::seconds(60)))
    }
}

fn allow(misfire: Misfire) -> Policy {
    Policy { overlap: Overlap::Allow, misfire, ..Policy::default() }
}

/// A task whose first run is handed over just when another task takes the only thread for so long.
fn held_up(rule: Rule, policy: Policy, (at, takes): (u64, u64)) -> (Stage, [Control; 2]) {
    let mut stage = Stage::with_workers(1);
    let control = stage.task(rule, policy, |_| ok(0));
    let other = stage.task(once(at), Policy::default(), move |_| ok(takes));
    stage.until(at);
    (stage, [control, other])
}

/// Every second, from the first on.
fn from_1(misfire: Misfire, takes: u64) -> (Stage, [Control; 2]) {
    let rule = Rule::FixedRate { period: s(1), initial_delay: Some(s(1)) };
    held_up(rule, allow(misfire), (1_000, takes))
}

#[test]
fn a_pause_that_ends_has_passed_over_it() {
    for misfire in MISFIRES {
        let (mut stage, [control, _other]) = from_1(misfire, 5_000);
        stage.until(2_500);
        control.pause(None, None).unwrap();
        stage.until(59_500);
        control.resume().unwrap();
        stage.until(60_500);
        let expected = "start 1 | paused 2.5 | completed 6 | resumed 59.5 | paused 1 | \
                        paused 59 x58 | start 60";
        assert_eq!(stage.heard(), expected, "{misfire:?}");
        let counters = control.snapshot().counters;
        assert_eq!((counters.skipped_paused, counters.runs), (59, 1), "{misfire:?}");
    }
}

#[test]
fn a_pause_that_ends_by_its_time_has_passed_over_it_whoever_looks_first() {
    for until in [4_500, 20_500] {
        let (mut stage, [control, _other]) = from_1(Misfire::RunOnce, 6_000);
        stage.until(2_500);
        control.pause(None, Some(start() + ms(until))).unwrap();
        stage.until(21_500);
        let heard = stage.heard();
        assert_eq!(heard.matches("start").count() - 1, if until == 4_500 { 15 } else { 1 });
        assert!(heard.contains("| paused 1 | paused "), "{heard}");
        assert_eq!(control.snapshot().counters.skipped_paused, until / 1_000, "{heard}");
    }
}

#[test]
fn a_pause_in_which_it_came_by_is_not_over_for_it_when_another_one_begins() {
    let (mut stage, [control, _other]) = from_1(Misfire::CatchUp, 20_000);
    control.pause(None, Some(start() + ms(2_500))).unwrap();
    stage.until(3_500);
    control.pause(None, None).unwrap();
    assert_eq!(control.snapshot().counters.skipped_paused, 2);
    assert_eq!(
        stage.heard(),
        "start 1 | paused 1 | resumed 3.5 | paused 1 | paused 3.5 | paused 2"
    );
}

#[test]
fn another_rule_passes_over_it() {
    for misfire in MISFIRES {
        let (mut stage, [control, _other]) = from_1(misfire, 5_000);
        stage.until(3_500);
        control.reschedule(rate(10_000)).unwrap();
        stage.until(14_000);
        let expected =
            "start 1 | rescheduled 1 | rescheduled 3 x2 | rule 3.5 | completed 6 | start 13.5";
        assert_eq!(stage.heard(), expected, "{misfire:?}");
        assert_eq!(control.snapshot().counters.skipped_rescheduled, 3, "{misfire:?}");
    }
}

#[test]
fn another_rule_in_a_pause_passes_over_it_as_paused() {
    let (mut stage, [control, _other]) = from_1(Misfire::RunOnce, 5_000);
    stage.until(1_500);
    control.pause(None, None).unwrap();
    stage.until(3_500);
    control.reschedule(once(10_000)).unwrap();
    control.resume().unwrap();
    stage.until(14_000);
    let expected = "start 1 | paused 1.5 | paused 1 | paused 3 x2 | rule 3.5 | resumed 3.5 | \
                    completed 6 | start 13.5 | completed 13.5";
    assert_eq!(stage.heard(), expected);
}

#[test]
fn it_is_missed_when_the_next_one_has_come() {
    let play = |misfire, expected: &str| {
        let (mut stage, [control, _other]) = from_1(misfire, 4_500);
        stage.until(6_500);
        assert_eq!(stage.heard(), expected, "{misfire:?}");
        let counters = control.snapshot().counters;
        assert_eq!(counters.runs + counters.skipped(), 6, "{misfire:?}");
    };
    let begin = "start 1 | completed 5.5 |";
    play(Misfire::RunOnce, &format!("{begin} misfire 1 | misfire 4 x3 | start 5.5 (5) | start 6"));
    play(Misfire::Skip, &format!("{begin} misfire 1 | misfire 5 x4 | start 6"));
    let all = "start 5.5 (1) | start 5.5 (2) | start 5.5 (3) | start 5.5 (4) | start 5.5 (5)";
    play(Misfire::CatchUp, &format!("{begin} {all} | start 6"));
}

#[test]
fn it_is_in_time_until_the_next_one_has_come() {
    for misfire in MISFIRES {
        let (mut stage, _tasks) = from_1(misfire, 900);
        stage.until(2_500);
        let expected = "start 1 | completed 1.9 | start 1.9 (1) | start 2";
        assert_eq!(stage.heard(), expected, "{misfire:?}");
    }
}

#[test]
fn it_is_missed_when_it_is_more_than_a_minute_late() {
    let hourly = || cron("0 0 * * * *");
    for misfire in MISFIRES {
        let (mut stage, _tasks) = held_up(hourly(), allow(misfire), (3_600_000, 60_000));
        stage.until(3_700_000);
        let heard = stage.heard();
        assert_eq!(heard, "start 3600 | completed 3660 | start 3660 (3600)", "{misfire:?}");
        let (mut stage, _tasks) = held_up(hourly(), allow(misfire), (3_600_000, 61_000));
        stage.until(3_700_000);
        let expected = match misfire {
            Misfire::Skip => "start 3600 | completed 3661 | misfire 3600",
            _ => "start 3600 | completed 3661 | start 3661 (3600)",
        };
        assert_eq!(stage.heard(), expected, "{misfire:?}");
    }
}

#[test]
fn that_of_a_trigger_is_missed_only_when_it_is_more_than_a_minute_late() {
    for (takes, misfire) in
        [60_000, 61_000].into_iter().flat_map(|it| MISFIRES.map(|how| (it, how)))
    {
        let rule = Rule::Custom(Arc::new(EveryMinute));
        let (mut stage, [control, _other]) = held_up(rule, allow(misfire), (60_000, takes));
        stage.until(130_000);
        let is_missed = misfire == Misfire::Skip && takes > 60_000;
        let heard = stage.heard();
        assert_eq!(heard.contains("misfire 60"), is_missed, "{heard}");
        assert_eq!(control.snapshot().counters.runs, 2 - u64::from(is_missed), "{heard}");
    }
}

#[test]
fn where_nothing_is_ever_in_time_the_latest_runs_all_the_same() {
    // Whenever a thread is free, another task has waited for it longer.
    let mut stage = Stage::with_workers(1);
    let control = stage.task(rate(100), allow(Misfire::RunOnce), |_| ok(0));
    let greedy = Policy { misfire: Misfire::CatchUp, ..Policy::default() };
    let _others: Vec<Control> =
        (0..2).map(|_| stage.task(rate(150), greedy.clone(), |_| ok(130))).collect();
    stage.until(20_000);
    let counters = control.snapshot().counters;
    assert!(counters.runs > 10, "{counters:?}");
}

#[test]
fn it_starts_where_the_next_one_ran_before_the_clock_was_set_back() {
    for (misfire, expected) in [
        (Misfire::RunOnce, "completed 185 | start 185 (120) | start 240"),
        (Misfire::Skip, "completed 185 | misfire 120 | start 240"),
    ] {
        let mut stage = Stage::with_workers(1);
        let _control = stage.task(cron("0 * * * * *"), allow(misfire), |_| ok(0));
        let _other = stage.task(once(120_000), Policy::default(), |_| ok(65_000));
        stage.until(30_000);
        stage.step_wall(150);
        stage.until(30_001);
        stage.step_wall(-150);
        stage.until(119_000);
        stage.heard();
        stage.until(250_000);
        assert_eq!(stage.heard(), format!("start 120 | {expected}"), "{misfire:?}");
    }
}

#[test]
fn it_keeps_its_turn_when_somebody_has_a_wish() {
    let mut stage = Stage::with_workers(2);
    let policy = allow(Misfire::CatchUp);
    let takes = |run: &Run| ok(if run.number() == 1 { 10_000 } else { 0 });
    let control = stage.task(rate(1_000), policy, takes);
    let _other = stage.task(once(1_000), Policy::default(), |_| ok(5_000));
    let _later = stage.task(once(1_500), Policy::default(), |_| ok(2_000));
    stage.until(2_000);
    control.cancel_run().unwrap();
    stage.until(6_500);
    let heard = stage.heard();
    assert_eq!(heard, "start 0 | start 1 | stop 2 | completed 6 | start 6 (1) | start 6 (1.5)");
}

#[test]
fn runs_are_numbered_as_they_begin() {
    let (mut stage, [control, _other]) = from_1(Misfire::RunOnce, 3_000);
    stage.until(3_500);
    control.reschedule(rate(10_000)).unwrap();
    stage.until(24_000);
    let mut numbers: Vec<u64> = control.snapshot().last_runs.iter().map(|run| run.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2]);
}
