//! Failures, further attempts, time limits, and jitter.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use crate::base::sync::Mutex;

use super::stage::*;
use crate::observe::{EventKind, Outcome, TaskState};
use crate::run::inject::Call;
use crate::run::{Cause, Run};
use crate::task::fire_times::{JitterKind, SeededJitter};
use crate::task::{Policy, Retry, Rule};
use scheduler_expr::{OnError, Overlap};

#[test]
fn a_task_goes_on_after_a_failure_unless_on_error_is_stop() {
    for overlap in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let mut stage = Stage::new();
        let policy = Policy { overlap, ..Policy::default() };
        let control = stage.task(rate(1_000), policy.clone(), |run| {
            if run.number() == 2 { fails(100) } else { ok(100) }
        });
        stage.until(2_500);
        assert_eq!(stage.heard(), "start 0 | start 1 | error 1.1 | start 2");
        assert_eq!(control.snapshot().streak, 0);
        control.cancel().unwrap();

        let mut stage = Stage::new();
        let policy = Policy { on_error: OnError::Stop, ..policy };
        let control = stage.task(rate(1_000), policy, |_| fails(100));
        stage.until(2_500);
        assert_eq!(stage.heard(), "start 0 | error 0.1 | failed 0.1", "{overlap:?}");
        assert_eq!(control.snapshot().state, TaskState::Failed);
    }
}

#[test]
fn a_task_that_stops_on_error_ends_with_its_last_run() {
    let mut stage = Stage::new();
    let policy = Policy { overlap: Overlap::Allow, on_error: OnError::Stop, ..Policy::default() };
    let control = stage
        .task(rate(1_000), policy, |run| if run.number() == 2 { fails(500) } else { ok(2_200) });
    stage.until(5_000);
    assert_eq!(stage.heard(), "start 0 | start 1 | error 1.5 | failed 2.2");
    let snapshot = control.snapshot();
    assert_eq!((snapshot.counters.successes, snapshot.state), (1, TaskState::Failed));
}

fn retrying(max: u32) -> Policy {
    Policy { retry: Retry::new(max).base(s(1)).cap(s(2)), ..Policy::default() }
}

/// The times between the end of an attempt and the next one, in order.
fn waits(stage: &Stage) -> Vec<Duration> {
    let events = stage.log.events.lock();
    let waits = events.iter().filter_map(|event| match &event.kind {
        EventKind::AttemptFailed { next_attempt_in, .. } => Some(*next_attempt_in),
        _ => None,
    });
    waits.collect()
}

#[test]
fn attempts_are_one_run_and_wait_a_part_of_a_time_that_doubles() {
    for overlap in [Overlap::Skip, Overlap::QueueOne, Overlap::Allow] {
        let mut stage = Stage::new();
        let policy = Policy { overlap, ..retrying(3) };
        let control = stage.task(cron("0 * * * * *"), policy, |run| {
            run.note(format!("attempt {}", run.attempt()));
            assert_eq!(seconds(run.fire_time()), 60.0);
            fails(100)
        });
        stage.until(70_000);
        let waits = waits(&stage);
        assert_eq!(waits.len(), 3);
        for (wait, longest) in waits.iter().zip([1, 2, 2]) {
            assert!(*wait < s(longest), "{waits:?}");
        }
        let snapshot = control.snapshot();
        let run = &snapshot.last_runs[0];
        assert_eq!((run.number, run.attempts, snapshot.counters.runs), (1, 4, 1));
        assert_eq!(run.took, ms(400) + waits.iter().sum::<Duration>());
        let notes: Vec<&str> = run.notes.iter().map(|note| &**note).collect();
        assert_eq!(notes, ["attempt 1", "attempt 2", "attempt 3", "attempt 4"]);
        assert_eq!(snapshot.streak, 1);
    }
}

