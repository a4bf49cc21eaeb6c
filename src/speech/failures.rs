//! Words for failures: task, verb, duration, streak, cause chain, place and next run.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::trigger::Zone;

use super::Message;
use super::limit::Limit;
use super::limit::Say;
use super::words::duration;
use super::words::instant;
use super::words::ordinal;
use super::words::plural;
use crate::observe::Failure;
use crate::observe::TaskFacts;

/// How often the same error of a task is said in full before it is summed up.
const IN_FULL: u32 = 10;

/// How often one that only another build of the program mends is said in full.
const IN_FULL_FOR_A_BUILD: u32 = 1;

/// How many different errors of a task are told apart in a minute; further ones are one to it.
const ERRORS_KEPT: usize = 8;

/// How much of a message tells one error from another, in characters.
const SIGNATURE_CHARS: usize = 200;

/// The errors of one task that were said lately.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    errors: Vec<Known>,
    /// What was kept quiet of errors that had to make room for others.
    forgotten: Untold,
}

/// An error that was said.
#[derive(Debug)]
struct Known {
    is_run: bool,
    /// None for all errors of which there are too many to be told apart.
    signature: Option<String>,
    limit: Limit,
}

/// How many failures of runs, and of attempts before the last, were kept quiet.
#[derive(Clone, Copy, Debug, Default)]
struct Untold {
    runs: u64,
    attempts: u64,
}

/// A run that failed, or an attempt, as it is reported.
pub(super) struct Failed<'a> {
    pub(super) task: &'a str,
    pub(super) facts: Option<&'a Arc<TaskFacts>>,
    pub(super) failure: &'a Failure,
    pub(super) at: DateTime<Utc>,
    pub(super) what: What,
}

/// What it is that failed.
#[derive(Clone, Copy)]
pub(super) enum What {
    Run { took: Duration, attempts: u32, streak: u64, next: Option<DateTime<Utc>> },
    Attempt { number: u32, next_in: Duration },
}

impl Repeats {
    /// What is to be said of a failure, if anything.
    pub(super) fn report(&mut self, failed: &Failed<'_>) -> Option<Message> {
        let known = self.known(failed);
        let is_same = known.signature.is_some();
        match known.limit.ask(failed.at, 1) {
            Say::InFull { is_last: true, .. } => {
                let which = if is_same { "this error is" } else { "other errors are" };
                let note = format!("from now on {which} summed up once a minute");
                Some(failed.in_full().note(note))
            }
            Say::InFull { untold, .. } => {
                let untold = untold.map_or_else(String::new, |it| it.words(zone(failed.facts)));
                Some(failed.in_full().note(untold))
            }
            Say::Summed { count, since } => Some(failed.summed(count, since, is_same)),
            Say::Nothing => None,
        }
    }

    /// Whether failures were kept quiet that may be told now.
    pub(super) fn is_owing(&self, at: DateTime<Utc>) -> bool {
        self.errors.iter().any(|known| known.limit.is_owing(at))
    }

    /// Words for what was kept quiet, once; none if nothing was.
    pub(super) fn untold(&mut self) -> String {
        let mut untold = std::mem::take(&mut self.forgotten);
        self.errors.iter_mut().for_each(|known| untold.add(known));
        let runs = (untold.runs > 0).then(|| plural(untold.runs, "failure"));
        let attempts = (untold.attempts > 0).then(|| plural(untold.attempts, "attempt"));
        let both: Vec<String> = runs.into_iter().chain(attempts).collect();
        if both.is_empty() {
            return String::new();
        }
        format!("{} had not been told", both.join(" and "))
    }

    fn known(&mut self, failed: &Failed<'_>) -> &mut Known {
        let is_run = matches!(failed.what, What::Run { .. });
        let mut signature = Some(failed.signature());
        let mut index = self.position(is_run, signature.as_deref());
        if index.is_none() && !self.has_room(failed.at) {
            signature = None;
            index = self.position(is_run, None);
        }
        let index = index.unwrap_or_else(|| {
            let in_full =
                if is_without_tokio(failed.failure) { IN_FULL_FOR_A_BUILD } else { IN_FULL };
            self.errors.push(Known { is_run, signature, limit: Limit::new(in_full) });
            self.errors.len() - 1
        });
        &mut self.errors[index]
    }

    fn position(&self, is_run: bool, signature: Option<&str>) -> Option<usize> {
        let is_it =
            |known: &Known| known.is_run == is_run && known.signature.as_deref() == signature;
        self.errors.iter().position(is_it)
    }

    /// Whether one more error is told apart: one that was not said for a minute makes room.
    fn has_room(&mut self, at: DateTime<Utc>) -> bool {
        let kept = (0..self.errors.len()).filter(|index| self.errors[*index].signature.is_some());
        let kept: Vec<usize> = kept.collect();
        if kept.len() < ERRORS_KEPT {
            return true;
        }
        let oldest = kept.into_iter().min_by_key(|index| self.errors[*index].limit.last());
        let oldest = oldest.filter(|index| !self.errors[*index].limit.is_quiet(at));
        if let Some(oldest) = oldest {
            let mut oldest = self.errors.remove(oldest);
            self.forgotten.add(&mut oldest);
        }
        oldest.is_some()
    }
}

