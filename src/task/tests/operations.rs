//! Pause, resume, run now, reschedule and cancel, and what they meet.

use std::sync::Arc;

use crate::base::sync::Mutex;

use super::stage::*;
use crate::observe::TaskState;
use crate::run::{Cause, Run};
use crate::task::{Policy, Retry, Rule};
use scheduler_expr::Overlap;

fn overlap(overlap: Overlap) -> Policy {
    Policy { overlap, ..Policy::default() }
}

#[test]
fn fire_times_of_a_pause_are_skipped_and_never_replayed() {
    use scheduler_expr::Misfire::{CatchUp, RunOnce, Skip};
    for misfire in [RunOnce, Skip, CatchUp] {
        for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
            let mut stage = Stage::new();
            let policy = Policy { overlap: how, misfire, ..Policy::default() };
            let control = stage.task(rate(1_000), policy, |_| ok(0));
            stage.until(1_500);
            control.pause(&Pause::new().reason("maintenance")).unwrap();
            stage.until(4_500);
            control.resume().unwrap();
            stage.until(5_500);
            assert_eq!(
                stage.heard(),
                "start 0 | start 1 | paused 1.5 | resumed 4.5 | paused 4 x3 | start 5"
            );
        }
    }
}

#[test]
fn a_fixed_delay_begins_anew_after_a_pause_and_a_one_time_task_waits() {
    let mut stage = Stage::new();
    let control = stage.task(delay(1_000), Policy::default(), |_| ok(0));
    stage.until(500);
    control.pause(&Pause::new()).unwrap();
    stage.until(4_500);
    control.resume().unwrap();
    stage.until(5_600);
    assert_eq!(stage.heard(), "start 0 | paused 0.5 | resumed 4.5 | paused 1 | start 5.5");

    let mut stage = Stage::new();
    let control = stage.task(once(1_000), Policy::default(), |_| ok(0));
    control.pause(&Pause::new()).unwrap();
    stage.until(4_500);
    control.resume().unwrap();
    stage.until(5_600);
    assert_eq!(stage.heard(), "paused 0 | resumed 4.5 | start 4.5 (1) | completed 4.5");
}

#[test]
fn a_pause_until_an_instant_ends_by_itself() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(0));
    stage.until(500);
    control.pause(&Pause::new().reason("backup").until(start() + s(3))).unwrap();
    let snapshot = control.snapshot();
    assert_eq!(snapshot.state, TaskState::Paused);
    assert_eq!(snapshot.pause_reason.as_deref(), Some("backup"));
    assert_eq!(snapshot.next.map(seconds), Some(3.0));
    assert_eq!(snapshot.would_run_at.map(seconds), Some(1.0));
    stage.until(4_500);
    assert_eq!(stage.heard(), "start 0 | paused 0.5 | resumed 3 | paused 2 x2 | start 3 | start 4");
    assert!(control.resume().unwrap_err().is_not_paused());
}

#[test]
fn a_run_in_progress_goes_on_through_a_pause_and_what_was_queued_is_skipped() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), overlap(Overlap::QueueOne), |_| ok(2_500));
    stage.until(1_500);
    control.pause(&Pause::new()).unwrap();
    assert_eq!(control.snapshot().state, TaskState::Running);
    stage.until(3_500);
    assert_eq!(control.snapshot().state, TaskState::Paused);
    control.resume().unwrap();
    stage.until(4_100);
    assert_eq!(
        stage.heard(),
        "start 0 | paused 1.5 | overlap 1 | paused 2 | resumed 3.5 | paused 3 | start 4"
    );
}

#[test]
fn a_manual_run_does_not_move_the_schedule_and_is_allowed_in_a_pause() {
    for rule in [rate(1_000), cron("* * * * * *"), once(2_000), delay(2_000)] {
        let expected = match rule {
            Rule::FixedRate { .. } => "start 0 | manual 0.5 | start 1",
            Rule::Cron(_) => "manual 0.5 | start 1",
            Rule::Once { .. } => "manual 0.5",
            _ => "start 0 | manual 0.5",
        };
        for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
            let mut stage = Stage::new();
            let control = stage.task(rule.clone(), overlap(how), |_| ok(100));
            stage.until(500);
            control.run_now().unwrap();
            stage.until(1_500);
            assert_eq!(stage.heard(), expected, "{rule} {how:?}");
            control.pause(&Pause::new()).unwrap();
            stage.heard();
            control.run_now().unwrap();
            stage.until(1_600);
            assert_eq!(stage.heard(), "manual 1.5", "{rule} {how:?}");
            assert_eq!(control.snapshot().last_runs[0].cause, Cause::Manual);
        }
    }
}

