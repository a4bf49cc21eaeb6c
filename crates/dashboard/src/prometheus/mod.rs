//! Metrics in the text format of Prometheus.
//!
//! Their names are our own, and in `spring` those that Spring's dashboards know.
//!
//! Counts, states and times are those of the snapshots. Histograms, and Spring's sums, come from the listener: without it
//! they are missing. The text of an error is never a label.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::store::{JobPause, LimitDepth, PauseScope, QueueDepth, SessionInfo, UnknownTask};
use scheduler::{PoolSnapshot, RuleKind, SkipReason, TaskSnapshot};

use crate::app::App;
use crate::health;
use crate::log::{Buckets, LENGTHS, OutcomeKind, Tally};
use crate::times::now;

mod spring;

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The last answers of the store about all processes.
pub(crate) struct StoreAnswer {
    pub(crate) is_up: bool,
    /// And when they were asked for.
    pub(crate) depths: Option<(Arc<Vec<QueueDepth>>, DateTime<Utc>)>,
    pub(crate) limited: Vec<(LimitDepth, Option<Duration>)>,
    pub(crate) pauses: Option<Vec<JobPause>>,
    pub(crate) unknown: Vec<UnknownTask>,
    pub(crate) sessions: Arc<[SessionInfo]>,
}

/// All metrics, with the answers of the store, if there is one.
pub(crate) fn text(app: &App, found: Option<StoreAnswer>) -> String {
    let mut page = Exposition::default();
    let tasks = app.list();
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    page.gauge(
        "scheduler_build_info",
        "1, with the version of the dashboard.",
        [sample(version, 1.0)],
    );
    counts_of_tasks(&mut page, &tasks);
    states_of_tasks(&mut page, app, &tasks);
    lengths_of_runs(&mut page, app, &tasks);
    let snapshots = app.tasks.pools();
    pools(&mut page, &snapshots, &tasks);
    spring::add(&mut page, app, &tasks, &snapshots);
    let critical = crate::health::critical(app);
    page.gauge(
        "scheduler_task_up",
        "0 if a critical task has not succeeded within its grace.",
        critical.iter().map(|task| sample([("task", &*task.name)], f64::from(task.is_up))),
    );
    if let Some(found) = found {
        jobs(&mut page, app, &found);
        let expired = app.recorder.expired();
        page.counter(
            "scheduler_jobs_expired_total",
            "Jobs that this process has cancelled, because no process had taken them by their time.",
            expired.iter().map(|(task, count)| sample([("task", &**task)], *count as f64)),
        );
    }
    page.counter(
        "scheduler_dashboard_lost_events_total",
        "Events that came too fast to be kept.",
        [sample([], app.recorder.lost() as f64)],
    );
    page.counter(
        "scheduler_dashboard_wrong_tokens_total",
        "Requests with a wrong token.",
        [sample([], app.authenticator.wrong_count() as f64)],
    );
    page.gauge(
        "scheduler_dashboard_streams",
        "Pages and programs that watch live.",
        [sample([], app.hub.counts().0 as f64)],
    );
    page.0
}

fn counts_of_tasks(page: &mut Exposition, tasks: &[TaskSnapshot]) {
    let finished = tasks.iter().flat_map(|task| {
        let counters = &task.counters;
        let counts = [
            counters.successes,
            counters.errors,
            counters.panics,
            counters.timeouts,
            counters.cancelled,
        ];
        OutcomeKind::ALL.into_iter().zip(counts).map(|(ended, count)| {
            sample([("task", task.name()), ("outcome", ended.name())], count as f64)
        })
    });
    page.counter("scheduler_run_finished_total", "Runs that have ended, by outcome.", finished);
    let failed = |task: &TaskSnapshot| task.counters.failed_attempts() as f64;
    page.counter(
        "scheduler_attempts_failed_total",
        "Attempts that failed, also those after which another one followed.",
        tasks.iter().map(|task| sample([("task", task.name())], failed(task))),
    );
    let skipped = tasks.iter().flat_map(|task| {
        SkipReason::ALL.into_iter().map(|reason| {
            let count = task.counters.skipped_by(reason);
            sample([("task", task.name()), ("reason", reason.name())], count as f64)
        })
    });
    page.counter(
        "scheduler_fire_time_skipped_total",
        "Fire times that started no run, by reason.",
        skipped,
    );
}

/// The value of a gauge of a task, if the task has it.
type Read = fn(&App, &TaskSnapshot) -> Option<f64>;

