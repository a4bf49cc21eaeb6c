//! The metrics of samples, and of a scheduler.

use super::*;
use crate::observe::{Bus, BusBuilder, Failure, SkipReason, TaskState, sample};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString,
};
use scheduler_core::ManualClock;
use std::collections::{BTreeMap, BTreeSet};

use crate::base::sync::Mutex;

/// Each metric with its labels, and its values: counters and gauges as their present value.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<String, Vec<f64>>>>, Described, Arc<Mutex<BTreeSet<String>>>);

/// The texts that describe metrics, by kind and name.
type Described = Arc<Mutex<BTreeMap<String, String>>>;

struct Metric(String, Notes);

impl Notes {
    fn metric(&self, key: &Key) -> Arc<Metric> {
        let labels = key.labels().map(|label| format!("{}={}", label.key(), label.value()));
        let labels: Vec<String> = labels.collect();
        Arc::new(Metric(format!("{}{{{}}}", key.name(), labels.join(",")), self.clone()))
    }

    fn describe(&self, kind: &str, name: &KeyName, text: &SharedString) {
        let key = format!("{kind} {}", name.as_str());
        self.1.lock().insert(key, text.to_string());
    }

    fn get(&self, key: &str) -> Vec<f64> {
        self.0.lock().get(key).cloned().unwrap_or_default()
    }
}

impl Metric {
    fn change(&self, change: impl FnOnce(f64) -> f64) {
        let mut all = self.1.0.lock();
        let values = all.entry(self.0.clone()).or_default();
        *values = vec![change(values.first().copied().unwrap_or_default())];
    }
}

impl CounterFn for Metric {
    fn increment(&self, value: u64) {
        self.change(|before| before + value as f64);
    }

    fn absolute(&self, value: u64) {
        self.change(|_| value as f64);
    }
}

