//! What the end of a run, and of a rule, say of the next start.

use std::sync::Arc;

use super::shown::Seconds;
use super::stage::*;
use crate::conduct::Overlap;
use crate::conduct::Policy;
use crate::conduct::Retry;
use crate::conduct::Rule;
use crate::observe::Event;

fn overlap(overlap: Overlap) -> Policy {
    Policy { overlap, ..Policy::default() }
}

/// What the ends of runs said of the next one.
fn told(stage: &Stage) -> Vec<Option<f64>> {
    let events = stage.log.events.lock().unwrap();
    let ends = events.iter().filter_map(|event| match event {
        Event::RunFinished { next, .. } => Some(next.map(seconds)),
        _ => None,
    });
    ends.collect()
}

#[test]
fn the_end_of_a_run_beside_others_says_when_the_next_one_starts() {
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
        assert_eq!(told(&stage), ends, "{rule}");
        control.cancel().unwrap();
        stage.until(9_000);
        assert_eq!(told(&stage).split_off(ends.len()), [None], "{rule}: the task has ended");
    }
    let mut stage = Stage::new();
    let rule = Rule::Custom(Arc::new(Seconds::default()));
    let _control = stage.task(rule, overlap(Overlap::Allow), |_| ok(500));
    stage.until(1_700);
    assert_eq!(told(&stage), [Some(2.0)]);
}

#[test]
fn the_end_of_a_run_beside_that_waited_for_its_next_attempt_says_it_too() {
    let mut stage = Stage::new();
    let retry = Retry::new(1).base(s(3)).cap(s(3));
    let policy = Policy { retry, ..overlap(Overlap::Allow) };
    let control = stage.task(rate(10_000), policy, |_| fails(0));
    stage.until(1);
    control.cancel_run().unwrap();
    stage.settle();
    assert_eq!(told(&stage), [Some(10.0)]);
}

#[test]
fn the_end_of_a_run_in_a_pause_says_what_starts_behind_it() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let play = |rule: Rule, until, expected: Option<f64>| {
            let mut stage = Stage::new();
            let control = stage.task(rule.clone(), overlap(how), |_| ok(1_000));
            stage.until(2_500);
            stage.log.events.lock().unwrap().clear();
            control.pause(None, until).unwrap();
            stage.until(3_500);
            assert_eq!(told(&stage), [expected], "{rule} {how:?}");
        };
        let until = Some(start() + ms(5_500));
        play(rate(2_000), until, Some(6.0));
        play(cron("*/2 * * * * *"), until, Some(6.0));
        play(delay(1_000), until, Some(6.5));
        play(rate(2_000), None, None);
    }
}

#[test]
fn a_new_rule_in_a_pause_says_what_starts_behind_it() {
    let play = |until, expected: Option<f64>| {
        let mut stage = Stage::new();
        let control = stage.task(rate(10_000), Policy::default(), |_| ok(0));
        stage.until(500);
        control.pause(None, until).unwrap();
        control.reschedule(rate(2_000)).unwrap();
        let events = stage.log.events.lock().unwrap();
        let told = events.iter().find_map(|event| match event {
            Event::Rescheduled { next, .. } => Some(next.map(seconds)),
            _ => None,
        });
        assert_eq!(told, Some(expected));
    };
    play(None, None);
    play(Some(start() + ms(5_000)), Some(6.5));
}