/// The gauges of tasks.
const TASK_GAUGES: [(&str, &str, Read); 9] = [
    ("scheduler_run_active", "Runs in progress.", |_, task| Some(task.running as f64)),
    ("scheduler_task_paused", "1 while the task is paused, otherwise 0.", |_, task| {
        Some(f64::from(task.is_paused))
    }),
    (
        "scheduler_task_streak",
        "Failed runs since the last success; of a durable task in all processes.",
        |_, task| Some(task.streak as f64),
    ),
    (
        "scheduler_task_late_seconds",
        "Time for which a run of the task has waited for a thread, otherwise 0.",
        |_, task| Some(age(task.late_since)),
    ),
    (
        "scheduler_task_stuck_seconds",
        "Time since a run in progress has held up the first fire time, otherwise 0.",
        |_, task| Some(age(task.stuck_since)),
    ),
    (
        "scheduler_task_period_seconds",
        "The fixed rate or delay of the task; by a cron expression the longest time between its next ten fire times.",
        |app, task| Some(health::period(app, task)?.as_secs_f64()),
    ),
    ("scheduler_task_last_run_timestamp_seconds", "When a run ended last.", |app, task| {
        task.last_runs.first().map(|run| seconds_of_store(app, run.started_at + run.took))
    }),
    (
        "scheduler_task_last_success_timestamp_seconds",
        "When a run succeeded last, or else when the task began.",
        |app, task| {
            let added_at = app.recorder.with(task.name(), |log| log.added_at);
            let scheduled_since = added_at.unwrap_or(app.started_at);
            (task.facts.kind != RuleKind::None)
                .then(|| seconds_of_store(app, task.last_success.unwrap_or(scheduled_since)))
        },
    ),
    ("scheduler_task_next_run_timestamp_seconds", "When the task is due next.", |app, task| {
        task.next.map(|next| seconds_of_store(app, next))
    }),
];

fn states_of_tasks(page: &mut Exposition, app: &App, tasks: &[TaskSnapshot]) {
    for (name, help, read) in TASK_GAUGES {
        let samples =
            tasks.iter().filter_map(|task| Some(sample([("task", task.name())], read(app, task)?)));
        page.gauge(name, help, samples);
    }
}

fn lengths_of_runs(page: &mut Exposition, app: &App, tasks: &[TaskSnapshot]) {
    let tally = |task: &TaskSnapshot| app.recorder.with(task.name(), |log| log.tally.clone());
    let tallies: Vec<(&str, Tally)> =
        tasks.iter().filter_map(|task| Some((task.name(), tally(task)?))).collect();
    let ends: Vec<String> = LENGTHS.iter().map(|end| end.as_secs_f64().to_string()).collect();
    let mut histogram = |name, help, buckets: fn(&Tally) -> &Buckets| {
        let samples =
            tallies.iter().flat_map(|(task, tally)| samples_of(task, &ends, buckets(tally)));
        page.metric(Metric(name, "histogram", help), samples);
    };
    histogram(
        "scheduler_run_duration_seconds",
        "From the start of a run to the end of its last attempt.",
        |tally| &tally.took,
    );
    histogram(
        "scheduler_run_lateness_seconds",
        "From the due time of a run to its start.",
        |tally| &tally.late,
    );
}

fn samples_of<'a>(task: &'a str, ends: &'a [String], buckets: &Buckets) -> Vec<Sample<'a>> {
    let bucket = |end: &'a str, count: u64| Sample {
        suffix: "_bucket",
        ..sample([("task", task), ("le", end)], count as f64)
    };
    let all = buckets.all;
    let mut samples: Vec<Sample<'a>> =
        ends.iter().zip(buckets.at_most).map(|(end, count)| bucket(end, count)).collect();
    samples.push(bucket("+Inf", all.count));
    samples.push(Sample { suffix: "_sum", ..sample([("task", task)], all.seconds) });
    samples.push(Sample { suffix: "_count", ..sample([("task", task)], all.count as f64) });
    samples
}

