//! Metrics in the text format of Prometheus: in names of our own, and in those that Spring's dashboards know.
//!
//! Counts, states and times are those of the snapshots. Histograms, and Spring's sums, come from the listener: without it
//! they are missing. The text of an error is never a label.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::store::Depth;
use scheduler::{PoolSnapshot, RuleKind, SkipReason, TaskSnapshot};

use crate::app::App;
use crate::clock::now;
use crate::log::{Buckets, LENGTHS, Sum, Tally};

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How far back Spring's maximum looks.
const MAX_WINDOW: Duration = Duration::from_secs(120);
/// The outcomes of a tally: our name, and Spring's.
const OUTCOMES: [(&str, &str); 5] = [
    ("success", "SUCCESS"),
    ("error", "ERROR"),
    ("panic", "ERROR"),
    ("timeout", "ERROR"),
    ("cancelled", "UNKNOWN"),
];

/// A page under construction: families with their lines.
#[derive(Default)]
struct Text {
    families: Vec<Family>,
    index: BTreeMap<&'static str, usize>,
}

struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    lines: String,
}

impl Text {
    /// Adds a line to a family. `suffix` follows its name.
    fn put(&mut self, family: &(&'static str, &'static str, &'static str), line: &Line<'_>) {
        let (name, kind, help) = *family;
        let index = *self.index.entry(name).or_insert(self.families.len());
        if index == self.families.len() {
            self.families.push(Family { name, kind, help, lines: String::new() });
        }
        let lines = &mut self.families[index].lines;
        lines.push_str(name);
        lines.push_str(line.suffix);
        let mut separator = '{';
        for (label, value) in line.labels {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            // A String takes everything.
            let _ = write!(lines, "{separator}{label}=\"{value}\"");
            separator = ',';
        }
        if separator == ',' {
            lines.push('}');
        }
        let _ = writeln!(lines, " {}", line.value);
    }

    fn finish(self) -> String {
        let family = |Family { name, kind, help, lines }: Family| {
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{lines}")
        };
        self.families.into_iter().map(family).collect()
    }

    fn gauge(
        &mut self,
        family: &(&'static str, &'static str, &'static str),
        task: &str,
        value: f64,
    ) {
        let labels = &[("task", task)];
        self.put(family, &Line { suffix: "", labels, value });
    }

    fn histogram(
        &mut self,
        family: &(&'static str, &'static str, &'static str),
        task: &str,
        buckets: &Buckets,
    ) {
        let mut bucket = |end: &str, count: u64| {
            let labels = &[("task", task), ("le", end)];
            self.put(family, &Line { suffix: "_bucket", labels, value: count as f64 });
        };
        for (end, count) in LENGTHS.iter().zip(buckets.at_most) {
            bucket(&end.as_secs_f64().to_string(), count);
        }
        bucket("+Inf", buckets.all.count);
        let labels = &[("task", task)];
        self.put(family, &Line { suffix: "_sum", labels, value: buckets.all.seconds });
        self.put(family, &Line { suffix: "_count", labels, value: buckets.all.count as f64 });
    }
}

struct Line<'a> {
    suffix: &'static str,
    labels: &'a [(&'static str, &'a str)],
    value: f64,
}

/// Name, type and help.
type Metric = (&'static str, &'static str, &'static str);

const FINISHED: Metric =
    ("scheduler_run_finished_total", "counter", "Runs that have ended, by outcome.");
const SKIPPED: Metric =
    ("scheduler_fire_time_skipped_total", "counter", "Fire times that started no run, by reason.");
const DURATION: Metric = (
    "scheduler_run_duration_seconds",
    "histogram",
    "From the start of a run to the end of its last attempt.",
);
const LATENESS: Metric =
    ("scheduler_run_lateness_seconds", "histogram", "From the due time of a run to its start.");
const ACTIVE: Metric = ("scheduler_run_active", "gauge", "Runs in progress.");
const PAUSED: Metric =
    ("scheduler_task_paused", "gauge", "1 while the task is paused, otherwise 0.");
const STREAK: Metric = ("scheduler_task_streak", "gauge", "Failed runs since the last success.");
const PERIOD: Metric =
    ("scheduler_task_period_seconds", "gauge", "The fixed rate or delay of the task.");
const LATE: Metric = (
    "scheduler_task_late_seconds",
    "gauge",
    "How long a run of the task has waited for a thread, otherwise 0.",
);
const STUCK: Metric = (
    "scheduler_task_stuck_seconds",
    "gauge",
    "Time since a run in progress has held up the first fire time, otherwise 0.",
);
const LAST_RUN: Metric =
    ("scheduler_task_last_run_timestamp_seconds", "gauge", "When a run ended last.");
const LAST_SUCCESS: Metric = (
    "scheduler_task_last_success_timestamp_seconds",
    "gauge",
    "When a run succeeded last, or else when the task began.",
);
const NEXT_RUN: Metric =
    ("scheduler_task_next_run_timestamp_seconds", "gauge", "When the task is due next.");
const POOL_SIZE: Metric = ("scheduler_pool_core_threads", "gauge", "Threads that a pool may have.");
const POOL_THREADS: Metric = ("scheduler_pool_threads", "gauge", "Threads of a pool.");
const POOL_ACTIVE: Metric =
    ("scheduler_pool_active_threads", "gauge", "Threads of a pool that execute a task.");
const POOL_QUEUED: Metric =
    ("scheduler_pool_queued_tasks", "gauge", "Tasks that wait for their due time or for a thread.");
const STORE_UP: Metric =
    ("scheduler_store_up", "gauge", "1 if the store of durable jobs has answered, otherwise 0.");
const JOBS: Metric = (
    "scheduler_jobs",
    "gauge",
    "Jobs of the whole cluster that are due, become due later, are running or parked.",
);
const OLDEST: Metric = (
    "scheduler_jobs_oldest_due_seconds",
    "gauge",
    "How long the job has waited that has been due for longest, or 0.",
);
const BUILD: Metric = ("scheduler_build_info", "gauge", "1, with the version of the dashboard.");
const LOST: Metric =
    ("scheduler_dashboard_lost_events_total", "counter", "Events that came too fast to be kept.");
const WATCHERS: Metric =
    ("scheduler_dashboard_streams", "gauge", "Pages and programs that watch live.");
const CRITICAL: Metric =
    ("scheduler_task_up", "gauge", "0 if a critical task has not succeeded within its grace.");
const SPRING: Metric = (
    "tasks_scheduled_execution_seconds",
    "summary",
    "Runs, with the name and the labels that Spring gives them.",
);
const SPRING_MAX: Metric =
    ("tasks_scheduled_execution_seconds_max", "gauge", "The longest run of the last two minutes.");
const SPRING_ACTIVE: Metric = (
    "tasks_scheduled_execution_active_seconds",
    "summary",
    "Runs in progress, with the name and the labels that Spring gives them.",
);
const EXECUTORS: [Metric; 6] = [
    ("executor_active_threads", "gauge", "Threads that execute a task."),
    ("executor_pool_size_threads", "gauge", "Threads of the pool."),
    ("executor_pool_core_threads", "gauge", "Threads that the pool may have."),
    ("executor_pool_max_threads", "gauge", "Threads that the pool may have."),
    ("executor_queued_tasks", "gauge", "Tasks that wait, also for a time that is ahead."),
    ("executor_completed_tasks_total", "counter", "Executions that have ended."),
];

/// All metrics. Of the store, if there is one, `depths` is its answer, or none if it has not answered.
pub(crate) fn text(app: &App, depths: Option<&[Depth]>) -> String {
    let mut text = Text::default();
    let tasks = app.list();
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    text.put(&BUILD, &Line { suffix: "", labels: &version, value: 1.0 });
    tasks.iter().for_each(|task| put_task(&mut text, app, task));
    put_spring(&mut text, app, &tasks);
    app.tasks.pools().iter().for_each(|pool| put_pool(&mut text, pool));
    for task in crate::health::critical(app) {
        text.gauge(&CRITICAL, &task.name, f64::from(task.is_up));
    }
    if app.store().is_ok() {
        text.put(&STORE_UP, &Line { suffix: "", labels: &[], value: f64::from(depths.is_some()) });
    }
    depths.into_iter().flatten().for_each(|depth| put_jobs(&mut text, depth));
    let (watching, _) = app.hub.counts();
    for (metric, value) in [(&LOST, app.recorder.lost()), (&WATCHERS, watching as u64)] {
        text.put(metric, &Line { suffix: "", labels: &[], value: value as f64 });
    }
    text.finish()
}

fn put_task(text: &mut Text, app: &App, task: &TaskSnapshot) {
    let (name, counters) = (task.name(), &task.counters);
    let by_outcome = [
        counters.successes,
        counters.errors,
        counters.panics,
        counters.timeouts,
        counters.cancelled,
    ];
    for ((outcome, _), count) in OUTCOMES.into_iter().zip(by_outcome) {
        let labels = &[("task", name), ("outcome", outcome)];
        text.put(&FINISHED, &Line { suffix: "", labels, value: count as f64 });
    }
    let skipped = [
        counters.skipped_overlap,
        counters.skipped_paused,
        counters.skipped_misfire,
        counters.skipped_rescheduled,
        counters.skipped_refused,
    ];
    for (reason, count) in SkipReason::ALL.into_iter().zip(skipped) {
        let labels = &[("task", name), ("reason", reason.name())];
        text.put(&SKIPPED, &Line { suffix: "", labels, value: count as f64 });
    }
    text.gauge(&ACTIVE, name, task.running as f64);
    text.gauge(&PAUSED, name, f64::from(task.is_paused));
    text.gauge(&STREAK, name, task.streak as f64);
    text.gauge(&LATE, name, age(task.late_since));
    text.gauge(&STUCK, name, age(task.stuck_since));
    if let Some(period) = task.facts.period {
        text.gauge(&PERIOD, name, period.as_secs_f64());
    }
    if let Some(run) = task.last_runs.first() {
        text.gauge(&LAST_RUN, name, seconds(run.started_at + run.took));
    }
    let added_at = app.recorder.with(name, |log| log.added_at).unwrap_or(app.started_at);
    if task.facts.kind != RuleKind::None {
        text.gauge(&LAST_SUCCESS, name, seconds(task.last_success.unwrap_or(added_at)));
    }
    if let Some(next) = task.next {
        text.gauge(&NEXT_RUN, name, seconds(next));
    }
    if let Some(tally) = app.recorder.with(name, |log| log.tally.clone()) {
        text.histogram(&DURATION, name, &tally.took);
        text.histogram(&LATENESS, name, &tally.late);
    }
}

/// The seconds since an instant; 0 without one.
fn age(since: Option<DateTime<Utc>>) -> f64 {
    since.and_then(|since| (now() - since).to_std().ok()).unwrap_or_default().as_secs_f64()
}

fn put_jobs(text: &mut Text, depth: &Depth) {
    let (queue, task) = (("queue", &*depth.queue), ("task", &*depth.task));
    let counts = [
        ("due", depth.due),
        ("later", depth.later),
        ("running", depth.running),
        ("parked", depth.parked),
    ];
    for (state, count) in counts {
        let labels = &[queue, task, ("state", state)];
        text.put(&JOBS, &Line { suffix: "", labels, value: count as f64 });
    }
    let value = depth.oldest.unwrap_or_default().as_secs_f64();
    text.put(&OLDEST, &Line { suffix: "", labels: &[queue, task], value });
}

/// What Spring shows of one method. Several tasks may have the same function.
#[derive(Clone, Copy, Default)]
struct InSpring {
    sums: [Sum; 5],
    longest: [Duration; 5],
    active: Sum,
}

fn put_spring(text: &mut Text, app: &App, tasks: &[TaskSnapshot]) {
    let mut functions: BTreeMap<(String, String), InSpring> = BTreeMap::new();
    for task in tasks {
        let entry = functions.entry(function_of(task)).or_default();
        let log = app.recorder.with(task.name(), |log| {
            let since = now() - MAX_WINDOW;
            let recent = log.runs.iter().rev().take_while(|run| run.ended_at() >= since);
            let mut longest = [Duration::ZERO; 5];
            for run in recent {
                let index = OUTCOMES.iter().position(|(name, _)| *name == run.outcome.name());
                let longest = &mut longest[index.unwrap_or_default()];
                *longest = run.took().max(*longest);
            }
            (log.tally.clone(), longest)
        });
        if let Some((tally, longest)) = log {
            entry.add(&tally, longest);
        }
        if let Some(since) = task.running_since {
            entry.active.count += task.running as u64;
            entry.active.seconds += (now() - since).to_std().unwrap_or_default().as_secs_f64();
        }
    }
    for ((namespace, function), spring) in &functions {
        let labels = |exception, outcome| {
            [
                ("code_function", &**function),
                ("code_namespace", &**namespace),
                ("error", exception),
                ("exception", exception),
                ("outcome", outcome),
            ]
        };
        for (index, (name, outcome)) in OUTCOMES.into_iter().enumerate() {
            let sum = spring.sums[index];
            if sum.count == 0 {
                continue;
            }
            let exception = if outcome == "ERROR" { name } else { "none" };
            let (labels, count) = (&labels(exception, outcome), sum.count as f64);
            text.put(&SPRING, &Line { suffix: "_count", labels, value: count });
            text.put(&SPRING, &Line { suffix: "_sum", labels, value: sum.seconds });
            let longest = spring.longest[index].as_secs_f64();
            text.put(&SPRING_MAX, &Line { suffix: "", labels, value: longest });
        }
        let labels = &labels("none", "UNKNOWN");
        let labels = &[labels[0], labels[1], labels[3], labels[4]];
        let count = spring.active.count as f64;
        text.put(&SPRING_ACTIVE, &Line { suffix: "_count", labels, value: count });
        text.put(&SPRING_ACTIVE, &Line { suffix: "_sum", labels, value: spring.active.seconds });
    }
}

impl InSpring {
    fn add(&mut self, tally: &Tally, longest: [Duration; 5]) {
        for (index, sum) in tally.by_outcome.iter().enumerate() {
            self.sums[index].count += sum.count;
            self.sums[index].seconds += sum.seconds;
            self.longest[index] = self.longest[index].max(longest[index]);
        }
    }
}

/// The path of the function, split as Spring has it.
fn function_of(task: &TaskSnapshot) -> (String, String) {
    let path = task.facts.function.as_deref().unwrap_or(task.name());
    match path.rsplit_once("::") {
        Some((namespace, function)) => (namespace.replace("::", "."), function.to_owned()),
        None => ("ANONYMOUS".to_owned(), path.to_owned()),
    }
}

fn put_pool(text: &mut Text, pool: &PoolSnapshot) {
    let name: &str = &pool.name;
    let own = [
        (&POOL_SIZE, pool.core_size),
        (&POOL_THREADS, pool.threads),
        (&POOL_ACTIVE, pool.active),
        (&POOL_QUEUED, pool.queued),
    ];
    for (metric, value) in own {
        let labels = &[("pool", name)];
        text.put(metric, &Line { suffix: "", labels, value: value as f64 });
    }
    let in_spring = if name == "default" { "taskScheduler" } else { name };
    let values = [pool.active, pool.threads, pool.core_size, pool.core_size, pool.queued];
    let values = values.into_iter().map(|value| value as f64).chain([pool.completed as f64]);
    for (metric, value) in EXECUTORS.iter().zip(values) {
        text.put(metric, &Line { suffix: "", labels: &[("name", in_spring)], value });
    }
}

fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp_micros() as f64 / 1e6
}
