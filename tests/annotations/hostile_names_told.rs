//! Hostile names (F-RG2) in `log`, `tracing` and `metrics`.
//!
//! Loggers, subscribers and recorders are those of a process, so this is one test.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::hostile_names;
use crate::own_process::is_in_own_process;
use log::{LevelFilter, Log};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Recorder, SharedString, Unit};
use scheduler::{ManualClock, Schedule, Scheduler, tasks};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};

/// Records and events, each as its level and its text.
static WORDS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
/// Fields of spans, by their names.
static FIELDS: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());
/// Labels of metrics: the metric, the label, its value.
static LABELS: Mutex<BTreeSet<[String; 3]>> = Mutex::new(BTreeSet::new());

struct Logger;

impl Log for Logger {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "scheduler"
    }

    fn log(&self, record: &log::Record<'_>) {
        let words = (record.level().to_string(), record.args().to_string());
        WORDS.lock().unwrap().push(words);
    }

    fn flush(&self) {}
}

struct Traces;

/// Keeps each field as its text, without the quotes that `Debug` gives a text.
#[derive(Default)]
struct Fields(Vec<(&'static str, String)>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

impl Subscriber for Traces {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "scheduler"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        FIELDS.lock().unwrap().extend(fields.0);
        Id::from_u64(1)
    }

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = event.metadata().level().to_string();
        let texts = fields.0.into_iter().filter(|(name, _)| *name == "message");
        WORDS.lock().unwrap().extend(texts.map(|(_, text)| (level.clone(), text)));
    }

    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Labels;

impl Labels {
    fn note(key: &Key) {
        let labels = key.labels().map(|label| [key.name(), label.key(), label.value()]);
        LABELS.lock().unwrap().extend(labels.map(|label| label.map(str::to_owned)));
    }
}

impl Recorder for Labels {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &metrics::Metadata<'_>) -> Counter {
        Self::note(key);
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &metrics::Metadata<'_>) -> Gauge {
        Self::note(key);
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &metrics::Metadata<'_>) -> Histogram {
        Self::note(key);
        Histogram::noop()
    }
}

/// Runs a failing task of each odd name, tries to add others, and says what was said.
fn play() -> Vec<(String, String)> {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let mut builder = Scheduler::builder()
        .tasks(tasks![])
        .pool_size(1)
        .zone("UTC")
        .environment([("PATH", "")])
        .settings("none.toml", "")
        .clock(Arc::new(clock.clone()));
    for name in hostile_names::ODD {
        builder = builder.task(name, Schedule::once("1s"), |_| Err::<(), _>("no luck"));
    }
    let scheduler = builder.spawn().unwrap();
    let long = hostile_names::long();
    for name in hostile_names::FORGING.into_iter().chain(["", &long]) {
        let refused = scheduler.tasks().add(name, Schedule::once("1s"), |_| {}).unwrap_err();
        refused.to_string().lines().for_each(check_line);
        assert!(scheduler.tasks().get(name).is_err());
    }
    clock.await_parked(1);
    clock.advance(Duration::from_secs(1));
    clock.await_parked(1);
    scheduler.shutdown().unwrap();
    std::mem::take(&mut *WORDS.lock().unwrap())
}

#[track_caller]
fn check_line(line: &str) {
    let is_hostile = |c: char| c.is_control() || c == '\u{202E}';
    assert!(!line.contains(is_hostile) && line.chars().count() < 400, "{line:?}");
    assert!(!line.starts_with("ERROR forged"), "{line:?}");
}

/// Holds that each failure is one record, of one line, with the name as it is.
fn check_words(said: &[(String, String)]) {
    for (_, text) in said {
        text.lines().for_each(check_line);
    }
    for name in hostile_names::ODD {
        let begin = format!("task `{name}` failed after ");
        let told: Vec<_> = said.iter().filter(|(_, text)| text.contains(&begin)).collect();
        assert_eq!(told.len(), 1, "{name}: {said:#?}");
        assert_eq!(told[0].0, "ERROR");
        assert!(told[0].1.starts_with(&begin) && told[0].1.lines().count() == 1, "{told:?}");
    }
    let errors = said.iter().filter(|(level, _)| level == "ERROR").count();
    assert_eq!(errors, hostile_names::ODD.len(), "no name forges one: {said:#?}");
}

#[test]
fn f_rg2_hostile_names_stay_what_they_are_in_records_events_spans_and_labels() {
    if !is_in_own_process(f_rg2_hostile_names_stay_what_they_are_in_records_events_spans_and_labels)
    {
        return;
    }
    metrics::set_global_recorder(Labels).unwrap();
    log::set_logger(&Logger).unwrap();
    log::set_max_level(LevelFilter::Debug);
    check_words(&play());
    // From now on words go there.
    tracing::subscriber::set_global_default(Traces).unwrap();
    check_words(&play());

    let all = BTreeSet::from(hostile_names::ODD.map(str::to_owned));
    let fields = FIELDS.lock().unwrap();
    let values = |name: &str| -> BTreeSet<String> {
        let of_name = fields.iter().filter(|(field, _)| *field == name);
        of_name.map(|(_, value)| value.clone()).collect()
    };
    assert_eq!(values("scheduler.task.name"), all);
    assert_eq!(values("otel.name"), all.iter().map(|name| format!("task {name}")).collect());

    let labels = LABELS.lock().unwrap();
    let metrics: BTreeSet<&str> = labels.iter().map(|[metric, ..]| &**metric).collect();
    for metric in metrics {
        let of_name = |key: &str| -> BTreeSet<String> {
            let own = labels.iter().filter(|[own, label, _]| own == metric && label == key);
            own.map(|[_, _, value]| value.clone()).collect()
        };
        match metric {
            "scheduler.build_info" => assert_eq!(of_name("task"), BTreeSet::new()),
            "tasks.scheduled.execution" => assert_eq!(of_name("code.function"), all),
            _ => assert_eq!(of_name("task"), all, "{metric}"),
        }
    }
    let runs = labels.iter().filter(|[metric, ..]| metric == "scheduler.run.finished");
    assert_eq!(runs.filter(|[_, label, _]| label == "task").count(), all.len());
}