fn labels_of(depth: &QueueDepth) -> [(&'static str, &str); 2] {
    [("queue", &depth.queue), ("task", &depth.task)]
}

/// The jobs of the whole cluster.
fn jobs(page: &mut Exposition, app: &App, found: &StoreAnswer) {
    page.gauge(
        "scheduler_store_up",
        "1 if the store has renewed the lease of this process when that was last due, otherwise 0.",
        [sample([], f64::from(found.is_up))],
    );
    nodes(page, app, &found.sessions);
    page.gauge(
        "scheduler_store_look_age_seconds",
        "The age of the numbers of jobs; missing while nothing is known.",
        found.depths.iter().map(|(_, at)| sample([], age(Some(*at)))),
    );
    let depths = found.depths.as_ref().map_or(&[][..], |(depths, _)| depths);
    let counts = depths.iter().flat_map(|depth| {
        let counts = [
            ("due", depth.due),
            ("later", depth.later),
            ("retrying", depth.retrying),
            ("running", depth.running),
            ("parked", depth.parked),
        ];
        counts.map(|(state, count)| {
            sample(labels_of(depth).into_iter().chain([("state", state)]), count as f64)
        })
    });
    page.gauge(
        "scheduler_jobs",
        "Jobs of the whole cluster that are due, become due later, are running or parked; retrying: due or later, with an error.",
        counts,
    );
    let ages = |age: fn(&QueueDepth) -> Option<Duration>| {
        depths.iter().map(move |depth| {
            sample(labels_of(depth), age(depth).unwrap_or_default().as_secs_f64())
        })
    };
    page.gauge(
        "scheduler_jobs_oldest_due_seconds",
        "Time for which the oldest due job has waited, or 0.",
        ages(|depth| depth.oldest),
    );
    page.gauge(
        "scheduler_jobs_oldest_running_seconds",
        "Time since the oldest running job was claimed, or 0.",
        ages(|depth| depth.oldest_running),
    );
    limits(page, &found.limited);
    paused(page, found, depths);
    page.gauge(
        "scheduler_task_unknown",
        "1 for a task that no living process has, or with newer payloads than all know, though its jobs are due or its schedule fires.",
        found.unknown.iter().map(|unknown| sample([("task", &*unknown.task)], 1.0)),
    );
}

/// The queues and the partitions that are paused.
fn paused(page: &mut Exposition, found: &StoreAnswer, depths: &[QueueDepth]) {
    let queues = depths.iter().map(|depth| (&*depth.queue, false));
    let paused = found.pauses.iter().flatten().filter_map(|paused| match &paused.scope {
        PauseScope::Queue(queue) => Some((&**queue, true)),
        PauseScope::Task(_) | PauseScope::Partition(..) => None,
    });
    let queues: BTreeMap<&str, bool> = match &found.pauses {
        Some(_) => queues.chain(paused).collect(),
        None => BTreeMap::new(),
    };
    page.gauge(
        "scheduler_queue_paused",
        "1 while the jobs of the queue are paused, otherwise 0.",
        queues.iter().map(|(queue, paused)| sample([("queue", *queue)], f64::from(*paused))),
    );
    let mut partitions = BTreeMap::<&str, u32>::new();
    for paused in found.pauses.iter().flatten() {
        if let PauseScope::Partition(task, _) = &paused.scope {
            *partitions.entry(task).or_default() += 1;
        }
    }
    page.gauge(
        "scheduler_task_paused_partitions",
        "Partitions of the task whose jobs are paused; missing while none is.",
        partitions.iter().map(|(task, count)| sample([("task", *task)], f64::from(*count))),
    );
}

/// The number of those that are open, and of those that are held back.
type OpenAndHeld = fn(&LimitDepth) -> [u64; 2];

/// The due jobs that limits let start now, and those that they hold back.
fn limits(page: &mut Exposition, limited: &[(LimitDepth, Option<Duration>)]) {
    let samples = |read: OpenAndHeld| {
        limited.iter().flat_map(move |(depth, _)| {
            let labels = [("queue", &*depth.queue), ("task", &*depth.task)];
            ["open", "held"].into_iter().zip(read(depth)).map(move |(state, count)| {
                sample(labels.into_iter().chain([("state", state)]), count as f64)
            })
        })
    };
    page.gauge(
        "scheduler_limited_jobs",
        "Due jobs of tasks with a limit: those that may start now, and those that a limit holds back.",
        samples(|depth| [depth.open, depth.held]),
    );
    page.gauge(
        "scheduler_limited_partitions",
        "Partitions of tasks with a limit that have due jobs, in which one may start now, and that a limit holds back.",
        samples(|depth| [depth.open_partitions, depth.held_partitions]),
    );
    page.gauge(
        "scheduler_limited_oldest_open_seconds",
        "Time for which the oldest due job has waited that limits let start now, if none of its task started for half a minute, otherwise 0.",
        limited.iter().map(|(depth, wait)| {
            let labels = [("queue", &*depth.queue), ("task", &*depth.task)];
            sample(labels, wait.unwrap_or_default().as_secs_f64())
        }),
    );
}

/// The processes of the whole cluster, and the clock of this one.
fn nodes(page: &mut Exposition, app: &App, sessions: &[SessionInfo]) {
    let count = |is_meant: fn(&SessionInfo) -> bool| {
        sessions.iter().filter(|session| is_meant(session)).count() as f64
    };
    let states = [
        ("alive", count(|session| session.is_alive() && session.pause.is_none())),
        ("paused", count(|session| session.is_alive() && session.pause.is_some())),
        ("expired", count(|session| session.ended.is_none() && session.has_run_out)),
    ];
    if !sessions.is_empty() {
        page.gauge(
            "scheduler_nodes",
            "Processes of the whole cluster that take jobs, are paused, or do not renew their lease.",
            states.map(|(state, count)| sample([("state", state)], count)),
        );
        page.counter(
            "scheduler_nodes_lost_total",
            "Processes of the whole cluster that were lost since the start of this one.",
            [sample([], app.lost.count(sessions) as f64)],
        );
    }
    let offset = app.tasks.jobs().map(|jobs| jobs.clock_offset()).unwrap_or_default();
    page.gauge(
        "scheduler_clock_offset_seconds",
        "By how much the clock of this process is ahead of the store's.",
        [sample([], offset.num_milliseconds() as f64 / 1e3)],
    );
}

/// A figure of a pool.
type OfPool = fn(&PoolSnapshot) -> f64;

fn pools(page: &mut Exposition, pools: &[PoolSnapshot], tasks: &[TaskSnapshot]) {
    let longest = |pool: &PoolSnapshot| {
        let own = tasks.iter().filter(|task| *task.facts.pool == *pool.name);
        own.map(|task| age(task.late_since)).fold(0.0, f64::max)
    };
    page.gauge(
        "scheduler_pool_longest_wait_seconds",
        "Time for which a task of the pool has waited for a thread, of all the longest, otherwise 0.",
        pools.iter().map(|pool| sample([("pool", &*pool.name)], longest(pool))),
    );
    let (size, threads): (OfPool, OfPool) =
        (|pool| pool.core_size as f64, |pool| pool.threads as f64);
    let (active, queued): (OfPool, OfPool) = (|pool| pool.active as f64, |pool| pool.queued as f64);
    let pool_metrics = [
        ("scheduler_pool_core_threads", "Threads that a pool may have.", size),
        ("scheduler_pool_threads", "Threads of a pool.", threads),
        ("scheduler_pool_active_threads", "Threads of a pool that execute a task.", active),
        (
            "scheduler_pool_queued_tasks",
            "Tasks that wait for their due time or for a thread.",
            queued,
        ),
    ];
    for (name, help, read) in pool_metrics {
        page.gauge(
            name,
            help,
            pools.iter().map(|pool| sample([("pool", &*pool.name)], read(pool))),
        );
    }
}

/// The seconds since an instant; 0 without one.
fn age(since: Option<DateTime<Utc>>) -> f64 {
    since.and_then(|since| (now() - since).to_std().ok()).unwrap_or_default().as_secs_f64()
}

/// An instant by the clock of this process, as the store's clock has it: it is the process whose clock is off, and not its tasks.
fn seconds_of_store(app: &App, at: DateTime<Utc>) -> f64 {
    seconds(at - app.clock_offset())
}

fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp_micros() as f64 / 1e6
}

