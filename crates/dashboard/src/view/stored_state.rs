//! The state of a durable task in the store, and pauses there.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler::chrono::{DateTime, Utc};
use scheduler::store::{Next, StoredPause, StoredSchedule};
use scheduler::{Attribute, RuleKind, Schedule, TaskControl, Zone};
use scheduler_api::{Pause, SkippedTicks, Task};

use super::{shown, task::words};
use crate::app::App;
use crate::store::{KnownSchedule, Store};
use crate::times::{instant, millis};

/// Adds the state in the store to the row of a durable task.
pub(super) fn add_stored_state(row: &mut Task, app: &App) {
    let Ok(store) = app.store() else { return };
    let Ok(control) = app.tasks.get(&row.name) else { return };
    if !control.is_durable() {
        return;
    }
    row.is_durable = Some(true);
    match store.known(&row.name) {
        KnownSchedule::Stored(schedule) => {
            add_rule(row, &control, &schedule);
            add_schedule(row, app, store, &schedule);
            add_pause(row, app, store, &schedule);
            if let (None, Some(retrying)) = (&row.first_failure, store.retrying(&row.name)) {
                row.first_failure = Some(shown(app, &retrying.first_error));
            }
            row.store_failure = store.tick_failure();
            row.next = row.next.take().filter(|_| row.store_failure.is_none());
        }
        // A kind of job: its pause is in its snapshot.
        KnownSchedule::Absent => {}
        KnownSchedule::Unanswered(why) => row.store_failure = Some(why),
    }
}

/// True of a durable schedule while this process fires no ticks.
pub(super) fn fires_no_ticks(app: &App, name: &str) -> bool {
    let is_down = |store: &&Arc<Store>| store.tick_failure().is_some();
    let store = app.store().ok().filter(is_down);
    store.is_some_and(|store| matches!(store.known(name), KnownSchedule::Stored(_)))
}

/// The next ticks of a durable task, and the zone of its rule if that is a cron expression; `None` if the store has no
/// such schedule.
pub(super) fn stored_next_times(
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

/// The text of a rule in the store as people read it; another text stays as it is.
pub(super) fn rule_in_words(app: &App, task: Option<&str>, text: &str) -> String {
    let texts = texts(text);
    let control = task.and_then(|task| app.tasks.get(task).ok()).filter(|_| !texts.is_empty());
    let preview = control.and_then(|control| control.preview(as_schedule(&texts)?, 0).ok());
    preview.map_or_else(|| text.to_owned(), |preview| preview.rule.to_string())
}

fn add_schedule(row: &mut Task, app: &App, store: &Store, schedule: &StoredSchedule) {
    let next = store.schedules().upcoming(schedule, 1).first().copied().map(instant);
    let shown = if store.is_paused(schedule) { &mut row.would_run_at } else { &mut row.next };
    *shown = next;
    let overridden = schedule.overridden.as_ref();
    row.schedule = Some(scheduler_api::Schedule {
        fired: schedule.fired,
        is_overridden: schedule.override_rule.is_some(),
        is_waiting: schedule.waiting.is_some(),
        skipped: SkippedTicks {
            overlap: schedule.skips.overlap,
            limit: schedule.skips.limit,
            missed: schedule.skips.missed,
            paused: schedule.skips.paused,
        },
        last_tick: schedule.last_fired.map(instant),
        has_ended: (schedule.next == Next::Never).then_some(true),
        overridden_by: overridden.map(|rule| rule.by.clone()).filter(|by| !by.is_empty()),
        overridden_at: overridden.map(|rule| instant(rule.since)),
        rule_before: overridden.map(|rule| rule_in_words(app, Some(&row.name), &rule.before)),
    });
}

fn add_pause(row: &mut Task, app: &App, store: &Store, schedule: &StoredSchedule) {
    let Some(pause) = schedule.pause.as_ref().filter(|_| store.is_paused(schedule)) else { return };
    row.is_paused = true;
    if row.state == "waiting" {
        "paused".clone_into(&mut row.state);
    }
    row.pause = Some(pause_in(app, pause));
}

/// A pause in the store, for people.
pub(super) fn pause_in(app: &App, pause: &StoredPause) -> Pause {
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
