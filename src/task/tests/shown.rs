//! A snapshot shows a next start at which a run starts.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use chrono::{DateTime, Utc};
use scheduler_core::{Clock, NextFireTime, Tick, Trigger, TriggerContext};

use super::stage::*;
use crate::observe::EventKind;
use crate::run::{Cause, Run};
use crate::task::{Control, Policy, Rule};
use scheduler_expr::{Misfire, Overlap};

const ALL: [Overlap; 3] = [Overlap::Skip, Overlap::QueueOne, Overlap::Allow];

fn overlap(overlap: Overlap) -> Policy {
    Policy { overlap, ..Policy::default() }
}

fn next(control: &Control) -> Option<f64> {
    control.snapshot().next.map(seconds)
}

fn would_run_at(control: &Control) -> Option<f64> {
    control.snapshot().would_run_at.map(seconds)
}

/// A manual run takes so long, and others no time.
fn manual_takes(takes: u64) -> impl Fn(&Run) -> Goes + Send + Sync + 'static {
    move |run| ok(if run.cause() == Cause::Manual { takes } else { 0 })
}

/// A second after the last fire time; counts how often it is asked.
#[derive(Debug, Default)]
pub(super) struct Seconds(AtomicU64);

impl Trigger for Seconds {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        self.0.fetch_add(1, Relaxed);
        Ok(Some(context.last_scheduled().unwrap_or(start()) + s(1)))
    }
}

#[test]
fn a_resumed_task_would_not_run_at_what_the_pause_has_skipped() {
    for how in ALL {
        let play = |rule: Rule, expected: f64| {
            let mut stage = Stage::new();
            let control = stage.task(rule.clone(), overlap(how), |_| ok(0));
            stage.until(1_800_000);
            control.pause(&Pause::new()).unwrap();
            stage.until(4_200_000);
            stage.heard();
            assert_eq!((next(&control), would_run_at(&control)), (None, Some(expected)), "{rule}");
            control.resume().unwrap();
            stage.until(8_000_000);
            let start = stage.heard().split("start ").nth(1).map(str::to_owned);
            let first = start.and_then(|start| start.split(' ').next()?.parse().ok());
            assert_eq!(first, Some(expected), "{rule} {how:?}");
        };
        play(rate(3_600_000), 7_200.0);
        play(cron("0 0 * * * *"), 7_200.0);
        play(delay(3_600_000), 7_800.0);
        play(once(3_600_000), 4_200.0);
        play(rate(4_200_000), 4_200.0);
    }
}

#[test]
fn a_resumed_task_would_run_at_what_a_clock_that_was_set_back_shows_again() {
    let mut stage = Stage::new();
    let control = stage.task(cron("0 0 * * * *"), Policy::default(), |_| ok(0));
    stage.until(1_800_000);
    control.pause(&Pause::new()).unwrap();
    stage.step_wall(-7_200);
    assert_eq!(would_run_at(&control), Some(-3_600.0));
    control.resume().unwrap();
    stage.until(3_600_000);
    assert_eq!(stage.heard(), "paused 1800 | resumed -5400 | start -3600");
}

#[test]
fn in_a_pause_with_an_end_what_starts_behind_it_is_shown() {
    for how in ALL {
        let play = |rule: Rule, expected: f64| {
            let mut stage = Stage::new();
            let control = stage.task(rule.clone(), overlap(how), |_| ok(0));
            stage.until(500);
            control.pause(&Pause::new().until(start() + ms(4_500))).unwrap();
            for at in [700, 2_700] {
                stage.until(at);
                assert_eq!(next(&control), Some(expected), "{rule} {how:?} {at}");
            }
            stage.heard();
            stage.until(9_000);
            let heard = stage.heard();
            assert!(heard.contains(&format!("start {expected}")), "{rule} {how:?}: {heard}");
        };
        play(rate(2_000), 6.0);
        play(cron("*/2 * * * * *"), 6.0);
        play(delay(2_000), 6.5);
        play(once(2_000), 4.5);
        play(once(6_000), 6.0);
        play(rate(4_500), 4.5);
    }
}

#[test]
fn a_start_that_is_overtaken_by_jitter_is_shown() {
    for (misfire, (jitter, rule)) in
        [Misfire::Skip, Misfire::RunOnce, Misfire::CatchUp].into_iter().flat_map(|misfire| {
            [(900, rate(1_000)), (5_000, cron("* * * * * *"))].map(|rule| (misfire, rule))
        })
    {
        let mut stage = Stage::new();
        let policy = Policy { misfire, jitter: ms(jitter), ..Policy::default() };
        let control = stage.task(rule.clone(), policy, |_| ok(0));
        for _ in 0..30 {
            let shown = control.snapshot().next.unwrap();
            stage.log.events.lock().clear();
            let at = (shown - start()).num_nanoseconds().unwrap().unsigned_abs();
            stage.until(at / 1_000_000);
            stage.clock.advance_to(Tick::from_nanos(at).max(stage.clock.now()));
            stage.settle();
            let events = stage.log.events.lock();
            let started = events.iter().find_map(|event| match &event.kind {
                EventKind::RunStarted { run, .. } => Some(run.started_at),
                _ => None,
            });
            assert_eq!(started, Some(shown), "{rule} {misfire:?}");
        }
    }
}

