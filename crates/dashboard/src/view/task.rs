//! A task as a row, by itself, and in the store.

use std::collections::BTreeMap;
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::store::{Next, StoredPause, StoredSchedule};
use scheduler::{Attribute, RuleKind, RunRecord, Schedule, TaskControl, TaskSnapshot, Zone};
use scheduler_api::{
    Counters, Durations, LastRun, Pause, Preview, Recent, Skipped, SkippedTicks, Task,
};
use scheduler_expr::CronExpression;

use crate::app::App;
use crate::store::{KnownSchedule, Store, is_paused};
use crate::times::{instant, marked, millis, now};

/// The number of runs that the sparkline shows.
const RECENT_MAX: usize = 60;
/// The most of an error that the list shows.
const MESSAGE_CHARS_MAX: usize = 300;

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
        first_failure: first_failure.map(|failure| app.options.redacted(failure.message())),
        last_success: task.last_success.map(instant),
        trigger_failure: trigger_failure.map(|failure| app.options.redacted(failure.message())),
        last: task.last_runs.first().map(|run| last(app, run)),
        ..Task::default()
    };
    add(&mut row, app);
    row
}

/// A task by itself: its row, its next fire times, and how long its runs take.
pub(crate) fn detail(app: &App, control: &TaskControl, count: usize) -> Task {
    let task = control.snapshot();
    let (times, zone) = next(app, control, &task, count);
    let upcoming = Some(marked(&times, now(), zone));
    Task { upcoming, durations: durations(app, &task), ..row(app, &task) }
}

/// The next fire times of a task, and their zone. Where the rule does not give them, the next one at most.
pub(crate) fn next(
    app: &App,
    control: &TaskControl,
    task: &TaskSnapshot,
    count: usize,
) -> (Vec<DateTime<Utc>>, Zone) {
    let stored = upcoming(app, control.name(), count);
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

fn last(app: &App, run: &RunRecord) -> LastRun {
    let message = run.outcome.failure().map(|failure| app.options.redacted(failure.message()));
    LastRun {
        number: run.number,
        started_at: instant(run.started_at),
        ended_at: instant(run.started_at + run.took),
        took_ms: millis(run.took),
        outcome: run.outcome.name().to_owned(),
        message: message.map(|message| message.chars().take(MESSAGE_CHARS_MAX).collect()),
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

/// Adds the state in the store to the row of a durable task.
pub(super) fn add(row: &mut Task, app: &App) {
    let Ok(store) = app.store() else { return };
    let Ok(control) = app.tasks.get(&row.name) else { return };
    if !control.is_durable() {
        return;
    }
    row.is_durable = Some(true);
    match store.known(&row.name) {
        KnownSchedule::Stored(schedule) => {
            add_rule(row, &control, &schedule);
            add_schedule(row, store, &schedule);
            add_pause(row, app, &schedule);
        }
        // A kind of job: its pause is in its snapshot.
        KnownSchedule::Absent => {}
        KnownSchedule::Unanswered(why) => row.store_failure = Some(why),
    }
}

/// The next ticks of a durable task, and the zone of its rule if that is a cron expression; `None` if the store has no
/// such schedule.
pub(super) fn upcoming(
    app: &App,
    name: &str,
    count: usize,
) -> Option<(Vec<DateTime<Utc>>, Option<Zone>)> {
    let store = app.store().ok()?;
    match store.known(name) {
        KnownSchedule::Stored(schedule) => {
            let zone = texts(&schedule.rule().text).get("zone").and_then(|zone| zone.parse().ok());
            Some((store.schedules().upcoming(&schedule, count), zone))
        }
        _ => None,
    }
}

fn add_rule(row: &mut Task, control: &TaskControl, schedule: &StoredSchedule) {
    let mut texts = texts(&schedule.rule().text);
    if schedule.override_rule.is_some() {
        (row.expression, row.initial_delay_ms) = (None, None);
        row.period_ms = schedule.period().map(millis);
        let preview = as_schedule(&texts).and_then(|schedule| control.preview(schedule, 0).ok());
        match preview {
            Some(preview) => {
                row.kind = preview.kind.name().to_owned();
                row.rule = preview.rule.to_string();
            }
            // A newer build has written it.
            None => row.rule.clone_from(&schedule.rule().text),
        }
    }
    if let Some(expression) = texts.remove("cron") {
        row.expression = Some(expression);
    }
    if let Some(zone) = texts.remove("zone") {
        row.zone = zone;
    }
    let kind = if row.expression.is_some() { RuleKind::Cron } else { RuleKind::None };
    row.words = words(kind, row.expression.as_deref(), &row.rule);
}

/// A rule in words, without the cron expression: `09:00, Monday to Friday`.
pub(super) fn words(kind: RuleKind, expression: Option<&str>, rule: &str) -> Option<String> {
    match kind {
        RuleKind::Cron => CronExpression::parse(expression?).ok().map(|cron| cron.describe()),
        _ => Some(rule.to_owned()),
    }
}

fn add_schedule(row: &mut Task, store: &Store, schedule: &StoredSchedule) {
    let next = store.schedules().upcoming(schedule, 1).first().copied().map(instant);
    let shown = if is_paused(schedule) { &mut row.would_run_at } else { &mut row.next };
    *shown = next;
    row.schedule = Some(scheduler_api::Schedule {
        fired: schedule.fired,
        is_overridden: schedule.override_rule.is_some(),
        is_waiting: schedule.waiting.is_some(),
        skipped: SkippedTicks {
            overlap: schedule.skips.overlap,
            missed: schedule.skips.missed,
            paused: schedule.skips.paused,
        },
        last_tick: schedule.last_fired.map(instant),
        has_ended: (schedule.next == Next::Never).then_some(true),
    });
}

fn add_pause(row: &mut Task, app: &App, schedule: &StoredSchedule) {
    if let Some(pause) = schedule.pause.as_ref().filter(|_| is_paused(schedule)) {
        show_pause(row, app, pause);
    }
}

fn show_pause(row: &mut Task, app: &App, pause: &StoredPause) {
    row.is_paused = true;
    if row.state == "waiting" {
        "paused".clone_into(&mut row.state);
    }
    row.pause = Some(pause_in(app, pause));
}

/// A pause in the store, for people.
pub(crate) fn pause_in(app: &App, pause: &StoredPause) -> Pause {
    let reason = Some(&*pause.reason).filter(|reason| !reason.is_empty());
    Pause {
        by: Some(pause.by.clone()).filter(|by| !by.is_empty()),
        reason: reason.map(|reason| app.options.redacted(reason)),
        since: Some(instant(pause.since)),
        until: pause.until.map(instant),
    }
}

/// The attributes of a rule, as a store keeps them.
fn texts(rule: &str) -> BTreeMap<String, String> {
    serde_json::from_str(rule).unwrap_or_default()
}

/// A schedule of these attributes; `None` if one is not known, or a setting of this process would replace it.
fn as_schedule(texts: &BTreeMap<String, String>) -> Option<Schedule> {
    texts.iter().try_fold(Schedule::default(), |schedule, (name, text)| {
        let attribute = Attribute::from_name(name)?;
        (!text.contains("${")).then(|| schedule.set(attribute, text))
    })
}
