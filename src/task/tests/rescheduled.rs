//! Fire times of a replaced rule are skipped with an event.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use chrono::{DateTime, Utc};
use scheduler_core::{NextFireTime, Trigger, TriggerContext};

use super::stage::*;
use crate::run::Run;
use crate::task::{Control, Policy, Rule};
use scheduler_expr::{Misfire, Overlap};

/// A trigger of one instant, which counts how often it is asked.
#[derive(Debug)]
struct At(DateTime<Utc>, AtomicU64);

impl Trigger for At {
    fn next_fire_time(&self, _: &TriggerContext) -> NextFireTime {
        self.1.fetch_add(1, Relaxed);
        Ok(Some(self.0))
    }
}

fn overlap(overlap: Overlap) -> Policy {
    Policy { overlap, ..Policy::default() }
}

fn first_takes(takes_ms: u64) -> impl Fn(&Run) -> Goes + Send + Sync {
    move |run| ok(if run.number() == 1 { takes_ms } else { 0 })
}

#[test]
fn fire_times_during_a_run_before_the_call_are_reported() {
    let play = |how, expected: &str| {
        let mut stage = Stage::new();
        let control = stage.task(rate(1_000), overlap(how), first_takes(5_500));
        stage.until(3_500);
        control.reschedule(rate(10_000)).unwrap();
        stage.until(14_000);
        assert_eq!(stage.heard(), expected, "{how:?}");
        let counters = control.snapshot().counters;
        assert_eq!(counters.skipped_rescheduled, u64::from(how == Overlap::QueueOne));
    };
    play(Overlap::Skip, "start 0 | overlap 1 | overlap 2 | overlap 3 | rule 3.5 | start 13.5");
    play(
        Overlap::QueueOne,
        "start 0 | overlap 1 | overlap 2 | rescheduled 3 | rule 3.5 | start 13.5",
    );
    play(Overlap::Allow, "start 0 | start 1 | start 2 | start 3 | rule 3.5 | start 13.5");
}

#[test]
fn fire_times_without_a_thread_before_the_call_are_reported() {
    for misfire in [Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp] {
        for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
            let mut stage = Stage::with_workers(1);
            let _other = stage.task(once(500), Policy::default(), |_| ok(5_000));
            let policy = Policy { misfire, ..overlap(how) };
            let control = stage.task(rate(1_000), policy, |_| ok(0));
            stage.until(3_500);
            control.reschedule(rate(10_000)).unwrap();
            stage.until(14_000);
            let expected =
                "start 0 | start 0.5 | rescheduled 3 x3 | rule 3.5 | completed 5.5 | start 13.5";
            assert_eq!(stage.heard(), expected, "{misfire:?} {how:?}");
        }
    }
}

#[test]
fn a_fire_time_that_comes_just_at_the_call_is_reported() {
    let mut stage = Stage::with_workers(1);
    let _other = stage.task(once(500), Policy::default(), |_| ok(5_000));
    let control = stage.task(cron("* * * * * *"), Policy::default(), |_| ok(0));
    stage.until(1_000);
    control.reschedule(rate(10_000)).unwrap();
    assert_eq!(stage.heard(), "start 0.5 | rescheduled 1 | rule 1");
}

#[test]
fn a_delay_a_single_run_and_a_trigger_that_are_late_are_reported() {
    let trigger = Arc::new(At(start() + s(1), AtomicU64::new(0)));
    let late_delay = Rule::FixedDelay { delay: s(1), initial_delay: Some(s(1)) };
    for rule in [late_delay, once(1_000), Rule::Custom(Arc::clone(&trigger) as _)] {
        let mut stage = Stage::with_workers(1);
        let _other = stage.task(once(500), Policy::default(), |_| ok(5_000));
        let control = stage.task(rule.clone(), Policy::default(), |_| ok(0));
        stage.until(3_500);
        control.reschedule(rate(10_000)).unwrap();
        stage.until(14_000);
        let expected = "start 0.5 | rescheduled 1 | rule 3.5 | completed 5.5 | start 13.5";
        assert_eq!(stage.heard(), expected, "{rule}");
    }
    assert_eq!(trigger.1.load(Relaxed), 1, "one that is replaced is not asked again");
}

