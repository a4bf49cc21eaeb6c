//! A task: as a row of the list, and by itself.

use std::time::Duration;

use scheduler::{Preview, RuleKind, RunRecord, TaskControl, TaskSnapshot, Zone};
use serde_json::{Map, Value, json};

use super::durable;
use super::object::put;
use super::words::words_of;
use crate::app::App;
use crate::clock::now;
use crate::times::{instant, local, marked, millis};

/// How many runs the sparkline shows.
const RECENT_MAX: usize = 60;
/// How much of an error the list shows.
const MESSAGE_CHARS_MAX: usize = 300;

/// A row of the list.
pub(crate) fn row(app: &App, task: &TaskSnapshot) -> Value {
    let (facts, zone) = (&task.facts, task.facts.zone);
    let mut row = Map::new();
    row.insert("name".into(), task.name().into());
    row.insert("kind".into(), facts.kind.name().into());
    row.insert("rule".into(), (*facts.rule).into());
    row.insert("zone".into(), zone.name().into());
    row.insert("pool".into(), (*facts.pool).into());
    row.insert("tags".into(), facts.tags.iter().map(|tag| Value::from(&**tag)).collect());
    row.insert("isAsync".into(), facts.is_async.into());
    row.insert("state".into(), task.state.name().into());
    row.insert("isEnded".into(), task.state.is_ended().into());
    row.insert("isPaused".into(), task.is_paused.into());
    row.insert("running".into(), task.running.into());
    row.insert("streak".into(), task.streak.into());
    put(&mut row, "function", facts.function.as_deref());
    put(&mut row, "source", facts.location.map(|location| location.to_string()));
    put(&mut row, "expression", task.expression.as_deref());
    put(&mut row, "words", words(task));
    put(&mut row, "periodMs", facts.period.map(millis));
    put(&mut row, "initialDelayMs", task.initial_delay.map(millis));
    put(&mut row, "pause", pause(app, task));
    put(&mut row, "next", task.next.map(instant));
    put(&mut row, "nextLocal", task.next.map(|at| local(at, zone)));
    put(&mut row, "wouldRunAt", task.would_run_at.map(instant));
    put(&mut row, "wouldRunAtLocal", task.would_run_at.map(|at| local(at, zone)));
    put(&mut row, "runningSince", task.running_since.map(instant));
    put(&mut row, "lateSince", task.late_since.map(instant));
    put(&mut row, "stuckSince", task.stuck_since.map(instant));
    put(&mut row, "failingSince", task.failing_since.map(instant));
    let first = task.first_failure.as_ref();
    put(&mut row, "firstFailure", first.map(|it| app.options.redacted(it.message())));
    put(&mut row, "lastSuccess", task.last_success.map(instant));
    let failure = task.trigger_failure.as_ref();
    put(&mut row, "triggerFailure", failure.map(|it| app.options.redacted(it.message())));
    put(&mut row, "last", task.last_runs.first().map(|run| last(app, run, task)));
    row.insert("recent".into(), recent(app, task));
    row.insert("counters".into(), counters(task));
    durable::add(&mut row, app, task.name());
    row.into()
}

/// A task by itself: its row, its next fire times, and how long its runs take.
pub(crate) fn detail(app: &App, control: &TaskControl, count: usize) -> Value {
    let task = control.snapshot();
    let mut detail = row(app, &task);
    detail["upcoming"] = next(app, control, &task, count).1.into();
    if let Some(durations) = durations(app, &task) {
        detail["durations"] = durations;
    }
    detail
}

/// The next fire times of a task, and their zone. Where the rule does not say them, the next one at most.
pub(crate) fn next(
    app: &App,
    control: &TaskControl,
    task: &TaskSnapshot,
    count: usize,
) -> (Zone, Vec<Value>) {
    let stored = durable::upcoming(app, control.name(), count);
    let (mut times, zone) = stored.unwrap_or_else(|| (control.next_fire_times(count), None));
    if times.is_empty() {
        times.extend(task.next.into_iter().take(count));
    }
    let zone = zone.unwrap_or(task.facts.zone);
    (zone, marked(&times, now(), zone))
}

