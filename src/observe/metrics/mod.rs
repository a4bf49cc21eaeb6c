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
    running: RunningGauge,
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
struct RunningGauge(Mutex<HashMap<Arc<str>, Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The name in the events of the present task, which differs by its pointer from the name of a removed task.
    present: Option<Arc<str>>,
    runs: usize,
}

impl RunningGauge {
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
mod tests;
