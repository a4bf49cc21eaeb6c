//! Very many missed fire times, counted or not.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use super::overlap_misfire::{EverySecond, MISFIRES, OVERLAPS, check, policy};
use super::stage::*;
use crate::base::sync::Mutex;
use crate::run::Run;
use crate::task::{Control, Rule};
use scheduler_core::{NextFireTime, Trigger, TriggerContext};
use scheduler_expr::{Misfire, Overlap};

/// A week and more: so many minutes are not counted one by one.
const FAR: i64 = 11_000 * 60;

#[test]
fn the_skip_of_very_many_reaches_to_the_latest_that_is_skipped() {
    let act = |stage: &mut Stage| {
        stage.until(90_000);
        stage.step_wall(FAR);
        stage.until(145_000);
    };
    for overlap in OVERLAPS {
        let every_minute = cron("0 * * * * *");
        let run_once = "start 60 | misfire 660000 x10001 | start 660090 (660060) | start 660120";
        check(&every_minute, policy(overlap, Misfire::RunOnce), act, 0, run_once);
        let skip = "start 60 | misfire 660060 x10002 | start 660120";
        check(&every_minute, policy(overlap, Misfire::Skip), act, 0, skip);
    }
}

#[test]
fn the_skip_of_very_many_that_overlap_reaches_to_the_latest_that_is_skipped() {
    let play = |overlap, expected: &str| {
        let act = |stage: &mut Stage| {
            stage.until(90_000);
            stage.step_wall(FAR);
            stage.until(255_000);
        };
        check(&cron("0 * * * * *"), policy(overlap, Misfire::RunOnce), act, 135_000, expected);
    };
    let skip = "start 60 | overlap 660060 x10002 | overlap 660120 | overlap 660180 | start 660240";
    play(Overlap::Skip, skip);
    let queue_one = "start 60 | overlap 660000 x10001 | overlap 660060 | overlap 660120 | \
                     start 660195 (660180)";
    play(Overlap::QueueOne, queue_one);
}

#[test]
fn a_fire_time_that_has_run_does_not_run_again_behind_very_many_others() {
    let after = [
        (Misfire::RunOnce, "misfire 719940 x10001 | start 720220 (720000) | start 720240"),
        (Misfire::Skip, "misfire 720000 x10002 | start 720240"),
    ];
    for (misfire, expected) in after {
        let mut stage = Stage::new();
        stage.step_wall(12_000 * 60);
        let _control = stage.task(cron("0 * * * * *"), policy(Overlap::Skip, misfire), |_| ok(0));
        stage.until(200_000);
        stage.step_wall(-12_000 * 60);
        stage.until(310_000);
        let before = "start 720060 | start 720120 | start 720180 | start 240 | start 300";
        assert_eq!(stage.heard(), before, "{misfire:?}");
        stage.step_wall(12_000 * 60 - 90);
        stage.until(340_000);
        assert_eq!(stage.heard(), expected, "{misfire:?}");
    }
}

/// When runs began and ended.
type Spans = Arc<Mutex<Vec<(DateTime<Utc>, DateTime<Utc>)>>>;

/// Two tasks share a thread, and catch up on what they missed in a stall of so many seconds. Returns for each how many
/// fire times were reported as overlapping, and how many came during a run of its own.
fn overlaps_behind(seconds: u64) -> Vec<(u64, u64)> {
    let mut stage = Stage::with_workers(1);
    let catch_up = policy(Overlap::Skip, Misfire::CatchUp);
    let runs = [100, 850].map(|takes| {
        let spans = Spans::default();
        let noted = Arc::clone(&spans);
        let control = stage.task(rate(1_000), catch_up.clone(), move |run| {
            let began = run.started_at();
            noted.lock().push((began, began + TimeDelta::milliseconds(takes)));
            ok(takes.unsigned_abs())
        });
        (control, spans)
    });
    stage.until(960);
    stage.stall_until(seconds * 1_000);
    stage.until(seconds * 5_000);
    let count = |(control, spans): &(Control, Spans)| {
        let came = (0..).map(|second| start() + TimeDelta::seconds(second));
        let until = start()
            + s(control.snapshot().counters.runs)
            + s(control.snapshot().counters.skipped());
        let spans = spans.lock();
        let meets = |at: &DateTime<Utc>| {
            let before = spans.partition_point(|(from, _)| from < at);
            spans[..before].last().is_some_and(|(_, to)| at < to)
        };
        let during = came.take_while(|at| *at < until).filter(meets).count() as u64;
        (control.snapshot().counters.skipped_overlap, during)
    };
    runs.iter().map(count).collect()
}

#[test]
fn no_fire_time_between_two_runs_is_taken_for_one_during_a_run() {
    for seconds in [30, 100, 400, 1_500] {
        for (reported, during) in overlaps_behind(seconds) {
            assert_eq!(reported, during, "{seconds}");
        }
    }
}

