//! Messages over hours, on the virtual clock.
//!
//! Every failure is reported, and events have the time of the next run.

use std::sync::Arc;

use scheduler::testing::*;
use scheduler::{Attribute, EventKind, RuleKind, Schedule};

fn failing(times: usize) -> Sim {
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define("x", Schedule::fixed_rate("1s"), |_| {});
    sim.advance(secs(1));
    for _ in 0..times {
        sim.fail_next("x", "db down");
    }
    sim
}

fn last(sim: &Sim) -> String {
    sim.messages().last().expect("something was said").clone()
}

#[test]
fn a_recovery_is_told_with_the_failures_that_were_not() {
    let mut sim = failing(40);
    sim.advance(hours(1));
    assert_eq!(
        last(&sim),
        "INFO  task `x` succeeded again, in 0s, after 40 failures in a row\n      \
         30 failures not reported before"
    );
    sim.advance(hours(1));
    sim.fail_next("x", "db down");
    sim.advance(secs(2));
    let said = sim.messages();
    let failure = &said[said.len() - 2];
    assert!(failure.starts_with("ERROR task `x` failed after 0s: db down\n"), "{failure}");
    assert_eq!(last(&sim), "INFO  task `x` succeeded again, in 0s, after 1 failure");
}

/// Told are ten, and one a minute as a sum; what is left comes with the recovery.
#[test]
fn no_failure_is_lost_between_sums_and_recovery() {
    let mut sim = failing(200);
    sim.advance(hours(1));
    let said = sim.messages();
    let failures = said.iter().filter(|text| text.starts_with("ERROR"));
    let summed = failures.clone().filter(|text| text.contains("failed 60 times within 1m"));
    assert_eq!((failures.count(), summed.count()), (13, 2));
    assert!(
        last(&sim).ends_with("after 200 failures in a row\n      19 failures not reported before")
    );
}

#[test]
fn each_event_on_a_task_says_when_it_runs_next() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define("x", Schedule::fixed_rate("10s"), |_| {});
    let shown = |sim: &Sim| sim.snapshot("x").next;
    let mut expected = vec![shown(&sim)];
    sim.advance(secs(11));
    sim.pause("x");
    expected.push(shown(&sim));
    sim.resume("x");
    expected.push(shown(&sim));
    sim.control("x").reschedule(Schedule::cron("0 * * * * *")).unwrap();
    expected.push(shown(&sim));
    let told: Vec<_> = sim
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::TaskAdded { next, .. }
            | EventKind::Paused { next, .. }
            | EventKind::Resumed { next, .. } => Some(next),
            EventKind::Rescheduled { next, .. } => {
                let facts = event.task.as_ref().unwrap();
                assert_eq!((facts.kind, facts.period), (RuleKind::Cron, None));
                Some(next)
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, expected);
    assert!(told[0].is_some() && told[1].is_none() && told[2].is_some());
}

#[test]
fn a_task_that_fills_its_pool_itself_is_named() {
    let beside = Schedule::fixed_rate("1s")
        .set(Attribute::Overlap, "allow")
        .set(Attribute::Misfire, "catch_up");
    let mut sim = Sim::at("2026-01-01T00:00:00Z").pool_size(2).define("x", beside, |_| {});
    sim.takes("x", secs(5));
    sim.advance(secs(5));
    let line = last(&sim);
    let expected =
        "WARN  task `x` started 3s late: all 2 threads of pool `default` are busy, longest: `x` (";
    assert!(line.starts_with(expected), "{line}");
    assert!(line.ends_with(") for 5s; raise `scheduler.pool.size` (now 2)"), "{line}");
}

/// It waits without a thread, and what is late is so because the clock stood still.
#[test]
fn a_future_is_not_suspected_of_a_suspended_machine() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z")
        .pool_size(1)
        .define("report", Schedule::cron("0 0 * * * *"), |_| {})
        .define_async("fetch", Schedule::once("0s"), |run| async move {
            run.sleep_async(hours(9)).await;
        });
    sim.advance(secs(1));
    sim.suspend(minutes(90));
    sim.advance(secs(1));
    assert!(sim.event_log().contains("report"), "{}", sim.event_log());
    assert!(sim.messages().iter().all(|text| !text.contains("late")), "{:?}", sim.messages());
}

/// By the copy of its name that its events share, listeners tell it from the one that was removed.
#[test]
fn a_task_that_is_removed_during_a_run_and_added_again_is_another_one() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define("x", Schedule::fixed_rate("1h"), |_| {});
    sim.takes("x", secs(5));
    sim.advance(secs(1));
    let tasks = sim.running_tasks();
    tasks.remove("x").unwrap();
    tasks.add("x", Schedule::fixed_rate("1h").initial_delay("10s"), |_| {}).unwrap();
    sim.advance(secs(60));
    tasks.remove("x").unwrap();
    sim.advance(secs(1));
    let names = sim.events().into_iter().filter_map(|event| match &event.kind {
        EventKind::TaskAdded { .. } => Some(("added", Arc::clone(&event.task.as_ref()?.name))),
        EventKind::TaskEnded { .. } => Some(("ended", Arc::clone(&event.task.as_ref()?.name))),
        _ => None,
    });
    let names: Vec<_> = names.collect();
    let order: Vec<_> = names.iter().map(|(what, _)| *what).collect();
    assert_eq!(order, ["added", "added", "ended", "ended"]);
    let is_same = |a: usize, b: usize| Arc::ptr_eq(&names[a].1, &names[b].1);
    assert!(is_same(0, 2) && is_same(1, 3) && !is_same(0, 1));
    let said = sim.messages();
    let said: Vec<_> = said.iter().filter(|text| text.starts_with("INFO")).collect();
    let expected = [
        "INFO  task `x`: added: every 1h, first after 10s; pool default; next Thu 2026-01-01 00:00:11 +00:00",
        "INFO  task `x`: run 1 was cancelled after 5s",
        "INFO  the last run of the task `x` that was removed has ended",
        "INFO  task `x` finished its first run in 5s; further successes are not reported",
        "INFO  task `x`: ended: cancelled",
    ];
    assert_eq!(said, expected);
}

#[test]
fn very_many_missed_runs_are_told_as_at_least_so_many_also_at_the_stop() {
    let mut sim =
        Sim::at("2026-01-01T00:00:00Z").define("c", Schedule::cron("* * * * * *"), |_| {});
    sim.suspend(hours(40 * 24));
    sim.advance(secs(1));
    let warning = sim.messages().iter().find(|text| text.contains("skipped")).cloned();
    let warning = warning.expect("a warning");
    let expected = "WARN  task `c` skipped at least 10001 runs, from Thu 2026-01-01 00:00:01 +00:00 to Mon 2026-02-09 23:59:59 +00:00: ";
    assert!(warning.starts_with(expected), "{warning}");
    assert!(sim.snapshot("c").counters.skipped_at_least);
    sim.shutdown().unwrap();
    assert!(last(&sim).ends_with(", at least 10001 skipped"), "{}", last(&sim));
}