#[test]
fn a_fire_time_whose_jitter_is_not_over_is_reported() {
    let policy = Policy { jitter: s(30), ..Policy::default() };
    for rule in [rate(60_000), cron("0 * * * * *")] {
        let mut stage = Stage::new();
        let control = stage.task(rule.clone(), policy.clone(), |_| ok(0));
        stage.until(60_000);
        let due = control.snapshot().next.map(seconds).unwrap();
        assert!(due > 60.0, "{due}");
        let _ = stage.heard();
        control.reschedule(once(3_600_000)).unwrap();
        stage.until(100_000);
        assert_eq!(stage.heard(), "rescheduled 60 | rule 60", "{rule}");
    }
}

#[test]
fn fire_times_in_a_pause_are_reported_as_paused() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let mut stage = Stage::new();
        let control = stage.task(rate(1_000), overlap(how), |_| ok(0));
        stage.until(500);
        control.pause(&Pause::new()).unwrap();
        stage.until(3_500);
        control.reschedule(rate(10_000)).unwrap();
        stage.until(4_000);
        control.resume().unwrap();
        stage.until(14_000);
        let expected = "start 0 | paused 0.5 | paused 3 x3 | rule 3.5 | resumed 4 | start 13.5";
        assert_eq!(stage.heard(), expected, "{how:?}");
    }
}

/// The log of a task of a rate whose first run takes 5.5 s, during which `happens` is called.
fn heard_of(happens: impl FnOnce(&mut Stage, &Control)) -> String {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), overlap(Overlap::QueueOne), first_takes(5_500));
    happens(&mut stage, &control);
    stage.until(15_000);
    stage.heard()
}

#[test]
fn a_follow_up_of_a_run_whose_pause_ends_is_reported_as_paused() {
    let heard = heard_of(|stage, control| {
        stage.until(1_500);
        control.pause(&Pause::new()).unwrap();
        stage.until(2_500);
        control.resume().unwrap();
        stage.until(4_500);
        control.reschedule(rate(10_000)).unwrap();
    });
    let expected = "start 0 | paused 1.5 | resumed 2.5 | overlap 1 | paused 2 | overlap 3 \
                    | rescheduled 4 | rule 4.5 | start 14.5";
    assert_eq!(heard, expected);
}

#[test]
fn each_of_two_new_rules_during_a_run_is_in_force_at_once() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), overlap(Overlap::QueueOne), first_takes(9_500));
    stage.until(1_500);
    control.reschedule(rate(2_000)).unwrap();
    stage.until(6_000);
    control.reschedule(rate(10_000)).unwrap();
    stage.until(17_000);
    assert_eq!(
        stage.heard(),
        "start 0 | rescheduled 1 | rule 1.5 | overlap 3.5 | rescheduled 5.5 | rule 6 | start 16"
    );
}

#[test]
fn fire_times_in_a_pause_that_ends_just_before_the_call_are_reported_as_paused() {
    let heard = heard_of(|stage, control| {
        stage.until(1_500);
        control.pause(&Pause::new()).unwrap();
        stage.until(3_500);
        control.resume().unwrap();
        control.reschedule(rate(10_000)).unwrap();
    });
    let expected =
        "start 0 | paused 1.5 | resumed 3.5 | overlap 2 x2 | paused 3 | rule 3.5 | start 13.5";
    assert_eq!(heard, expected);
}

#[test]
fn a_pause_whose_time_is_over_has_ended_before_the_call() {
    let heard = heard_of(|stage, control| {
        stage.until(1_500);
        control.pause(&Pause::new().until(start() + s(3))).unwrap();
        stage.until(4_500);
        control.reschedule(rate(10_000)).unwrap();
    });
    let expected = "start 0 | paused 1.5 | resumed 3 | overlap 1 | paused 2 | overlap 3 \
                    | rescheduled 4 | rule 4.5 | start 14.5";
    assert_eq!(heard, expected);
}