#[test]
fn a_task_completes_after_the_last_attempt_of_a_run_beside_its_last_one() {
    let retry = Retry::new(2).base(s(4)).cap(s(4));
    let policy = Policy { overlap: Overlap::Allow, retry, ..Policy::default() };
    let mut stage = Stage::new();
    let control = stage.task(once(1_000), policy, |run| match run.cause() {
        Cause::Manual if run.attempt() < 3 => fails(1_000),
        _ => ok(0),
    });
    stage.until(500);
    control.run_now().unwrap();
    stage.until(1_600);
    assert_eq!(stage.heard(), "manual 0.5 | start 1");
    assert_eq!(control.snapshot().state, TaskState::Retrying);
    control.pause(&Pause::new()).unwrap();
    stage.until(60_000);
    control.resume().unwrap();
    stage.until(120_000);
    let heard = stage.heard();
    let last = heard.rsplit(" | ").next().unwrap();
    assert!(heard.starts_with("paused 1.6 | resumed 60 | again 60 #2 | again "), "{heard}");
    assert!(heard.matches("again").count() == 2 && last.starts_with("completed 6"), "{heard}");
    assert_eq!(control.snapshot().counters.successes, 2);
}

#[test]
fn the_waits_of_a_simulation_repeat_and_depend_on_the_seed() {
    let play = |seed| {
        let mut stage = Stage::new();
        let _control = stage.task(rate(60_000), Policy { seed, ..retrying(3) }, |_| fails(0));
        stage.until(200_000);
        waits(&stage)
    };
    assert_eq!(play(0), play(0));
    assert_ne!(play(0), play(1));
    let waits = play(0);
    assert_ne!(waits[0], waits[3], "each run draws anew");
}

#[test]
fn a_run_between_two_attempts_is_in_progress() {
    let play = |overlap| {
        let mut stage = Stage::new();
        let retry = Retry::new(1).base(s(3)).cap(s(3));
        let wait = |seed| SeededJitter::new(seed, "task").part_of(s(3), JitterKind::Retry(1, 1));
        let seed = (0..).find(|seed| (s(1)..s(2)).contains(&wait(*seed))).unwrap();
        let policy = Policy { overlap, retry, seed, ..Policy::default() };
        let _control = stage.task(rate(1_000), policy, |run| {
            if run.number() == 1 && run.attempt() == 1 { fails(0) } else { ok(0) }
        });
        stage.until(10);
        assert_eq!(waits(&stage), [wait(seed)]);
        stage.until(2_100);
        stage.heard()
    };
    let again = |heard: &str| {
        let at = heard.split(" | ").find(|line| line.starts_with("again")).unwrap().to_owned();
        heard.replace(&at, "again")
    };
    assert_eq!(again(&play(Overlap::Skip)), "start 0 | overlap 1 | again | start 2");
    assert_eq!(again(&play(Overlap::Allow)), "start 0 | start 1 | again | start 2");
    let queue = play(Overlap::QueueOne);
    assert!(queue.contains("(1)") && queue.ends_with("start 2"), "{queue}");
}

#[test]
fn an_attempt_that_succeeds_ends_the_run_well_and_stop_waits_for_the_last_attempt() {
    let mut stage = Stage::new();
    let policy = Policy { on_error: OnError::Stop, ..retrying(2) };
    let control =
        stage.task(once(0), policy.clone(), |run| if run.attempt() < 3 { fails(0) } else { ok(0) });
    stage.until(9_000);
    assert!(stage.heard().ends_with("| completed 9") || control.snapshot().counters.successes == 1);
    assert_eq!(control.snapshot().state, TaskState::Completed);

    let mut stage = Stage::new();
    let control = stage.task(rate(60_000), policy, |_| fails(0));
    stage.until(59_000);
    assert_eq!(control.snapshot().state, TaskState::Failed);
    assert_eq!(control.snapshot().last_runs[0].attempts, 3);
}