/// A rule that a task might get: in words, with its next fire times.
pub(crate) fn preview(preview: &Preview, zone: Zone) -> Value {
    let mut shown = Map::new();
    let zone = preview.zone.unwrap_or(zone);
    shown.insert("kind".into(), preview.kind.name().into());
    shown.insert("rule".into(), (*preview.rule).into());
    shown.insert("zone".into(), zone.name().into());
    put(&mut shown, "expression", preview.expression.as_deref());
    let words = match preview.expression.as_deref() {
        Some(expression) => words_of(&preview.rule, expression, zone.name()),
        None => Some(preview.rule.to_string()),
    };
    put(&mut shown, "words", words);
    shown.insert("times".into(), marked(&preview.fire_times, now(), zone).into());
    shown.into()
}

/// The rule in words, without the expression: `09:00, Monday to Friday`.
fn words(task: &TaskSnapshot) -> Option<String> {
    if task.facts.kind != RuleKind::Cron {
        return Some(task.facts.rule.to_string());
    }
    words_of(&task.facts.rule, task.expression.as_deref()?, task.facts.zone.name())
}

fn pause(app: &App, task: &TaskSnapshot) -> Option<Value> {
    if !task.is_paused {
        return None;
    }
    let mut pause = Map::new();
    let note = task.pause_note.as_deref();
    put(&mut pause, "by", task.paused_by.as_deref());
    put(&mut pause, "note", note.map(|note| app.options.redacted(note)));
    put(&mut pause, "since", task.paused_since.map(instant));
    put(&mut pause, "until", task.paused_until.map(instant));
    put(&mut pause, "untilLocal", task.paused_until.map(|at| local(at, task.facts.zone)));
    Some(pause.into())
}

fn last(app: &App, run: &RunRecord, task: &TaskSnapshot) -> Value {
    let mut last = json!({
        "number": run.number,
        "startedAt": instant(run.started_at),
        "startedAtLocal": local(run.started_at, task.facts.zone),
        "endedAt": instant(run.started_at + run.took),
        "tookMs": millis(run.took),
        "outcome": run.outcome.name(),
    });
    if let Some(failure) = run.outcome.failure() {
        let message = app.options.redacted(failure.message());
        last["message"] = message.chars().take(MESSAGE_CHARS_MAX).collect::<String>().into();
    }
    last
}

/// The last runs in short, the latest last: for a sparkline.
fn recent(app: &App, task: &TaskSnapshot) -> Value {
    let short = |outcome: &str| outcome.chars().next().unwrap_or('?');
    let log = app.recorder.with(task.name(), |log| {
        let skipped = log.runs.len().saturating_sub(RECENT_MAX);
        let runs = log.runs.iter().skip(skipped);
        runs.map(|run| (short(run.outcome.name()), run.took())).collect::<Vec<_>>()
    });
    let runs = log.filter(|log| log.len() >= task.last_runs.len()).unwrap_or_else(|| {
        let runs = task.last_runs.iter().rev();
        runs.map(|run| (short(run.outcome.name()), run.took)).collect()
    });
    let outcomes: String = runs.iter().map(|(outcome, _)| *outcome).collect();
    let took: Vec<f64> = runs.iter().map(|(_, took)| millis(*took)).collect();
    json!({ "outcomes": outcomes, "tookMs": took })
}

fn counters(task: &TaskSnapshot) -> Value {
    let counters = &task.counters;
    json!({
        "runs": counters.runs,
        "successes": counters.successes,
        "failures": counters.failures(),
        "cancelled": counters.cancelled,
        "attempts": counters.attempts,
        "skipped": {
            "overlap": counters.skipped_overlap,
            "paused": counters.skipped_paused,
            "misfire": counters.skipped_misfire,
            "rescheduled": counters.skipped_rescheduled,
            "refused": counters.skipped_refused,
        },
    })
}

/// How long the runs that are kept took: the median, the 95th percentile, the longest.
fn durations(app: &App, task: &TaskSnapshot) -> Option<Value> {
    let log = app
        .recorder
        .with(task.name(), |log| log.runs.iter().map(|run| run.took()).collect::<Vec<Duration>>());
    let mut took = log.unwrap_or_default();
    if took.len() < task.last_runs.len() {
        took = task.last_runs.iter().map(|run| run.took).collect();
    }
    took.sort_unstable();
    let longest = *took.last()?;
    let at = |part: usize| took[(took.len() * part / 100).min(took.len() - 1)];
    Some(json!({
        "runs": took.len(),
        "p50Ms": millis(at(50)),
        "p95Ms": millis(at(95)),
        "maxMs": millis(longest),
    }))
}
