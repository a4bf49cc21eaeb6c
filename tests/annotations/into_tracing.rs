//! A `tracing` subscriber gets events with fields, inside attempts' spans.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use crate::own_process::is_in_own_process;
use scheduler::{Attribute, ManualClock, Schedule, Scheduler, tasks};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Fields>>>);

/// The fields of an event, with its level as `level` and its parent as `parent`.
#[derive(Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Fields {
    fn get<'a>(&'a self, names: &[&'a str]) -> Vec<&'a str> {
        names.iter().map(|name| self.0.get(name).map_or("-", String::as_str)).collect()
    }
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "scheduler" && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(7)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        fields.0.insert("level", event.metadata().level().to_string());
        fields.0.extend(event.parent().map(|id| ("parent", id.into_u64().to_string())));
        self.0.lock().unwrap().push(fields);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn messages_are_events_with_fields() {
    if !is_in_own_process(messages_are_events_with_fields) {
        return;
    }
    let notes = Notes::default();
    tracing::subscriber::set_global_default(notes.clone()).unwrap();
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let builder = Scheduler::builder().tasks(tasks![]).pool_size(1).zone("UTC");
    let fail = Schedule::fixed_rate("1h").set(Attribute::RetryMax, "1").initial_delay("10s");
    let scheduler = builder
        .clock(Arc::new(clock.clone()))
        .task("tick", Schedule::fixed_rate("1h"), |_| {})
        .task("fail", fail, |_| Err::<(), _>("no luck"))
        .spawn()
        .unwrap();
    clock.await_parked(1);
    for _ in 0..2 {
        clock.advance(std::time::Duration::from_secs(10));
        clock.await_parked(1);
    }
    scheduler.shutdown().unwrap();
    let notes = notes.0.lock().unwrap();
    let (in_span, outside): (Vec<&Fields>, Vec<_>) =
        notes.iter().partition(|fields| fields.0.contains_key("parent"));
    let texts: Vec<_> =
        outside.iter().map(|fields| fields.get(&["level", "message"]).join(" ")).collect();
    let place = texts.iter().find_map(|text| text.split("; at ").nth(1)).unwrap();
    let expected = [
        "INFO scheduler 0.1.0  2 tasks · 1 thread (scheduling-1) · zone UTC (UTC+00:00)",
        "INFO task `tick`: added: every 1h; pool default; next Fri 2026-03-27 08:00:00 +00:00",
        "INFO task `fail`: added: every 1h, first after 10s; pool default; next Fri 2026-03-27 08:00:10 +00:00",
        "INFO task `tick` finished its first run in 0s; further successes are not reported",
        &format!("ERROR task `fail` failed after 10s and 2 attempts: no luck; at {place}"),
        "INFO stopping: no new runs",
        "INFO stopped after 0s: 2 runs, 1 failure",
    ];
    assert_eq!(texts, expected, "failed attempts are not logged twice");
    let next = "2026-03-27T09:00:00.000Z";
    let short = ["event", "task", "run", "attempt", "outcome", "error", "duration", "next"];
    let success = outside[3].get(&short);
    assert_eq!(success, ["run_finished", "tick", "1", "1", "success", "-", "0.0", next]);
    let added = outside[1].get(&["event", "task", "scheduler.task.schedule", "next"]);
    assert_eq!(added, ["task_added", "tick", "every 1h", "2026-03-27T08:00:00.000Z"]);
    let failed = outside[4].get(&short);
    let next = "2026-03-27T09:00:10.000Z";
    assert_eq!(failed, ["run_finished", "fail", "1", "2", "error", "no luck", "10.0", next]);
    let names = ["error.type", "exception.message", "scheduler.run.cause", "thread.name"];
    assert_eq!(outside[4].get(&names), ["error", "no luck", "schedule", "-"]);
    let inside: Vec<_> = in_span
        .iter()
        .map(|fields| {
            fields.get(&["parent", "level", "task", "attempt", "error.type", "thread.name"])
        })
        .collect();
    let attempt = |number| ["7", "WARN", "fail", number, "error", "scheduling-1"].to_vec();
    assert_eq!(inside, [attempt("1"), attempt("2")]);
}