impl Untold {
    fn add(&mut self, known: &mut Known) {
        let sum = if known.is_run { &mut self.runs } else { &mut self.attempts };
        *sum = sum.saturating_add(known.limit.take_hidden());
    }
}

impl Failed<'_> {
    /// Numbers do not make an error another one: `timed out after 5003ms`, `order 17 not found`.
    fn signature(&self) -> String {
        let text = self.failure.message().chars().filter(|c| !c.is_ascii_digit());
        let text: String = text.take(SIGNATURE_CHARS).collect();
        format!("{} {text}", self.failure.kind())
    }

    fn in_full(&self) -> Message {
        let task = self.task;
        if is_without_tokio(self.failure) {
            return self.without_tokio();
        }
        let (verb, chain) = (self.verb(), self.chain());
        match self.what {
            What::Run { took, attempts, streak, .. } => {
                let took = duration(took);
                let attempts = match attempts {
                    0 | 1 => String::new(),
                    attempts => format!(" and {attempts} attempts"),
                };
                let streak = in_a_row(streak);
                let text = format!("task `{task}` {verb} after {took}{attempts}{streak}: {chain}");
                Message::error(text).note(self.place_and_next())
            }
            What::Attempt { number, next_in } => {
                let next_in = duration(next_in);
                let text = format!(
                    "task `{task}` {verb} in attempt {number}, the next is in {next_in}: {chain}"
                );
                Message::warn(text).note(self.place())
            }
        }
    }

    fn summed(&self, count: u64, since: DateTime<Utc>, is_same: bool) -> Message {
        let (task, verb, chain) = (self.task, self.verb(), self.chain());
        let which = if is_same { "always" } else { "the last" };
        let within = duration((self.at - since).to_std().unwrap_or_default());
        match self.what {
            What::Run { streak, .. } => {
                let streak = in_a_row(streak);
                let text = format!(
                    "task `{task}` {verb} {count} times within {within}{streak}, {which}: {chain}"
                );
                Message::error(text).note(self.place_and_next())
            }
            What::Attempt { .. } => {
                let text = format!(
                    "task `{task}` {verb} in {count} attempts within {within}, {which}: {chain}"
                );
                Message::warn(text).note(self.place())
            }
        }
    }

    /// Without the feature the remedy is the same whether a runtime is running or not, which cannot be known.
    fn without_tokio(&self) -> Message {
        let (task, cause) = (self.task, self.failure.message());
        let (why, help) = if cfg!(feature = "tokio") {
            (
                "a Tokio runtime, but none is running",
                "help: #[tokio::main] async fn main() -> Result<(), scheduler::StartError> \
                 { scheduler::start_async().await }",
            )
        } else {
            (
                "Tokio, but the scheduler is built without it",
                "help: cargo add scheduler --features tokio",
            )
        };
        let text = format!("task `{task}` needs {why}");
        let message = match self.what {
            What::Run { streak, .. } => Message::error(format!("{text}{}", in_a_row(streak))),
            What::Attempt { .. } => Message::warn(text),
        };
        message.note(self.place_and_next()).note(help).note(format!("cause: {cause}"))
    }

    fn verb(&self) -> &'static str {
        match self.failure {
            failure if failure.is_panic() => "panicked",
            failure if failure.is_timeout() => "timed out",
            _ => "failed",
        }
    }

    fn chain(&self) -> String {
        let causes = self.failure.causes().map(|cause| format!("; caused by: {cause}"));
        std::iter::once(self.failure.message().to_owned()).chain(causes).collect()
    }

    /// Where the panic began, or else where the task stands.
    fn place(&self) -> String {
        let place = self.failure.place().map(ToString::to_string);
        let location =
            || self.facts.and_then(|facts| facts.location).map(|place| place.to_string());
        place.or_else(location).map_or_else(String::new, |place| format!("at {place}"))
    }

    fn place_and_next(&self) -> String {
        let What::Run { next: Some(next), .. } = self.what else { return self.place() };
        let next = format!("next run {}", instant(next, zone(self.facts)));
        match self.place() {
            place if place.is_empty() => next,
            place => format!("{place}   {next}"),
        }
    }
}

/// The zone in which times of a task are shown.
pub(super) fn zone(facts: Option<&Arc<TaskFacts>>) -> Zone {
    facts.map_or(Zone::UTC, |facts| facts.zone)
}

/// Words for a success that ends failures.
pub(super) fn recovered(task: &str, took: Duration, streak: u64) -> Message {
    let (took, failures) = (duration(took), plural(streak, "failure"));
    let row = if streak == 1 { "" } else { " in a row" };
    Message::info(format!("task `{task}` succeeded again, in {took}, after {failures}{row}"))
}

fn in_a_row(streak: u64) -> String {
    match streak {
        0 | 1 => String::new(),
        streak => format!(" ({} failure in a row)", ordinal(streak)),
    }
}

/// What Tokio's timers, sockets and `spawn` say where there is no runtime.
fn is_without_tokio(failure: &Failure) -> bool {
    let text = failure.message();
    failure.is_panic() && text.contains("there is no reactor running") && text.contains("Tokio")
}
