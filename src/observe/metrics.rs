//! The bridge to `metrics`: counters, histograms and gauges for each task.
//!
//! Each run is measured twice: under names of our own, and as `tasks.scheduled.execution` with the labels that dashboards
//! for Spring know.
//!
//! It must never use the text of an error as a label, or show more runs in progress than there are.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

use crate::base::sync::Mutex;
use crate::observe::{Event, EventKind, Listener, Outcome, StoreEvent, TaskFacts};
use crate::run::RunInfo;

/// Writes events to the recorder of the program.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    running: Running,
}

impl Listener for Meter {
    fn on_event(&self, event: &Event) {
        if matches!(event.kind, EventKind::SchedulerStarted { .. }) {
            describe();
        }
        if let EventKind::Store { what } = &event.kind {
            counter!(STORE, "kind" => what.name()).increment(1);
            if let StoreEvent::TicksSkipped { schedule, reason, count, .. } = what {
                let (task, reason) = (Arc::clone(schedule), reason.name());
                counter!(SKIPPED, "task" => task, "reason" => reason).increment(*count);
            }
        }
        let Some(facts) = &event.task else { return };
        let task = &facts.name;
        match &event.kind {
            EventKind::TaskAdded { next, .. } => self.added(facts, *next, event.at),
            EventKind::RunStarted { run, late } => self.started(task, run, *late),
            EventKind::AttemptFailed { run, .. } if run.job.is_some() => self.ended_attempt(task),
            EventKind::RunFinished { .. } => self.finished(facts, event),
            EventKind::Skipped { reason, count, .. } => {
                let reason = reason.name();
                counter!(SKIPPED, "task" => Arc::clone(task), "reason" => reason).increment(*count);
            }
            EventKind::Paused { next, .. }
            | EventKind::Resumed { next }
            | EventKind::Enabled { next } => {
                let is_paused = matches!(event.kind, EventKind::Paused { .. });
                set(PAUSED, task, is_paused.into());
                set_next(task, *next);
            }
            EventKind::Rescheduled { next, .. } => {
                set_period(task, facts.period);
                set_next(task, *next);
            }
            EventKind::TaskEnded { .. } => self.ended(task),
            _ => {}
        }
    }
}

impl Meter {
    fn added(&self, task: &TaskFacts, next: Option<DateTime<Utc>>, at: DateTime<Utc>) {
        let name = &task.name;
        self.running.added(name);
        self.show_running(name);
        set_period(name, task.period);
        set(PAUSED, name, 0.0);
        set_next(name, next);
        set(STREAK, name, 0.0);
        // As if it had succeeded now, so that an alert on old successes fires for one that never did.
        set(LAST_SUCCESS, name, seconds(at));
    }

    /// A further attempt is no further run. That of a job may take place in another process, and so is in progress by itself.
    fn started(&self, task: &Arc<str>, run: &RunInfo, late: Duration) {
        if run.attempt > 1 && run.job.is_none() {
            return;
        }
        self.running.begin(task);
        self.show_running(task);
        if run.attempt > 1 {
            return;
        }
        histogram!(LATENESS, "task" => Arc::clone(task)).record(late.as_secs_f64());
    }

    fn ended_attempt(&self, task: &Arc<str>) {
        self.running.end(task);
        self.show_running(task);
    }

    fn finished(&self, facts: &TaskFacts, event: &Event) {
        let EventKind::RunFinished { outcome, took, next, streak, .. } = &event.kind else {
            return;
        };
        let task = &facts.name;
        self.ended_attempt(task);
        counter!(RUNS, "task" => Arc::clone(task), "outcome" => outcome.name()).increment(1);
        histogram!(DURATION, "task" => Arc::clone(task)).record(took.as_secs_f64());
        set(STREAK, task, *streak as f64);
        set(LAST_RUN, task, seconds(event.at));
        if outcome.is_success() {
            set(LAST_SUCCESS, task, seconds(event.at));
        }
        set_next(task, *next);
        finished_as_in_spring(facts, outcome, *took);
    }

    /// Sets the whole count, so that a recorder installed later is right at once.
    fn show_running(&self, task: &Arc<str>) {
        let gauge = gauge!(ACTIVE, "task" => Arc::clone(task));
        self.running.show(task, |runs| gauge.set(runs as f64));
    }

    /// Clears the gauges of a task that has ended; its counters stay.
    fn ended(&self, task: &Arc<str>) {
        if self.running.ended(task) {
            set(PAUSED, task, 0.0);
            set_next(task, None);
            set_period(task, None);
        }
    }
}

