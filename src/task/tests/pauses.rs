//! Pauses, and what they meet.

use super::stage::*;
use crate::observe::{Event, EventKind, TaskState};
use crate::run::{Cause, Run};
use crate::task::fire_times::{JitterKind, SeededJitter};
use crate::task::{Policy, Retry};
use scheduler_expr::{Misfire, OnError, Overlap};

fn overlap(overlap: Overlap) -> Policy {
    Policy { overlap, ..Policy::default() }
}

/// A manual run takes so long, and others no time.
fn manual_takes(takes: u64) -> impl Fn(&Run) -> Goes + Send + Sync + 'static {
    move |run| ok(if run.cause() == Cause::Manual { takes } else { 0 })
}

#[test]
fn fire_times_of_a_pause_are_not_replayed_when_it_ends_during_a_manual_run() {
    for misfire in [Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp] {
        for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
            let mut stage = Stage::new();
            let policy = Policy { misfire, ..overlap(how) };
            let control = stage.task(rate(1_000), policy, manual_takes(1_000));
            stage.until(1_500);
            control.pause(&Pause::new()).unwrap();
            stage.until(3_500);
            control.run_now().unwrap();
            stage.until(3_800);
            control.resume().unwrap();
            stage.until(5_500);
            let rest = match how {
                Overlap::Skip => "overlap 4 | start 5",
                Overlap::QueueOne => "start 4.5 (4) | start 5",
                Overlap::Allow => "start 4 | start 5",
            };
            let expected = format!(
                "start 0 | start 1 | paused 1.5 | paused 3 x2 | manual 3.5 | resumed 3.8 | {rest}"
            );
            assert_eq!(stage.heard(), expected, "{misfire:?} {how:?}");
        }
    }
}

#[test]
fn a_delay_that_a_pause_skipped_begins_anew_when_it_ends_during_a_manual_run() {
    let play = |how, expected: &str| {
        let mut stage = Stage::new();
        let control = stage.task(delay(1_000), overlap(how), manual_takes(2_000));
        stage.until(500);
        control.pause(&Pause::new()).unwrap();
        stage.until(1_500);
        control.run_now().unwrap();
        stage.until(2_000);
        control.resume().unwrap();
        stage.until(5_000);
        let begin = "start 0 | paused 0.5 | paused 1 | manual 1.5 | resumed 2 |";
        assert_eq!(stage.heard(), format!("{begin} {expected}"), "{how:?}");
    };
    play(Overlap::Skip, "overlap 3 | start 4.5");
    play(Overlap::QueueOne, "start 3.5 (3) | start 4.5");
    play(Overlap::Allow, "start 3 | start 4 | start 5");
}

#[test]
fn a_follow_up_is_skipped_when_a_pause_ends_during_its_run() {
    let play = |how, expected: &str| {
        let mut stage = Stage::new();
        let long = |run: &Run| ok(if run.number() == 1 { 5_500 } else { 0 });
        let control = stage.task(rate(1_000), overlap(how), long);
        stage.until(1_500);
        control.pause(&Pause::new()).unwrap();
        stage.until(3_500);
        control.resume().unwrap();
        stage.until(6_500);
        assert_eq!(stage.heard(), format!("start 0 | {expected}"), "{how:?}");
    };
    let skip =
        "overlap 1 | paused 1.5 | resumed 3.5 | overlap 3 x2 | overlap 4 | overlap 5 | start 6";
    play(Overlap::Skip, skip);
    let queue_one = "paused 1.5 | resumed 3.5 | overlap 2 x2 | paused 3 | overlap 4 | \
                     start 5.5 (5) | start 6";
    play(Overlap::QueueOne, queue_one);
    let allow = "start 1 | paused 1.5 | resumed 3.5 | paused 3 x2 | start 4 | start 5 | start 6";
    play(Overlap::Allow, allow);
}

