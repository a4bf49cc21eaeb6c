//! The one-line text of an event.

use std::fmt;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;

use super::format::{duration, instant, on_one_line, plural};
use super::{Event, EventKind, Failure, Outcome, StopReason, StoreEvent};
use crate::run::{Cause, RunInfo};

/// One line without the time, such as ``task `tick`: run 3 succeeded after 12ms; next …``. Times are in the zone of the
/// task; control characters are escaped.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = self.zone();
        let what = describe(self, &|at| instant(at, zone));
        match self.task_name() {
            Some(task) => write!(f, "task `{}`: {what}", on_one_line(task)),
            None => write!(f, "scheduler: {what}"),
        }
    }
}

impl Event {
    /// The zone in which its times are shown.
    pub(crate) fn zone(&self) -> Zone {
        self.task.as_ref().map_or(Zone::UTC, |task| task.zone)
    }
}

/// The text of an event without the name of the task; `time` formats instants.
pub(crate) fn describe(event: &Event, time: &dyn Fn(DateTime<Utc>) -> String) -> String {
    let after =
        |next: &Option<_>| next.map_or_else(String::new, |at| format!("; next {}", time(at)));
    let text = match &event.kind {
        EventKind::Skipped { reason, first, last, count, at_least, .. } => {
            let least = if *at_least { "at least " } else { "" };
            let range = match first == last {
                true if *count == 1 => format!("of {}", time(*last)),
                true => format!("up to {}", time(*last)),
                false => format!("from {} to {}", time(*first), time(*last)),
            };
            format!("skipped {least}{} {range}: {}", plural(*count, "fire time"), reason.name())
        }
        EventKind::TaskAdded { is_disabled, next } => {
            let (rule, pool) =
                event.task.as_ref().map_or(("", ""), |task| (&task.rule, &task.pool));
            let disabled = if *is_disabled { "; disabled" } else { "" };
            format!("added: {rule}; pool {pool}{disabled}{}", after(next))
        }
        EventKind::TaskEnded { state } => format!("ended: {}", state.name()),
        EventKind::Paused { by, reason, until, next } => {
            let by = by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
            let until = until.map_or_else(String::new, |until| format!(" until {}", time(until)));
            let reason = reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            format!("paused{by}{until}{reason}{}", after(next))
        }
        EventKind::Resumed { next } => format!("resumed{}", after(next)),
        EventKind::Store { what } if event.task.is_some() => of_store(what, &after),
        EventKind::Store { what } => what.to_string(),
        EventKind::Rescheduled { rule, next } => format!("rescheduled: {rule}{}", after(next)),
        EventKind::Enabled { next } => format!("enabled{}", after(next)),
        EventKind::TriggerFailed { failure, asked_again_in } => {
            let failed = if failure.is_panic() { "" } else { "failed: " };
            let wait = duration(*asked_again_in);
            format!("the trigger {failed}{}; it is asked again in {wait}", full(failure))
        }
        EventKind::Starved { pool, late, is_waiting, busy, longest } => {
            let waits = if *is_waiting { " and not started" } else { "" };
            let (late, running_for) = (duration(*late), duration(longest.running_for));
            let longest = format!("longest: `{}` for {running_for}", longest.task);
            format!("starved: {late} late{waits}; busy threads of pool {pool}: {busy}; {longest}")
        }
        EventKind::WaitStarved { pool, awaited } => {
            format!("waits for `{awaited}`, which finds no free thread in pool `{pool}`")
        }
        EventKind::WorkerRefused { pool, reason } => {
            format!("pool `{pool}` could not start a thread: {reason}")
        }
        EventKind::DropPanicked { failure } => format!("a destructor {}", full(failure)),
        EventKind::HookFailed { hook, failure } => of_hook(hook, failure),
        EventKind::SchedulerStarted { tasks } => format!("started; tasks: {tasks}"),
        EventKind::SchedulerStopping {} => "is stopping".to_owned(),
        EventKind::SchedulerStopped { took, unfinished } => {
            let after =
                if took.is_zero() { String::new() } else { format!(" after {}", duration(*took)) };
            let unfinished = match *unfinished {
                0 => String::new(),
                runs => format!("; {} still in progress", plural(runs as u64, "run")),
            };
            format!("has stopped{after}{unfinished}")
        }
        EventKind::Lost { count } => format!("{} lost", plural(*count, "event")),
        kind => of_run(kind, &after),
    };
    on_one_line(&text)
}

