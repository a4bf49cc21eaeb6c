//! The metrics in the names of Spring.

use std::collections::BTreeMap;
use std::time::Duration;

use scheduler::{PoolSnapshot, TaskSnapshot};

use super::{Exposition, Metric, OfPool, Sample, sample};
use crate::app::App;
use crate::log::{OutcomeKind, Sum, Tally};
use crate::times::now;

/// The time that Spring's maximum covers.
const MAX_WINDOW: Duration = Duration::from_secs(120);
/// Spring's figures of one method. Several tasks may have the same function.
#[derive(Clone, Copy, Default)]
struct InSpring {
    sums: [Sum; OutcomeKind::ALL.len()],
    longest: [Duration; OutcomeKind::ALL.len()],
    active: Sum,
}

/// The metrics that Spring's dashboards know.
pub(super) fn add(
    page: &mut Exposition,
    app: &App,
    tasks: &[TaskSnapshot],
    snapshots: &[PoolSnapshot],
) {
    runs(page, app, tasks);
    pools(page, snapshots);
}

/// Spring's word for an outcome, and the exception that it has.
fn in_spring(ended: OutcomeKind) -> (&'static str, &'static str) {
    match ended {
        OutcomeKind::Success => ("SUCCESS", "none"),
        OutcomeKind::Cancelled => ("UNKNOWN", "none"),
        OutcomeKind::Error | OutcomeKind::Panic | OutcomeKind::Timeout => ("ERROR", ended.name()),
    }
}

fn runs(page: &mut Exposition, app: &App, tasks: &[TaskSnapshot]) {
    let functions = functions(app, tasks);
    let mut runs = Vec::new();
    let mut longest = Vec::new();
    let mut active = Vec::new();
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
        for ended in OutcomeKind::ALL {
            let sum = spring.sums[ended as usize];
            if sum.count == 0 {
                continue;
            }
            let (outcome, exception) = in_spring(ended);
            let labels = labels(exception, outcome);
            runs.extend(count_and_sum(labels, sum));
            longest.push(sample(labels, spring.longest[ended as usize].as_secs_f64()));
        }
        let [function, namespace, _, exception, outcome] = labels("none", "UNKNOWN");
        active.extend(count_and_sum([function, namespace, exception, outcome], spring.active));
    }
    page.metric(
        Metric(
            "tasks_scheduled_execution_seconds",
            "summary",
            "Runs, with the name and the labels that Spring gives them.",
        ),
        runs,
    );
    page.gauge(
        "tasks_scheduled_execution_seconds_max",
        "The longest run of the last two minutes.",
        longest,
    );
    page.metric(
        Metric(
            "tasks_scheduled_execution_active_seconds",
            "summary",
            "Runs in progress, with the name and the labels that Spring gives them.",
        ),
        active,
    );
}

fn count_and_sum<'a, const LABELS: usize>(
    labels: [(&'static str, &'a str); LABELS],
    sum: Sum,
) -> [Sample<'a>; 2] {
    [
        Sample { suffix: "_count", ..sample(labels, sum.count as f64) },
        Sample { suffix: "_sum", ..sample(labels, sum.seconds) },
    ]
}

fn functions(app: &App, tasks: &[TaskSnapshot]) -> BTreeMap<(String, String), InSpring> {
    let mut functions: BTreeMap<(String, String), InSpring> = BTreeMap::new();
    for task in tasks {
        let entry = functions.entry(function_of(task)).or_default();
        let log = app.recorder.with(task.name(), |log| {
            let since = now() - MAX_WINDOW;
            let recent = log.runs.iter().rev().take_while(|run| run.ended_at() >= since);
            let mut longest = [Duration::ZERO; OutcomeKind::ALL.len()];
            for run in recent {
                let longest = &mut longest[run.outcome as usize];
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
    functions
}

impl InSpring {
    fn add(&mut self, tally: &Tally, longest: [Duration; OutcomeKind::ALL.len()]) {
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

/// Spring calls our default pool `taskScheduler`.
fn pools(page: &mut Exposition, pools: &[PoolSnapshot]) {
    let (size, threads): (OfPool, OfPool) =
        (|pool| pool.core_size as f64, |pool| pool.threads as f64);
    let (active, queued): (OfPool, OfPool) = (|pool| pool.active as f64, |pool| pool.queued as f64);
    let in_spring = |read: OfPool| {
        pools.iter().map(move |pool| {
            let name = if &*pool.name == "default" { "taskScheduler" } else { &*pool.name };
            sample([("name", name)], read(pool))
        })
    };
    for (name, help, read) in [
        ("executor_active_threads", "Threads that execute a task.", active),
        ("executor_pool_size_threads", "Threads of the pool.", threads),
        ("executor_pool_core_threads", "Threads that the pool may have.", size),
        ("executor_pool_max_threads", "Threads that the pool may have.", size),
        ("executor_queued_tasks", "Tasks that wait, also for a time that is ahead.", queued),
    ] {
        page.gauge(name, help, in_spring(read));
    }
    page.counter(
        "executor_completed_tasks_total",
        "Executions that have ended.",
        in_spring(|pool| pool.completed as f64),
    );
}
