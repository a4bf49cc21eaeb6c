//! The one-line text of an event: its fields, times and durations.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use scheduler_core::trigger::Zone;

use crate::observe::{Event, EventKind, Failure, Outcome, StopReason, StoreEvent};
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
        EventKind::Action { by, what, reason, .. } => {
            let reason = reason.iter().map(|reason| format!(": {reason}")).collect::<String>();
            format!("{what}, by {by}{reason}")
        }
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

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(u64),
    Seconds(f64),
    Text(String),
}

/// The fields of an event by their names: short ones, and those that follow the conventions of OpenTelemetry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    pub(crate) fn of(event: &Event) -> Self {
        let mut fields = Self::default();
        fields.text("event", event.kind.name());
        if let Some(task) = &event.task {
            fields.text("task", &task.name);
            fields.text("scheduler.task.name", &task.name);
            fields.text("scheduler.task.kind", task.kind.name());
            fields.text("scheduler.task.schedule", &task.rule);
            task.function.iter().for_each(|function| fields.text("code.function.name", function));
        }
        if let Some(run) = event.run() {
            fields.number("run", run.number);
            fields.number("attempt", run.attempt.into());
            fields.number("scheduler.run.number", run.number);
            fields.number("scheduler.run.attempt", run.attempt.into());
            fields.text("scheduler.run.cause", run.cause.name());
            fields.time("scheduler.run.fire_time", Some(run.fire_time));
            fields.seconds("scheduler.run.lateness", run.lateness());
            if let Some(job) = &run.job {
                fields.job(&job.id, job.key.as_deref(), Some(&job.queue));
                fields.number("scheduler.job.attempt", run.attempt.into());
                fields.number("scheduler.job.max_attempts", run.max_attempts.into());
            }
        }
        fields.of_kind(&event.kind);
        fields
    }

    fn of_kind(&mut self, kind: &EventKind) {
        match kind {
            EventKind::RunFinished { outcome, took, next, .. } => {
                self.text("outcome", outcome.name());
                self.seconds("duration", *took);
                self.time("next", *next);
                outcome.failure().iter().for_each(|failure| self.failure(failure));
                if let Outcome::Refused(reason) = outcome {
                    self.text("error", reason);
                }
            }
            EventKind::AttemptFailed { failure, .. }
            | EventKind::TriggerFailed { failure, .. }
            | EventKind::DropPanicked { failure }
            | EventKind::HookFailed { failure, .. } => self.failure(failure),
            EventKind::Skipped { reason, count, .. } => {
                self.text("scheduler.skip.reason", reason.name());
                self.number("scheduler.skip.count", *count);
            }
            EventKind::TaskAdded { next, .. }
            | EventKind::Paused { next, .. }
            | EventKind::Resumed { next }
            | EventKind::Rescheduled { next, .. }
            | EventKind::Enabled { next } => self.time("next", *next),
            EventKind::Action { by, what, count, .. } => {
                self.text("scheduler.action.by", by);
                self.text("scheduler.action", what);
                self.number("scheduler.action.count", *count);
            }
            EventKind::Store { what } => self.of_store(what),
            _ => {}
        }
    }

    fn of_store(&mut self, what: &StoreEvent) {
        match what {
            StoreEvent::JobParked { job } => {
                self.job(&job.id, job.key.as_deref(), Some(&job.queue));
                self.number("scheduler.job.attempt", job.attempts.into());
                self.text("error", &job.error);
            }
            StoreEvent::JobLost { job, key, queue, attempt, .. } => {
                self.job(job, key.as_deref(), Some(queue));
                self.number("scheduler.job.attempt", (*attempt).into());
            }
            StoreEvent::FinishRefused { job } | StoreEvent::ClaimReturned { job } => {
                self.job(job, None, None);
            }
            _ => {}
        }
    }

    fn job(&mut self, id: &str, key: Option<&str>, queue: Option<&str>) {
        self.text("scheduler.job.id", id);
        key.iter().for_each(|key| self.text("scheduler.job.key", key));
        queue.iter().for_each(|queue| self.text("scheduler.job.queue", queue));
    }

    fn failure(&mut self, failure: &Failure) {
        self.text("error", failure.message());
        self.text("error.type", failure.kind());
        self.text("exception.type", failure.kind());
        let message = failure.message().to_owned() + &failure.causes_after(": ");
        self.text("exception.message", &message);
    }

    #[cfg_attr(not(any(feature = "tracing", feature = "log")), allow(dead_code))]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.0.push((name, Value::Text(value.to_owned())));
    }

    fn number(&mut self, name: &'static str, value: u64) {
        self.0.push((name, Value::Number(value)));
    }

    fn seconds(&mut self, name: &'static str, value: Duration) {
        self.0.push((name, Value::Seconds(value.as_secs_f64())));
    }

    fn time(&mut self, name: &'static str, at: Option<DateTime<Utc>>) {
        let at = at.map(|at| at.to_rfc3339_opts(SecondsFormat::Millis, true));
        at.iter().for_each(|at| self.text(name, at));
    }
}