fn of_hook(hook: &str, failure: &Failure) -> String {
    let article = if hook.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let failed = if failure.is_panic() { "" } else { "failed: " };
    format!("{article} {hook} {failed}{}", full(failure))
}

/// The text of a store event, without the name of the task.
fn of_store(what: &StoreEvent, after: &dyn Fn(&Option<DateTime<Utc>>) -> String) -> String {
    if let StoreEvent::JobLost { job, attempt, is_parked, .. } = what {
        let then = if *is_parked { "it is parked" } else { "it runs again" };
        return format!("job {job} lost its process in attempt {attempt}; {then}");
    }
    let StoreEvent::ScheduleRegistered { is_changed, is_paused, next, .. } = what else {
        return what.to_string();
    };
    let rule = if *is_changed { "has another rule from now on" } else { "is registered" };
    let paused = if *is_paused { "; paused" } else { "" };
    format!("{rule} in the store{paused}{}", after(next))
}

/// The text of a failure with its causes.
fn full(failure: &Failure) -> String {
    failure.to_string() + &failure.causes_after("; caused by: ")
}

/// `run 3`, with its job if it has one.
fn name(run: &RunInfo) -> String {
    let job = run.job.as_ref().map_or_else(String::new, |job| format!(" of {job}"));
    format!("run {}{job}", run.number)
}

/// The text of the kinds that are about a run.
fn of_run(kind: &EventKind, after: &dyn Fn(&Option<DateTime<Utc>>) -> String) -> String {
    match kind {
        EventKind::RunStarted { run, late } => {
            let attempt = match run.attempt {
                1 => String::new(),
                attempt => format!(" attempt {attempt}"),
            };
            let by_hand = if run.cause == Cause::Manual { " by hand" } else { "" };
            let late =
                if late.is_zero() { String::new() } else { format!(", {} late", duration(*late)) };
            format!("{} started{attempt}{by_hand}{late}", name(run))
        }
        EventKind::AttemptFailed { run, failure, next_attempt_in } => {
            let wait = duration(*next_attempt_in);
            let what = match failure.is_undecodable() {
                true => name(run),
                false => format!("run {} {}", run.number, failure.part_of(run)),
            };
            format!("{what} failed: {}; next in {wait}", full(failure))
        }
        EventKind::StopRequested { run, reason, .. } => {
            let reason = match reason {
                StopReason::Timeout => "its time is over",
                StopReason::Cancelled => "it was cancelled",
                StopReason::Shutdown => "the scheduler stops",
                StopReason::Lost => "its job was lost",
            };
            format!("{} is asked to stop: {reason}", name(run))
        }
        EventKind::RunFinished { run, outcome, took, next, streak } => {
            let took =
                if took.is_zero() { String::new() } else { format!(" after {}", duration(*took)) };
            let streak = if *streak > 1 { format!(" ({streak} in a row)") } else { String::new() };
            let what = match outcome {
                Outcome::Success => format!("succeeded{took}"),
                Outcome::Cancelled => format!("was cancelled{took}"),
                Outcome::Refused(reason) => format!("was refused: {reason}"),
                Outcome::Snoozed(time) => format!("is put off for {}", duration(*time)),
                Outcome::Lost => format!("has lost its job{took}, which another process may run"),
                Outcome::Error(failure) | Outcome::Panic(failure) | Outcome::Timeout(failure) => {
                    format!("failed{took}: {}{streak}", full(failure))
                }
            };
            format!("{} {what}{}", name(run), after(next))
        }
        _ => kind.name().to_owned(),
    }
}