#[test]
fn a_plain_function_that_takes_too_long_is_asked_to_stop_and_has_timed_out() {
    for overlap in [Overlap::Skip, Overlap::Allow] {
        let mut stage = Stage::new();
        let policy = Policy { timeout: Some(ms(500)), overlap, ..Policy::default() };
        let control =
            stage.task(rate(2_000), policy, |run| ok(if run.number() == 1 { 800 } else { 400 }));
        stage.until(2_500);
        assert_eq!(stage.heard(), "start 0 | stop 0.5 | timeout 0.8 | start 2", "{overlap:?}");
        let outcome = &control.snapshot().last_runs[1].outcome;
        assert!(outcome.failure().unwrap().is_timeout());
    }
}

#[test]
fn an_attempt_times_out_also_when_no_thread_is_free() {
    let mut stage = Stage::with_workers(1);
    let seen: Arc<Mutex<Option<Run>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let policy = Policy { timeout: Some(ms(500)), ..Policy::default() };
    let _control = stage.task(rate(2_000), policy, move |run| {
        *kept.lock() = Some(run.clone());
        ok(800)
    });
    stage.until(499);
    let run = seen.lock().clone().unwrap();
    assert!(!run.stop_requested());
    stage.until(500);
    assert!(run.stop_requested() && run.sleep(s(1)).is_err());
    stage.until(1_000);
    assert_eq!(stage.heard(), "start 0 | timeout 0.8");
}

#[test]
fn the_limit_is_that_of_one_attempt_and_a_timeout_is_tried_again() {
    let mut stage = Stage::new();
    let policy = Policy { timeout: Some(ms(500)), ..retrying(1) };
    let control = stage.task(rate(60_000), policy, |_| ok(800));
    stage.until(10_000);
    let run = control.snapshot().last_runs[0].clone();
    assert_eq!((run.attempts, run.outcome.name()), (2, "timeout"));
    assert_eq!(stage.heard().matches("stop").count(), 2);
}

#[test]
fn a_run_that_timed_out_and_waits_for_its_next_attempt_can_be_cancelled() {
    let mut stage = Stage::new();
    let retry = Retry::new(3).base(s(9)).cap(s(9));
    let policy = Policy { timeout: Some(ms(500)), retry, ..Policy::default() };
    let control = stage.task(rate(60_000), policy, |_| ok(800));
    stage.until(801);
    assert_eq!(control.snapshot().state, TaskState::Retrying);
    control.cancel_run().unwrap();
    stage.until(59_000);
    assert_eq!(stage.heard(), "start 0 | stop 0.5 | cancelled 0.801");
}