#[test]
fn a_manual_run_goes_before_what_is_to_follow_and_the_latest_follows_both() {
    let play = |misfire, expected: &str| {
        let mut stage = Stage::new();
        let policy = Policy { misfire, ..overlap(Overlap::QueueOne) };
        let control = stage.task(rate(1_000), policy, |run| match run.number() {
            1 => ok(2_500),
            2 => ok(1_200),
            _ => ok(0),
        });
        stage.until(1_500);
        control.run_now().unwrap();
        stage.until(5_500);
        assert_eq!(stage.heard(), format!("start 0 | overlap 1 | manual 2.5 | {expected}"));
    };
    for misfire in [Misfire::RunOnce, Misfire::Skip] {
        play(misfire, "overlap 2 | start 3.7 (3) | start 4 | start 5");
    }
    play(Misfire::CatchUp, "start 3.7 (2) | start 3.7 (3) | start 4 | start 5");
}

#[test]
fn a_pause_whose_time_is_over_during_a_run_skips_nothing_after_that() {
    let play = |how, expected: &str| {
        let mut stage = Stage::new();
        let control = stage
            .task(rate(1_000), overlap(how), |run| ok(if run.number() == 1 { 4_500 } else { 0 }));
        stage.until(500);
        control.pause(&Pause::new().until(start() + ms(2_500))).unwrap();
        stage.until(5_500);
        assert_eq!(stage.heard(), format!("start 0 | paused 0.5 | {expected}"), "{how:?}");
    };
    play(Overlap::Skip, "resumed 2.5 | overlap 2 x2 | overlap 3 | overlap 4 | start 5");
    play(
        Overlap::QueueOne,
        "resumed 2.5 | overlap 1 | paused 2 | overlap 3 | start 4.5 (4) | start 5",
    );
}

#[test]
fn a_pause_whose_time_is_over_while_nothing_can_start_leaves_what_came_later_to_misfire() {
    let play = |misfire, expected: &str| {
        let mut stage = Stage::new();
        let policy = Policy { misfire, ..Policy::default() };
        let control = stage.task(rate(1_000), policy, |_| ok(0));
        stage.until(500);
        control.pause(&Pause::new().until(start() + ms(2_500))).unwrap();
        stage.stall_until(4_500);
        stage.until(5_000);
        let begin = "start 0 | paused 0.5 | resumed 4.5 | paused 2 x2 |";
        assert_eq!(stage.heard(), format!("{begin} {expected}"), "{misfire:?}");
    };
    play(Misfire::RunOnce, "misfire 3 | start 4.5 (4) | start 5");
    play(Misfire::Skip, "misfire 4 x2 | start 5");
    play(Misfire::CatchUp, "start 4.5 (3) | start 4.5 (4) | start 5");
}

#[test]
fn a_pause_that_ends_by_a_clock_that_is_set_has_skipped_all_before() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(0));
    stage.until(500);
    control.pause(&Pause::new().until(start() + s(1_800))).unwrap();
    stage.until(3_500);
    stage.step_wall(3_600);
    stage.until(4_500);
    let expected = "start 0 | paused 0.5 | resumed 3603.5 | paused 3603 x3 | start 3604";
    assert_eq!(stage.heard(), expected);
}

#[test]
fn a_wait_for_the_next_attempt_ends_with_the_time_of_a_pause() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let retry = Retry::new(1).base(s(4)).cap(s(4));
        let policy = Policy { retry, ..overlap(how) };
        let mut stage = Stage::new();
        let control = stage.task(rate(60_000), policy, |_| fails(0));
        stage.until(1);
        control.pause(&Pause::new().until(start() + s(20))).unwrap();
        stage.until(21_000);
        let failed = |event: &&Event| matches!(event.kind, EventKind::AttemptFailed { .. });
        assert_eq!(stage.log.events.lock().iter().filter(failed).count(), 1, "{how:?}");
        let expected = "start 0 | paused 0.001 | resumed 20 | again 20 #2 | error 20";
        assert_eq!(stage.heard(), expected, "{how:?}");
    }
}