/// Describes each metric.
fn describe() {
    describe_counter!(RUNS, Unit::Count, "Runs that have ended, by outcome.");
    describe_counter!(STORE, Unit::Count, "Events of the store of durable jobs, by kind.");
    describe_counter!(SKIPPED, Unit::Count, "Fire times that started no run, by reason.");
    for (name, text) in LENGTHS {
        describe_histogram!(name, Unit::Seconds, text);
    }
    for (name, unit, text) in STATES {
        describe_gauge!(name, unit, text);
    }
    gauge!("scheduler.build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

const RUNS: &str = "scheduler.run.finished";
const STORE: &str = "scheduler.store.events";
const SKIPPED: &str = "scheduler.fire_time.skipped";
const DURATION: &str = "scheduler.run.duration";
const LATENESS: &str = "scheduler.run.lateness";
const ACTIVE: &str = "scheduler.run.active";
const PAUSED: &str = "scheduler.task.paused";
const STREAK: &str = "scheduler.task.streak";
const PERIOD: &str = "scheduler.task.period";
const LAST_RUN: &str = "scheduler.task.last_run";
const LAST_SUCCESS: &str = "scheduler.task.last_success";
const NEXT_RUN: &str = "scheduler.task.next_run";

const LENGTHS: [(&str, &str); 3] = [
    (DURATION, "From the start of a run to the end of its last attempt."),
    (LATENESS, "From the due time of a run to its start."),
    (SPRING_EXECUTION, "Runs, with the name and the labels that Spring gives them."),
];

const STATES: [(&str, Unit, &str); 8] = [
    (ACTIVE, Unit::Count, "Runs in progress."),
    (PAUSED, Unit::Count, "1 while the task is paused, otherwise 0."),
    (STREAK, Unit::Count, "Failed runs since the last success."),
    (PERIOD, Unit::Seconds, "The fixed rate or delay of the task; NaN when it has none."),
    (LAST_RUN, Unit::Seconds, "When a run ended last, in seconds since 1970."),
    (
        LAST_SUCCESS,
        Unit::Seconds,
        "When a run succeeded last, or else when the task began, in seconds since 1970.",
    ),
    (
        NEXT_RUN,
        Unit::Seconds,
        "When the task is due next, in seconds since 1970; NaN when it is not.",
    ),
    ("scheduler.build_info", Unit::Count, "1, with the version of the scheduler."),
];

const SPRING_EXECUTION: &str = "tasks.scheduled.execution";

/// The path of the function is split into the two labels that Spring has for it.
fn finished_as_in_spring(task: &TaskFacts, outcome: &Outcome, took: Duration) {
    let path = task.function.as_ref().unwrap_or(&task.name);
    let (namespace, function) = match path.rsplit_once("::") {
        Some((namespace, function)) => (namespace.replace("::", "."), function.to_owned()),
        None => ("ANONYMOUS".to_owned(), path.to_string()),
    };
    let exception = if outcome.is_failure() { outcome.name() } else { "none" };
    let outcome = match outcome {
        Outcome::Success => "SUCCESS",
        Outcome::Cancelled | Outcome::Refused(_) | Outcome::Snoozed(_) | Outcome::Lost => "UNKNOWN",
        _ => "ERROR",
    };
    histogram!(
        SPRING_EXECUTION,
        "code.function" => function,
        "code.namespace" => namespace,
        "exception" => exception,
        "outcome" => outcome,
        "error" => exception,
    )
    .record(took.as_secs_f64());
}

fn set(gauge: &'static str, task: &Arc<str>, value: f64) {
    gauge!(gauge, "task" => Arc::clone(task)).set(value);
}

/// NaN for a rule without a period.
fn set_period(task: &Arc<str>, period: Option<Duration>) {
    set(PERIOD, task, period.map_or(f64::NAN, |period| period.as_secs_f64()));
}

/// NaN, as Prometheus has it, for a task without a next run.
fn set_next(task: &Arc<str>, next: Option<DateTime<Utc>>) {
    set(NEXT_RUN, task, next.map_or(f64::NAN, seconds));
}

fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp_micros() as f64 / 1e6
}

/// The names of all tasks and of runs in progress. Others are not kept: a program may use ever new ones.
#[derive(Debug, Default)]
struct Running(Mutex<HashMap<Arc<str>, Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The name in the events of the present task, which differs by its pointer from the name of a removed task.
    present: Option<Arc<str>>,
    runs: usize,
}

impl Running {
    fn added(&self, task: &Arc<str>) {
        self.0.lock().entry(Arc::clone(task)).or_default().present = Some(Arc::clone(task));
    }

    /// Counts a run that starts.
    fn begin(&self, task: &Arc<str>) {
        self.0.lock().entry(Arc::clone(task)).or_default().runs += 1;
    }

    /// Counts the end of a run, which may have started before the bridge counted.
    fn end(&self, task: &Arc<str>) {
        let mut tasks = self.0.lock();
        if let Some(known) = tasks.get_mut(task) {
            known.runs = known.runs.saturating_sub(1);
            forget_if_over(&mut tasks, task);
        }
    }

    /// Removes a task that has ended. Returns false if another one has its name.
    fn ended(&self, task: &Arc<str>) -> bool {
        let mut tasks = self.0.lock();
        if let Some(known) = tasks.get_mut(task) {
            if known.present.as_ref().is_some_and(|present| !Arc::ptr_eq(present, task)) {
                return false;
            }
            known.present = None;
            forget_if_over(&mut tasks, task);
        }
        true
    }

    /// Calls `show` with the number of runs in progress.
    ///
    /// RACE: of two concurrent calls the last may show an old number, so each looks again.
    fn show(&self, task: &Arc<str>, show: impl Fn(usize)) {
        loop {
            let runs = self.count(task);
            show(runs);
            if self.count(task) == runs {
                return;
            }
        }
    }

    fn count(&self, task: &Arc<str>) -> usize {
        self.0.lock().get(task).map_or(0, |known| known.runs)
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

fn forget_if_over(tasks: &mut HashMap<Arc<str>, Known>, task: &Arc<str>) {
    if tasks.get(task).is_some_and(|known| known.present.is_none() && known.runs == 0) {
        tasks.remove(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Bus, BusBuilder, Failure, SkipReason, TaskState, sample};
    use metrics::{
        Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata,
        Recorder, SharedString,
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
            let kind = EventKind::Skipped {
                reason,
                first,
                last,
                count: 3,
                at_least: false,
                blocked: None,
            };
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
        let key =
            format!("{SPRING_EXECUTION}{{{function},exception=none,outcome=SUCCESS,error=none}}");
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
}
