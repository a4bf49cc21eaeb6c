//! `overlap` and `misfire`, for every kind of rule.

use std::sync::Arc;

use chrono::TimeDelta;
use scheduler_core::{NextFireTime, Trigger, TriggerContext};

use super::stage::*;
use crate::task::{Control, Policy, Rule};
use scheduler_expr::{Misfire, Overlap};

pub(super) const OVERLAPS: [Overlap; 3] = [Overlap::Skip, Overlap::QueueOne, Overlap::Allow];
pub(super) const MISFIRES: [Misfire; 3] = [Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp];

pub(super) fn policy(overlap: Overlap, misfire: Misfire) -> Policy {
    Policy { overlap, misfire, ..Policy::default() }
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "each call makes one")]
pub(super) fn check(
    rule: &Rule,
    policy: Policy,
    act: impl FnOnce(&mut Stage),
    takes: u64,
    expected: &str,
) {
    let mut stage = Stage::new();
    let control = stage.task(rule.clone(), policy.clone(), move |_| ok(takes));
    act(&mut stage);
    assert_eq!(stage.heard(), expected, "{rule} {policy:?}");
    let counters = control.snapshot().counters;
    let lines = expected.split(" | ");
    let skipped = lines.filter(|line| line.starts_with("overlap") || line.starts_with("misfire"));
    let count = |line: &str| line.split(" x").nth(1).map_or(1, |count| count.parse().unwrap());
    assert_eq!(counters.skipped(), skipped.map(count).sum::<u64>(), "each skip is counted");
}

#[test]
fn runs_that_take_longer_than_the_period() {
    let skip = "start 0 | overlap 1 | start 2 | overlap 3 | start 4";
    let queue = "start 0 | start 1.5 (1) | overlap 2 | start 3 | start 4.5 (4)";
    let allow = "start 0 | start 1 | start 2 | start 3 | start 4";
    for (overlap, expected) in OVERLAPS.into_iter().zip([skip, queue, allow]) {
        for misfire in MISFIRES {
            let policy = policy(overlap, misfire);
            check(&rate(1_000), policy, |stage| stage.until(4_700), 1_500, expected);
        }
    }
}

#[test]
fn runs_of_cron_that_take_longer_than_a_second() {
    let skip = "start 1 | overlap 2 | start 3 | overlap 4 | start 5";
    let queue = "start 1 | start 2.5 (2) | overlap 3 | start 4 | start 5.5 (5)";
    let allow = "start 1 | start 2 | start 3 | start 4 | start 5";
    for (overlap, expected) in OVERLAPS.into_iter().zip([skip, queue, allow]) {
        for misfire in MISFIRES {
            let policy = policy(overlap, misfire);
            check(&cron("* * * * * *"), policy, |stage| stage.until(5_700), 1_500, expected);
        }
    }
}

#[test]
fn a_run_over_several_fire_times_skips_all_but_what_the_policy_lets_follow() {
    let skip =
        "start 0 | overlap 1 | overlap 2 | overlap 3 | start 4 | overlap 5 | overlap 6 | overlap 7";
    let queue = "start 0 | overlap 1 | overlap 2 | start 3.5 (3) | overlap 4 | overlap 5 | overlap 6 | start 7";
    check(&rate(1_000), policy(Overlap::Skip, Misfire::RunOnce), |s| s.until(7_900), 3_500, skip);
    let queue_one = policy(Overlap::QueueOne, Misfire::RunOnce);
    check(&rate(1_000), queue_one, |s| s.until(7_900), 3_500, queue);
}

#[test]
fn a_fire_time_that_comes_as_the_run_ends_is_in_time() {
    for overlap in OVERLAPS {
        for misfire in MISFIRES {
            let expected = "start 0 | start 1 | start 2 | start 3";
            let policy = policy(overlap, misfire);
            check(&rate(1_000), policy, |stage| stage.until(3_500), 1_000, expected);
        }
    }
}

#[test]
fn fire_times_that_pass_while_nothing_can_start() {
    let act = |stage: &mut Stage| {
        stage.until(500);
        stage.stall_until(4_500);
        stage.until(6_200);
    };
    for overlap in OVERLAPS {
        let run_once = "start 0 | misfire 3 x3 | start 4.5 (4) | start 5 | start 6";
        check(&rate(1_000), policy(overlap, Misfire::RunOnce), act, 0, run_once);
        check(
            &rate(1_000),
            policy(overlap, Misfire::Skip),
            act,
            0,
            "start 0 | misfire 4 x4 | start 5 | start 6",
        );
        let catch_up = "start 0 | start 4.5 (1) | start 4.5 (2) | start 4.5 (3) | start 4.5 (4) | start 5 | start 6";
        check(&rate(1_000), policy(overlap, Misfire::CatchUp), act, 0, catch_up);
    }
}

