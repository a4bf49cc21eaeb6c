//! The history of a task: the scheduler's last 20 runs with everything, and before them those that the listener kept.

use scheduler::{Failure, RunRecord, TaskSnapshot, Zone};
use serde_json::{Value, json};

use crate::app::App;
use crate::log::{FailedAttempt, Kept};
use crate::times::{instant, local, millis};

/// Which runs are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// At most so many.
    pub(crate) limit: usize,
    /// Only those with a lower number.
    pub(crate) before: u64,
}

/// The runs of a task, the latest first; and whether there are earlier ones.
pub(crate) fn runs(app: &App, task: &TaskSnapshot, page: Page) -> Value {
    let kept =
        app.recorder.with(task.name(), |log| log.runs.iter().rev().cloned().collect::<Vec<Kept>>());
    let kept = kept.unwrap_or_default();
    let zone = task.facts.zone;
    let full: Vec<Value> = task
        .last_runs
        .iter()
        .filter(|run| run.number < page.before)
        .map(|run| of_record(app, zone, run, kept.iter().find(|kept| kept.number == run.number)))
        .collect();
    let lowest = task.last_runs.iter().map(|run| run.number).min().unwrap_or(u64::MAX);
    let older = kept.iter().filter(|run| run.number < lowest.min(page.before));
    let older = older.map(|run| of_kept(app, zone, run));
    let mut runs: Vec<Value> = full.into_iter().chain(older).take(page.limit + 1).collect();
    let has_more = runs.len() > page.limit;
    runs.truncate(page.limit);
    json!({ "task": task.name(), "runs": runs, "hasMore": has_more })
}

fn of_record(app: &App, zone: Zone, run: &RunRecord, kept: Option<&Kept>) -> Value {
    let mut shown = json!({
        "number": run.number,
        "cause": run.cause.name(),
        "fireTime": instant(run.fire_time),
        "startedAt": instant(run.started_at),
        "startedAtLocal": local(run.started_at, zone),
        "tookMs": millis(run.took),
        "attempts": run.attempts,
        "outcome": run.outcome.name(),
    });
    if let Some(failure) = run.outcome.failure() {
        shown["error"] = error(app, failure);
    }
    if !run.notes.is_empty() {
        shown["notes"] = run.notes.iter().map(|note| app.options.redacted(note)).collect();
    }
    if let Some(kept) = kept {
        add_kept(app, &mut shown, kept);
    }
    shown
}

fn of_kept(app: &App, zone: Zone, run: &Kept) -> Value {
    let mut shown = json!({
        "number": run.number,
        "cause": run.cause.name(),
        "fireTime": instant(run.fire_time()),
        "startedAt": instant(run.started_at()),
        "startedAtLocal": local(run.started_at(), zone),
        "tookMs": millis(run.took()),
        "attempts": run.attempts,
        "outcome": run.outcome.name(),
    });
    if let Some(text) = &run.text {
        let message = app.options.redacted(text);
        shown["error"] = json!({ "kind": run.outcome.name(), "message": message });
    }
    add_kept(app, &mut shown, run);
    shown
}

/// Adds what only the listener knows.
fn add_kept(app: &App, shown: &mut Value, kept: &Kept) {
    shown["lateMs"] = millis(kept.late()).into();
    if let Some(failed) = &kept.failed {
        let shown_attempt = |attempt: &FailedAttempt| {
            let mut shown = json!({ "attempt": attempt.attempt, "at": instant(attempt.at) });
            if let Some(text) = &attempt.text {
                shown["message"] = app.options.redacted(text).into();
            }
            shown
        };
        shown["failedAttempts"] = failed.0.iter().map(shown_attempt).collect();
    }
}

fn error(app: &App, failure: &Failure) -> Value {
    let mut error = json!({
        "kind": failure.kind(),
        "message": app.options.redacted(failure.message()),
    });
    if failure.causes().len() > 0 {
        error["causes"] = failure.causes().map(|cause| app.options.redacted(cause)).collect();
    }
    if let Some(place) = failure.place() {
        error["place"] = place.to_string().into();
    }
    error
}
