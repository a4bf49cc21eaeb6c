//! The runs of one task: their texts, outcomes and histograms.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::{Cause, EventKind, Outcome, RunInfo};

/// The number of runs whose failed attempts are kept.
const WITH_ATTEMPTS_MAX: usize = 10;
/// The number of failed attempts of a run that are kept, the latest.
const ATTEMPTS_MAX: usize = 4;
/// The number of runs in progress that are known; more would mean that the ends of others were lost.
const RUNNING_MAX: usize = 64;

/// A finished run.
#[derive(Clone, Debug)]
pub(crate) struct LoggedRun {
    pub(crate) number: u64,
    fire_time_micros: i64,
    started_at_micros: i64,
    took_micros: u64,
    late_micros: u64,
    pub(crate) attempts: u32,
    pub(crate) cause: Cause,
    pub(crate) outcome: OutcomeKind,
    pub(crate) text: Option<Arc<str>>,
    pub(crate) failed: Option<Box<LoggedAttempts>>,
}

/// The failed attempts of one run: most have none, which takes eight bytes.
#[derive(Clone, Debug)]
pub(crate) struct LoggedAttempts(pub(crate) Vec<LoggedAttempt>);

/// An attempt that was followed by another one.
#[derive(Clone, Debug)]
pub(crate) struct LoggedAttempt {
    pub(crate) attempt: u32,
    pub(crate) at: DateTime<Utc>,
    pub(crate) text: Option<Arc<str>>,
}

impl LoggedRun {
    pub(crate) fn fire_time(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.fire_time_micros).unwrap_or_default()
    }

    pub(crate) fn started_at(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.started_at_micros).unwrap_or_default()
    }

    pub(crate) fn took(&self) -> Duration {
        Duration::from_micros(self.took_micros)
    }

    pub(crate) fn late(&self) -> Duration {
        Duration::from_micros(self.late_micros)
    }

    pub(crate) fn ended_at(&self) -> DateTime<Utc> {
        self.started_at() + self.took()
    }
}

/// A run in progress.
#[derive(Debug)]
struct Active {
    number: u64,
    started_at: DateTime<Utc>,
    late: Duration,
    failed: Vec<LoggedAttempt>,
}

/// The history of a task.
#[derive(Debug)]
pub(crate) struct TaskHistory {
    pub(crate) added_at: DateTime<Utc>,
    /// The instant at which it was added, or last resumed, enabled or rescheduled.
    pub(crate) scheduled_since: DateTime<Utc>,
    /// The latest last.
    pub(crate) runs: VecDeque<LoggedRun>,
    pub(crate) tally: Tally,
    active: Vec<Active>,
    texts: Texts,
}

impl TaskHistory {
    pub(super) fn new(added_at: DateTime<Utc>) -> Self {
        let (runs, tally, active) = (VecDeque::new(), Tally::default(), Vec::new());
        Self { added_at, scheduled_since: added_at, runs, tally, active, texts: Texts::default() }
    }

    pub(super) fn on_event(&mut self, kind: &EventKind, at: DateTime<Utc>, max_runs: usize) {
        match kind {
            EventKind::RunStarted { run, late, .. } if run.attempt == 1 => self.started(run, *late),
            EventKind::Resumed { .. }
            | EventKind::Enabled { .. }
            | EventKind::Rescheduled { .. } => self.scheduled_since = at,
            EventKind::AttemptFailed { run, failure, .. } => {
                let text = Some(self.intern(failure.message()));
                let failed = LoggedAttempt { attempt: run.attempt, at, text };
                if let Some(active) =
                    self.active.iter_mut().find(|active| active.number == run.number)
                {
                    if active.failed.len() >= ATTEMPTS_MAX {
                        active.failed.remove(0);
                    }
                    active.failed.push(failed);
                }
            }
            EventKind::RunFinished { run, outcome, took, .. } => {
                self.finished(run, outcome, *took, max_runs);
            }
            _ => {}
        }
    }

    fn started(&mut self, run: &RunInfo, late: Duration) {
        if self.active.len() >= RUNNING_MAX {
            self.active.remove(0);
        }
        self.tally.late.add(late);
        let (number, started_at) = (run.number, run.started_at);
        self.active.push(Active { number, started_at, late, failed: Vec::new() });
    }

    fn finished(&mut self, run: &RunInfo, outcome: &Outcome, took: Duration, max_runs: usize) {
        let active = self.active.iter().position(|active| active.number == run.number);
        let active = active.map(|index| self.active.swap_remove(index));
        // A run that was skipped is none.
        let Some(ended) = OutcomeKind::of(outcome) else { return };
        self.tally.finished(ended, took);
        let started_at = active.as_ref().map_or(run.started_at, |active| active.started_at);
        let late = active.as_ref().map_or_else(|| run.lateness(), |active| active.late);
        let failed = active.map(|active| active.failed).filter(|failed| !failed.is_empty());
        let micros = |length: Duration| u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        let logged = LoggedRun {
            number: run.number,
            fire_time_micros: run.fire_time.timestamp_micros(),
            started_at_micros: started_at.timestamp_micros(),
            took_micros: micros(took),
            late_micros: micros(late),
            attempts: run.attempt,
            cause: run.cause,
            outcome: ended,
            text: outcome.failure().map(|failure| self.intern(failure.message())),
            failed: failed.map(|failed| Box::new(LoggedAttempts(failed))),
        };
        if self.runs.len() >= max_runs {
            self.runs.pop_front();
        }
        self.runs.push_back(logged);
        let with_attempts = self.runs.iter_mut().rev().filter(|run| run.failed.is_some());
        with_attempts.skip(WITH_ATTEMPTS_MAX).for_each(|run| run.failed = None);
    }