#[test]
fn a_fire_time_that_comes_exactly_now_is_not_missed() {
    let act = |stage: &mut Stage| {
        stage.until(500);
        stage.stall_until(3_000);
        stage.until(3_200);
    };
    for overlap in OVERLAPS {
        let last = "start 0 | misfire 2 x2 | start 3";
        check(&rate(1_000), policy(overlap, Misfire::RunOnce), act, 0, last);
        check(&rate(1_000), policy(overlap, Misfire::Skip), act, 0, last);
        let all = "start 0 | start 3 (1) | start 3 (2) | start 3";
        check(&rate(1_000), policy(overlap, Misfire::CatchUp), act, 0, all);
    }
}

#[test]
fn missed_fire_times_that_are_caught_up_by_runs_that_take_long() {
    // 1, 2 and 3 are missed until 3.5; each of their runs takes 1.5 s, while others come.
    let act = |stage: &mut Stage| {
        stage.until(1);
        stage.stall_until(3_500);
        stage.until(9_700);
    };
    let play = |overlap, expected: &str| {
        let mut stage = Stage::new();
        let policy = policy(overlap, Misfire::CatchUp);
        let _control = stage.task(rate(1_000), policy, |run| {
            if run.number() == 1 || run.number() > 5 { ok(0) } else { ok(1_500) }
        });
        act(&mut stage);
        assert_eq!(stage.heard(), expected);
    };
    play(
        Overlap::Skip,
        "start 0 | start 3.5 (1) | overlap 4 | start 5 (2) | overlap 6 | start 6.5 (3) | overlap 7 | \
         start 8 (5) | overlap 9 | start 9.5 (8)",
    );
    play(
        Overlap::QueueOne,
        "start 0 | start 3.5 (1) | overlap 4 | start 5 (2) | start 6.5 (3) | overlap 7 | start 8 (5) | \
         start 9.5 (6) | start 9.5 (8) | start 9.5 (9)",
    );
    play(
        Overlap::Allow,
        "start 0 | start 3.5 (1) | start 3.5 (2) | start 3.5 (3) | start 4 | start 5 | start 6 | \
         start 7 | start 8 | start 9",
    );
}

#[test]
fn a_fire_time_behind_a_run_that_then_finds_no_thread_is_judged_by_misfire() {
    let play = |misfire, expected: &str| {
        let mut stage = Stage::with_workers(1);
        let queue_one = policy(Overlap::QueueOne, misfire);
        let _task =
            stage.task(rate(1_000), queue_one, |run| ok(if run.number() == 1 { 1_500 } else { 0 }));
        // It is due just before the first run ends, and holds the only thread from then on.
        let other = Policy::default();
        let _other = stage.task(once(900), other, |_| ok(3_000));
        stage.until(5_200);
        assert_eq!(stage.heard(), expected);
    };
    play(
        Misfire::RunOnce,
        "start 0 | start 1.5 (0.9) | completed 4.5 | misfire 3 x3 | start 4.5 (4) | start 5",
    );
    play(Misfire::Skip, "start 0 | start 1.5 (0.9) | completed 4.5 | misfire 4 x4 | start 5");
    play(
        Misfire::CatchUp,
        "start 0 | start 1.5 (0.9) | completed 4.5 | start 4.5 (1) | start 4.5 (2) | start 4.5 (3) | \
         start 4.5 (4) | start 5",
    );
}

#[test]
fn more_than_a_minute_late_is_missed_also_when_the_next_fire_time_is_far() {
    let suspended = |by: u64| {
        move |stage: &mut Stage| {
            stage.until(3_599_000);
            stage.clock.suspend(s(by));
            stage.until(3_600_000);
        }
    };
    let hourly = || cron("0 0 * * * *");
    for misfire in MISFIRES {
        check(&hourly(), policy(Overlap::Skip, misfire), suspended(61), 0, "start 3660 (3600)");
    }
    let late = |misfire| (hourly(), policy(Overlap::Skip, misfire));
    let (rule, skip) = late(Misfire::Skip);
    check(&rule, skip, suspended(62), 0, "misfire 3600");
    let (rule, run_once) = late(Misfire::RunOnce);
    check(&rule, run_once, suspended(62), 0, "start 3661 (3600)");
    let (rule, catch_up) = late(Misfire::CatchUp);
    check(&rule, catch_up, suspended(62), 0, "start 3661 (3600)");
}