fn every_second() -> Rule {
    Rule::Custom(Arc::new(EverySecond { from_end: false }))
}

#[test]
fn each_answer_of_a_trigger_that_has_passed_starts_late() {
    for (overlap, misfire) in
        OVERLAPS.into_iter().zip([Misfire::RunOnce, Misfire::CatchUp, Misfire::RunOnce])
    {
        let mut stage = Stage::new();
        let control = stage.task(every_second(), policy(overlap, misfire), |_| ok(0));
        stage.until(1_500);
        stage.stall_until(2_000_500);
        stage.until(2_001_500);
        let counters = control.snapshot().counters;
        assert_eq!((counters.runs, counters.skipped()), (2_001, 0), "{overlap:?} {misfire:?}");
        let heard = stage.heard();
        assert!(heard.starts_with("start 1 | start 2000.5 (2) | start 2000.5 (3) | "), "{heard}");
        assert!(heard.ends_with(" | start 2000.5 (2000) | start 2001"), "{heard}");
    }
}

#[test]
fn answers_of_a_trigger_more_than_a_minute_late_are_skipped() {
    for overlap in OVERLAPS {
        let mut stage = Stage::new();
        let control = stage.task(every_second(), policy(overlap, Misfire::Skip), |_| ok(0));
        stage.until(1_500);
        stage.stall_until(300_500);
        stage.until(301_500);
        let heard = stage.heard();
        assert!(heard.starts_with("start 1 | misfire "), "{heard}");
        assert!(heard.contains(" | start 300.5 (241) | start 300.5 (242) | "), "{heard}");
        assert!(heard.ends_with(" | start 300.5 (300) | start 301"), "{heard}");
        let counters = control.snapshot().counters;
        assert_eq!((counters.skipped_misfire, counters.runs), (239, 62), "{overlap:?}");
    }
}

#[test]
fn answers_after_a_long_run_start_late_one_after_the_other() {
    for overlap in OVERLAPS {
        let mut stage = Stage::new();
        let takes = |run: &Run| ok(if run.number() == 1 { 4_500 } else { 0 });
        let _control = stage.task(every_second(), policy(overlap, Misfire::Skip), takes);
        stage.until(6_500);
        let late = "start 5.5 (2) | start 5.5 (3) | start 5.5 (4) | start 5.5 (5)";
        assert_eq!(stage.heard(), format!("start 1 | {late} | start 6"), "{overlap:?}");
    }
}

#[test]
fn times_of_a_trigger_in_a_pause_are_not_replayed() {
    for (overlap, misfire) in
        OVERLAPS.into_iter().flat_map(|how| MISFIRES.map(|misfire| (how, misfire)))
    {
        let mut stage = Stage::new();
        let control = stage.task(every_second(), policy(overlap, misfire), |_| ok(0));
        stage.until(1_500);
        control.pause(&Pause::new()).unwrap();
        stage.until(5_000_500);
        control.resume().unwrap();
        stage.until(5_001_500);
        let expected = "start 1 | paused 1.5 | resumed 5000.5 | paused 2 | start 5001.5";
        assert_eq!(stage.heard(), expected, "{overlap:?} {misfire:?}");
    }
}

/// Calls a trigger, and keeps what it is called.
#[derive(Debug)]
struct Noting<T> {
    trigger: T,
    notes: Arc<Mutex<Vec<&'static str>>>,
}

impl<T: Trigger> Trigger for Noting<T> {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        self.notes.lock().push("asked");
        self.trigger.next_fire_time(context)
    }
}

#[test]
fn a_trigger_whose_answers_are_skipped_lets_others_run_after_a_thousand() {
    let mut stage = Stage::with_workers(1);
    let notes = Arc::<Mutex<Vec<_>>>::default();
    let trigger = Noting { trigger: EverySecond { from_end: false }, notes: Arc::clone(&notes) };
    let skip = policy(Overlap::Skip, Misfire::Skip);
    let control = stage.task(Rule::Custom(Arc::new(trigger)), skip, |_| ok(0));
    let other = Arc::clone(&notes);
    let _other = stage.task(once(2_000_000), policy(Overlap::Skip, Misfire::Skip), move |_| {
        other.lock().push("other");
        ok(0)
    });
    stage.until(1_500);
    notes.lock().clear();
    stage.stall_until(5_000_500);
    let notes = notes.lock().clone();
    let before = notes.iter().position(|note| *note == "other").expect("it has run");
    assert!((1_000..1_010).contains(&before), "{before}");
    assert!(notes.len() > 4_900, "{}", notes.len());
    assert_eq!(control.snapshot().counters.skipped_misfire, 4_939);
    stage.heard();
    stage.stall_until(5_001_100);
    assert_eq!(stage.heard(), "start 5001.1 (5001)");
}