    /// Keeps a text once for all runs that have it. Where there are too many, an older one leaves the runs.
    fn intern(&mut self, text: &str) -> Arc<str> {
        let (kept, displaced) = self.texts.keep(text);
        if let Some(old) = displaced {
            let is_old =
                |text: &Option<Arc<str>>| text.as_ref().is_some_and(|text| Arc::ptr_eq(text, &old));
            for run in &mut self.runs {
                if is_old(&run.text) {
                    run.text = None;
                }
                for attempt in run.failed.iter_mut().flat_map(|failed| failed.0.iter_mut()) {
                    if is_old(&attempt.text) {
                        attempt.text = None;
                    }
                }
            }
        }
        kept
    }
}

const TEXTS_MAX: usize = 8;
const TEXT_BYTES_MAX: usize = 400;

/// The latest different texts, the newest last.
#[derive(Debug, Default)]
pub(super) struct Texts(VecDeque<Arc<str>>);

impl Texts {
    /// Keeps a text. Returns it, and the one that it displaces.
    pub(super) fn keep(&mut self, text: &str) -> (Arc<str>, Option<Arc<str>>) {
        let text = cut(text);
        if let Some(known) = self.0.iter().find(|known| ***known == *text) {
            return (Arc::clone(known), None);
        }
        let displaced = if self.0.len() >= TEXTS_MAX { self.0.pop_front() } else { None };
        let text: Arc<str> = text.into();
        self.0.push_back(Arc::clone(&text));
        (text, displaced)
    }
}

/// The beginning of a text.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The outcome of a run, without the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutcomeKind {
    Success,
    Error,
    Panic,
    Timeout,
    Cancelled,
}

impl OutcomeKind {
    /// All outcomes, in the order of a [`Tally`].
    pub(crate) const ALL: [Self; 5] =
        [Self::Success, Self::Error, Self::Panic, Self::Timeout, Self::Cancelled];

    pub(super) fn of(outcome: &Outcome) -> Option<Self> {
        Some(match outcome {
            Outcome::Success => Self::Success,
            Outcome::Error(_) => Self::Error,
            Outcome::Panic(_) => Self::Panic,
            Outcome::Timeout(_) => Self::Timeout,
            Outcome::Cancelled => Self::Cancelled,
            // No run.
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Panic => "panic",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The upper ends of the buckets.
pub(crate) const LENGTHS: [Duration; 8] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(10),
    Duration::from_secs(60),
    Duration::from_secs(600),
    Duration::from_secs(3_600),
];

/// A histogram.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Buckets {
    /// The number of runs that were at most as long as each end.
    pub(crate) at_most: [u64; LENGTHS.len()],
    pub(crate) all: Sum,
}

impl Buckets {
    pub(super) fn add(&mut self, length: Duration) {
        for (count, end) in self.at_most.iter_mut().zip(LENGTHS) {
            *count += u64::from(length <= end);
        }
        self.all.add(length);
    }
}

/// A number of runs, and their time in sum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) seconds: f64,
}

impl Sum {
    fn add(&mut self, length: Duration) {
        self.count += 1;
        self.seconds += length.as_secs_f64();
    }
}

/// Sums over all runs of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) took: Buckets,
    pub(crate) late: Buckets,
    /// By outcome.
    pub(crate) by_outcome: [Sum; OutcomeKind::ALL.len()],
}

impl Tally {
    pub(super) fn finished(&mut self, ended: OutcomeKind, took: Duration) {
        self.took.add(took);
        self.by_outcome[ended as usize].add(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figure of the documentation.
    #[test]
    fn a_run_takes_few_bytes() {
        assert!(size_of::<LoggedRun>() <= 72, "{}", size_of::<LoggedRun>());
    }
}

#[cfg(test)]
mod tests_of_texts {
    use super::*;

    #[test]
    fn equal_texts_are_one_and_the_oldest_goes() {
        let mut texts = Texts::default();
        let (first, _) = texts.keep("0");
        let (same, _) = texts.keep("0");
        assert!(Arc::ptr_eq(&first, &same));
        for number in 1..TEXTS_MAX {
            assert_eq!(texts.keep(&number.to_string()).1, None);
        }
        assert_eq!(texts.keep("one more").1.as_deref(), Some("0"));
        assert_eq!(cut(&"ü".repeat(300)).len(), 400);
        assert_eq!(cut(&format!("x{}", "ü".repeat(300))).len(), 399);
    }
}

#[cfg(test)]
mod tests_of_tally {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let mut buckets = Buckets::default();
        for millis in [1, 5, 2_000, 9_000_000] {
            buckets.add(Duration::from_millis(millis));
        }
        assert_eq!(buckets.at_most, [1, 2, 2, 2, 3, 3, 3, 3]);
        assert_eq!(buckets.all.count, 4);
    }
}