#[test]
fn a_fixed_delay_counts_from_the_end_of_each_run_and_is_never_missed() {
    for overlap in OVERLAPS {
        for misfire in MISFIRES {
            let policy = policy(overlap, misfire);
            check(
                &delay(1_000),
                policy.clone(),
                |s| s.until(5_200),
                1_500,
                "start 0 | start 2.5 | start 5",
            );
            let act = |stage: &mut Stage| {
                stage.until(500);
                stage.stall_until(100_500);
                stage.until(101_600);
            };
            check(&delay(1_000), policy, act, 0, "start 0 | start 100.5 (1) | start 101.5");
        }
    }
}

#[test]
fn a_one_time_task_runs_however_late() {
    for overlap in OVERLAPS {
        for misfire in MISFIRES {
            let act = |stage: &mut Stage| {
                stage.stall_until(3_600_000);
                stage.until(3_700_000);
            };
            let expected = "start 3600 (5) | completed 3600";
            check(&once(5_000), policy(overlap, misfire), act, 0, expected);
        }
    }
}

/// A second after the last fire time, or after the end of the last run.
#[derive(Debug)]
pub(super) struct EverySecond {
    pub(super) from_end: bool,
}

impl Trigger for EverySecond {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        let last = if self.from_end { context.last_completed() } else { context.last_scheduled() };
        Ok(Some(last.unwrap_or_else(|| context.now()) + TimeDelta::seconds(1)))
    }
}

#[test]
fn a_trigger_is_asked_when_the_run_is_over_and_what_has_passed_starts_at_once() {
    let custom = |from_end| Rule::Custom(Arc::new(EverySecond { from_end }));
    for overlap in OVERLAPS {
        for misfire in MISFIRES {
            let policy = policy(overlap, misfire);
            let late = "start 1 | start 2.5 (2) | start 4 (3) | start 5.5 (4)";
            check(&custom(false), policy.clone(), |stage| stage.until(5_700), 1_500, late);
            let after = "start 1 | start 3.5";
            check(&custom(true), policy, |stage| stage.until(5_700), 1_500, after);
        }
    }
}

#[test]
fn a_trigger_that_fires_no_more_ends_its_task() {
    struct Twice;
    impl Trigger for Twice {
        fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
            let second = (context.now() - start()).num_seconds();
            Ok((second < 2).then(|| context.now() + TimeDelta::seconds(1)))
        }
    }
    let mut stage = Stage::new();
    let control = stage.task(Rule::Custom(Arc::new(Twice)), Policy::default(), |_| ok(0));
    stage.until(5_000);
    assert_eq!(stage.heard(), "start 1 | start 2 | completed 2");
    assert!(control.run_now().unwrap_err().is_ended());
}

#[test]
fn a_grid_that_was_not_looked_at_for_very_long_takes_no_time() {
    let mut stage = Stage::new();
    let _control = stage.task(rate(1), Policy::default(), |_| ok(0));
    stage.until(0);
    stage.stall_until(365 * 86_400_000);
    assert!(
        stage.heard().starts_with("start 0 | misfire 31535999.999 x31535999999 | start 31536000")
    );
}

#[test]
fn a_cron_expression_that_was_not_looked_at_for_very_long_takes_little_time() {
    let mut stage = Stage::new();
    let _control = stage.task(cron("* * * * * *"), Policy::default(), |_| ok(0));
    stage.until(1_000);
    stage.step_wall(365 * 86_400);
    let heard = stage.heard();
    let latest = "start 31536001";
    assert!(
        heard.starts_with("start 1 | misfire 31536000 x") && heard.ends_with(latest),
        "{heard}"
    );
}

/// A task whose fire time finds the only thread taken by another task, from then on for so long.
fn held_up(rule: Rule, policy: Policy, (at, takes): (u64, u64)) -> (Stage, [Control; 2]) {
    let mut stage = Stage::with_workers(1);
    let other = stage.task(once(at), Policy::default(), move |_| ok(takes));
    let control = stage.task(rule, policy, |_| ok(0));
    stage.until(at);
    (stage, [control, other])
}

