//! A task as a row and by itself, and a rule that it might get.

use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::store::{JobState, StoreTime};
use scheduler::{RuleKind, RunRecord, TaskControl, TaskSnapshot, Zone};
use scheduler_api::{Counters, Durations, LastRun, Pause, Preview, Recent, Skipped, Task};
use scheduler_expr::CronExpression;

use super::shown;
use super::stored_state::{add_stored_state, fires_no_ticks, stored_next_times};
use crate::app::App;
use crate::times::{instant, marked, millis, now};

/// The number of runs that the sparkline shows.
const RECENT_MAX: usize = 60;

/// A row of the list.
pub(crate) fn row(app: &App, task: &TaskSnapshot) -> Task {
    let facts = &task.facts;
    let expression = task.expression.as_deref().map(str::to_owned);
    let (first_failure, trigger_failure) =
        (task.first_failure.as_ref(), task.trigger_failure.as_ref());
    let mut row = Task {
        name: task.name().to_owned(),
        kind: facts.kind.name().to_owned(),
        rule: facts.rule.to_string(),
        zone: facts.zone.name().to_owned(),
        pool: facts.pool.to_string(),
        tags: facts.tags.iter().map(ToString::to_string).collect(),
        is_async: facts.is_async,
        state: task.state.name().to_owned(),
        is_ended: task.state.is_ended(),
        is_paused: task.is_paused,
        running: task.running as u64,
        streak: task.streak,
        recent: recent(app, task),
        counters: counters(task),
        function: facts.function.as_deref().map(str::to_owned),
        source: facts.location.map(|location| location.to_string()),
        words: words(facts.kind, expression.as_deref(), &facts.rule),
        expression,
        period_ms: facts.period.map(millis),
        initial_delay_ms: task.initial_delay.map(millis),
        pause: pause(app, task),
        next: task.next.map(instant),
        would_run_at: task.would_run_at.map(instant),
        running_since: task.running_since.map(instant),
        late_since: task.late_since.map(instant),
        stuck_since: task.stuck_since.map(instant),
        failing_since: task.failing_since.map(instant),
        first_failure: first_failure.map(|failure| shown(app, failure.message())),
        last_success: task.last_success.map(instant),
        trigger_failure: trigger_failure.map(|failure| shown(app, failure.message())),
        last: last_of(app, task),
        ..Task::default()
    };
    add_stored_state(&mut row, app);
    row
}

/// A task by itself: its row, its next fire times, and how long its runs take.
pub(crate) fn detail(app: &App, control: &TaskControl, count: usize) -> Task {
    let task = app.snapshot(control);
    let (times, zone) = next_times(app, control, &task, count);
    let upcoming = Some(marked(&times, now(), zone));
    Task { upcoming, durations: durations(app, &task), ..row(app, &task) }
}

/// The next fire times of a task, and their zone. Where the rule does not give them, the next one at most.
pub(crate) fn next_times(
    app: &App,
    control: &TaskControl,
    task: &TaskSnapshot,
    count: usize,
) -> (Vec<DateTime<Utc>>, Zone) {
    if fires_no_ticks(app, control.name()) {
        return (Vec::new(), task.facts.zone);
    }
    let stored = stored_next_times(app, control.name(), count);
    let (mut times, zone) = stored.unwrap_or_else(|| (control.next_fire_times(count), None));
    if times.is_empty() {
        times.extend(task.next.into_iter().take(count));
    }
    (times, zone.unwrap_or(task.facts.zone))
}

/// A rule that a task might get: in words, with its next fire times.
pub(crate) fn preview(task: &str, preview: &scheduler::Preview, zone: Zone) -> Preview {
    let zone = preview.zone.unwrap_or(zone);
    let expression = preview.expression.as_deref().map(str::to_owned);
    Preview {
        task: task.to_owned(),
        kind: preview.kind.name().to_owned(),
        rule: preview.rule.to_string(),
        zone: zone.name().to_owned(),
        times: marked(&preview.fire_times, now(), zone),
        words: words(preview.kind, expression.as_deref(), &preview.rule),
        expression,
    }
}