#[test]
fn a_time_of_a_trigger_overlaps_a_manual_run_also_in_a_pause() {
    for fires_at in [2_000, 2_500] {
        let mut stage = Stage::new();
        let trigger = Arc::new(At(start() + ms(fires_at), AtomicU64::new(0)));
        let control = stage.task(Rule::Custom(trigger), Policy::default(), first_takes(5_500));
        stage.until(500);
        control.run_now().unwrap();
        control.pause(&Pause::new()).unwrap();
        stage.until(2_500);
        control.resume().unwrap();
        control.reschedule(rate(10_000)).unwrap();
        stage.until(13_000);
        let at = seconds(start() + ms(fires_at));
        let expected =
            format!("paused 0.5 | manual 0.5 | resumed 2.5 | overlap {at} | rule 2.5 | start 12.5");
        assert_eq!(stage.heard(), expected);
    }
}

#[test]
fn a_pause_after_the_call_changes_nothing_about_what_had_come_before() {
    let heard = heard_of(|stage, control| {
        stage.until(3_500);
        control.reschedule(rate(10_000)).unwrap();
        control.pause(&Pause::new()).unwrap();
        control.resume().unwrap();
    });
    let expected = "start 0 | overlap 1 | overlap 2 | rescheduled 3 | rule 3.5 | paused 3.5 | resumed 3.5 \
                    | start 13.5";
    assert_eq!(heard, expected);
}

#[test]
fn a_rate_that_is_not_longer_than_the_jitter_is_refused() {
    let mut stage = Stage::new();
    let policy = Policy { jitter: s(1_800), ..Policy::default() };
    let control = stage.task(rate(3_600_000), policy, |_| ok(0));
    for period in [1_000, 1_800_000] {
        let error = control.reschedule(rate(period)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "task `task`: its `jitter`, which is 30m, has to be shorter than `fixed_rate`, which \
                 would be {}, or a run could be due after the next one; choose a longer rate, or \
                 start the task with less jitter",
                if period == 1_000 { "1s" } else { "30m" }
            )
        );
    }
    assert!(!stage.heard().contains("rule"));
    stage.until(1);
    for rule in [rate(1_800_001), delay(1_000), once(1_000), cron("* * * * * *")] {
        control.reschedule(rule).unwrap();
    }
    control.cancel().unwrap();
    assert!(control.reschedule(rate(1_000)).unwrap_err().is_ended());
}

#[test]
fn the_same_expression_keeps_what_has_fired_and_another_does_not() {
    let play = |rule, expected: &str| {
        let mut stage = Stage::new();
        let control = stage.task(cron("*/10 * * * * *"), Policy::default(), |_| ok(0));
        stage.until(31_000);
        assert_eq!(stage.heard(), "start 10 | start 20 | start 30");
        stage.step_wall(-15);
        control.reschedule(rule).unwrap();
        stage.until(61_000);
        assert_eq!(stage.heard(), expected);
    };
    play(cron("*/10 * * * * *"), "rule 16 | start 40");
    play(cron("0,20,40 * * * * *"), "rule 16 | start 20 | start 40");
}

#[test]
fn the_same_expression_in_a_pause_or_during_a_run_keeps_what_has_fired() {
    let mut stage = Stage::new();
    let control = stage.task(cron("*/10 * * * * *"), Policy::default(), |_| ok(2_000));
    stage.until(21_000);
    control.pause(&Pause::new()).unwrap();
    control.reschedule(cron("*/10 * * * * *")).unwrap();
    stage.step_wall(-15);
    control.resume().unwrap();
    stage.until(46_000);
    assert_eq!(stage.heard(), "start 10 | start 20 | paused 21 | rule 21 | resumed 6 | start 30");
}

#[test]
fn a_preview_of_a_rule_shows_its_fire_times() {
    let rules = [rate(10_000), delay(10_000), cron("*/7 * * * * *"), once(5_000)];
    for (number, rule) in rules.into_iter().enumerate() {
        for max in [None, std::num::NonZeroU64::new(3)] {
            let mut stage = Stage::new();
            let control =
                stage.task(rate(1_000), Policy { max_runs: max, ..Policy::default() }, |_| ok(0));
            stage.until(1_500);
            let before = control.next_fire_times(5);
            let previewed = control.fire_times_of(rule.clone(), 5).unwrap();
            assert_eq!(control.next_fire_times(5), before, "nothing has changed");
            control.reschedule(rule.clone()).unwrap();
            assert_eq!(control.next_fire_times(5), previewed, "rule {number}, {max:?}");
            assert!(!previewed.is_empty());
        }
    }
}