#[test]
fn an_attempt_is_not_early_when_a_pause_ends_before_it_is_due() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let wait = |seed| SeededJitter::new(seed, "task").part_of(s(60), JitterKind::Retry(1, 1));
        let seed = (0..).find(|seed| wait(*seed) > s(30)).unwrap();
        let retry = Retry::new(1).base(s(60)).cap(s(60));
        let policy = Policy { retry, seed, ..overlap(how) };
        let mut stage = Stage::new();
        let control = stage.task(rate(100_000), policy, |_| fails(0));
        stage.until(1);
        control.pause(&Pause::new().until(start() + s(20))).unwrap();
        stage.until(30_000);
        assert_eq!(stage.heard(), "start 0 | paused 0.001 | resumed 20", "{how:?}");
        stage.until(60_000);
        let again = format!("again {} #2", (wait(seed).as_secs_f64() * 1e3).round() / 1e3);
        assert!(stage.heard().starts_with(&again), "{how:?}");
    }
}

#[test]
fn an_attempt_beside_waits_for_the_time_of_a_pause_and_for_nothing_else() {
    let retry = Retry::new(1).base(s(4)).cap(s(4));
    let policy = Policy { retry, ..overlap(Overlap::Allow) };
    let mut stage = Stage::new();
    let control = stage.task(delay(1_000), policy, |run| match run.cause() {
        Cause::Manual => fails(0),
        _ => ok(60_000),
    });
    stage.until(1);
    control.run_now().unwrap();
    stage.until(2);
    control.pause(&Pause::new().until(start() + s(20))).unwrap();
    stage.until(21_000);
    let expected = "start 0 | manual 0.001 | paused 0.002 | resumed 20 | again 20 #2 | error 20";
    assert_eq!(stage.heard(), expected);
}

#[test]
fn a_wait_for_the_next_attempt_ends_with_the_task_although_it_is_paused() {
    let retry = Retry::new(1).base(s(1)).cap(s(1));
    let policy = Policy { retry, on_error: OnError::Stop, ..overlap(Overlap::Allow) };
    let mut stage = Stage::new();
    let control = stage.task(rate(60_000), policy, |run| match (run.number(), run.attempt()) {
        (1, 2) => fails(10_000),
        _ => fails(0),
    });
    stage.until(2_000);
    control.run_now().unwrap();
    stage.settle();
    control.pause(&Pause::new()).unwrap();
    stage.until(30_000);
    let heard = stage.heard();
    assert_eq!((heard.matches("error").count(), control.snapshot().running), (2, 0), "{heard}");
    assert_eq!(control.snapshot().state, TaskState::Failed, "{heard}");
}

#[test]
fn a_pause_that_replaces_one_whose_time_is_over_begins_anew() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), overlap(Overlap::QueueOne), |run| {
        ok(if run.number() == 1 { 4_500 } else { 0 })
    });
    stage.until(500);
    control.pause(&Pause::new().until(start() + ms(2_500))).unwrap();
    stage.until(3_500);
    control.pause(&Pause::new().reason("again")).unwrap();
    assert_eq!(control.snapshot().paused_since.map(seconds), Some(3.5));
    stage.until(6_500);
    control.resume().unwrap();
    stage.until(7_500);
    assert_eq!(
        stage.heard(),
        "start 0 | paused 0.5 | resumed 2.5 | overlap 1 | paused 2 | paused 3.5 | overlap 3 | paused 4 | \
         resumed 6.5 | paused 6 x2 | start 7"
    );
}

