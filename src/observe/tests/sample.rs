//! Runs, facts and events for tests, on a Friday at eight.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::base::metadata::Location;
use crate::observe::{Event, EventKind, Failure, Outcome, RuleKind, TaskFacts};
use crate::run::{Cause, Run, RunInfo, TaskError};

/// 2026-03-27 08:00 UTC, and so many milliseconds.
pub(crate) fn at(millis: u64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_774_598_400, 0).expect("a time") + Duration::from_millis(millis)
}

pub(crate) fn facts(name: &str) -> Arc<TaskFacts> {
    Arc::new(TaskFacts {
        name: name.into(),
        function: Some("shop::jobs::work".into()),
        kind: RuleKind::FixedRate,
        rule: "every 1s".into(),
        period: Some(Duration::from_secs(1)),
        zone: "Europe/Berlin".parse().expect("a zone"),
        pool: "default".into(),
        tags: Arc::new([]),
        is_async: false,
        is_durable: false,
        location: Some(Location { file: "src/jobs.rs", line: 7 }),
    })
}

pub(crate) fn run(task: &str, number: u64, attempt: u32) -> Run {
    let (cause, fire_time, due, started_at) = (Cause::Schedule, at(0), at(0), at(0));
    let (max_attempts, job) = (5, None);
    let info = RunInfo { number, attempt, max_attempts, cause, fire_time, due, started_at, job };
    Run::of(&info, facts(task))
}

pub(crate) fn info(number: u64, attempt: u32) -> RunInfo {
    run("", number, attempt).info()
}

/// An event of the task that [`facts`] describes.
pub(crate) fn event(task: &str, millis: u64, kind: EventKind) -> Event {
    Event::of(at(millis), &facts(task), kind)
}

/// A run of `task`, of this number and attempt, that ended after 12 ms; the next one is an hour after the first.
pub(crate) fn finished(
    task: &str,
    (number, attempt): (u64, u32),
    outcome: Outcome,
    streak: u64,
    millis: u64,
) -> Event {
    let (took, next) = (Duration::from_millis(12), Some(at(3_600_000)));
    let run = info(number, attempt);
    event(task, millis, EventKind::RunFinished { run, outcome, took, next, streak })
}

pub(crate) fn error(message: &str) -> Failure {
    Failure::from_error(&TaskError::from_display(message))
}