impl GaugeFn for Metric {
    fn increment(&self, value: f64) {
        self.change(|before| before + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|before| before - value);
    }

    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

impl HistogramFn for Metric {
    fn record(&self, value: f64) {
        self.1.0.lock().entry(self.0.clone()).or_default().push(value);
    }
}

impl Recorder for Notes {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe("counter", &name, &text);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe("gauge", &name, &text);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe("histogram", &name, &text);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.2.lock().insert(format!("counter {}", key.name()));
        Counter::from_arc(self.metric(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.2.lock().insert(format!("gauge {}", key.name()));
        Gauge::from_arc(self.metric(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.2.lock().insert(format!("histogram {}", key.name()));
        Histogram::from_arc(self.metric(key))
    }
}

fn bus() -> Bus {
    let builder = BusBuilder::new().in_place(Arc::new(Meter::default()));
    builder.build(Arc::new(ManualClock::new())).unwrap()
}

fn started(number: u64, attempt: u32) -> Event {
    let (run, late) = (sample::info(number, attempt), Duration::from_secs(2));
    sample::event("tick", 0, EventKind::RunStarted { run, late })
}

#[test]
fn each_metric_is_described_and_nothing_else_is() {
    let notes = story();
    let described = notes.1.lock();
    let registered = notes.2.lock();
    assert!(described.keys().eq(registered.iter()), "{described:#?} {registered:#?}");
    for (name, text) in &*described {
        assert!(text.len() > 10 && text.ends_with('.'), "{name}: `{text}`");
    }
}

/// The life of a task that has all metrics.
fn story() -> Notes {
    let (notes, bus) = (Notes::default(), bus());
    metrics::with_local_recorder(&notes, || {
        bus.emit(added(&sample::facts("tick"), None));
        bus.emit(Event::global(sample::at(0), EventKind::SchedulerStarted { tasks: 1 }));
        let success = Outcome::Success;
        let what = StoreEvent::TookOver { sessions: vec!["one".into()] };
        bus.emit(Event::global(sample::at(0), EventKind::Store { what }));
        bus.emit(started(1, 1));
        bus.emit(sample::finished("tick", (1, 1), success, 0, 1_000));
        let failure: Outcome = Failure::from_panic("no", None).into();
        bus.emit(started(2, 1));
        bus.emit(started(2, 2));
        bus.emit(sample::finished("tick", (2, 2), failure, 1, 2_000));
        bus.emit(started(3, 1));
        let (reason, first, last) = (SkipReason::Overlap, sample::at(0), sample::at(2));
        let kind =
            EventKind::Skipped { reason, first, last, count: 3, at_least: false, blocked: None };
        bus.emit(sample::event("tick", 0, kind));
        let next = Some(sample::at(3_600_000));
        let kind = EventKind::Paused { by: None, reason: None, until: None, next };
        bus.emit(sample::event("tick", 0, kind));
    });
    notes
}

#[test]
fn a_task_is_measured_in_native_names() {
    let notes = story();
    let second = sample::at(0).timestamp() as f64;
    let of_tick = |name: &str| notes.get(&format!("scheduler.{name}{{task=tick}}"));
    assert_eq!(notes.get("scheduler.run.finished{task=tick,outcome=success}"), [1.0]);
    assert_eq!(notes.get("scheduler.run.finished{task=tick,outcome=panic}"), [1.0]);
    assert_eq!(notes.get("scheduler.fire_time.skipped{task=tick,reason=overlap}"), [3.0]);
    assert_eq!(of_tick("run.duration"), [0.012, 0.012]);
    assert_eq!(of_tick("run.lateness"), [2.0, 2.0, 2.0], "an attempt is no run");
    assert_eq!(of_tick("run.active"), [1.0]);
    assert_eq!(of_tick("task.paused"), [1.0]);
    assert_eq!(of_tick("task.streak"), [1.0]);
    assert_eq!(of_tick("task.period"), [1.0]);
    assert_eq!(of_tick("task.last_success"), [second + 1.0]);
    assert_eq!(of_tick("task.last_run"), [second + 2.0]);
    assert_eq!(of_tick("task.next_run"), [second + 3_600.0]);
    assert_eq!(notes.get("scheduler.build_info{version=0.1.0}"), [1.0]);
}

#[test]
fn a_task_is_measured_as_in_spring() {
    let (notes, bus) = (Notes::default(), bus());
    metrics::with_local_recorder(&notes, || {
        bus.emit(added(&sample::facts("tick"), None));
        for outcome in [Outcome::Success, sample::error("no").into(), Outcome::Cancelled] {
            bus.emit(sample::finished("tick", (1, 1), outcome, 0, 0));
        }
        let facts = TaskFacts { function: None, ..TaskFacts::clone(&sample::facts("closure")) };
        let finished = sample::finished("", (1, 1), Outcome::Success, 0, 0);
        bus.emit(Event { task: Some(Arc::new(facts)), ..finished });
    });
    let spring = |function: &str, exception: &str, outcome: &str| {
        let error = format!("exception={exception},outcome={outcome},error={exception}");
        notes.get(&format!("tasks.scheduled.execution{{{function},{error}}}"))
    };
    let function = "code.function=work,code.namespace=shop.jobs";
    assert_eq!(spring(function, "none", "SUCCESS"), [0.012]);
    assert_eq!(spring(function, "error", "ERROR"), [0.012]);
    assert_eq!(spring(function, "none", "UNKNOWN"), [0.012]);
    let closure = "code.function=closure,code.namespace=ANONYMOUS";
    assert_eq!(spring(closure, "none", "SUCCESS"), [0.012]);
}

fn added(facts: &Arc<TaskFacts>, next: Option<u64>) -> Event {
    let next = next.map(|second| sample::at(second * 1_000));
    Event::of(sample::at(0), facts, EventKind::TaskAdded { is_disabled: false, next })
}

fn ended(facts: &Arc<TaskFacts>) -> Event {
    Event::of(sample::at(0), facts, EventKind::TaskEnded { state: TaskState::Cancelled })
}

fn gauge_of_tick(notes: &Notes, name: &str) -> f64 {
    let values = notes.get(&format!("scheduler.{name}{{task=tick}}"));
    assert_eq!(values.len(), 1, "{name}: {values:?}");
    values[0]
}

#[test]
fn a_task_that_is_removed_during_a_run_and_added_again_counts_its_runs() {
    let (notes, meter) = (Notes::default(), Meter::default());
    let (old, new) = (sample::facts("tick"), sample::facts("tick"));
    let running = |notes: &Notes| gauge_of_tick(notes, "run.active");
    metrics::with_local_recorder(&notes, || {
        meter.on_event(&added(&old, None));
        meter.on_event(&started(1, 1));
        meter.on_event(&added(&new, Some(5)));
        assert_eq!(running(&notes), 1.0, "the run of the old task is in progress");
        meter.on_event(&started(1, 1));
        assert_eq!(running(&notes), 2.0);
        meter.on_event(&sample::finished("tick", (1, 1), Outcome::Success, 0, 0));
        assert_eq!(running(&notes), 1.0);
        meter.on_event(&ended(&old));
        assert!(!gauge_of_tick(&notes, "task.next_run").is_nan(), "the new one's");
        meter.on_event(&sample::finished("tick", (1, 1), Outcome::Success, 0, 0));
        assert_eq!(running(&notes), 0.0);
        meter.on_event(&ended(&new));
        assert!(gauge_of_tick(&notes, "task.next_run").is_nan());
    });
    assert!(meter.running.is_empty(), "nothing is kept of either: {meter:?}");
}

#[test]
fn nothing_is_kept_of_a_task_whose_last_run_outlives_it() {
    let (notes, meter) = (Notes::default(), Meter::default());
    let tick = sample::facts("tick");
    metrics::with_local_recorder(&notes, || {
        meter.on_event(&added(&tick, None));
        meter.on_event(&started(1, 1));
        meter.on_event(&ended(&tick));
        assert_eq!(gauge_of_tick(&notes, "run.active"), 1.0);
        meter.on_event(&sample::finished("tick", (1, 1), Outcome::Success, 0, 0));
    });
    assert_eq!(gauge_of_tick(&notes, "run.active"), 0.0);
    let function = "code.function=work,code.namespace=shop.jobs";
    let key = format!("{SPRING_EXECUTION}{{{function},exception=none,outcome=SUCCESS,error=none}}");
    assert_eq!(notes.get(&key), [0.012]);
    assert!(meter.running.is_empty(), "{meter:?}");
}

#[test]
fn runs_that_begin_and_end_at_the_same_time_are_counted() {
    let (notes, meter) = (Notes::default(), Meter::default());
    meter.on_event(&added(&sample::facts("tick"), None));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                metrics::with_local_recorder(&notes, || {
                    for number in 1..=500 {
                        meter.on_event(&started(number, 1));
                        let outcome = Outcome::Success;
                        meter.on_event(&sample::finished("tick", (number, 1), outcome, 0, 0));
                    }
                });
            });
        }
    });
    assert_eq!(gauge_of_tick(&notes, "run.active"), 0.0);
}

