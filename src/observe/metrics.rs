//! The bridge to `metrics`: counters, histograms and gauges for each task.
//!
//! The only file that knows that crate; `metrics_off` stands in its place without the feature.
//!
//! Each run is told twice: in names of our own, and as `tasks.scheduled.execution` with the labels that
//! dashboards for Spring know. Texts of errors are never labels.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::RwLock;

use chrono::DateTime;
use chrono::Utc;
use metrics::Unit;
use metrics::counter;
use metrics::describe_histogram;
use metrics::gauge;
use metrics::histogram;

use super::Event;
use super::Listener;
use super::Outcome;
use super::TaskFacts;
use crate::run::Run;

/// Hands what happens to the recorder of the program.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    functions: RwLock<HashMap<Arc<str>, Function>>,
}

/// A task's function in the two parts that Spring's labels want.
#[derive(Clone, Debug)]
struct Function {
    name: Arc<str>,
    namespace: Arc<str>,
}

/// The listener for the recorder of the program.
pub(crate) fn meter() -> Option<Arc<dyn Listener>> {
    Some(Arc::new(Meter::default()))
}

impl Listener for Meter {
    fn on_event(&self, event: &Event) {
        match event {
            Event::SchedulerStarted { .. } => describe(),
            Event::TaskAdded { task, at } => self.added(task, *at),
            Event::RunStarted { run, late } => started(run, late.as_secs_f64()),
            Event::RunFinished { run, .. } => {
                finished(event);
                self.finished_as_in_spring(run, event);
            }
            Event::Skipped { task, reason, count, .. } => {
                let (task, reason) = (Arc::clone(task), reason.name());
                counter!("scheduler_task_skipped_total", "task" => task, "reason" => reason)
                    .increment(*count);
            }
            Event::Paused { task, .. } => {
                gauge!("scheduler_task_paused", "task" => Arc::clone(task)).set(1.0);
            }
            Event::Resumed { task, .. } => {
                gauge!("scheduler_task_paused", "task" => Arc::clone(task)).set(0.0);
            }
            Event::Rescheduled { task, next, .. } => set_next(task, *next),
            Event::TaskEnded { task, .. } => set_next(task, None),
            _ => {}
        }
    }
}

impl Meter {
    fn added(&self, task: &TaskFacts, at: DateTime<Utc>) {
        let name = &task.name;
        let mut functions = self.functions.write().unwrap_or_else(PoisonError::into_inner);
        functions.insert(Arc::clone(name), Function::of(task));
        drop(functions);
        if let Some(period) = task.period {
            gauge!("scheduler_task_period_seconds", "task" => Arc::clone(name))
                .set(period.as_secs_f64());
        }
        gauge!("scheduler_task_running", "task" => Arc::clone(name)).set(0.0);
        gauge!("scheduler_task_paused", "task" => Arc::clone(name)).set(0.0);
        gauge!("scheduler_task_consecutive_failures", "task" => Arc::clone(name)).set(0.0);
        // As if it had succeeded now, so that an alert on old successes fires for one that never did.
        gauge!("scheduler_task_last_success_timestamp_seconds", "task" => Arc::clone(name))
            .set(seconds(at));
    }

    fn finished_as_in_spring(&self, run: &Run, event: &Event) {
        let Event::RunFinished { outcome, took, .. } = event else { return };
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        let function = functions.get(run.task_name()).cloned();
        drop(functions);
        let function = function.unwrap_or_else(|| Function::without_path(run.task_name()));
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
}

impl Function {
    fn of(task: &TaskFacts) -> Self {
        let path = task.function.as_deref().and_then(|path| path.rsplit_once("::"));
        match path {
            Some((namespace, name)) => {
                Self { name: name.into(), namespace: namespace.replace("::", ".").into() }
            }
            None => Self::without_path(task.function.as_deref().unwrap_or(&task.name)),
        }
    }

    fn without_path(name: &str) -> Self {
        Self { name: name.into(), namespace: "ANONYMOUS".into() }
    }
}

fn describe() {
    for name in
        ["scheduler_task_duration_seconds", "scheduler_task_start_delay_seconds", SPRING_EXECUTION]
    {
        describe_histogram!(name, Unit::Seconds, "");
    }
    gauge!("scheduler_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

const SPRING_EXECUTION: &str = "tasks.scheduled.execution";

/// A further attempt is no further run.
fn started(run: &Run, late: f64) {
    if run.attempt() > 1 {
        return;
    }
    let task: Arc<str> = run.task_name().into();
    gauge!("scheduler_task_running", "task" => Arc::clone(&task)).increment(1.0);
    histogram!("scheduler_task_start_delay_seconds", "task" => task).record(late);
}

fn finished(event: &Event) {
    let Event::RunFinished { run, outcome, took, next, streak, at } = event else { return };
    let task: Arc<str> = run.task_name().into();
    let label = || Arc::clone(&task);
    counter!("scheduler_task_runs_total", "task" => label(), "outcome" => outcome.name())
        .increment(1);
    histogram!("scheduler_task_duration_seconds", "task" => label()).record(took.as_secs_f64());
    gauge!("scheduler_task_running", "task" => label()).decrement(1.0);
    gauge!("scheduler_task_consecutive_failures", "task" => label()).set(*streak as f64);
    gauge!("scheduler_task_last_run_timestamp_seconds", "task" => label()).set(seconds(*at));
    if outcome.is_success() {
        gauge!("scheduler_task_last_success_timestamp_seconds", "task" => label())
            .set(seconds(*at));
    }
    set_next(&task, *next);
}

/// A task that fires no more has no next time: Prometheus' idiom for that is not a number.
fn set_next(task: &Arc<str>, next: Option<DateTime<Utc>>) {
    let next = next.map_or(f64::NAN, seconds);
    gauge!("scheduler_task_next_run_timestamp_seconds", "task" => Arc::clone(task)).set(next);
}

fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp_micros() as f64 / 1e6
}
