//! The bridge to `metrics`: counters, histograms and gauges for each task.
//!
//! The only file that knows that crate; `metrics_off` stands in its place without the feature.
//!
//! Each run is told twice: in names of our own, and as `tasks.scheduled.execution` with the labels that
//! dashboards for Spring know. Texts of errors are never labels.

mod roster;

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use metrics::Unit;
use metrics::counter;
use metrics::describe_counter;
use metrics::describe_gauge;
use metrics::describe_histogram;
use metrics::gauge;
use metrics::histogram;

use self::roster::Function;
use self::roster::Roster;
use self::roster::Running;
use super::Event;
use super::Listener;
use super::Outcome;
use super::TaskFacts;
use crate::run::Run;

/// Hands what happens to the recorder of the program.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    roster: Roster,
}

/// The listener for the recorder of the program.
pub(crate) fn meter() -> Option<Arc<dyn Listener>> {
    Some(Arc::new(Meter::default()))
}

impl Listener for Meter {
    fn on_event(&self, event: &Event) {
        match event {
            Event::SchedulerStarted { .. } => describe(),
            Event::TaskAdded { task, next, at, .. } => self.added(task, *next, *at),
            Event::RunStarted { run, late } => self.started(run, late.as_secs_f64()),
            Event::RunFinished { run, .. } => self.finished(run, event),
            Event::Skipped { task, reason, count, .. } => {
                let (task, reason) = (Arc::clone(task), reason.name());
                counter!("scheduler_task_skipped_total", "task" => task, "reason" => reason)
                    .increment(*count);
            }
            Event::Paused { task, next, .. } => {
                set_paused(task, true);
                set_next(task, *next);
            }
            Event::Resumed { task, next, .. } | Event::Enabled { task, next, .. } => {
                set_paused(task, false);
                set_next(task, *next);
            }
            Event::Rescheduled { task, facts, next, .. } => {
                set_period(task, facts.period);
                set_next(task, *next);
            }
            Event::TaskEnded { task, .. } => self.ended(task),
            _ => {}
        }
    }
}

impl Meter {
    fn added(&self, task: &TaskFacts, next: Option<DateTime<Utc>>, at: DateTime<Utc>) {
        let name = &task.name;
        show_running(name, &self.roster.added(task));
        set_period(name, task.period);
        set_paused(name, false);
        set_next(name, next);
        gauge!("scheduler_task_consecutive_failures", "task" => Arc::clone(name)).set(0.0);
        // As if it had succeeded now, so that an alert on old successes fires for one that never did.
        gauge!("scheduler_task_last_success_timestamp_seconds", "task" => Arc::clone(name))
            .set(seconds(at));
    }

    /// A further attempt is no further run.
    fn started(&self, run: &Run, late: f64) {
        if run.attempt() > 1 {
            return;
        }
        let task = run.name();
        show_running(task, &self.roster.begin(task));
        histogram!("scheduler_task_start_delay_seconds", "task" => Arc::clone(task)).record(late);
    }

    fn finished(&self, run: &Run, event: &Event) {
        finished(event);
        let task = run.name();
        let function = match self.roster.end(task) {
            Some((function, running)) => {
                show_running(task, &running);
                function
            }
            None => Function::without_path(task),
        };
        finished_as_in_spring(function, event);
    }

    /// Clears what would go on being shown of a task that is no more; what it has done stays true.
    fn ended(&self, task: &Arc<str>) {
        if self.roster.ended(task) {
            set_paused(task, false);
            set_next(task, None);
            set_period(task, None);
        }
    }
}