/// A duration in its two largest units: `2d 20h`, `1m 30s`, `18µs`.
pub(crate) fn duration(length: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let seconds = length.as_secs();
    let Some(first) = UNITS.iter().position(|(unit, _)| seconds >= *unit).filter(|i| *i < 3) else {
        return short(length);
    };
    let (unit, suffix) = UNITS[first];
    let (next_unit, next_suffix) = UNITS[first + 1];
    match seconds % unit / next_unit {
        0 => format!("{}{suffix}", seconds / unit),
        rest => format!("{}{suffix} {rest}{next_suffix}", seconds / unit),
    }
}

fn short(length: Duration) -> String {
    let nanos = length.as_nanos();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", nanos / 1_000),
        1_000_000..1_000_000_000 => format!("{}ms", nanos / 1_000_000),
        _ => {
            let text = format!("{:.1}", length.as_secs_f64());
            format!("{}s", text.strip_suffix(".0").unwrap_or(&text))
        }
    }
}

/// An instant on the wall clock of a zone, with its offset: `Mon 2026-03-30 09:00:00 +02:00`.
pub(crate) fn instant(at: DateTime<Utc>, zone: Zone) -> String {
    zone.local(at).format("%a %Y-%m-%d %H:%M:%S %:z").to_string()
}

/// A foreign text on one line: control characters and text-direction marks are escaped.
pub(crate) fn on_one_line(text: &str) -> String {
    let is_hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}')
            || matches!(c, '\u{2066}'..='\u{2069}')
    };
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hostile(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

/// `1 run`, `2 runs`.
pub(crate) fn plural(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// `1st`, `2nd`, `3rd`, `4th`, `11th`.
pub(crate) fn ordinal(number: u64) -> String {
    let suffix = match (number % 10, number % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_at_most_two_units() {
        let cases = [
            (Duration::from_nanos(7), "7ns"),
            (Duration::from_micros(18), "18µs"),
            (Duration::from_millis(12), "12ms"),
            (Duration::from_millis(4_200), "4.2s"),
            (Duration::from_secs(12), "12s"),
            (Duration::from_secs(90), "1m 30s"),
            (Duration::from_secs(3_600), "1h"),
            (Duration::from_secs(2 * 86_400 + 20 * 3_600 + 59), "2d 20h"),
            (Duration::from_secs(86_400 + 59), "1d"),
        ];
        for (length, expected) in cases {
            assert_eq!(duration(length), expected);
        }
        assert!(duration(Duration::MAX).ends_with('h'));
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(
            on_one_line("a\nERROR forged\x1b[2J\u{202E}b"),
            r"a\nERROR forged\u{1b}[2J\u{202e}b"
        );
        assert_eq!(
            on_one_line("a\u{061C}\u{200E}\u{200F}\u{2069}b"),
            r"a\u{61c}\u{200e}\u{200f}\u{2069}b"
        );
        assert_eq!(on_one_line("täglich 🕐"), "täglich 🕐");
    }

    #[test]
    fn ordinals() {
        let texts: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map(ordinal).into();
        assert_eq!(texts.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 113th");
    }

    #[test]
    fn an_instant_shows_zone_time_and_offset() {
        let at = "2026-03-30T07:00:00Z".parse().unwrap();
        let zone = "Europe/Berlin".parse().unwrap();
        assert_eq!(instant(at, zone), "Mon 2026-03-30 09:00:00 +02:00");
    }
}
