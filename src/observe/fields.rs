//! The fields of an event in a log.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};

use super::{Event, EventKind, Failure, Outcome, StoreEvent};

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(u64),
    Seconds(f64),
    Text(String),
}

/// The fields of an event by their names: short ones, and those that follow the conventions of OpenTelemetry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    pub(crate) fn of(event: &Event) -> Self {
        let mut fields = Self::default();
        fields.text("event", event.kind.name());
        if let Some(task) = &event.task {
            fields.text("task", &task.name);
            fields.text("scheduler.task.name", &task.name);
            fields.text("scheduler.task.kind", task.kind.name());
            fields.text("scheduler.task.schedule", &task.rule);
            task.function.iter().for_each(|function| fields.text("code.function.name", function));
        }
        if let Some(run) = event.run() {
            fields.number("run", run.number);
            fields.number("attempt", run.attempt.into());
            fields.number("scheduler.run.number", run.number);
            fields.number("scheduler.run.attempt", run.attempt.into());
            fields.text("scheduler.run.cause", run.cause.name());
            fields.time("scheduler.run.fire_time", Some(run.fire_time));
            fields.seconds("scheduler.run.lateness", run.lateness());
            if let Some(job) = &run.job {
                fields.job(&job.id, job.key.as_deref(), Some(&job.queue));
                fields.number("scheduler.job.attempt", run.attempt.into());
                fields.number("scheduler.job.max_attempts", run.max_attempts.into());
            }
        }
        fields.of_kind(&event.kind);
        fields
    }

    fn of_kind(&mut self, kind: &EventKind) {
        match kind {
            EventKind::RunFinished { outcome, took, next, .. } => {
                self.text("outcome", outcome.name());
                self.seconds("duration", *took);
                self.time("next", *next);
                outcome.failure().iter().for_each(|failure| self.failure(failure));
                if let Outcome::Refused(reason) = outcome {
                    self.text("error", reason);
                }
            }
            EventKind::AttemptFailed { failure, .. }
            | EventKind::TriggerFailed { failure, .. }
            | EventKind::DropPanicked { failure }
            | EventKind::HookFailed { failure, .. } => self.failure(failure),
            EventKind::Skipped { reason, count, .. } => {
                self.text("scheduler.skip.reason", reason.name());
                self.number("scheduler.skip.count", *count);
            }
            EventKind::TaskAdded { next, .. }
            | EventKind::Paused { next, .. }
            | EventKind::Resumed { next }
            | EventKind::Rescheduled { next, .. }
            | EventKind::Enabled { next } => self.time("next", *next),
            EventKind::Store { what } => self.of_store(what),
            _ => {}
        }
    }

    fn of_store(&mut self, what: &StoreEvent) {
        match what {
            StoreEvent::JobParked { job } => {
                self.job(&job.id, job.key.as_deref(), Some(&job.queue));
                self.number("scheduler.job.attempt", job.attempts.into());
                self.text("error", &job.error);
            }
            StoreEvent::JobLost { job, key, queue, attempt, .. } => {
                self.job(job, key.as_deref(), Some(queue));
                self.number("scheduler.job.attempt", (*attempt).into());
            }
            StoreEvent::FinishRefused { job } | StoreEvent::ClaimReturned { job } => {
                self.job(job, None, None);
            }
            _ => {}
        }
    }

    fn job(&mut self, id: &str, key: Option<&str>, queue: Option<&str>) {
        self.text("scheduler.job.id", id);
        key.iter().for_each(|key| self.text("scheduler.job.key", key));
        queue.iter().for_each(|queue| self.text("scheduler.job.queue", queue));
    }

    fn failure(&mut self, failure: &Failure) {
        self.text("error", failure.message());
        self.text("error.type", failure.kind());
        self.text("exception.type", failure.kind());
        let message = failure.message().to_owned() + &failure.causes_after(": ");
        self.text("exception.message", &message);
    }

    #[cfg_attr(not(any(feature = "tracing", feature = "log")), allow(dead_code))]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.0.push((name, Value::Text(value.to_owned())));
    }

    fn number(&mut self, name: &'static str, value: u64) {
        self.0.push((name, Value::Number(value)));
    }

    fn seconds(&mut self, name: &'static str, value: Duration) {
        self.0.push((name, Value::Seconds(value.as_secs_f64())));
    }

    fn time(&mut self, name: &'static str, at: Option<DateTime<Utc>>) {
        let at = at.map(|at| at.to_rfc3339_opts(SecondsFormat::Millis, true));
        at.iter().for_each(|at| self.text(name, at));
    }
}
