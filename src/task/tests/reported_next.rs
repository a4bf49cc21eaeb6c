//! The next start, as events report it.

use std::sync::Arc;

use super::shown::Seconds;
use super::stage::*;
use crate::observe::EventKind;
use crate::task::{Policy, Retry, Rule};
use scheduler_expr::Overlap;

fn overlap(overlap: Overlap) -> Policy {
    Policy { overlap, ..Policy::default() }
}

/// The next start in the event of each end of a run.
fn reported(stage: &Stage) -> Vec<Option<f64>> {
    let events = stage.log.events.lock();
    let ends = events.iter().filter_map(|event| match &event.kind {
        EventKind::RunFinished { next, .. } => Some(next.map(seconds)),
        _ => None,
    });
    ends.collect()
}

#[test]
fn the_end_of_a_run_beside_others_reports_when_the_next_one_starts() {
    for rule in [rate(1_000), cron("* * * * * *")] {
        let mut stage = Stage::new();
        let control = stage.task(rule.clone(), overlap(Overlap::Allow), |_| ok(1_500));
        stage.until(3_700);
        let is_rate = rule.period().is_some();
        let ends = if is_rate {
            vec![Some(2.0), Some(3.0), Some(4.0)]
        } else {
            vec![Some(3.0), Some(4.0)]
        };
        assert_eq!(reported(&stage), ends, "{rule}");
        control.cancel().unwrap();
        stage.until(9_000);
        assert_eq!(reported(&stage).split_off(ends.len()), [None], "{rule}: the task has ended");
    }
    let mut stage = Stage::new();
    let rule = Rule::Custom(Arc::new(Seconds::default()));
    let _control = stage.task(rule, overlap(Overlap::Allow), |_| ok(500));
    stage.until(1_700);
    assert_eq!(reported(&stage), [Some(2.0)]);
}

#[test]
fn the_end_of_a_run_that_waited_for_its_next_attempt_reports_it_too() {
    let mut stage = Stage::new();
    let retry = Retry::new(1).base(s(3)).cap(s(3));
    let policy = Policy { retry, ..overlap(Overlap::Allow) };
    let control = stage.task(rate(10_000), policy, |_| fails(0));
    stage.until(1);
    control.cancel_run().unwrap();
    stage.settle();
    assert_eq!(reported(&stage), [Some(10.0)]);
}

#[test]
fn the_end_of_a_run_in_a_pause_reports_what_starts_after_the_pause() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let play = |rule: Rule, until, expected: Option<f64>| {
            let mut stage = Stage::new();
            let control = stage.task(rule.clone(), overlap(how), |_| ok(1_000));
            stage.until(2_500);
            stage.log.events.lock().clear();
            control.pause(&Pause { until, ..Pause::new() }).unwrap();
            stage.until(3_500);
            assert_eq!(reported(&stage), [expected], "{rule} {how:?}");
        };
        let until = Some(start() + ms(5_500));
        play(rate(2_000), until, Some(6.0));
        play(cron("*/2 * * * * *"), until, Some(6.0));
        play(delay(1_000), until, Some(6.5));
        play(rate(2_000), None, None);
    }
}

#[test]
fn a_new_rule_in_a_pause_reports_what_starts_after_the_pause() {
    let play = |until, expected: Option<f64>| {
        let mut stage = Stage::new();
        let control = stage.task(rate(10_000), Policy::default(), |_| ok(0));
        stage.until(500);
        control.pause(&Pause { until, ..Pause::new() }).unwrap();
        control.reschedule(rate(2_000)).unwrap();
        let events = stage.log.events.lock();
        let reported = events.iter().find_map(|event| match &event.kind {
            EventKind::Rescheduled { next, .. } => Some(next.map(seconds)),
            _ => None,
        });
        assert_eq!(reported, Some(expected));
    };
    play(None, None);
    play(Some(start() + ms(5_000)), Some(6.5));
}

/// The next start in the event of each pause and each end of one.
fn reported_of_pauses(stage: &Stage) -> Vec<Option<f64>> {
    let events = stage.log.events.lock();
    let reported = events.iter().filter_map(|event| match &event.kind {
        EventKind::Paused { next, .. } | EventKind::Resumed { next, .. } => Some(next.map(seconds)),
        _ => None,
    });
    reported.collect()
}

#[test]
fn a_pause_and_its_end_report_when_the_next_run_starts() {
    for rule in [rate(2_000), cron("*/2 * * * * *"), delay(2_000)] {
        let mut stage = Stage::new();
        let control = stage.task(rule.clone(), Policy::default(), |_| ok(0));
        stage.until(500);
        let mut shown = Vec::new();
        let mut look = || shown.push(control.snapshot().next.map(seconds));
        control.pause(&Pause::new()).unwrap();
        look();
        stage.until(7_000);
        control.resume().unwrap();
        look();
        stage.until(8_500);
        control.pause(&Pause::new().until(start() + ms(10_500))).unwrap();
        look();
        stage.until(10_500);
        look();
        let reported = reported_of_pauses(&stage);
        assert_eq!(reported, shown, "{rule}");
        assert_eq!((reported.len(), reported[0], reported[1].is_some()), (4, None, true), "{rule}");
    }
}

#[test]
fn the_first_start_is_known_before_the_task_begins() {
    let jitter = Policy { jitter: ms(700), ..Policy::default() };
    let delayed = Rule::FixedRate { period: s(5), initial_delay: Some(s(3)) };
    for (rule, policy) in [
        (delayed.clone(), Policy::default()),
        (delayed, jitter.clone()),
        (cron("*/10 * * * * *"), jitter),
        (delay(1_000), Policy::default()),
    ] {
        let mut stage = Stage::new();
        stage.until(4_500);
        let call = stage.call(|_| ok(0));
        let control = stage.parts(rule.clone(), policy, call).make();
        let first = control.first_start();
        control.begin(&stage.pool).unwrap();
        assert_eq!(first, control.snapshot().next, "{rule}");
        assert!(first.is_some(), "{rule}");
    }
    let stage = Stage::new();
    let rule = Rule::Custom(Arc::new(Seconds::default()));
    let call = stage.call(|_| ok(0));
    let control = stage.parts(rule, Policy::default(), call).make();
    assert_eq!(control.first_start(), None, "the trigger is not asked");
}
