//! The history of a task: the scheduler's last 20 runs with everything, and before them those that the listener kept.

use scheduler::{Failure, RunRecord, TaskSnapshot};
use scheduler_api::{FailedAttempt, Run, RunError, Runs};

use crate::app::App;
use crate::log::LoggedRun;
use crate::times::{instant, millis};

/// The wanted runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// At most so many.
    pub(crate) limit: usize,
    /// Only those with a lower number.
    pub(crate) before: u64,
}

/// The runs of a task, the latest first.
pub(crate) fn runs(app: &App, task: &TaskSnapshot, page: Page) -> Runs {
    let logged = app
        .recorder
        .with(task.name(), |log| log.runs.iter().rev().cloned().collect::<Vec<LoggedRun>>());
    let logged = logged.unwrap_or_default();
    let full = task.last_runs.iter().filter(|run| run.number < page.before);
    let full = full
        .map(|run| of_record(app, run, logged.iter().find(|logged| logged.number == run.number)));
    let lowest = task.last_runs.iter().map(|run| run.number).min().unwrap_or(u64::MAX);
    let older = logged.iter().filter(|run| run.number < lowest.min(page.before));
    let older = older.map(|run| of_kept(app, run));
    let mut runs: Vec<Run> = full.chain(older).take(page.limit + 1).collect();
    let has_more = runs.len() > page.limit;
    runs.truncate(page.limit);
    Runs { task: task.name().to_owned(), runs, has_more }
}

fn of_record(app: &App, run: &RunRecord, logged: Option<&LoggedRun>) -> Run {
    let notes = run.notes.iter().map(|note| app.options.redacted(note)).collect();
    Run {
        number: run.number,
        cause: run.cause.name().to_owned(),
        fire_time: instant(run.fire_time),
        started_at: instant(run.started_at),
        attempts: run.attempts,
        outcome: run.outcome.name().to_owned(),
        took_ms: Some(millis(run.took)),
        late_ms: logged.map(|logged| millis(logged.late())),
        error: run.outcome.failure().map(|failure| error(app, failure)),
        failed_attempts: logged.and_then(|logged| failed_attempts(app, logged)),
        notes: Some(notes).filter(|notes: &Vec<String>| !notes.is_empty()),
    }
}

fn of_kept(app: &App, run: &LoggedRun) -> Run {
    let message = run.text.as_deref().map(|text| app.options.redacted(text));
    let outcome = run.outcome.name();
    Run {
        number: run.number,
        cause: run.cause.name().to_owned(),
        fire_time: instant(run.fire_time()),
        started_at: instant(run.started_at()),
        attempts: run.attempts,
        outcome: outcome.to_owned(),
        took_ms: Some(millis(run.took())),
        late_ms: Some(millis(run.late())),
        error: message.map(|message| RunError {
            kind: outcome.to_owned(),
            message,
            ..RunError::default()
        }),
        failed_attempts: failed_attempts(app, run),
        notes: None,
    }
}

fn failed_attempts(app: &App, logged: &LoggedRun) -> Option<Vec<FailedAttempt>> {
    let attempts = logged.failed.as_ref()?.0.iter().map(|attempt| FailedAttempt {
        attempt: attempt.attempt,
        at: instant(attempt.at),
        message: attempt.text.as_deref().map(|text| app.options.redacted(text)),
    });
    Some(attempts.collect())
}

fn error(app: &App, failure: &Failure) -> RunError {
    let causes: Vec<String> = failure.causes().map(|cause| app.options.redacted(cause)).collect();
    RunError {
        kind: failure.kind().to_owned(),
        message: app.options.redacted(failure.message()),
        causes: Some(causes).filter(|causes| !causes.is_empty()),
        place: failure.place().map(|place| place.to_string()),
    }
}