/// Every second, from the first on.
fn from_1() -> Rule {
    Rule::FixedRate { period: s(1), initial_delay: Some(s(1)) }
}

#[test]
fn a_fire_time_waits_until_a_worker_takes_it() {
    for (overlap, misfire) in
        OVERLAPS.into_iter().flat_map(|how| MISFIRES.map(|misfire| (how, misfire)))
    {
        let (mut stage, _tasks) = held_up(from_1(), policy(overlap, misfire), (1_000, 900));
        stage.until(2_500);
        let expected = "start 1 | completed 1.9 | start 1.9 (1) | start 2";
        assert_eq!(stage.heard(), expected, "{overlap:?} {misfire:?}");
    }
}

#[test]
fn a_fire_time_that_waits_for_a_worker_is_missed_when_the_next_one_has_come() {
    for overlap in OVERLAPS {
        let play = |misfire, expected: &str| {
            let (mut stage, [control, _other]) =
                held_up(from_1(), policy(overlap, misfire), (1_000, 4_500));
            stage.until(6_500);
            let expected = format!("start 1 | completed 5.5 | {expected}");
            assert_eq!(stage.heard(), expected, "{overlap:?} {misfire:?}");
            let counters = control.snapshot().counters;
            assert_eq!(counters.runs + counters.skipped(), 6, "{overlap:?} {misfire:?}");
        };
        play(Misfire::RunOnce, "misfire 4 x4 | start 5.5 (5) | start 6");
        play(Misfire::Skip, "misfire 5 x5 | start 6");
        let all = "start 5.5 (1) | start 5.5 (2) | start 5.5 (3) | start 5.5 (4) | start 5.5 (5)";
        play(Misfire::CatchUp, &format!("{all} | start 6"));
    }
}

/// The whole minutes.
#[derive(Debug)]
struct EveryMinute;

impl Trigger for EveryMinute {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        Ok(Some(context.last_scheduled().unwrap_or_else(start) + TimeDelta::seconds(60)))
    }
}

#[test]
fn a_fire_time_that_waits_for_a_worker_is_missed_when_it_is_more_than_a_minute_late() {
    let trigger = || Rule::Custom(Arc::new(EveryMinute));
    let cases = [(cron("0 0 * * * *"), 3_600), (trigger(), 60)];
    for ((rule, at), overlap) in cases.iter().flat_map(|case| OVERLAPS.map(|how| (case, how))) {
        for (misfire, takes) in
            MISFIRES.into_iter().flat_map(|misfire| [(misfire, 60), (misfire, 61)])
        {
            let held = (at * 1_000, takes * 1_000);
            let (mut stage, _tasks) = held_up(rule.clone(), policy(overlap, misfire), held);
            let end = at + takes;
            stage.until(end * 1_000);
            let rest = match (misfire, takes) {
                (Misfire::Skip, 61) => format!("misfire {at}"),
                _ => format!("start {end} ({at})"),
            };
            let heard = stage.heard();
            let expected = format!("start {at} | completed {end} | {rest}");
            assert!(heard.starts_with(&expected), "{rule} {overlap:?} {misfire:?}: {heard}");
        }
    }
}

#[test]
fn each_free_worker_takes_one_of_what_waits_beside() {
    let mut stage = Stage::with_workers(3);
    let control = stage.task(rate(1_000), policy(Overlap::Allow, Misfire::CatchUp), |run| {
        ok(if run.number() == 1 { 0 } else { 400 })
    });
    stage.until(500);
    stage.stall_until(5_500);
    assert_eq!(stage.heard(), "start 0 | start 5.5 (1) | start 5.5 (2) | start 5.5 (3)");
    assert_eq!(control.snapshot().running, 3);
    stage.until(6_000);
    assert_eq!(stage.heard(), "start 5.9 (4) | start 5.9 (5) | start 6");
}

#[test]
fn where_nothing_is_ever_in_time_the_latest_runs_all_the_same() {
    // Whenever a thread is free, another task has waited for it longer.
    let mut stage = Stage::with_workers(1);
    let control = stage.task(rate(100), policy(Overlap::Allow, Misfire::RunOnce), |_| ok(0));
    let greedy = policy(Overlap::Skip, Misfire::CatchUp);
    let _others = [0, 1].map(|_| stage.task(rate(150), greedy.clone(), |_| ok(130)));
    stage.until(20_000);
    let counters = control.snapshot().counters;
    assert!(counters.runs > 10, "{counters:?}");
}