#[test]
fn a_manual_run_that_meets_a_run_in_progress() {
    let play = |how, expected: &str| {
        let mut stage = Stage::new();
        let control = stage.task(rate(2_000), overlap(how), |_| ok(1_500));
        stage.until(1_000);
        let answer = control.run_now();
        if how == Overlap::Skip {
            let error = answer.unwrap_err();
            assert!(error.is_running());
            assert!(error.to_string().contains("for 1s"), "{error}");
        } else {
            answer.unwrap();
        }
        if how == Overlap::QueueOne {
            assert!(control.run_now().unwrap_err().is_running(), "one is queued");
        }
        stage.until(4_900);
        assert_eq!(stage.heard(), expected, "{how:?}");
    };
    play(Overlap::Skip, "start 0 | start 2 | start 4");
    play(Overlap::QueueOne, "start 0 | manual 1.5 | start 3 (2) | start 4.5 (4)");
    play(Overlap::Allow, "start 0 | manual 1 | start 2 | start 4");
}

#[test]
fn a_fire_time_that_comes_during_a_manual_run() {
    let play = |rule, how, expected: &str| {
        let mut stage = Stage::new();
        let control = stage.task(rule, overlap(how), |run| {
            ok(if run.cause() == Cause::Manual { 1_500 } else { 0 })
        });
        stage.until(500);
        control.run_now().unwrap();
        stage.until(3_400);
        assert_eq!(stage.heard(), expected, "{how:?}");
    };
    play(rate(1_000), Overlap::Skip, "start 0 | manual 0.5 | overlap 1 | start 2 | start 3");
    play(rate(1_000), Overlap::QueueOne, "start 0 | manual 0.5 | overlap 1 | start 2 | start 3");
    play(
        rate(700),
        Overlap::QueueOne,
        "start 0 | manual 0.5 | overlap 0.7 | start 2 (1.4) | start 2.1 | start 2.8",
    );
    play(rate(1_000), Overlap::Allow, "start 0 | manual 0.5 | start 1 | start 2 | start 3");
    play(delay(1_000), Overlap::Skip, "start 0 | manual 0.5 | overlap 1 | start 3");
    play(delay(1_000), Overlap::QueueOne, "start 0 | manual 0.5 | start 2 (1) | start 3");
    play(delay(1_000), Overlap::Allow, "start 0 | manual 0.5 | start 1 | start 2 | start 3");
    play(once(1_000), Overlap::Skip, "manual 0.5 | start 2 (1) | completed 2");
    play(once(1_000), Overlap::QueueOne, "manual 0.5 | start 2 (1) | completed 2");
    play(once(1_000), Overlap::Allow, "manual 0.5 | start 1 | completed 2");
}

#[test]
fn a_new_rule_counts_from_the_call() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let mut stage = Stage::new();
        let control = stage.task(rate(10_000), overlap(how), |_| ok(0));
        stage.until(1_500);
        control.reschedule(rate(2_000)).unwrap();
        let snapshot = control.snapshot();
        assert_eq!(&*snapshot.facts.rule, "every 2s");
        assert_eq!(snapshot.next.map(seconds), Some(3.5));
        stage.until(6_000);
        assert_eq!(stage.heard(), "start 0 | rule 1.5 | start 3.5 | start 5.5");
        control.reschedule(cron("*/10 * * * * *")).unwrap();
        stage.until(11_000);
        assert_eq!(stage.heard(), "rule 6 | start 10");
        control.reschedule(once(1_000)).unwrap();
        stage.until(13_000);
        assert_eq!(stage.heard(), "rule 11 | start 12 | completed 12");
        assert!(control.reschedule(rate(1)).unwrap_err().is_ended());
    }
}

