//! The messages about all events but the ends of runs.

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::trigger::Zone;

use super::console::*;
use crate::observe::sample::{self, at, error, facts, info};
use crate::observe::{
    EventKind, Failure, Longest, Outcome, RuleKind, SkipReason, StopReason, StoreEvent, TaskFacts,
    TaskState, UNBLOCK,
};

#[test]
fn starvation_names_the_pool_the_longest_run_and_the_setting_once_a_minute() {
    let console = Console::new("tick");
    let starve = |pool: &str, busy, is_async, seconds: u64| {
        let facts = TaskFacts { is_async, ..TaskFacts::clone(&sample::facts("import")) };
        let longest = Longest::new(&facts, Duration::from_secs(12));
        let (pool, late) = (pool.into(), Duration::from_millis(4_200));
        let is_waiting = false;
        console
            .emit_at(seconds * 1_000, EventKind::Starved { pool, late, is_waiting, busy, longest });
    };
    starve("default", 4, false, 0);
    console.prints("WARN  task `tick` started 4.2s late: all 4 threads of pool `default` are busy, longest: `import` (src/jobs.rs:7) for 12s; raise `scheduler.pool.size` (now 4)");
    starve("default", 4, false, 59);
    console.prints("");
    starve("io", 1, true, 59);
    console.prints(&format!("
WARN  task `tick` started 4.2s late: the only thread of pool `io` is busy, longest: `import` (src/jobs.rs:7) for 12s; raise `scheduler.pools.io.size` (now 1)
      `import` is async and blocks its thread: {UNBLOCK}"));
    starve("my pool", 1, true, 59);
    assert!(console.printed().contains("raise `scheduler.pools.\"my pool\".size` (now 1)"));
    starve("default", 4, false, 60);
    console.prints("
WARN  task `tick` started 4.2s late: all 4 threads of pool `default` are busy, longest: `import` (src/jobs.rs:7) for 12s; raise `scheduler.pool.size` (now 4)
      at least 2 runs of this pool started late within 1m");
}

#[test]
fn a_skip_names_who_held_the_threads_of_its_pool_for_as_long_as_that_is_known() {
    let console = Console::new("tick");
    let facts = TaskFacts { is_async: true, ..TaskFacts::clone(&sample::facts("import")) };
    let longest = Longest::new(&facts, Duration::from_secs(12));
    let late = Duration::from_millis(4_200);
    let (pool, is_waiting) = ("default".into(), false);
    console.emit_at(0, EventKind::Starved { pool, late, is_waiting, busy: 4, longest });
    assert!(console.printed().contains("started 4.2s late"));
    let skip = |reason, seconds: u64| {
        let last = at(seconds * 1_000);
        let (first, count, at_least, blocked) = (last, 1, false, None);
        let kind = EventKind::Skipped { reason, first, last, count, at_least, blocked };
        console.emit_at(seconds * 1_000, kind);
    };
    skip(SkipReason::Misfire, 10);
    console.prints(&format!("
WARN  task `tick` skipped its run of Fri 2026-03-27 09:00:10 +01:00: its time had passed before it could run: all threads were busy, longest: `import` (src/jobs.rs:7) for 12s
      `import` is async and blocks its thread: {UNBLOCK}"));
    skip(SkipReason::Misfire, 71);
    console.prints("WARN  task `tick` skipped its run of Fri 2026-03-27 09:01:11 +01:00: its time had passed before it could run: all threads were busy, or the process stood still");
}

/// The threads of this process say nothing about the others.
#[test]
fn a_tick_of_a_durable_task_that_was_missed_is_not_blamed_on_threads() {
    let console = Console::new("tick");
    let task = Arc::new(TaskFacts { is_durable: true, ..TaskFacts::clone(&facts("tick")) });
    let (reason, first, last) = (SkipReason::Misfire, at(0), at(0));
    let (at_least, blocked) = (false, None);
    let kind = EventKind::Skipped { reason, first, last, count: 3_603, at_least, blocked };
    console.emit_with(&task, kind);
    console.prints("WARN  task `tick` skipped 3603 runs, the last one for Fri 2026-03-27 09:00:00 +01:00: its time had passed before it could run: no process was there, or all of them were busy");
}

#[test]
fn ticks_of_a_schedule_that_is_data_are_printed_but_not_those_that_a_pause_skips() {
    let console = Console::new("tick");
    let skip = |reason| {
        let (schedule, count, at_least) = ("digest-7".into(), 2, false);
        let what = StoreEvent::TicksSkipped { schedule, reason, count, at_least };
        console.global(EventKind::Store { what });
    };
    skip(SkipReason::Paused);
    console.prints("");
    skip(SkipReason::Overlap);
    console.prints("WARN  scheduler: schedule `digest-7`: skipped 2 ticks: overlap");
}

#[test]
fn skips_are_printed_with_their_reason_but_not_the_intended_ones() {
    let console = Console::new("tick");
    let skip = |reason, count, seconds: u64| {
        let last = at(seconds * 1_000);
        let kind =
            EventKind::Skipped { reason, first: last, last, count, at_least: false, blocked: None };
        console.emit_at(seconds * 1_000, kind);
    };
    skip(SkipReason::Paused, 5, 0);
    skip(SkipReason::Rescheduled, 5, 0);
    skip(SkipReason::Refused, 5, 0);
    console.prints("");
    skip(SkipReason::Overlap, 1, 0);
    console.prints("WARN  task `tick` skipped its run of Fri 2026-03-27 09:00:00 +01:00: the run before was still in progress");
    skip(SkipReason::Overlap, 2, 30);
    console.prints("");
    skip(SkipReason::Misfire, 7, 30);
    console.prints("WARN  task `tick` skipped 7 runs, the last one for Fri 2026-03-27 09:00:30 +01:00: its time had passed before it could run: all threads were busy, or the process stood still");
    skip(SkipReason::Overlap, 1, 60);
    console.prints("WARN  task `tick` skipped 3 runs within 1m, the last one for Fri 2026-03-27 09:01:00 +01:00: the run before was still in progress");
    skip(SkipReason::Overlap, 2, 90);
    skip(SkipReason::Overlap, 1, 3_600);
    console.prints("
WARN  task `tick` skipped its run of Fri 2026-03-27 10:00:00 +01:00: the run before was still in progress
      2 more, the last at Fri 2026-03-27 09:01:30 +01:00, were not reported");
}

#[test]
fn a_count_that_is_the_least_says_so_and_names_the_first_and_the_last() {
    let console = Console::new("tick");
    let skip = |count, at_least, seconds: u64| {
        let (first, last) = (at(0), at(seconds * 1_000));
        let reason = SkipReason::Misfire;
        let kind = EventKind::Skipped { reason, first, last, count, at_least, blocked: None };
        console.emit_at(seconds * 1_000, kind);
    };
    skip(10_001, true, 30);
    console.prints("WARN  task `tick` skipped at least 10001 runs, from Fri 2026-03-27 09:00:00 +01:00 to Fri 2026-03-27 09:00:30 +01:00: its time had passed before it could run: all threads were busy, or the process stood still");
    skip(10_002, true, 40);
    skip(1, false, 90);
    console.prints("WARN  task `tick` skipped at least 10003 runs within 1m, the last one for Fri 2026-03-27 09:01:30 +01:00: its time had passed before it could run: all threads were busy, or the process stood still");
    skip(10_001, true, 91);
    skip(1, false, 3_600);
    let printed = console.printed();
    assert!(
        printed.trim_end().ends_with(
            "at least 10001 more, the last at Fri 2026-03-27 09:01:31 +01:00, were not reported"
        ),
        "{printed}"
    );
    skip(7, false, 7_200);
    console.prints("WARN  task `tick` skipped 7 runs, from Fri 2026-03-27 09:00:00 +01:00 to Fri 2026-03-27 11:00:00 +01:00: its time had passed before it could run: all threads were busy, or the process stood still");
}

#[test]
fn control_of_a_task_is_printed() {
    let console = Console::new("tick");
    let (note, until) = (Some("maintenance".into()), Some(at(3_600_000)));
    console.emit(EventKind::Paused { by: Some("ops".into()), reason: note, until, next: None });
    console.emit(EventKind::Paused { by: None, reason: None, until: None, next: None });
    console.emit(EventKind::Resumed { next: None });
    let (rule, next) = ("every 5s".into(), Some(at(5_000)));
    let new = Arc::new(TaskFacts { zone: Zone::UTC, ..TaskFacts::clone(&facts("tick")) });
    console.emit_with(&new, EventKind::Rescheduled { rule, next });
    let reason = StopReason::Timeout;
    console.emit(EventKind::StopRequested { run: info(1, 1), reason, blocked: None });
    console.finish(1, Outcome::Cancelled, 0, 0);
    console.emit(EventKind::TaskEnded { state: TaskState::Failed });
    console.emit(EventKind::TaskEnded { state: TaskState::Cancelled });
    console.emit_of("tock", EventKind::TaskAdded { is_disabled: false, next: None });
    console.prints(
        "
INFO  task `tick`: paused by ops until Fri 2026-03-27 10:00:00 +01:00: maintenance
INFO  task `tick`: paused
INFO  task `tick`: resumed
INFO  task `tick`: rescheduled: every 5s; next Fri 2026-03-27 08:00:05 +00:00
WARN  task `tick`: run 1 is asked to stop: its time is over
      it runs longer than its `timeout`
      it holds its thread until it returns
      help: let it ask `run.stop_requested()` now and then
INFO  task `tick`: run 1 was cancelled after 12ms; next Fri 2026-03-27 10:00:00 +01:00
ERROR task `tick`: ended: failed
      by `on_error = \"stop\"`; with `on_error = \"continue\"` it runs on
INFO  task `tick`: ended: cancelled
INFO  task `tock`: added: every 1s; pool default",
    );
    console.global(EventKind::SchedulerStopping {});
    console.finish(1, Outcome::Cancelled, 0, 1);
    console.emit_of("tock", EventKind::TaskEnded { state: TaskState::Cancelled });
    console.prints("");
}

#[test]
fn a_future_that_takes_too_long_needs_no_advice_to_ask() {
    let console = Console::new("tick");
    let task = Arc::new(TaskFacts { is_async: true, ..TaskFacts::clone(&facts("fetch")) });
    console.emit_with(&task, EventKind::TaskAdded { is_disabled: false, next: None });
    let reason = StopReason::Timeout;
    console.emit_with(&task, EventKind::StopRequested { run: info(1, 1), reason, blocked: None });
    console.prints(
        "
INFO  task `fetch`: added: every 1s; pool default
WARN  task `fetch`: run 1 is asked to stop: its time is over
      it runs longer than its `timeout`
      its future is dropped at the next `.await`",
    );
}

#[test]
fn trouble_of_the_engine_is_printed() {
    let console = Console::new("tick");
    let reason = "Resource temporarily unavailable".into();
    console.global(EventKind::WorkerRefused { pool: "io".into(), reason });
    let failure = Failure::from_panic("cannot close", None);
    console.emit(EventKind::DropPanicked { failure });
    let Outcome::Panic(failure) = panicked("no") else { unreachable!() };
    console.global(EventKind::HookFailed { hook: "listener", failure });
    console.emit(EventKind::WaitStarved { pool: "io".into(), awaited: "task 7".into() });
    console.prints(
        "
WARN  scheduler: pool `io` could not start a thread: Resource temporarily unavailable
      the pool continues with its threads, and tries again with the next task
ERROR task `tick`: a destructor panicked: cannot close
      the scheduler continues
ERROR scheduler: a listener panicked: no
      at src/reports.rs:42:18
      the scheduler continues
WARN  task `tick`: waits for `task 7`, which finds no free thread in pool `io`
      help: let one task not wait for another, or raise `scheduler.pools.io.size`",
    );
}

#[test]
fn trouble_of_the_engine_is_summed_up_once_a_minute() {
    let console = Console::new("tick");
    let refuse = |second: u64| {
        let (pool, reason) = ("io".into(), "no memory".into());
        console.emit_at(second * 1_000, EventKind::WorkerRefused { pool, reason });
    };
    refuse(0);
    console.printed();
    refuse(30);
    console.prints("");
    refuse(60);
    let printed = console.printed();
    assert!(printed.ends_with("\n      2 times within 1m\n"), "{printed}");
}

#[test]
fn a_trigger_that_fails_is_reported_with_the_time_of_the_next_question() {
    let console = Console::new("tick");
    let fail = |failure, seconds, millis| {
        let asked_again_in = Duration::from_secs(seconds);
        console.emit_at(millis, EventKind::TriggerFailed { failure, asked_again_in });
    };
    fail(Failure::from_panic("no idea", None), 1, 0);
    fail(error("no\nroute to host"), 2, 1_000);
    fail(error("no\nroute to host"), 60, 61_000);
    console.prints(
        "
ERROR task `tick`: the trigger panicked: no idea; it is asked again in 1s
      no run starts before the trigger answers
ERROR task `tick`: the trigger failed: no\\nroute to host; it is asked again in 1m
      no run starts before the trigger answers
      1 more, the last at Fri 2026-03-27 09:00:01 +01:00, were not reported",
    );
}

#[test]
fn a_task_that_ends_by_itself_is_reported_unless_it_was_to_run_once() {
    let console = Console::new("tick");
    let end = |kind| {
        let task = Arc::new(TaskFacts { kind, ..TaskFacts::clone(&facts("tick")) });
        console.emit_with(&task, EventKind::TaskAdded { is_disabled: false, next: None });
        console.printed();
        console.emit_with(&task, EventKind::TaskEnded { state: TaskState::Completed });
    };
    end(RuleKind::Once);
    console.prints("");
    end(RuleKind::Custom);
    console
        .prints("INFO  task `tick`: ended: completed\n      its trigger has no further fire time");
    end(RuleKind::Cron);
    console.prints(
        "INFO  task `tick`: ended: completed\n      its cron expression has no further fire time",
    );
}

#[test]
fn the_end_of_a_removed_task_does_not_touch_the_one_that_has_its_name_now() {
    let console = Console::new("tick");
    console.emit_of("tick", EventKind::TaskAdded { is_disabled: false, next: None });
    console.printed();
    console.emit(EventKind::TaskEnded { state: TaskState::Cancelled });
    console.prints("INFO  the last run of the task `tick` that was removed has ended");
    console.finish(1, Outcome::Success, 0, 3);
    console.prints(
        "INFO  task `tick` finished its first run in 12ms; further successes are not reported",
    );
}
