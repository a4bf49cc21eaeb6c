//! So many missed fire times that they are not gone through one by one.

use super::overlap_misfire::OVERLAPS;
use super::overlap_misfire::check;
use super::overlap_misfire::policy;
use super::stage::*;
use crate::conduct::Misfire;
use crate::conduct::Overlap;

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