#[test]
fn fire_times_during_a_manual_run_are_not_missed() {
    let play = |rule: crate::task::Rule, how, expected: &str| {
        let mut stage = Stage::new();
        let control = stage.task(rule, overlap(how), manual_takes(1_200));
        stage.until(500);
        stage.clock.advance_to(scheduler_core::Tick::ZERO + ms(3_500));
        control.run_now().unwrap();
        stage.settle();
        stage.until(5_500);
        assert_eq!(stage.heard().trim_start_matches("start 0 | "), expected, "{how:?}");
    };
    for rule in [rate(1_000), cron("* * * * * *")] {
        let skip = "manual 3.5 | overlap 4 | misfire 2 x2 | start 4.7 (3) | start 5";
        play(rule.clone(), Overlap::Skip, skip);
        let queue_one = "manual 3.5 | misfire 3 x3 | start 4.7 (4) | start 5";
        play(rule, Overlap::QueueOne, queue_one);
    }
}

#[test]
fn a_one_time_task_that_was_paused_during_its_run_ends_with_it() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let mut stage = Stage::new();
        let control = stage.task(once(1_000), overlap(how), |_| ok(1_000));
        stage.until(1_500);
        control.pause(&Pause::new()).unwrap();
        stage.until(3_000);
        assert_eq!(stage.heard(), "start 1 | paused 1.5 | completed 2", "{how:?}");
    }
}

#[test]
fn a_pause_that_ends_at_once_is_reported_before_its_end() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(0));
    stage.until(500);
    control.pause(&Pause::new().until(start() + ms(500))).unwrap();
    stage.until(1_500);
    assert_eq!(stage.heard(), "start 0 | paused 0.5 | resumed 0.5 | start 1");
    assert!(!control.snapshot().is_paused);
}

#[test]
fn a_fire_time_that_waits_for_a_worker_is_skipped_when_a_pause_begins() {
    for misfire in [Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp] {
        for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
            let mut stage = Stage::with_workers(1);
            let _other = stage.task(once(500), Policy::default(), |_| ok(5_000));
            let control = stage.task(rate(1_000), Policy { misfire, ..overlap(how) }, |_| ok(0));
            stage.until(2_500);
            control.pause(&Pause::new()).unwrap();
            assert_eq!(control.snapshot().counters.skipped_paused, 2);
            stage.until(6_500);
            control.resume().unwrap();
            stage.until(7_500);
            let expected = "start 0 | start 0.5 | paused 2.5 | paused 2 x2 | completed 5.5 | \
                            resumed 6.5 | paused 6 x4 | start 7";
            assert_eq!(stage.heard(), expected, "{misfire:?} {how:?}");
        }
    }
}

#[test]
fn a_pause_that_ends_by_its_time_while_no_worker_is_free_skips_what_came_in_it() {
    let mut stage = Stage::with_workers(1);
    let _other = stage.task(once(500), Policy::default(), |_| ok(5_000));
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(0));
    stage.until(600);
    control.pause(&Pause::new().until(start() + ms(2_500))).unwrap();
    stage.until(4_500);
    // It is applied at its own instant when anybody looks.
    control.pause(&Pause::new().reason("again")).unwrap();
    let counters = control.snapshot().counters;
    assert_eq!((counters.skipped_paused, counters.skipped()), (4, 4));
    assert_eq!(control.snapshot().paused_since.map(seconds), Some(4.5));
    stage.until(6_000);
    let expected = "start 0 | start 0.5 | paused 0.6 | resumed 4.5 | paused 2 x2 | paused 4.5 | paused 4 x2 | completed 5.5";
    assert_eq!(stage.heard(), expected);
}

#[test]
fn a_follow_up_is_skipped_when_the_run_or_the_pause_ends() {
    let play = |resumed_at, expected: &str| {
        let mut stage = Stage::new();
        let long = |run: &Run| ok(if run.number() == 1 { 2_500 } else { 0 });
        let control = stage.task(rate(2_000), overlap(Overlap::QueueOne), long);
        stage.until(1_500);
        control.pause(&Pause::new()).unwrap();
        stage.until(resumed_at);
        control.resume().unwrap();
        stage.until(4_500);
        assert_eq!(stage.heard(), format!("start 0 | paused 1.5 | {expected} | start 4"));
    };
    play(2_200, "resumed 2.2 | paused 2");
    play(3_200, "paused 2 | resumed 3.2");
}