#[test]
fn a_pause_a_new_rule_and_the_end_show_when_a_task_is_due_next() {
    let (notes, meter) = (Notes::default(), Meter::default());
    let tick = sample::facts("tick");
    let next = |notes: &Notes| gauge_of_tick(notes, "task.next_run");
    let second = |second: u64| sample::at(second * 1_000).timestamp() as f64;
    let of = |kind| Event::of(sample::at(0), &tick, kind);
    let pause = |next| of(EventKind::Paused { by: None, reason: None, until: None, next });
    metrics::with_local_recorder(&notes, || {
        meter.on_event(&added(&tick, Some(5)));
        assert_eq!(next(&notes), second(5), "before the first run");
        meter.on_event(&pause(None));
        assert!(next(&notes).is_nan());
        meter.on_event(&pause(Some(sample::at(9_000))));
        assert_eq!(next(&notes), second(9));
        meter.on_event(&of(EventKind::Resumed { next: Some(sample::at(7_000)) }));
        assert_eq!((next(&notes), gauge_of_tick(&notes, "task.paused")), (second(7), 0.0));
        assert_eq!(gauge_of_tick(&notes, "task.period"), 1.0);
        let facts = Arc::new(TaskFacts { period: None, ..TaskFacts::clone(&tick) });
        let (rule, next_run) = (Arc::clone(&facts.rule), Some(sample::at(8_000)));
        let kind = EventKind::Rescheduled { rule, next: next_run };
        meter.on_event(&Event::of(sample::at(0), &facts, kind));
        assert_eq!(next(&notes), second(8));
        assert!(gauge_of_tick(&notes, "task.period").is_nan(), "it has none");
        meter.on_event(&pause(None));
        meter.on_event(&ended(&tick));
        assert_eq!(gauge_of_tick(&notes, "task.paused"), 0.0);
    });
}

/// A task that never succeeded has to look as old as the process, for alerts.
#[test]
fn the_last_success_is_at_first_the_start() {
    let (notes, bus) = (Notes::default(), bus());
    metrics::with_local_recorder(&notes, || {
        bus.emit(added(&sample::facts("tick"), None));
        bus.emit(ended(&sample::facts("tick")));
    });
    let start = sample::at(0).timestamp() as f64;
    let key = "scheduler.task.last_success{task=tick}";
    assert_eq!(notes.get(key), [start]);
    assert!(notes.get("scheduler.task.next_run{task=tick}")[0].is_nan());
}