/// The text of a page: each metric with its samples.
#[derive(Default)]
pub(super) struct Exposition(pub(super) String);

/// Name, type and help.
pub(super) struct Metric(pub(super) &'static str, pub(super) &'static str, pub(super) &'static str);

/// A suffix of the name, labels, and a value.
pub(super) struct Sample<'a> {
    pub(super) suffix: &'static str,
    pub(super) labels: Vec<(&'static str, &'a str)>,
    pub(super) value: f64,
}

pub(super) fn sample<'a>(
    labels: impl IntoIterator<Item = (&'static str, &'a str)>,
    value: f64,
) -> Sample<'a> {
    Sample { suffix: "", labels: labels.into_iter().collect(), value }
}

impl Exposition {
    /// Writes a metric, unless it has no samples.
    pub(super) fn metric<'a>(
        &mut self,
        Metric(name, kind, help): Metric,
        samples: impl IntoIterator<Item = Sample<'a>>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            self.0.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        }
        for Sample { suffix, labels, value } in samples {
            let labels: Vec<String> = labels
                .iter()
                .map(|(label, text)| format!("{label}=\"{}\"", escaped(text)))
                .collect();
            let labels = match labels.as_slice() {
                [] => String::new(),
                labels => format!("{{{}}}", labels.join(",")),
            };
            self.0.push_str(&format!("{name}{suffix}{labels} {value}\n"));
        }
    }

    pub(super) fn gauge<'a>(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = Sample<'a>>,
    ) {
        self.metric(Metric(name, "gauge", help), samples);
    }

    pub(super) fn counter<'a>(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = Sample<'a>>,
    ) {
        self.metric(Metric(name, "counter", help), samples);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
