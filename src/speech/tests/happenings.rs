//! What is said of all that is no end of a run.

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::trigger::Zone;

use super::desk::*;
use crate::observe::Event;
use crate::observe::Failure;
use crate::observe::Longest;
use crate::observe::Outcome;
use crate::observe::RuleKind;
use crate::observe::SkipReason;
use crate::observe::StopReason;
use crate::observe::TaskFacts;
use crate::observe::TaskState;
use crate::observe::sample::at;
use crate::observe::sample::error;
use crate::observe::sample::facts;
use crate::observe::sample::finished;
use crate::observe::sample::run;

#[test]
fn starvation_names_the_pool_the_longest_run_and_the_setting_once_a_minute() {
    let desk = Desk::new("tick");
    let starved = |pool: &str, busy, longest: Option<&str>, seconds: u64| Event::Starved {
        task: "tick".into(),
        pool: pool.into(),
        late: Duration::from_millis(4_200),
        busy,
        longest: longest.map(|task| Longest::new(task.into(), Duration::from_secs(12))),
        at: at(seconds * 1_000),
    };
    desk.tell(starved("default", 4, Some("import"), 0));
    desk.says("WARN  task `tick` started 4.2s late: all 4 threads of pool `default` are busy, longest: `import` for 12s; raise `scheduler.pool.size` (now 4)");
    desk.tell(starved("default", 4, Some("import"), 59));
    desk.says("");
    desk.tell(starved("io", 1, None, 59));
    desk.says("
WARN  task `tick` started 4.2s late: the only thread of pool `io` seems to be busy; raise `scheduler.pools.io.size` (now 1)
      async tasks were in progress, of which none may block its thread: let them call what blocks on a thread of its own");
    desk.tell(starved("my pool", 1, None, 59));
    assert!(desk.said().contains("raise `scheduler.pools.\"my pool\".size` (now 1)"));
    desk.tell(starved("default", 4, Some("import"), 60));
    desk.says("
WARN  task `tick` started 4.2s late: all 4 threads of pool `default` are busy, longest: `import` for 12s; raise `scheduler.pool.size` (now 4)
      at least 2 runs of this pool started late within 1m");
}

#[test]
fn skipped_runs_are_told_with_the_reason_but_not_those_of_a_pause_or_another_rule() {
    let desk = Desk::new("tick");
    let skipped = |reason, count, seconds: u64| Event::Skipped {
        task: "tick".into(),
        reason,
        fire_time: at(seconds * 1_000),
        count,
        at: at(seconds * 1_000),
    };
    desk.tell(skipped(SkipReason::Paused, 5, 0));
    desk.tell(skipped(SkipReason::Rescheduled, 5, 0));
    desk.says("");
    desk.tell(skipped(SkipReason::Overlap, 1, 0));
    desk.says("WARN  task `tick` skipped its run of Fri 2026-03-27 09:00:00 +01:00: the run before was still in progress");
    desk.tell(skipped(SkipReason::Overlap, 2, 30));
    desk.says("");
    desk.tell(skipped(SkipReason::Misfire, 7, 30));
    desk.says("WARN  task `tick` skipped 7 runs, the last that of Fri 2026-03-27 09:00:30 +01:00: its time had passed before it could run: all threads were busy, or the process stood still");
    desk.tell(skipped(SkipReason::Overlap, 1, 60));
    desk.says("WARN  task `tick` skipped 3 runs within 1m, the last that of Fri 2026-03-27 09:01:00 +01:00: the run before was still in progress");
    desk.tell(skipped(SkipReason::Overlap, 2, 90));
    desk.tell(skipped(SkipReason::Overlap, 1, 3_600));
    desk.says("
WARN  task `tick` skipped its run of Fri 2026-03-27 10:00:00 +01:00: the run before was still in progress
      2 more, the last of Fri 2026-03-27 09:01:30 +01:00, had not been told");
}

#[test]
fn what_is_done_to_a_task_is_told() {
    let desk = Desk::new("tick");
    let task = desk.task();
    let (note, until) = (Some("maintenance".into()), Some(at(3_600_000)));
    desk.tell(Event::Paused { task: Arc::clone(&task), note, until, next: None, at: at(0) });
    desk.tell(Event::Paused {
        task: Arc::clone(&task),
        note: None,
        until: None,
        next: None,
        at: at(0),
    });
    desk.tell(Event::Resumed { task: Arc::clone(&task), next: None, at: at(0) });
    let (rule, next) = ("every 5s".into(), Some(at(5_000)));
    let new = TaskFacts { name: Arc::clone(&task), ..TaskFacts::clone(&facts("tick")) };
    let new = Arc::new(TaskFacts { zone: Zone::UTC, ..new });
    desk.tell(Event::Rescheduled {
        task: Arc::clone(&task),
        rule,
        facts: Arc::clone(&new),
        next,
        at: at(0),
    });
    let why = StopReason::Timeout;
    desk.tell(Event::StopAsked { run: run("tick", 1, 1), why, at: at(0) });
    desk.tell(finished(run("tick", 1, 1), Outcome::Cancelled, 0, 0));
    desk.tell(Event::TaskEnded { task: Arc::clone(&task), state: TaskState::Failed, at: at(0) });
    desk.tell(Event::TaskEnded { task, state: TaskState::Cancelled, at: at(0) });
    let tock = facts("tock");
    let (task, state) = (Arc::clone(&tock.name), TaskState::Cancelled);
    desk.tell(Event::TaskAdded { task: tock, is_disabled: false, next: None, at: at(0) });
    desk.says(
        "
INFO  task `tick` is paused until Fri 2026-03-27 10:00:00 +01:00: maintenance
INFO  task `tick` is paused until it is resumed
INFO  task `tick` goes on
INFO  task `tick` now runs every 5s; next run: Fri 2026-03-27 08:00:05 +00:00
WARN  task `tick` runs longer than its `timeout`
      it was asked to stop, and holds its thread until it does
      help: let it ask `run.is_cancelled()` now and then
INFO  a run of task `tick` was cancelled after 12ms
ERROR task `tick` has ended, and will not run again
      by `on_error = \"stop\"`; `on_error = \"continue\"` goes on after failures
INFO  task `tick` was cancelled, and will not run again
INFO  task `tock` was added: every 1s",
    );
    desk.tell(Event::SchedulerStopping { at: at(1) });
    desk.tell(finished(run("tock", 1, 1), Outcome::Cancelled, 0, 1));
    desk.tell(Event::TaskEnded { task, state, at: at(1) });
    desk.says("");
}

#[test]
fn a_future_that_takes_too_long_is_not_to_ask() {
    let desk = Desk::new("tick");
    let task = Arc::new(TaskFacts { is_async: true, ..TaskFacts::clone(&facts("fetch")) });
    desk.tell(Event::TaskAdded { task, is_disabled: false, next: None, at: at(0) });
    let why = StopReason::Timeout;
    desk.tell(Event::StopAsked { run: run("fetch", 1, 1), why, at: at(0) });
    desk.says(
        "
INFO  task `fetch` was added: every 1s
WARN  task `fetch` runs longer than its `timeout`
      it is dropped where it awaits; a part that does not holds its thread",
    );
}

#[test]
fn trouble_of_the_engine_is_told() {
    let desk = Desk::new("tick");
    let (task, pool): (Arc<str>, Arc<str>) = (desk.task(), "io".into());
    let reason = "Resource temporarily unavailable".into();
    desk.tell(Event::WorkerRefused { pool: Arc::clone(&pool), reason, at: at(0) });
    let failure = Failure::from_panic("cannot close", None);
    desk.tell(Event::DropPanicked { task: Arc::clone(&task), failure, at: at(0) });
    let Outcome::Panic(failure) = panicked("no") else { unreachable!() };
    desk.tell(Event::HookPanicked { hook: "listener", failure, at: at(0) });
    desk.tell(Event::WaitStarved { task, pool, awaited: "task 7".into(), at: at(0) });
    desk.says(
        "
WARN  pool `io` could not start a thread: Resource temporarily unavailable
      it goes on with the threads it has, and asks again when a task is submitted
ERROR a destructor of task `tick` panicked: cannot close; the scheduler goes on
ERROR a listener panicked: no; the scheduler goes on
      at src/reports.rs:42:18
WARN  task `tick` waits for `task 7`, which finds no free thread in pool `io`
      help: let one task not wait for another, or raise `scheduler.pools.io.size`",
    );
}

#[test]
fn trouble_of_the_engine_is_summed_up_once_a_minute() {
    let desk = Desk::new("tick");
    let refused = |second: u64| {
        let (pool, reason) = ("io".into(), "no memory".into());
        desk.tell(Event::WorkerRefused { pool, reason, at: at(second * 1_000) });
    };
    refused(0);
    desk.said();
    refused(30);
    desk.says("");
    refused(60);
    let said = desk.said();
    assert!(said.ends_with("\n      2 times within 1m\n"), "{said}");
}

#[test]
fn a_trigger_that_fails_is_reported_with_the_time_of_the_next_question() {
    let desk = Desk::new("tick");
    let fail = |failure, seconds, millis| {
        let (task, asked_again_in) = (desk.task(), Duration::from_secs(seconds));
        desk.tell(Event::TriggerFailed { task, failure, asked_again_in, at: at(millis) });
    };
    fail(Failure::from_panic("no idea", None), 1, 0);
    fail(error("no\nroute to host"), 2, 1_000);
    fail(error("no\nroute to host"), 60, 61_000);
    desk.says(
        "
ERROR the trigger of task `tick` panicked: no idea
      it is asked again in 1s; no run starts before it answers
ERROR the trigger of task `tick` failed: no\\nroute to host
      it is asked again in 1m; no run starts before it answers
      1 more, the last of Fri 2026-03-27 09:00:01 +01:00, had not been told",
    );
}

#[test]
fn a_task_that_ends_by_itself_is_reported_unless_it_was_to_run_once() {
    let desk = Desk::new("tick");
    let end = |kind| {
        let task = Arc::new(TaskFacts { kind, ..TaskFacts::clone(&facts("tick")) });
        let name = Arc::clone(&task.name);
        desk.tell(Event::TaskAdded { task, is_disabled: false, next: None, at: at(0) });
        desk.said();
        desk.tell(Event::TaskEnded { task: name, state: TaskState::Completed, at: at(0) });
    };
    end(RuleKind::Once);
    desk.says("");
    end(RuleKind::Custom);
    desk.says("INFO  task `tick` has ended: its trigger has no further fire time");
    end(RuleKind::Cron);
    desk.says("INFO  task `tick` has ended: its cron expression has no further fire time");
}

#[test]
fn the_end_of_a_removed_task_does_not_touch_the_one_that_has_its_name_now() {
    let desk = Desk::new("tick");
    desk.tell(Event::TaskAdded { task: facts("tick"), is_disabled: false, next: None, at: at(1) });
    desk.said();
    let state = TaskState::Cancelled;
    desk.tell(Event::TaskEnded { task: desk.task(), state, at: at(2) });
    desk.says("INFO  the last run of the task `tick` that was removed has ended");
    desk.tell(finished(run("tick", 1, 1), Outcome::Success, 0, 3));
    desk.says(
        "INFO  task `tick` finished its first run in 12ms; further successes are not reported",
    );
}
