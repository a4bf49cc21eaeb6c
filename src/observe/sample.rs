//! Runs, facts and events for tests, on a Friday at eight.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;

use super::Event;
use super::Failure;
use super::Outcome;
use super::RuleKind;
use super::TaskFacts;
use crate::entry::Location;
use crate::run::Cause;
use crate::run::Facts;
use crate::run::Run;
use crate::run::TaskError;

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
        location: Some(Location { file: "src/jobs.rs", line: 7 }),
    })
}

pub(crate) fn run(task: &str, number: u64, attempt: u32) -> Run {
    let (task, cause, at) = (task.into(), Cause::Schedule, at(0));
    Run::new(Facts { task, number, attempt, cause, fire_time: at, started_at: at })
}

/// A run that ended after 12 ms and is due again an hour after the first one.
pub(crate) fn finished(run: Run, outcome: Outcome, streak: u64, millis: u64) -> Event {
    let (took, next, at) = (Duration::from_millis(12), Some(at(3_600_000)), at(millis));
    Event::RunFinished { run, outcome, took, next, streak, at }
}

pub(crate) fn error(message: &str) -> Failure {
    Failure::from_error(&TaskError::from_display(message))
}
