//! What of a durable task only the store knows: its pause, its next tick, a rule that was set by hand.

use std::collections::BTreeMap;

use scheduler::chrono::{DateTime, Utc};
use scheduler::store::{self, Timing, utc};
use scheduler::{Attribute, Schedule, TaskControl, Zone};
use serde_json::{Map, Value, json};

use super::object::put;
use super::words::words_of;
use crate::app::App;
use crate::store::{Known, Store};
use crate::times::{instant, local, millis};

/// Adds to the row of a task what the store says of it.
pub(super) fn add(row: &mut Map<String, Value>, app: &App, name: &str) {
    let Ok(store) = app.store() else { return };
    let Ok(control) = app.tasks.get(name) else { return };
    if !control.is_durable() {
        return;
    }
    row.insert("isDurable".into(), true.into());
    match store.known(name) {
        Known::Schedule(schedule) => {
            rule(row, &control, &schedule);
            state(row, app, store, &schedule);
        }
        Known::Nothing => {}
        Known::Unknown(why) => put(row, "storeFailure", Some(why)),
    }
}

/// The next ticks of a durable task, and the zone of its rule if that is a cron expression; `None` if the store says
/// nothing of it.
pub(super) fn upcoming(
    app: &App,
    name: &str,
    count: usize,
) -> Option<(Vec<DateTime<Utc>>, Option<Zone>)> {
    let store = app.store().ok()?;
    match store.known(name) {
        Known::Schedule(schedule) => {
            let zone = texts(&schedule.rule().text).get("zone").and_then(|zone| zone.parse().ok());
            Some((store.jobs().upcoming(&schedule, count), zone))
        }
        _ => None,
    }
}

fn rule(row: &mut Map<String, Value>, control: &TaskControl, schedule: &store::StoredSchedule) {
    let texts = texts(&schedule.rule().text);
    put(row, "expression", texts.get("cron").cloned());
    put(row, "zone", texts.get("zone").cloned());
    if schedule.override_rule.is_some() {
        for name in ["words", "periodMs", "initialDelayMs"] {
            row.remove(name);
        }
        let period = match schedule.rule().timing {
            Timing::Rate { period, .. } => Some(period),
            Timing::Delay { delay, .. } => Some(delay),
            _ => None,
        };
        put(row, "periodMs", period.map(millis));
        // The rule as it is written in the store, if this build does not understand it.
        let shown = written(&texts).and_then(|schedule| control.preview(schedule, 0).ok());
        put(row, "kind", shown.as_ref().map(|shown| shown.kind.name()));
        row.insert(
            "rule".into(),
            shown.as_ref().map_or(&*schedule.rule().text, |shown| &shown.rule).into(),
        );
    }
    let text =
        |row: &Map<String, Value>, name| row.get(name).and_then(Value::as_str).map(str::to_owned);
    if let (Some(rule), Some(expression), Some(zone)) =
        (text(row, "rule"), text(row, "expression"), text(row, "zone"))
    {
        put(row, "words", words_of(&rule, &expression, &zone));
    } else if let Some(rule) = text(row, "rule") {
        row.insert("words".into(), rule.into());
    }
}

fn state(row: &mut Map<String, Value>, app: &App, store: &Store, schedule: &store::StoredSchedule) {
    let zone: Zone = row["zone"].as_str().and_then(|zone| zone.parse().ok()).unwrap_or(Zone::UTC);
    let now = store::store_time(crate::clock::now());
    let pause = schedule.pause.as_ref().filter(|pause| pause.holds(now));
    let next = store.jobs().upcoming(schedule, 1).first().copied();
    let (at, text) =
        if pause.is_some() { ("wouldRunAt", "wouldRunAtLocal") } else { ("next", "nextLocal") };
    put(row, at, next.map(instant));
    put(row, text, next.map(|at| local(at, zone)));
    let mut shown = json!({
        "fired": schedule.fired,
        "isOverridden": schedule.override_rule.is_some(),
        "isWaiting": schedule.waiting.is_some(),
        "skipped": {
            "overlap": schedule.skips.overlap,
            "missed": schedule.skips.missed,
            "paused": schedule.skips.paused,
        },
    });
    if let Some(tick) = schedule.last_fired.map(utc) {
        shown["lastTick"] = instant(tick).into();
        shown["lastTickLocal"] = local(tick, zone).into();
    }
    if schedule.next == store::Next::Never {
        shown["hasEnded"] = true.into();
    }
    row.insert("schedule".into(), shown);
    let Some(pause) = pause else { return };
    row.insert("isPaused".into(), true.into());
    if row["state"] == "waiting" {
        row.insert("state".into(), "paused".into());
    }
    let end = pause.until.map(utc);
    let mut shown = Map::new();
    put(&mut shown, "by", Some(&*pause.by).filter(|by| !by.is_empty()));
    let note = Some(&*pause.reason).filter(|note| !note.is_empty());
    put(&mut shown, "note", note.map(|note| app.options.redacted(note)));
    put(&mut shown, "since", Some(instant(utc(pause.since))));
    put(&mut shown, "until", end.map(instant));
    put(&mut shown, "untilLocal", end.map(|at| local(at, zone)));
    row.insert("pause".into(), shown.into());
}

/// The attributes of a rule, as a store keeps them.
fn texts(rule: &str) -> BTreeMap<String, String> {
    serde_json::from_str(rule).unwrap_or_default()
}

/// A schedule of these attributes; `None` if one is not known, or would be replaced by a setting of this process.
fn written(texts: &BTreeMap<String, String>) -> Option<Schedule> {
    texts.iter().try_fold(Schedule::default(), |schedule, (name, text)| {
        let attribute = Attribute::from_name(name)?;
        (!text.contains("${")).then(|| schedule.set(attribute, text))
    })
}