#[test]
fn nothing_is_shown_behind_a_pause_that_ends_with_the_last_instant() {
    for until in [DateTime::<Utc>::MAX_UTC, "2262-04-11T23:47:16Z".parse().unwrap()] {
        for rule in [rate(1_000), cron("* * * * * *"), delay(1_000), once(1_000)] {
            let mut stage = Stage::new();
            let control = stage.task(rule.clone(), Policy::default(), |_| ok(0));
            stage.until(500);
            control.pause(&Pause::new().until(until)).unwrap();
            stage.until(1_500);
            let shown = control.snapshot();
            assert!(shown.next.is_none_or(|next| next > start() + s(9_000_000)), "{rule}");
            assert!(shown.would_run_at.is_some(), "{rule}");
        }
    }
}

#[test]
fn a_pause_that_was_over_when_it_began_is_none() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(0));
    stage.until(500);
    for until in [start() - s(9_000_000), DateTime::<Utc>::MIN_UTC, start() + ms(500)] {
        control.pause(&Pause::new().until(until)).unwrap();
        assert_eq!(next(&control), Some(1.0));
    }
}

#[test]
fn a_trigger_is_not_asked_for_times_behind_a_pause() {
    let mut stage = Stage::new();
    let trigger = Arc::new(Seconds::default());
    let rule = Rule::Custom(Arc::clone(&trigger) as _);
    let control = stage.task(rule, Policy::default(), |_| ok(0));
    stage.until(500);
    control.pause(&Pause::new().until(start() + ms(4_500))).unwrap();
    assert_eq!((next(&control), would_run_at(&control)), (None, Some(1.0)));
    stage.until(1_500);
    assert_eq!((next(&control), would_run_at(&control)), (None, None));
    assert_eq!(trigger.0.load(Relaxed), 1);
    stage.until(6_000);
    assert_eq!(stage.heard(), "paused 0.5 | resumed 4.5 | paused 1 | start 5.5");
}

#[test]
fn fire_times_that_overlap_a_manual_run_are_not_shown() {
    for rule in [rate(1_000), cron("* * * * * *")] {
        let mut stage = Stage::new();
        let control = stage.task(rule.clone(), Policy::default(), manual_takes(1_500));
        stage.until(500);
        control.run_now().unwrap();
        stage.settle();
        assert_eq!(next(&control), Some(1.0), "{rule}: if the run is over by then");
        for at in [1_000, 1_200, 1_900] {
            stage.until(at);
            assert_eq!(next(&control), Some(2.0), "{rule} {at}");
        }
    }
    for (rule, how) in [(delay(1_000), Overlap::Skip), (once(1_000), Overlap::Skip)]
        .into_iter()
        .chain([rate(1_000), delay(1_000), once(1_000)].map(|rule| (rule, Overlap::QueueOne)))
    {
        let mut stage = Stage::new();
        let control = stage.task(rule.clone(), overlap(how), manual_takes(1_500));
        stage.until(500);
        control.run_now().unwrap();
        stage.until(700);
        assert_eq!(next(&control), Some(1.0), "{rule}");
        stage.until(1_200);
        assert_eq!(next(&control), None, "{rule} {how:?}: it is not known when the run ends");
    }
}

#[test]
fn the_run_in_progress_is_not_shown_as_the_next_one() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(500));
    stage.until(1_000);
    assert_eq!((stage.heard().as_str(), next(&control)), ("start 0 | start 1", Some(2.0)));
}

#[test]
fn a_manual_run_behind_a_run_is_not_shown_as_now() {
    let mut stage = Stage::new();
    let control = stage.task(rate(5_000), overlap(Overlap::QueueOne), manual_takes(1_500));
    stage.until(500);
    control.run_now().unwrap();
    stage.until(700);
    control.run_now().unwrap();
    assert_eq!(next(&control), None, "it follows the run, whenever that ends");
    stage.until(5_000);
    assert_eq!(stage.heard(), "start 0 | manual 0.5 | manual 2 | start 5");
}

#[test]
fn a_new_rule_is_shown_during_a_run_of_the_old_one() {
    let play = |how, new: Rule, at: u64, expected: Option<f64>| {
        let mut stage = Stage::new();
        let long = |run: &Run| ok(if run.number() == 1 { 5_500 } else { 0 });
        let control = stage.task(delay(60_000), overlap(how), long);
        stage.until(1_500);
        control.reschedule(new.clone()).unwrap();
        stage.until(at);
        assert_eq!(next(&control), expected, "{new} {how:?} {at}");
    };
    for how in ALL {
        for new in [rate(2_000), delay(2_000), once(2_000)] {
            play(how, new, 1_600, Some(3.5));
        }
        play(how, cron("*/3 * * * * *"), 1_600, Some(3.0));
        let trigger = Rule::Custom(Arc::new(Seconds::default()));
        // It gives a fire time that has passed, which starts beside, or overlaps.
        play(how, trigger, 1_600, (how == Overlap::Allow).then_some(2.0));
    }
    for how in [Overlap::Skip, Overlap::QueueOne] {
        play(how, delay(2_000), 3_600, None);
        play(how, once(2_000), 3_600, None);
    }
    play(Overlap::Allow, delay(2_000), 3_600, Some(5.5));
    play(Overlap::Allow, once(2_000), 3_600, None);
    play(Overlap::Skip, rate(2_000), 3_600, Some(5.5));
    play(Overlap::Skip, cron("*/3 * * * * *"), 3_600, Some(6.0));
    play(Overlap::QueueOne, rate(2_000), 3_600, None);
    play(Overlap::Allow, rate(2_000), 3_600, Some(5.5));
}