fn waits_for_ever() -> (Call, Arc<Mutex<Vec<&'static str>>>) {
    struct Bell(Arc<Mutex<Vec<&'static str>>>);
    impl Drop for Bell {
        fn drop(&mut self) {
            let inside = Run::current().is_some();
            self.0.lock().push(if inside { "dropped inside" } else { "dropped" });
        }
    }
    let log = Arc::<Mutex<Vec<_>>>::default();
    let bell = Arc::clone(&log);
    let call = Call::of_async(move |_run| {
        let bell = Bell(Arc::clone(&bell));
        async move {
            let _bell = bell;
            pending::<()>().await;
        }
    });
    (call, log)
}

#[test]
fn a_future_that_takes_too_long_or_is_cancelled_is_dropped_where_it_awaits() {
    for overlap in [Overlap::Skip, Overlap::Allow] {
        let mut stage = Stage::new();
        let (call, log) = waits_for_ever();
        let policy = Policy { timeout: Some(ms(500)), overlap, ..Policy::default() };
        let control = stage.start(rate(2_000), policy, call);
        stage.until(1_000);
        assert_eq!(stage.heard(), "start 0 | stop 0.5 | timeout 0.5");
        stage.until(2_250);
        assert_eq!(*log.lock(), ["dropped inside"]);
        control.cancel_run().unwrap();
        stage.until(2_250);
        assert_eq!(log.lock().len(), 2);
        assert_eq!(stage.heard(), "start 2 | stop 2.25 | cancelled 2.25");
        assert_eq!(control.snapshot().state, TaskState::Waiting);
    }
}

#[test]
fn a_future_that_the_pool_drops_is_a_cancelled_run() {
    for overlap in [Overlap::Skip, Overlap::Allow] {
        let mut stage = Stage::new();
        let (call, log) = waits_for_ever();
        let control = stage.start(rate(2_000), Policy { overlap, ..Policy::default() }, call);
        stage.until(1_000);
        drop(stage.pool.shutdown_now());
        stage.settle();
        assert_eq!(log.lock().len(), 1);
        let counters = control.snapshot().counters;
        assert_eq!((counters.runs, counters.cancelled), (1, 1), "{overlap:?}");
        assert_eq!(control.snapshot().running, 0);
    }
}

#[test]
fn a_panic_is_a_failure_with_its_place_and_causes_are_kept() {
    crate::observe::watch_panics();
    let mut stage = Stage::new();
    let line = line!() + 1;
    let call = Call::of(|_: &Run| -> () { panic!("out of paper") });
    let control = stage.start(once(0), Policy::default(), call);
    let outer = stage.start(
        once(0),
        Policy::default(),
        Call::of(|_: &Run| {
            let inner = "x".parse::<u8>().unwrap_err();
            Err::<(), _>(std::io::Error::other(inner))
        }),
    );
    let polled = Call::of_async(|run| async move {
        run.sleep_async(ms(100)).await;
        assert!(Run::current().is_some());
        assert!(run.attempt() > 1, "later");
    });
    let polled = stage.start(once(0), Policy::default(), polled);
    stage.until(1_000);
    let outcome = control.snapshot().last_runs[0].outcome.clone();
    let Outcome::Panic(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.message(), "out of paper");
    let place = failure.place().expect("the hook has seen it").to_string();
    assert!(place.starts_with(&format!("{}:{line}:", file!())), "{place}");
    let outcome = outer.snapshot().last_runs[0].outcome.clone();
    assert_eq!(outcome.name(), "error");
    let run = polled.snapshot().last_runs[0].clone();
    assert_eq!((run.outcome.name(), run.took), ("panic", ms(100)));
}

#[test]
fn jitter_is_stable_and_does_not_move_the_schedule() {
    let rules = [rate(10_000), cron("*/10 * * * * *"), delay(10_000)];
    for rule in rules {
        let play = |seed| {
            let mut stage = Stage::new();
            let runs: Arc<Mutex<Vec<(Duration, f64)>>> = Arc::default();
            let seen = Arc::clone(&runs);
            let policy = Policy { jitter: s(4), seed, ..Policy::default() };
            let _control = stage.task(rule.clone(), policy, move |run| {
                assert_eq!(run.lateness(), Duration::ZERO);
                let jitter = (run.due() - run.fire_time()).to_std().unwrap();
                seen.lock().push((jitter, seconds(run.fire_time())));
                ok(0)
            });
            stage.until(100_000);
            std::mem::take(&mut *runs.lock())
        };
        let runs = play(0);
        assert_eq!(runs, play(0));
        assert_ne!(runs, play(1));
        assert!(runs.len() >= 7 && runs.iter().all(|(jitter, _)| *jitter < s(4)), "{runs:?}");
        assert!(runs.windows(2).all(|pair| pair[0].0 != pair[1].0), "{runs:?}");
        if !matches!(rule, Rule::FixedDelay { .. }) {
            assert!(runs.iter().all(|(_, fire)| fire % 10.0 == 0.0), "{runs:?}");
        }
    }
}

#[test]
fn a_run_that_ends_before_the_jitter_of_the_next_fire_time_is_over_does_not_overlap_it() {
    let mut stage = Stage::new();
    let policy = Policy { jitter: s(9), ..Policy::default() };
    let control = stage.task(rate(10_000), policy, |_| ok(1_500));
    stage.until(600_000);
    let counters = control.snapshot().counters;
    assert_eq!(counters.runs + counters.skipped() + counters_running(&control), 60);
    assert!(counters.skipped() < 15, "{counters:?}");
}

fn counters_running(control: &crate::task::Control) -> u64 {
    control.snapshot().running as u64
}
