//! Messages about failed runs and attempts.

use chrono::{DateTime, Utc};

use super::Message;
use super::reporter::{Count, MessageLimit, Show};
use crate::observe::{Event, EventKind, Failure, duration, instant, ordinal, plural};

/// The number of messages about one error of a task that are shown in full before they are summed up.
const IN_FULL: u32 = 10;

/// The same for an error that only another build of the program fixes.
const IN_FULL_FOR_A_BUILD: u32 = 1;

/// The number of errors of a task that are distinguished in a minute; further ones count as one.
const ERRORS_KEPT: usize = 8;

/// The number of characters that distinguish errors.
const SIGNATURE_CHARS: usize = 200;

/// The errors of one task that were reported lately.
#[derive(Debug, Default)]
pub(super) struct Failures {
    errors: Vec<Known>,
    /// The hidden messages of errors that were removed to make room.
    removed: HiddenFailures,
}

/// A reported error.
#[derive(Debug)]
struct Known {
    is_run: bool,
    /// `None` for all errors beyond [`ERRORS_KEPT`].
    signature: Option<String>,
    limit: MessageLimit,
}

/// The hidden failures of runs, and of attempts before the last.
#[derive(Clone, Copy, Debug, Default)]
struct HiddenFailures {
    runs: u64,
    attempts: u64,
}

/// A failed run or attempt.
struct Failed<'a> {
    event: &'a Event,
    task: &'a str,
    failure: &'a Failure,
}

impl Failures {
    /// The message about a failed run or attempt, if one is due.
    pub(super) fn report(&mut self, event: &Event) -> Option<Message> {
        let failed = Failed::of(event)?;
        let known = self.known(&failed);
        let is_same = known.signature.is_some();
        let message = match known.limit.ask(event.at, Count::ONE) {
            Show::InFull { is_last: true, .. } => {
                let which = if is_same { "this error is" } else { "other errors are" };
                failed.in_full().note(format!("from now on {which} summed up once a minute"))
            }
            Show::InFull { hidden, .. } => {
                let hidden = hidden.map_or_else(String::new, |hidden| hidden.note(event.zone()));
                failed.in_full().note(hidden)
            }
            Show::Summed { count, since } => failed.summed(count.number, since, is_same),
            Show::Nothing => return None,
        };
        Some(message.with_fields(event))
    }

    /// Returns true if failures were hidden that may be reported now.
    pub(super) fn has_hidden(&mut self, at: DateTime<Utc>) -> bool {
        self.errors.iter_mut().any(|known| known.limit.has_hidden(at))
    }

    /// The note about hidden failures, once; empty if there are none.
    pub(super) fn hidden(&mut self) -> String {
        let mut hidden = std::mem::take(&mut self.removed);
        self.errors.iter_mut().for_each(|known| hidden.add(known));
        let runs = (hidden.runs > 0).then(|| plural(hidden.runs, "failure"));
        let attempts = (hidden.attempts > 0).then(|| plural(hidden.attempts, "attempt"));
        let both: Vec<String> = runs.into_iter().chain(attempts).collect();
        if both.is_empty() {
            return String::new();
        }
        format!("{} not reported before", both.join(" and "))
    }

    fn known(&mut self, failed: &Failed<'_>) -> &mut Known {
        let is_run = failed.is_run();
        let mut signature = Some(failed.signature());
        let mut index = self.position(is_run, signature.as_deref());
        if index.is_none() && !self.has_room(failed.event.at) {
            signature = None;
            index = self.position(is_run, None);
        }
        let index = index.unwrap_or_else(|| {
            let in_full =
                if is_without_tokio(failed.failure) { IN_FULL_FOR_A_BUILD } else { IN_FULL };
            self.errors.push(Known { is_run, signature, limit: MessageLimit::new(in_full, 1) });
            self.errors.len() - 1
        });
        &mut self.errors[index]
    }

    fn position(&self, is_run: bool, signature: Option<&str>) -> Option<usize> {
        let is_it =
            |known: &Known| known.is_run == is_run && known.signature.as_deref() == signature;
        self.errors.iter().position(is_it)
    }

    /// Returns true if one more error can be distinguished; one that was not reported for a minute is removed for it.
    fn has_room(&mut self, at: DateTime<Utc>) -> bool {
        let known = 0..self.errors.len();
        let distinguished = known.filter(|index| self.errors[*index].signature.is_some());
        let distinguished: Vec<usize> = distinguished.collect();
        if distinguished.len() < ERRORS_KEPT {
            return true;
        }
        let oldest =
            distinguished.into_iter().min_by_key(|index| self.errors[*index].limit.shown_at());
        let oldest = oldest.filter(|index| !self.errors[*index].limit.was_shown_lately(at));
        if let Some(oldest) = oldest {
            let mut oldest = self.errors.remove(oldest);
            self.removed.add(&mut oldest);
        }
        oldest.is_some()
    }
}

impl HiddenFailures {
    fn add(&mut self, known: &mut Known) {
        let sum = if known.is_run { &mut self.runs } else { &mut self.attempts };
        let hidden = known.limit.take_hidden().map_or(0, |hidden| hidden.count.number);
        *sum = sum.saturating_add(hidden);
    }
}