#[test]
fn missed_fire_times_that_are_caught_up_come_before_later_ones() {
    for rule in [rate(1_000), cron("* * * * * *")] {
        let mut stage = Stage::new();
        let policy = Policy { misfire: Misfire::CatchUp, ..Policy::default() };
        let control = stage.task(rule.clone(), policy, |run| {
            ok(if seconds(run.fire_time()) < 1.5 { 0 } else { 300 })
        });
        stage.until(1_500);
        stage.heard();
        stage.stall_until(3_500);
        stage.until(3_600);
        assert_eq!(stage.heard(), "start 3.5 (2)", "{rule}");
        assert_eq!(next(&control), None, "{rule}: 3 follows, whenever the run ends");
        stage.until(3_900);
        assert_eq!((stage.heard().as_str(), next(&control)), ("start 3.8 (3)", Some(4.0)));
    }
}

#[test]
fn a_missed_fire_time_that_will_be_skipped_is_not_shown() {
    let play = |misfire, expected: f64| {
        let mut stage = Stage::with_workers(1);
        let policy = Policy { misfire, ..Policy::default() };
        let control = stage.task(rate(1_000), policy, |_| ok(0));
        let _other = stage.task(once(1_500), Policy::default(), |_| ok(2_000));
        stage.until(2_500);
        assert_eq!(next(&control), Some(2.5), "{misfire:?}: it waits for a worker");
        stage.until(3_200);
        assert_eq!(next(&control), Some(expected), "{misfire:?}");
    };
    play(Misfire::Skip, 4.0);
    play(Misfire::RunOnce, 3.2);
    play(Misfire::CatchUp, 3.2);
}

#[test]
fn the_next_fire_times_are_those_of_the_rule_also_in_a_pause() {
    let times = |control: &Control, count| -> Vec<f64> {
        control.next_fire_times(count).into_iter().map(seconds).collect()
    };
    let mut stage = Stage::new();
    let hourly = stage.task(cron("0 0 * * * *"), Policy::default(), |_| ok(0));
    let every_second = stage.task(rate(1_000), Policy::default(), |_| ok(0));
    let after_runs = stage.task(delay(1_000), Policy::default(), |_| ok(0));
    let last = start() + ms(3_000);
    let bounded = Policy { until: Some(last), ..Policy::default() };
    let bounded = stage.task(rate(1_000), bounded, |_| ok(0));
    let two = Policy { max_runs: std::num::NonZero::new(2), ..Policy::default() };
    let two = stage.task(rate(1_000), two, |_| ok(0));
    stage.until(500);
    assert_eq!(times(&hourly, 3), [3_600.0, 7_200.0, 10_800.0]);
    assert_eq!(times(&every_second, 3), [1.0, 2.0, 3.0]);
    assert_eq!(times(&after_runs, 3), [1.0], "the others depend on the ends of runs");
    assert_eq!(times(&bounded, 10), [1.0, 2.0, 3.0]);
    assert_eq!(times(&two, 10), [1.0], "one of two has run");
    every_second.pause(&Pause::new()).unwrap();
    assert_eq!(times(&every_second, 2), [1.0, 2.0]);
    every_second.cancel().unwrap();
    assert_eq!(times(&every_second, 2), [0.0; 0]);
}

#[test]
fn a_snapshot_has_the_parts_of_the_rule_and_who_paused_the_task() {
    let mut stage = Stage::new();
    let hourly = stage.task(cron("0 0 * * * *"), Policy::default(), |_| ok(0));
    let once = stage.task(once(1_000), Policy::default(), |_| ok(0));
    stage.until(500);
    assert_eq!(hourly.snapshot().expression.as_deref(), Some("0 0 * * * *"));
    assert_eq!(once.snapshot().initial_delay, Some(ms(1_000)));
    hourly.pause(&Pause::new().reason("migration").by("ops")).unwrap();
    let by = |control: &Control| control.snapshot().paused_by;
    assert_eq!(by(&hourly).as_deref(), Some("ops"));
    hourly.pause(&Pause::new()).unwrap();
    assert_eq!(by(&hourly), None, "the new pause says nothing of it");
    hourly.pause(&Pause::new().by("ops")).unwrap();
    hourly.resume().unwrap();
    assert_eq!(by(&hourly), None);
}
