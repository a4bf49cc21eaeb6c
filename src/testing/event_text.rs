//! Events as lines of text, for people and for snapshot tests.

use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::trigger::Zone;

use crate::observe::Event;
use crate::observe::Outcome;
use crate::observe::StopReason;
use crate::run::Cause;
use crate::run::Run;
use crate::settings::names::Names;
use crate::speech;

/// Writes events with local times and the shortest names of tasks.
pub(super) struct EventText {
    zone: Zone,
    names: Names,
    width: usize,
}

impl EventText {
    pub(super) fn new(zone: Zone, tasks: &[&str]) -> Self {
        let names = Names::from_iter(tasks.iter().copied());
        let widths = tasks.iter().map(|task| names.shortest(task).chars().count());
        let width = widths.chain(["scheduler".len()]).max().unwrap_or_default();
        Self { zone, names, width }
    }

    /// One line: when, who, what.
    pub(super) fn line(&self, event: &Event) -> String {
        let at = event.at().map(|at| self.time(at)).unwrap_or_default();
        let (who, what) = self.words(event);
        format!("{at}  {who:width$}  {what}", width = self.width)
    }

    fn words(&self, event: &Event) -> (String, String) {
        let scheduler = |what: String| ("scheduler".to_owned(), what);
        match event {
            Event::SchedulerStarted { tasks, .. } => scheduler(format!("started; tasks: {tasks}")),
            Event::SchedulerStopping { .. } => scheduler("is stopping".to_owned()),
            Event::SchedulerStopped { took, .. } if took.is_zero() => {
                scheduler("has stopped".to_owned())
            }
            Event::SchedulerStopped { took, .. } => {
                scheduler(format!("has stopped after {}", speech::duration(*took)))
            }
            Event::Lost { count } => scheduler(format!("{count} events were lost")),
            Event::WorkerRefused { pool, reason, .. } => {
                scheduler(format!("pool {pool} got no worker: {reason}"))
            }
            Event::HookPanicked { hook, failure, .. } => scheduler(format!("the {hook} {failure}")),
            Event::RunStarted { run, late } => self.of_run(run, &started(run, *late)),
            Event::AttemptFailed { run, failure, attempt, next_attempt_in, .. } => {
                let wait = speech::duration(*next_attempt_in);
                let text = format!("attempt {attempt} failed: {failure}; the next one in {wait}");
                self.of_run(run, &text)
            }
            Event::StopAsked { run, why, .. } => {
                let why = match why {
                    StopReason::Timeout => "its time is over",
                    StopReason::Cancelled => "it was cancelled",
                    StopReason::Shutdown => "the scheduler stops",
                };
                self.of_run(run, &format!("is asked to stop: {why}"))
            }
            Event::RunFinished { run, outcome, took, next, streak, .. } => {
                self.of_run(run, &self.finished(outcome, (*took, *streak), *next))
            }
            other => self.of_task(other),
        }
    }

    /// The events of a task that are not about one run.
    fn of_task(&self, event: &Event) -> (String, String) {
        let (task, what) = match event {
            Event::Skipped { task, reason, fire_time, count, .. } => {
                let (times, time) =
                    (if *count == 1 { "time" } else { "times" }, self.time(*fire_time));
                let last = if *count == 1 { "of" } else { "up to" };
                (task, format!("skipped {count} fire {times} {last} {time}: {}", reason.name()))
            }
            Event::Paused { task, note, until, .. } => {
                let until = until.map(|until| format!(" until {}", self.time(until)));
                let note = note.as_ref().map(|note| format!(": {}", speech::on_one_line(note)));
                let (until, note) = (until.unwrap_or_default(), note.unwrap_or_default());
                (task, format!("paused{until}{note}"))
            }
            Event::Resumed { task, .. } => (task, "resumed".to_owned()),
            Event::Rescheduled { task, rule, next, .. } => {
                (task, format!("rescheduled: {rule}{}", self.next(*next)))
            }
            Event::TaskAdded { task, is_disabled, .. } => {
                let (rule, pool) = (speech::on_one_line(&task.rule), &task.pool);
                let disabled = if *is_disabled { "; disabled" } else { "" };
                (&task.name, format!("added: {rule}; pool {pool}{disabled}"))
            }
            Event::Enabled { task, next, .. } => (task, format!("enabled{}", self.next(*next))),
            Event::TaskEnded { task, state, .. } => (task, format!("ended: {}", state.name())),
            Event::Starved { task, pool, late, busy, .. } => {
                let late = speech::duration(*late);
                (task, format!("starved: {late} late; busy threads of pool {pool}: {busy}"))
            }
            Event::DropPanicked { task, failure, .. } => {
                (task, format!("a destructor {}", speech::on_one_line(&failure.to_string())))
            }
            Event::TriggerFailed { task, failure, asked_again_in, .. } => {
                let failed = if failure.is_panic() { "" } else { "failed: " };
                let failure = speech::on_one_line(&failure.to_string());
                let wait = speech::duration(*asked_again_in);
                (task, format!("the trigger {failed}{failure}; it is asked again in {wait}"))
            }
            Event::WaitStarved { task, awaited, .. } => {
                (task, format!("waits for `{awaited}`, which finds no thread"))
            }
            other => return ("scheduler".to_owned(), format!("{other:?}")),
        };
        (self.name(task), what)
    }

    fn of_run(&self, run: &Run, what: &str) -> (String, String) {
        (self.name(run.task_name()), format!("run {} {what}", run.number()))
    }

    fn finished(
        &self,
        outcome: &Outcome,
        (took, streak): (Duration, u64),
        next: Option<DateTime<Utc>>,
    ) -> String {
        let took = if took.is_zero() {
            String::new()
        } else {
            format!(" after {}", speech::duration(took))
        };
        let streak = if streak > 1 { format!(" ({streak} in a row)") } else { String::new() };
        let what = match outcome {
            Outcome::Success => format!("succeeded{took}"),
            Outcome::Cancelled => format!("was cancelled{took}"),
            Outcome::Error(failure) | Outcome::Panic(failure) | Outcome::Timeout(failure) => {
                let failure = speech::on_one_line(&failure.to_string());
                format!("failed{took}: {failure}{streak}")
            }
        };
        format!("{what}{}", self.next(next))
    }

    fn next(&self, next: Option<DateTime<Utc>>) -> String {
        next.map(|next| format!("; next {}", self.time(next))).unwrap_or_default()
    }

    fn name(&self, task: &str) -> String {
        speech::on_one_line(self.names.shortest(task))
    }

    /// `2026-03-27 09:00:00 +01:00`, with milliseconds where there are some.
    fn time(&self, at: DateTime<Utc>) -> String {
        let format = match at.timestamp_subsec_millis() {
            0 => "%Y-%m-%d %H:%M:%S %:z",
            _ => "%Y-%m-%d %H:%M:%S%.3f %:z",
        };
        self.zone.local(at).format(format).to_string()
    }
}

fn started(run: &Run, late: Duration) -> String {
    let mut text = "started".to_owned();
    if run.attempt() > 1 {
        text = format!("started attempt {}", run.attempt());
    }
    if run.cause() == Cause::Manual {
        text.push_str(" by hand");
    }
    if !late.is_zero() {
        text.push_str(&format!(", {} late", speech::duration(late)));
    }
    text
}