/// What each metric tells, for people who look at all there are.
fn describe() {
    describe_counter!(
        "scheduler_task_runs_total",
        Unit::Count,
        "Runs that have ended, by outcome."
    );
    let skipped = "Fire times that started no run, by reason.";
    describe_counter!("scheduler_task_skipped_total", Unit::Count, skipped);
    for (name, text) in LENGTHS {
        describe_histogram!(name, Unit::Seconds, text);
    }
    for (name, unit, text) in STATES {
        describe_gauge!(name, unit, text);
    }
    gauge!("scheduler_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

const LENGTHS: [(&str, &str); 3] = [
    ("scheduler_task_duration_seconds", "From the start of a run to the end of its last attempt."),
    ("scheduler_task_start_delay_seconds", "From the instant at which a run was due to its start."),
    (SPRING_EXECUTION, "Runs, with the name and the labels that Spring gives them."),
];

const STATES: [(&str, Unit, &str); 8] = [
    ("scheduler_task_running", Unit::Count, "Runs in progress."),
    ("scheduler_task_paused", Unit::Count, "1 while the task is paused, otherwise 0."),
    ("scheduler_task_consecutive_failures", Unit::Count, "Failed runs since the last success."),
    (
        "scheduler_task_period_seconds",
        Unit::Seconds,
        "The fixed rate or delay of the task; NaN when it has none.",
    ),
    (
        "scheduler_task_last_run_timestamp_seconds",
        Unit::Seconds,
        "When a run ended last, in seconds since 1970.",
    ),
    (
        "scheduler_task_last_success_timestamp_seconds",
        Unit::Seconds,
        "When a run succeeded last, or else when the task began, in seconds since 1970.",
    ),
    (
        "scheduler_task_next_run_timestamp_seconds",
        Unit::Seconds,
        "When the task is due next, in seconds since 1970; NaN when it is not.",
    ),
    ("scheduler_build_info", Unit::Count, "1, with the version of the scheduler."),
];

const SPRING_EXECUTION: &str = "tasks.scheduled.execution";

fn finished(event: &Event) {
    let Event::RunFinished { run, outcome, took, next, streak, at } = event else { return };
    let task: Arc<str> = run.task_name().into();
    let label = || Arc::clone(&task);
    counter!("scheduler_task_runs_total", "task" => label(), "outcome" => outcome.name())
        .increment(1);
    histogram!("scheduler_task_duration_seconds", "task" => label()).record(took.as_secs_f64());
    gauge!("scheduler_task_consecutive_failures", "task" => label()).set(*streak as f64);
    gauge!("scheduler_task_last_run_timestamp_seconds", "task" => label()).set(seconds(*at));
    if outcome.is_success() {
        gauge!("scheduler_task_last_success_timestamp_seconds", "task" => label())
            .set(seconds(*at));
    }
    set_next(&task, *next);
}

fn finished_as_in_spring(function: Function, event: &Event) {
    let Event::RunFinished { outcome, took, .. } = event else { return };
    let exception = if outcome.is_failure() { outcome.name() } else { "none" };
    let outcome = match outcome {
        Outcome::Success => "SUCCESS",
        Outcome::Cancelled => "UNKNOWN",
        _ => "ERROR",
    };
    histogram!(
        SPRING_EXECUTION,
        "code.function" => function.name,
        "code.namespace" => function.namespace,
        "exception" => exception,
        "outcome" => outcome,
        "error" => exception,
    )
    .record(took.as_secs_f64());
}

/// A recorder that was installed late is right at once, too.
fn show_running(task: &Arc<str>, running: &Running) {
    let gauge = gauge!("scheduler_task_running", "task" => Arc::clone(task));
    running.show(|count| gauge.set(count as f64));
}

fn set_paused(task: &Arc<str>, is_paused: bool) {
    let paused = if is_paused { 1.0 } else { 0.0 };
    gauge!("scheduler_task_paused", "task" => Arc::clone(task)).set(paused);
}

/// A task with another rule has no period; as for a time that is not there, it is not a number then.
fn set_period(task: &Arc<str>, period: Option<Duration>) {
    let period = period.map_or(f64::NAN, |period| period.as_secs_f64());
    gauge!("scheduler_task_period_seconds", "task" => Arc::clone(task)).set(period);
}

/// A task that fires no more has no next time: Prometheus' idiom for that is not a number.
fn set_next(task: &Arc<str>, next: Option<DateTime<Utc>>) {
    let next = next.map_or(f64::NAN, seconds);
    gauge!("scheduler_task_next_run_timestamp_seconds", "task" => Arc::clone(task)).set(next);
}

fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp_micros() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Bus;
    use crate::observe::BusBuilder;
    use crate::observe::Failure;
    use crate::observe::SkipReason;
    use crate::observe::TaskState;
    use crate::observe::sample;
    use metrics::Counter;
    use metrics::CounterFn;
    use metrics::Gauge;
    use metrics::GaugeFn;
    use metrics::Histogram;
    use metrics::HistogramFn;
    use metrics::Key;
    use metrics::KeyName;
    use metrics::Metadata;
    use metrics::Recorder;
    use metrics::SharedString;
    use scheduler_core::ManualClock;
    use std::collections::BTreeMap;
    use std::collections::BTreeSet;

    use crate::sync::Mutex;

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
            self.1.lock().unwrap().insert(key, text.to_string());
        }

        fn get(&self, key: &str) -> Vec<f64> {
            self.0.lock().unwrap().get(key).cloned().unwrap_or_default()
        }
    }

    impl Metric {
        fn change(&self, change: impl FnOnce(f64) -> f64) {
            let mut all = self.1.0.lock().unwrap();
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
            self.1.0.lock().unwrap().entry(self.0.clone()).or_default().push(value);
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
            self.2.lock().unwrap().insert(format!("counter {}", key.name()));
            Counter::from_arc(self.metric(key))
        }

        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            self.2.lock().unwrap().insert(format!("gauge {}", key.name()));
            Gauge::from_arc(self.metric(key))
        }

        fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
            self.2.lock().unwrap().insert(format!("histogram {}", key.name()));
            Histogram::from_arc(self.metric(key))
        }
    }

    fn bus() -> Bus {
        let builder = meter().into_iter().fold(BusBuilder::new(), BusBuilder::in_place);
        builder.build(Arc::new(ManualClock::new())).unwrap()
    }

    fn started(number: u64, attempt: u32) -> Event {
        Event::RunStarted {
            run: sample::run("tick", number, attempt),
            late: Duration::from_secs(2),
        }
    }

    #[test]
    fn each_metric_is_described_and_nothing_else_is() {
        let notes = story();
        let described = notes.1.lock().unwrap();
        let registered = notes.2.lock().unwrap();
        assert!(described.keys().eq(registered.iter()), "{described:#?} {registered:#?}");
        for (name, text) in &*described {
            assert!(text.len() > 10 && text.ends_with('.'), "{name}: `{text}`");
        }
    }

    /// What a task does that has all metrics.
    fn story() -> Notes {
        let (notes, bus) = (Notes::default(), bus());
        metrics::with_local_recorder(&notes, || {
            bus.emit(added(&sample::facts("tick"), None));
            bus.emit(Event::SchedulerStarted { at: sample::at(0), tasks: 1 });
            let success = Outcome::Success;
            bus.emit(started(1, 1));
            bus.emit(sample::finished(sample::run("tick", 1, 1), success, 0, 1_000));
            let failure: Outcome = Failure::from_panic("no", None).into();
            bus.emit(started(2, 1));
            bus.emit(started(2, 2));
            bus.emit(sample::finished(sample::run("tick", 2, 2), failure, 1, 2_000));
            bus.emit(started(3, 1));
            let (reason, at) = (SkipReason::Overlap, sample::at(0));
            let task: Arc<str> = "tick".into();
            bus.emit(Event::Skipped {
                task: Arc::clone(&task),
                reason,
                fire_time: at,
                count: 3,
                at,
            });
            bus.emit(Event::Paused {
                task,
                note: None,
                until: None,
                next: Some(sample::at(3_600_000)),
                at,
            });
        });
        notes
    }

    #[test]
    fn a_task_is_measured_in_native_names() {
        let notes = story();
        let second = sample::at(0).timestamp() as f64;
        let of_tick = |name: &str| notes.get(&format!("scheduler_task_{name}{{task=tick}}"));
        assert_eq!(notes.get("scheduler_task_runs_total{task=tick,outcome=success}"), [1.0]);
        assert_eq!(notes.get("scheduler_task_runs_total{task=tick,outcome=panic}"), [1.0]);
        assert_eq!(notes.get("scheduler_task_skipped_total{task=tick,reason=overlap}"), [3.0]);
        assert_eq!(of_tick("duration_seconds"), [0.012, 0.012]);
        assert_eq!(of_tick("start_delay_seconds"), [2.0, 2.0, 2.0], "an attempt is no run");
        assert_eq!(of_tick("running"), [1.0]);
        assert_eq!(of_tick("paused"), [1.0]);
        assert_eq!(of_tick("consecutive_failures"), [1.0]);
        assert_eq!(of_tick("period_seconds"), [1.0]);
        assert_eq!(of_tick("last_success_timestamp_seconds"), [second + 1.0]);
        assert_eq!(of_tick("last_run_timestamp_seconds"), [second + 2.0]);
        assert_eq!(of_tick("next_run_timestamp_seconds"), [second + 3_600.0]);
        assert_eq!(notes.get("scheduler_build_info{version=0.1.0}"), [1.0]);
    }

    #[test]
    fn a_task_is_measured_as_in_spring() {
        let (notes, bus) = (Notes::default(), bus());
        metrics::with_local_recorder(&notes, || {
            bus.emit(added(&sample::facts("tick"), None));
            let run = || sample::run("tick", 1, 1);
            bus.emit(sample::finished(run(), Outcome::Success, 0, 0));
            bus.emit(sample::finished(run(), sample::error("no").into(), 1, 0));
            bus.emit(sample::finished(run(), Outcome::Cancelled, 0, 0));
            bus.emit(sample::finished(sample::run("unknown", 1, 1), Outcome::Success, 0, 0));
        });
        let spring = |function: &str, exception: &str, outcome: &str| {
            let error = format!("exception={exception},outcome={outcome},error={exception}");
            notes.get(&format!("tasks.scheduled.execution{{{function},{error}}}"))
        };
        let function = "code.function=work,code.namespace=shop.jobs";
        assert_eq!(spring(function, "none", "SUCCESS"), [0.012]);
        assert_eq!(spring(function, "error", "ERROR"), [0.012]);
        assert_eq!(spring(function, "none", "UNKNOWN"), [0.012]);
        let unknown = "code.function=unknown,code.namespace=ANONYMOUS";
        assert_eq!(spring(unknown, "none", "SUCCESS"), [0.012]);
    }

    fn added(facts: &Arc<TaskFacts>, next: Option<u64>) -> Event {
        let (task, next) = (Arc::clone(facts), next.map(|second| sample::at(second * 1_000)));
        Event::TaskAdded { task, is_disabled: false, next, at: sample::at(0) }
    }

    fn ended(facts: &Arc<TaskFacts>) -> Event {
        let (task, state) = (Arc::clone(&facts.name), TaskState::Cancelled);
        Event::TaskEnded { task, state, at: sample::at(0) }
    }

    fn gauge_of_tick(notes: &Notes, name: &str) -> f64 {
        let values = notes.get(&format!("scheduler_task_{name}{{task=tick}}"));
        assert_eq!(values.len(), 1, "{name}: {values:?}");
        values[0]
    }

    #[test]
    fn a_task_that_is_removed_during_a_run_and_added_again_counts_its_runs() {
        let (notes, meter) = (Notes::default(), Meter::default());
        let (old, new) = (sample::facts("tick"), sample::facts("tick"));
        let running = |notes: &Notes| gauge_of_tick(notes, "running");
        metrics::with_local_recorder(&notes, || {
            meter.on_event(&added(&old, None));
            meter.on_event(&started(1, 1));
            meter.on_event(&added(&new, Some(5)));
            assert_eq!(running(&notes), 1.0, "that of the old one is in progress");
            meter.on_event(&started(1, 1));
            assert_eq!(running(&notes), 2.0);
            meter.on_event(&sample::finished(sample::run("tick", 1, 1), Outcome::Success, 0, 0));
            assert_eq!(running(&notes), 1.0);
            meter.on_event(&ended(&old));
            assert!(!gauge_of_tick(&notes, "next_run_timestamp_seconds").is_nan(), "the new one's");
            meter.on_event(&sample::finished(sample::run("tick", 1, 1), Outcome::Success, 0, 0));
            assert_eq!(running(&notes), 0.0);
            meter.on_event(&ended(&new));
            assert!(gauge_of_tick(&notes, "next_run_timestamp_seconds").is_nan());
        });
        assert!(meter.roster.is_empty(), "nothing is kept of either: {meter:?}");
    }

    #[test]
    fn nothing_is_kept_of_a_task_whose_last_run_outlives_it() {
        let (notes, meter) = (Notes::default(), Meter::default());
        let tick = sample::facts("tick");
        metrics::with_local_recorder(&notes, || {
            meter.on_event(&added(&tick, None));
            meter.on_event(&started(1, 1));
            meter.on_event(&ended(&tick));
            assert_eq!(gauge_of_tick(&notes, "running"), 1.0);
            meter.on_event(&sample::finished(sample::run("tick", 1, 1), Outcome::Success, 0, 0));
        });
        assert_eq!(gauge_of_tick(&notes, "running"), 0.0);
        let function = "code.function=work,code.namespace=shop.jobs";
        let key =
            format!("{SPRING_EXECUTION}{{{function},exception=none,outcome=SUCCESS,error=none}}");
        assert_eq!(notes.get(&key), [0.012]);
        assert!(meter.roster.is_empty(), "{meter:?}");
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
                            let run = sample::run("tick", number, 1);
                            meter.on_event(&sample::finished(run, Outcome::Success, 0, 0));
                        }
                    });
                });
            }
        });
        assert_eq!(gauge_of_tick(&notes, "running"), 0.0);
    }

    #[test]
    fn a_pause_a_new_rule_and_the_end_show_when_a_task_is_due_next() {
        let (notes, meter) = (Notes::default(), Meter::default());
        let tick = sample::facts("tick");
        let next = |notes: &Notes| gauge_of_tick(notes, "next_run_timestamp_seconds");
        let second = |second: u64| sample::at(second * 1_000).timestamp() as f64;
        let task = || Arc::clone(&tick.name);
        let at = sample::at(0);
        metrics::with_local_recorder(&notes, || {
            meter.on_event(&added(&tick, Some(5)));
            assert_eq!(next(&notes), second(5), "before the first run");
            let pause = |next| Event::Paused { task: task(), note: None, until: None, next, at };
            meter.on_event(&pause(None));
            assert!(next(&notes).is_nan());
            meter.on_event(&pause(Some(sample::at(9_000))));
            assert_eq!(next(&notes), second(9));
            let resumed = Event::Resumed { task: task(), next: Some(sample::at(7_000)), at };
            meter.on_event(&resumed);
            assert_eq!((next(&notes), gauge_of_tick(&notes, "paused")), (second(7), 0.0));
            assert_eq!(gauge_of_tick(&notes, "period_seconds"), 1.0);
            let facts = Arc::new(TaskFacts { period: None, ..TaskFacts::clone(&tick) });
            let (rule, next_run) = (Arc::clone(&facts.rule), Some(sample::at(8_000)));
            let new = Event::Rescheduled { task: task(), rule, facts, next: next_run, at };
            meter.on_event(&new);
            assert_eq!(next(&notes), second(8));
            assert!(gauge_of_tick(&notes, "period_seconds").is_nan(), "it has none");
            meter.on_event(&pause(None));
            meter.on_event(&ended(&tick));
            assert_eq!(gauge_of_tick(&notes, "paused"), 0.0);
        });
    }

    /// A task that never succeeded has to look as old as the process, for alerts.
    #[test]
    fn the_last_success_is_at_first_the_start() {
        let (notes, bus) = (Notes::default(), bus());
        metrics::with_local_recorder(&notes, || {
            bus.emit(added(&sample::facts("tick"), None));
            let (task, state) = ("tick".into(), TaskState::Completed);
            bus.emit(Event::TaskEnded { task, state, at: sample::at(1) });
        });
        let start = sample::at(0).timestamp() as f64;
        let key = "scheduler_task_last_success_timestamp_seconds{task=tick}";
        assert_eq!(notes.get(key), [start]);
        assert!(notes.get("scheduler_task_next_run_timestamp_seconds{task=tick}")[0].is_nan());
    }
}