impl<'a> Failed<'a> {
    fn of(event: &'a Event) -> Option<Self> {
        let failure = match &event.kind {
            EventKind::RunFinished { outcome, .. } => outcome.failure()?,
            EventKind::AttemptFailed { failure, .. } => failure,
            _ => return None,
        };
        Some(Self { event, task: event.task_name()?, failure })
    }

    /// Returns true if a run has failed. The last attempt of a job is one like the others: the job is reported when the store
    /// has parked it.
    fn is_run(&self) -> bool {
        matches!(&self.event.kind, EventKind::RunFinished { run, .. } if run.job.is_none())
    }

    /// Without digits, so that `order 17 not found` and `order 18 not found` are the same error.
    fn signature(&self) -> String {
        let text = self.failure.message().chars().filter(|c| !c.is_ascii_digit());
        let text: String = text.take(SIGNATURE_CHARS).collect();
        format!("{} {text}", self.failure.kind())
    }

    fn in_full(&self) -> Message {
        if is_without_tokio(self.failure) {
            return self.without_tokio();
        }
        let (task, verb, chain) = (self.task, self.verb(), self.chain());
        let how = match &self.event.kind {
            EventKind::AttemptFailed { run, next_attempt_in, .. } => {
                let wait = duration(*next_attempt_in);
                format!("in {}, next in {wait}", self.failure.part_of(run))
            }
            EventKind::RunFinished { run, .. } if run.job.is_some() => {
                format!("in {}", self.failure.part_of(run))
            }
            EventKind::RunFinished { run, took, .. } => {
                let attempts = match run.attempt {
                    0 | 1 => String::new(),
                    attempts => format!(" and {attempts} attempts"),
                };
                format!("after {}{attempts}{}", duration(*took), self.in_a_row())
            }
            _ => String::new(),
        };
        self.message(&format!("task `{task}` {verb} {how}: {chain}")).note(self.place_and_next())
    }

    fn summed(&self, count: u64, since: DateTime<Utc>, is_same: bool) -> Message {
        let (task, verb, chain) = (self.task, self.verb(), self.chain());
        let which = if is_same { "always" } else { "the last" };
        let within = duration((self.event.at - since).to_std().unwrap_or_default());
        let count = match self.is_run() {
            true => format!("{count} times within {within}{}", self.in_a_row()),
            false if self.failure.is_undecodable() => format!("{count} times within {within}"),
            false => format!("in {count} attempts within {within}"),
        };
        let text = format!("task `{task}` {verb} {count}, {which}: {chain}");
        self.message(&text).note(self.place_and_next())
    }

    /// The message for a missing runtime. Without the feature it is not known whether the program has one.
    fn without_tokio(&self) -> Message {
        let (why, help) = if cfg!(feature = "tokio") {
            (
                "a Tokio runtime, but none is running",
                "help: #[tokio::main] async fn main() -> Result<(), scheduler::StartError> \
                 { scheduler::start_async().await }",
            )
        } else {
            (
                "Tokio, but the scheduler is built without it",
                "help: cargo add scheduler-rs --features tokio",
            )
        };
        self.message(&format!("task `{}` needs {why}{}", self.task, self.in_a_row()))
            .note(self.place_and_next())
            .note(help)
            .note(format!("cause: {}", self.failure.message()))
    }

    fn message(&self, text: &str) -> Message {
        if self.is_run() { Message::error(text) } else { Message::warn(text) }
    }

    /// ` (3rd failure in a row)`, from the second on.
    fn in_a_row(&self) -> String {
        match self.event.kind {
            EventKind::RunFinished { streak: streak @ 2.., .. } => {
                format!(" ({} failure in a row)", ordinal(streak))
            }
            _ => String::new(),
        }
    }

    fn verb(&self) -> &'static str {
        match self.failure {
            failure if failure.is_panic() => "panicked",
            failure if failure.is_timeout() => "timed out",
            _ => "failed",
        }
    }

    fn chain(&self) -> String {
        self.failure.message().to_owned() + &self.failure.causes_after("; caused by: ")
    }

    /// The place of the panic, or else of the task.
    fn place(&self) -> String {
        let place = self.failure.place().map(ToString::to_string);
        let location = || self.event.task.as_ref()?.location.map(|place| place.to_string());
        place.or_else(location).map_or_else(String::new, |place| format!("at {place}"))
    }

    fn place_and_next(&self) -> String {
        let EventKind::RunFinished { next: Some(next), .. } = self.event.kind else {
            return self.place();
        };
        let next = format!("next run {}", instant(next, self.event.zone()));
        match self.place() {
            place if place.is_empty() => next,
            place => format!("{place}   {next}"),
        }
    }
}

/// The message about a success after failures.
pub(super) fn recovered(event: &Event, took: &str, streak: u64) -> Message {
    let (task, failures) = (event.task_name().unwrap_or_default(), plural(streak, "failure"));
    let row = if streak == 1 { "" } else { " in a row" };
    Message::info(format!("task `{task}` succeeded again, in {took}, after {failures}{row}"))
        .with_fields(event)
}

/// Returns true if it is the panic of Tokio's timers, sockets and `spawn` without a runtime.
fn is_without_tokio(failure: &Failure) -> bool {
    let text = failure.message();
    failure.is_panic() && text.contains("there is no reactor running") && text.contains("Tokio")
}