fn pause(app: &App, task: &TaskSnapshot) -> Option<Pause> {
    task.is_paused.then(|| Pause {
        by: task.paused_by.as_deref().map(str::to_owned),
        reason: task.pause_reason.as_deref().map(|reason| app.options.redacted(reason)),
        since: task.paused_since.map(instant),
        until: task.paused_until.map(instant),
    })
}

/// The last run in any process.
fn last_of(app: &App, task: &TaskSnapshot) -> Option<LastRun> {
    let Some(end) = app.end_elsewhere(task) else {
        return task.last_runs.first().map(|run| last(app, run));
    };
    let started_at = end.started_at.unwrap_or(end.at);
    // By the clock of this process, as the ends of its own runs.
    let here = |at: StoreTime| instant(at.utc() + app.clock_offset());
    let outcome = match end.state {
        JobState::Done => "success",
        JobState::Cancelled => "cancelled",
        _ => "error",
    };
    Some(LastRun {
        started_at: here(started_at),
        ended_at: here(end.at),
        took_ms: millis(end.at.since(started_at)),
        outcome: outcome.to_owned(),
        message: end.error.as_deref().map(|error| shown(app, error)),
        ..LastRun::default()
    })
}

fn last(app: &App, run: &RunRecord) -> LastRun {
    LastRun {
        number: run.number,
        started_at: instant(run.started_at),
        ended_at: instant(run.started_at + run.took),
        took_ms: millis(run.took),
        outcome: run.outcome.name().to_owned(),
        message: run.outcome.failure().map(|failure| shown(app, failure.message())),
    }
}

/// The runs that are kept, the latest last: the first letters of their outcomes, and the times that they took.
fn kept_runs(app: &App, task: &TaskSnapshot) -> Vec<(char, Duration)> {
    let short = |outcome: &str| outcome.chars().next().unwrap_or('?');
    let log = app.recorder.with(task.name(), |log| {
        log.runs.iter().map(|run| (short(run.outcome.name()), run.took())).collect::<Vec<_>>()
    });
    log.filter(|log| log.len() >= task.last_runs.len()).unwrap_or_else(|| {
        let runs = task.last_runs.iter().rev();
        runs.map(|run| (short(run.outcome.name()), run.took)).collect()
    })
}

fn recent(app: &App, task: &TaskSnapshot) -> Recent {
    let runs = kept_runs(app, task);
    let skipped = runs.len().saturating_sub(RECENT_MAX);
    let runs = runs.into_iter().skip(skipped);
    let (outcomes, took_ms) = runs.map(|(outcome, took)| (outcome, millis(took))).unzip();
    Recent { outcomes, took_ms }
}

fn counters(task: &TaskSnapshot) -> Counters {
    let counters = &task.counters;
    Counters {
        runs: counters.runs,
        successes: counters.successes,
        failures: counters.failures(),
        cancelled: counters.cancelled,
        attempts: counters.attempts,
        skipped: Skipped {
            overlap: counters.skipped_overlap,
            limit: counters.skipped_limit,
            paused: counters.skipped_paused,
            misfire: counters.skipped_misfire,
            rescheduled: counters.skipped_rescheduled,
            refused: counters.skipped_refused,
        },
    }
}

/// The time that the runs that are kept took: the median, the 95th percentile, the longest.
fn durations(app: &App, task: &TaskSnapshot) -> Option<Durations> {
    let mut took: Vec<Duration> = kept_runs(app, task).into_iter().map(|(_, took)| took).collect();
    took.sort_unstable();
    let longest = *took.last()?;
    let at = |part: usize| millis(took[(took.len() * part / 100).min(took.len() - 1)]);
    let (p50_ms, p95_ms) = (Some(at(50)), Some(at(95)));
    Some(Durations { runs: took.len() as u64, p50_ms, p95_ms, max_ms: Some(millis(longest)) })
}

/// A rule in words, without the cron expression: `09:00, Monday to Friday`.
pub(super) fn words(kind: RuleKind, expression: Option<&str>, rule: &str) -> Option<String> {
    match kind {
        RuleKind::Cron => CronExpression::parse(expression?).ok().map(|cron| cron.describe()),
        _ => Some(rule.to_owned()),
    }
}