#[test]
fn a_new_rule_during_a_run_lets_overlap_decide_about_what_comes_before_its_end() {
    let play = |how, expected: &str| {
        let mut stage = Stage::new();
        let control = stage
            .task(rate(60_000), overlap(how), |run| ok(if run.number() == 1 { 5_500 } else { 0 }));
        stage.until(1_500);
        control.reschedule(rate(2_000)).unwrap();
        stage.until(8_000);
        assert_eq!(stage.heard(), expected, "{how:?}");
    };
    play(Overlap::Skip, "start 0 | rule 1.5 | overlap 3.5 | start 5.5 | start 7.5");
    play(Overlap::QueueOne, "start 0 | rule 1.5 | overlap 3.5 | start 5.5 | start 7.5");
    play(Overlap::Allow, "start 0 | rule 1.5 | start 3.5 | start 5.5 | start 7.5");
}

#[test]
fn fire_times_of_a_new_rule_start_beside_a_run_of_the_old_one() {
    for old in [delay(60_000), once(0)] {
        let mut stage = Stage::new();
        let play = |run: &Run| ok(if run.number() == 1 { 5_500 } else { 0 });
        let control = stage.task(old, overlap(Overlap::Allow), play);
        stage.until(1_500);
        control.reschedule(rate(2_000)).unwrap();
        stage.until(8_000);
        let expected = "start 0 | rule 1.5 | start 3.5 | start 5.5 | start 7.5";
        assert_eq!(stage.heard(), expected);
    }
}

#[test]
fn the_end_of_a_run_of_the_old_rule_does_not_move_a_new_delay() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let mut stage = Stage::new();
        let play = |run: &Run| ok(if run.number() == 1 { 2_000 } else { 0 });
        let control = stage.task(delay(60_000), overlap(how), play);
        stage.until(1_500);
        control.reschedule(delay(3_000)).unwrap();
        stage.until(8_000);
        assert_eq!(stage.heard(), "start 0 | rule 1.5 | start 4.5 | start 7.5", "{how:?}");
    }
}

#[test]
fn a_task_that_is_cancelled_ends_with_its_run() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let mut stage = Stage::new();
        let control = stage.task(rate(2_000), overlap(how), |_| ok(1_500));
        stage.until(2_500);
        control.cancel().unwrap();
        assert!(control.cancel().unwrap_err().is_ended());
        assert_eq!(control.snapshot().state, TaskState::Running);
        stage.until(9_000);
        let heard = stage.heard();
        let expected = "start 0 | start 2 | stop 2.5 | cancelled 3.5 | cancelled 3.5";
        assert_eq!(heard, expected, "{how:?}");
        assert_eq!(control.snapshot().state, TaskState::Cancelled);
        assert_eq!(control.snapshot().next, None);
        assert_eq!(control.snapshot().counters.cancelled, 1);
        assert!(control.run_now().unwrap_err().is_ended());
        assert!(control.pause(&Pause::new()).unwrap_err().is_ended());
    }
}

#[test]
fn a_task_goes_on_when_its_run_is_cancelled() {
    for how in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let mut stage = Stage::new();
        let control = stage.task(rate(2_000), overlap(how), |_| ok(500));
        assert!(control.cancel_run().unwrap_err().is_not_running());
        stage.until(250);
        control.cancel_run().unwrap();
        stage.until(2_600);
        assert_eq!(stage.heard(), "start 0 | stop 0.25 | cancelled 0.5 | start 2", "{how:?}");
    }
}

#[test]
fn the_wait_between_two_attempts_can_be_paused_and_cancelled() {
    for how in [Overlap::Skip, Overlap::Allow] {
        let retry = Retry::new(3).base(s(4)).cap(s(4));
        let policy = Policy { retry, ..overlap(how) };
        let mut stage = Stage::new();
        let control = stage.task(rate(60_000), policy, |_| fails(0));
        stage.until(1);
        assert_eq!(control.snapshot().state, TaskState::Retrying);
        control.pause(&Pause::new()).unwrap();
        stage.until(20_000);
        assert_eq!(stage.heard(), "start 0 | paused 0.001", "{how:?}");
        control.resume().unwrap();
        stage.until(20_000);
        assert_eq!(stage.heard(), "resumed 20 | again 20 #2", "{how:?}");
        control.cancel_run().unwrap();
        stage.until(40_000);
        assert_eq!(stage.heard(), "stop 20 | cancelled 20", "{how:?}");
        stage.until(60_000);
        assert_eq!(stage.heard(), "start 60", "{how:?}");
    }
}

