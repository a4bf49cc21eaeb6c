//! So many missed fire times that they are not gone through one by one.

use std::sync::Arc;

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;

use super::overlap_misfire::EverySecond;
use super::overlap_misfire::MISFIRES;
use super::overlap_misfire::OVERLAPS;
use super::overlap_misfire::check;
use super::overlap_misfire::policy;
use super::stage::*;
use crate::run::Run;
use crate::sync::Mutex;
use crate::task::Control;
use crate::task::Rule;
use scheduler_expr::Misfire;
use scheduler_expr::Overlap;

/// A week and more: so many minutes are not gone through one by one.
const FAR: i64 = 11_000 * 60;

#[test]
fn what_is_told_of_very_many_goes_up_to_the_latest_that_is_skipped() {
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
fn what_is_told_of_very_many_that_overlap_goes_up_to_the_latest_that_is_skipped() {
    let play = |overlap, expected: &str| {
        let act = |stage: &mut Stage| {
            stage.until(90_000);
            stage.step_wall(FAR);
            stage.until(3_735_000);
        };
        check(&cron("0 * * * * *"), policy(overlap, Misfire::RunOnce), act, 3_615_000, expected);
    };
    play(Overlap::Skip, "start 60 | overlap 663660 x10002 | start 663720");
    play(Overlap::QueueOne, "start 60 | overlap 663600 x10001 | start 663675 (663660)");
}

#[test]
fn what_has_run_does_not_run_again_behind_very_many_others() {
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

/// Two tasks share a thread, and catch up on what they missed in a stall of so many seconds. Says how many
/// fire times of each were told to have come during a run of its own, and how many such there were.
fn overlaps_behind(seconds: u64) -> Vec<(u64, u64)> {
    let mut stage = Stage::with_workers(1);
    let catch_up = policy(Overlap::Skip, Misfire::CatchUp);
    let runs = [100, 850].map(|takes| {
        let spans = Spans::default();
        let noted = Arc::clone(&spans);
        let control = stage.task(rate(1_000), catch_up.clone(), move |run| {
            let began = run.started_at();
            noted.lock().unwrap().push((began, began + TimeDelta::milliseconds(takes)));
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
        let spans = spans.lock().unwrap();
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
    for seconds in [30, 100, 400] {
        for (told, during) in overlaps_behind(seconds) {
            assert_eq!(told, during, "{seconds}");
        }
    }
    // Of so many runs not all are remembered: what came during them may run.
    for (told, during) in overlaps_behind(1_500) {
        assert!(told <= during && told * 2 > during, "{told} {during}");
    }
}

/// So many seconds that the answers of a trigger are not gone through at once: thrice, and with a rest that
/// was not missed by itself.
const MANY: [u64; 2] = [5_001, 2_031];

fn every_second() -> Rule {
    Rule::Custom(Arc::new(EverySecond { from_end: false }))
}

/// What the log says of skips, and of starts since then.
fn told(heard: &str) -> (u64, Vec<&str>) {
    let count = |line: &str| line.split(" x").nth(1).map_or(1, |count| count.parse().unwrap());
    let (starts, skips): (Vec<&str>, Vec<&str>) =
        heard.split(" | ").partition(|line| line.starts_with("start"));
    (skips.into_iter().map(count).sum(), starts)
}

#[test]
fn of_very_many_missed_that_a_trigger_gives_one_runs() {
    for (overlap, many) in OVERLAPS.into_iter().flat_map(|how| MANY.map(|many| (how, many))) {
        let play = |misfire| {
            let mut stage = Stage::new();
            let control = stage.task(every_second(), policy(overlap, misfire), |_| ok(0));
            stage.until(1_500);
            stage.stall_until(many * 1_000 + 500);
            stage.until(many * 1_000 + 1_500);
            (stage.heard(), control.snapshot().counters.skipped_misfire)
        };
        let latest = format!("start {many}.5 ({many})");
        let next = format!("start {}", many + 1);
        let (heard, counted) = play(Misfire::RunOnce);
        assert_eq!(told(&heard), (many - 2, vec!["start 1", &latest, &next]), "{overlap:?}");
        assert_eq!(counted, many - 2, "{overlap:?}");
        let (heard, counted) = play(Misfire::Skip);
        assert_eq!(told(&heard), (many - 1, vec!["start 1", &next]), "{overlap:?}");
        assert_eq!(counted, many - 1, "{overlap:?}");
    }
}

#[test]
fn of_very_many_that_a_trigger_gave_during_a_run_the_latest_follows_or_none() {
    for (misfire, many) in MISFIRES.into_iter().flat_map(|how| MANY.map(|many| (how, many))) {
        let play = |overlap| {
            let mut stage = Stage::new();
            let takes = move |run: &Run| ok(if run.number() == 1 { many * 1_000 - 500 } else { 0 });
            let _control = stage.task(every_second(), policy(overlap, misfire), takes);
            stage.until(many * 1_000 + 1_500);
            stage.heard()
        };
        let next = format!("start {}", many + 1);
        let heard = play(Overlap::Skip);
        assert_eq!(told(&heard), (many - 1, vec!["start 1", &next]), "{misfire:?}");
        let (heard, latest) = (play(Overlap::QueueOne), format!("start {many}.5 ({many})"));
        assert_eq!(told(&heard), (many - 2, vec!["start 1", &latest, &next]), "{misfire:?}");
        assert!(heard.contains(&format!("| overlap {} x", many - 1)), "{heard}");
    }
}

#[test]
fn of_very_many_that_a_trigger_gave_in_a_pause_none_runs() {
    for (overlap, many) in OVERLAPS.into_iter().flat_map(|how| MANY.map(|many| (how, many))) {
        for misfire in MISFIRES {
            let mut stage = Stage::new();
            let control = stage.task(every_second(), policy(overlap, misfire), |_| ok(0));
            stage.until(1_500);
            control.pause(None, None).unwrap();
            stage.until(many * 1_000 + 500);
            control.resume().unwrap();
            stage.until(many * 1_000 + 1_500);
            let expected = format!(
                "start 1 | paused 1.5 | resumed {many}.5 | paused {many} x{} | start {}",
                many - 1,
                many + 1
            );
            assert_eq!(stage.heard(), expected, "{overlap:?} {misfire:?}");
        }
    }
}

#[test]
fn what_comes_after_very_many_were_gone_through_is_not_missed_for_that() {
    let mut stage = Stage::new();
    let control = stage.task(every_second(), policy(Overlap::Skip, Misfire::Skip), |_| ok(0));
    stage.until(1_500);
    stage.stall_until(5_000_500);
    stage.heard();
    stage.stall_until(5_001_100);
    assert_eq!(stage.heard(), "start 5001.1 (5001)");
    assert_eq!(control.snapshot().counters.skipped_misfire, 4_999);
}
