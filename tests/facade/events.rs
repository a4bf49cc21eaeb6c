//! Events as data: text, serialized form, documentation, and references.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::testing::sample_events;
use scheduler::{Event, Outcome, Schedule, Scheduler, Until};

/// One line for each sample event; `UPDATE=1` writes the file anew.
#[track_caller]
fn check(file: &str, line_of: impl Fn(&Event) -> String) {
    let path = format!("{}/fixtures/events/{file}", env!("CARGO_MANIFEST_DIR"));
    let lines: String = sample_events().iter().map(|event| line_of(event) + "\n").collect();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &lines).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert_eq!(lines, expected, "{path}; UPDATE=1 writes it anew");
}

#[test]
fn each_kind_has_one_line_of_text() {
    check("text.txt", ToString::to_string);
}

#[test]
fn each_kind_has_a_serialized_form() {
    check("json.txt", |event| serde_json::to_string(event).unwrap());
}

#[test]
fn refused_and_cancelled_runs_serialize_with_their_kind() {
    let json = |outcome: Outcome| serde_json::to_string(&outcome).unwrap();
    assert_eq!(json(Outcome::Refused("locked".into())), r#"{"kind":"refused","reason":"locked"}"#);
    assert_eq!(json(Outcome::Cancelled), r#"{"kind":"cancelled"}"#);
    let refused = Outcome::Refused("locked".into());
    assert!(!refused.is_success() && !refused.is_failure());
}

#[test]
fn a_run_deserializes() {
    for event in sample_events() {
        let json = serde_json::to_value(&event).unwrap();
        let run = json.get("run").map(|run| serde_json::from_value(run.clone()).unwrap());
        assert_eq!(run.as_ref(), event.run());
    }
}

#[test]
fn the_reference_names_the_fields_of_each_kind_and_there_is_a_sample_of_each() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/events.md");
    let page = fs::read_to_string(page).unwrap();
    let check_row = |kind: &str, json: &serde_json::Value, common: &[&str]| {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{kind}` |"))).unwrap();
        for field in json.as_object().unwrap().keys() {
            let is_named = common.contains(&&**field) || row.contains(&format!("`{field}`"));
            assert!(is_named, "`{field}` is missing: {row}");
        }
    };
    let mut kinds = BTreeSet::new();
    for event in sample_events() {
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(json["event"], event.kind.name());
        check_row(event.kind.name(), &json, &["at", "task", "event"]);
        if let Some(kind) = json["what"]["kind"].as_str() {
            check_row(kind, &json["what"], &["kind"]);
        }
        kinds.insert(event.kind.name());
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/observe/event.rs");
    let names = fs::read_to_string(source).unwrap();
    assert_eq!(names.matches("} => \"").count(), kinds.len(), "a sample for each variant");
}

#[test]
fn snapshots_serialize() {
    let scheduler = Scheduler::builder()
        .messages(|_| {})
        .task("once", Schedule::once("0s"), |run| run.note("17 rows"))
        .spawn()
        .unwrap();
    scheduler.wait_for("once", Until::runs(1), Duration::from_secs(60)).unwrap();
    let json = serde_json::to_value(scheduler.tasks().get("once").unwrap().snapshot()).unwrap();
    assert_eq!(json["facts"]["name"], "once");
    assert_eq!(json["counters"]["skipped_refused"], 0);
    let run = &json["last_runs"][0];
    assert_eq!((&run["outcome"]["kind"], &run["notes"][0]), (&"success".into(), &"17 rows".into()));
    assert!(run["took_seconds"].is_f64());
    scheduler.shutdown().unwrap();
}

/// A kept event keeps no task: the value that its closure captures is dropped.
#[test]
fn kept_events_keep_nothing_alive() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (events, captured) = (Arc::clone(&kept), Arc::new(()));
    let (weak, captured) = (Arc::downgrade(&captured), captured);
    let scheduler = Scheduler::builder()
        .messages(|_| {})
        .listener(move |event: &Event| events.lock().unwrap().push(event.clone()))
        .task("tick", Schedule::fixed_delay("1ms"), move |_| drop(Arc::clone(&captured)))
        .spawn()
        .unwrap();
    scheduler.wait_for("tick", Until::runs(2), Duration::from_secs(60)).unwrap();
    scheduler.shutdown().unwrap();
    let kept = kept.lock().unwrap();
    assert!(kept.iter().filter(|event| event.run().is_some()).count() >= 4);
    assert!(weak.upgrade().is_none());
}