#[test]
fn the_next_start_is_the_one_that_is_shown() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(1_500));
    let next = |seconds_expected: f64| {
        assert_eq!(control.snapshot().next.map(seconds), Some(seconds_expected));
    };
    next(0.0);
    stage.until(500);
    next(1.0);
    stage.until(1_200);
    next(2.0);
    stage.until(1_700);
    next(2.0);
    let control = stage.task(delay(1_000), Policy::default(), |_| ok(1_500));
    stage.until(1_800);
    assert_eq!(control.snapshot().next, None, "it is not known when the run ends");
    let control = stage.task(rate(1_000), overlap(Overlap::QueueOne), |_| ok(1_500));
    stage.until(1_900);
    assert_eq!(control.snapshot().next.map(seconds), Some(2.8));
    stage.until(2_900);
    assert_eq!(control.snapshot().next, None, "it follows the run, whenever that ends");
}

#[test]
fn a_run_beside_that_waits_for_a_worker_is_shown_as_next() {
    let mut stage = Stage::with_workers(1);
    let control = stage.task(rate(10_000), overlap(Overlap::Allow), |_| ok(1_500));
    stage.until(500);
    control.run_now().unwrap();
    stage.until(1_000);
    assert_eq!(control.snapshot().next.map(seconds), Some(1.0), "as soon as a worker is free");
    stage.until(2_000);
    assert_eq!(stage.heard(), "start 0 | manual 1.5");
    assert_eq!(control.snapshot().next.map(seconds), Some(10.0));
}

#[test]
fn a_scheduler_that_shuts_down_ends_its_tasks() {
    let mut stage = Stage::new();
    let control = stage.task(rate(2_000), Policy::default(), |_| ok(500));
    let retry = Retry::new(3).base(s(60)).cap(s(60));
    let retries = stage.task(rate(90_000), Policy { retry, ..Policy::default() }, |_| fails(0));
    let running = stage.task(rate(90_000), Policy::default(), |_| ok(3_000));
    stage.until(1_000);
    stage.heard();
    stage.pool.shutdown();
    [&control, &retries, &running].iter().for_each(|task| task.shut_down());
    assert_eq!(stage.heard(), "cancelled 1 | error 1 | cancelled 1");
    stage.until(9_000);
    assert_eq!(stage.heard(), "cancelled 3", "a run in progress goes on");
    assert_eq!(running.snapshot().counters.successes, 1);
    assert_eq!(control.snapshot().state, TaskState::Cancelled);
    assert!(control.run_now().unwrap_err().is_stopping());
    assert_eq!(retries.snapshot().counters.errors, 1);
}

#[test]
fn a_run_that_is_kept_stays_what_it_was() {
    let mut stage = Stage::new();
    stage.is_heard = false;
    let kept: Arc<Mutex<Vec<Run>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let _control = stage.task(rate(1_000), Policy::default(), move |run| {
        if run.number().is_multiple_of(2) {
            keep.lock().push(run.clone());
        }
        ok(0)
    });
    stage.until(9_500);
    let kept = kept.lock();
    let numbers: Vec<u64> = kept.iter().map(Run::number).collect();
    assert_eq!(numbers, [2, 4, 6, 8, 10]);
    let times: Vec<f64> = kept.iter().map(|run| seconds(run.fire_time())).collect();
    assert_eq!(times, [1.0, 3.0, 5.0, 7.0, 9.0]);
}

#[test]
fn nothing_of_a_task_that_has_ended_is_kept() {
    for is_heard in [true, false] {
        for is_cancelled in [true, false] {
            let mut stage = Stage::new();
            stage.is_heard = is_heard;
            let control = stage.task(rate(1_000), Policy::default(), |_| ok(0));
            stage.until(5_500);
            if is_cancelled {
                control.cancel().unwrap();
            } else {
                drop(stage.pool.shutdown_now());
            }
            stage.settle();
            let task = Arc::downgrade(&control.task);
            drop(control);
            // Events keep the runs, and a run keeps its task.
            stage.log.events.lock().clear();
            assert!(task.upgrade().is_none(), "{is_heard} {is_cancelled}");
        }
    }
}
