//! The history of a task, and counters that outlive removed tasks.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::WallTime;

use crate::base::sync::Mutex;
use crate::observe::{Counters, Failure, Outcome, RunRecord, SkipReason};
use crate::run::Run;

/// The number of runs that are kept.
const RUNS_KEPT: usize = 20;

/// The history of one task.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(
    /// `None` before the first run: there may be very many tasks that wait for theirs.
    Option<Box<Past>>,
);

#[derive(Clone, Debug, Default)]
struct Past {
    /// A ring: a new record replaces the oldest.
    runs: Vec<RunRecord>,
    /// Where the next record goes.
    next: usize,
    counters: Counters,
    streak: u64,
    /// The first failure of the streak: when its run began, and why it failed.
    first_failure: Option<Box<(WallTime, Failure)>>,
    /// When it began, and how long it took.
    last_success: Option<(WallTime, Duration)>,
    /// The sum for removed tasks, once the task is removed.
    totals: Option<SharedTotals>,
}

/// The change that a finished run made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// Failed runs in a row, including this one.
    pub(crate) streak: u64,
    /// True if it needs an event even without listeners: it is no success, the first, or the first after failures.
    pub(crate) is_news: bool,
}

impl Past {
    fn latest_first(&self) -> impl Iterator<Item = &RunRecord> {
        let (newer, older) = self.runs.split_at(self.next);
        newer.iter().rev().chain(older.iter().rev())
    }
}

impl History {
    /// Records a finished run: when it began, how long it took, and its outcome.
    #[inline]
    pub(crate) fn record(
        &mut self,
        run: &Run,
        began: WallTime,
        took: Duration,
        outcome: &Outcome,
    ) -> Recorded {
        let past = self.0.get_or_insert_default();
        let counters = &mut past.counters;
        let is_first = counters.successes == 0;
        let count = match outcome {
            Outcome::Success => &mut counters.successes,
            Outcome::Error(_) => &mut counters.errors,
            Outcome::Panic(_) => &mut counters.panics,
            Outcome::Timeout(_) => &mut counters.timeouts,
            Outcome::Cancelled => &mut counters.cancelled,
            Outcome::Snoozed(_) => &mut counters.snoozed,
            Outcome::Lost => &mut counters.lost,
            // A skipped fire time, not a run.
            Outcome::Refused(_) => {
                self.skip(SkipReason::Refused, 1, false);
                return Recorded { streak: self.streak(), is_news: true };
            }
        };
        *count += 1;
        counters.runs += 1;
        counters.attempts += u64::from(run.attempts());
        let is_news = !outcome.is_success() || is_first || past.streak > 0;
        if outcome.is_success() {
            past.streak = 0;
            past.first_failure = None;
            past.last_success = Some((began, took));
        } else if let Some(failure) = outcome.failure() {
            past.streak += 1;
            past.first_failure.get_or_insert_with(|| Box::new((began, failure.clone())));
        }
        let record = RunRecord {
            number: run.number(),
            cause: run.cause(),
            fire_time: run.fire_time(),
            started_at: began.to_utc(),
            took,
            attempts: run.attempt(),
            outcome: outcome.clone(),
            notes: run.take_notes(),
        };
        match past.runs.get_mut(past.next) {
            Some(oldest) => *oldest = record,
            None => past.runs.push(record),
        }
        past.next = (past.next + 1) % RUNS_KEPT;
        if let Some(totals) = &past.totals {
            let failures = u64::from(outcome.is_failure());
            totals.add(Totals { runs: 1, failures, ..Totals::default() });
        }
        Recorded { streak: past.streak, is_news }
    }

    /// Counts a failed attempt of a durable job, which is tried again here or elsewhere.
    pub(crate) fn record_attempt_of_job(&mut self) {
        self.0.get_or_insert_default().counters.attempts += 1;
    }

    /// Counts fire times that got no run; `at_least` if there may be more.
    pub(crate) fn skip(&mut self, reason: SkipReason, count: u64, at_least: bool) {
        let past = self.0.get_or_insert_default();
        let counters = &mut past.counters;
        counters.skipped_at_least |= at_least;
        let skipped = counters.skipped_mut(reason);
        *skipped = skipped.saturating_add(count);
        if let Some(totals) = &past.totals {
            totals.add(Totals { skipped: count, at_least, ..Totals::default() });
        }
    }

    /// Adds all counts, now and later, to a sum; only the first call has an effect.
    pub(crate) fn count_in(&mut self, totals: &SharedTotals) {
        let past = self.0.get_or_insert_default();
        if past.totals.is_none() {
            totals.add(Totals::from(&past.counters));
            past.totals = Some(totals.clone());
        }
    }

    /// The last runs, the latest first.
    pub(crate) fn runs(&self) -> impl Iterator<Item = RunRecord> {
        self.0.iter().flat_map(|past| past.latest_first().cloned())
    }

    /// When the last run ended.
    pub(crate) fn last_end(&self) -> Option<DateTime<Utc>> {
        let run = self.0.as_ref()?.latest_first().next()?;
        Some(run.started_at + run.took)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.0.as_ref().map_or_else(Counters::default, |past| past.counters)
    }

    /// Failed runs in a row; a cancelled run neither counts nor ends it.
    pub(crate) fn streak(&self) -> u64 {
        self.0.as_ref().map_or(0, |past| past.streak)
    }

    /// When the first run of the streak began.
    pub(crate) fn failing_since(&self) -> Option<DateTime<Utc>> {
        let (began, _) = self.0.as_ref()?.first_failure.as_deref()?;
        Some(began.to_utc())
    }

    /// The failure of the first run of the streak.
    pub(crate) fn first_failure(&self) -> Option<&Failure> {
        Some(&self.0.as_ref()?.first_failure.as_deref()?.1)
    }

    /// When the last successful run ended.
    pub(crate) fn last_success(&self) -> Option<DateTime<Utc>> {
        let (started_at, took) = self.0.as_ref()?.last_success?;
        Some((started_at + took).to_utc())
    }
}

/// The counts of the stop report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) runs: u64,
    pub(crate) failures: u64,
    pub(crate) skipped: u64,
    /// True if more may have been skipped.
    pub(crate) at_least: bool,
}

/// A sum shared by tasks whose runs may still be in progress.
///
/// INVARIANT: its lock is taken last of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedTotals(Arc<Mutex<Totals>>);

impl Totals {
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            runs: self.runs.saturating_add(more.runs),
            failures: self.failures.saturating_add(more.failures),
            skipped: self.skipped.saturating_add(more.skipped),
            at_least: self.at_least || more.at_least,
        }
    }
}

impl From<&Counters> for Totals {
    fn from(counters: &Counters) -> Self {
        let (failures, skipped) = (counters.failures(), counters.skipped());
        Self { runs: counters.runs, failures, skipped, at_least: counters.skipped_at_least }
    }
}

impl SharedTotals {
    pub(crate) fn add(&self, more: Totals) {
        let mut sum = self.0.lock();
        *sum = sum.and(more);
    }

    pub(crate) fn sum(&self) -> Totals {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Failure, sample};
    use crate::run::{Cause, RunInfo};

    fn record(history: &mut History, number: u64, attempt: u32, outcome: &Outcome) -> Recorded {
        let began = WallTime::from_nanos(0) + Duration::from_secs(number);
        let at = began.to_utc();
        let (cause, fire_time, due, started_at) = (Cause::Schedule, at, at, at);
        let (max_attempts, job) = (5, None);
        let info =
            RunInfo { number, attempt, max_attempts, cause, fire_time, due, started_at, job };
        let run = Run::of(&info, sample::facts("task"));
        run.note(format!("note {number}"));
        history.record(&run, began, Duration::from_secs(5), outcome)
    }

    fn panicked() -> Outcome {
        Failure::from_panic("no", None).into()
    }

    #[test]
    fn the_last_twenty_runs_are_kept_the_latest_first() {
        let mut history = History::default();
        for number in 1..=45 {
            let outcome = if number % 3 == 0 { panicked() } else { Outcome::Success };
            record(&mut history, number, 1, &outcome);
            let first = number.saturating_sub(19).max(1);
            let numbers: Vec<u64> = history.runs().map(|run| run.number).collect();
            assert_eq!(numbers, (first..=number).rev().collect::<Vec<_>>());
            for run in history.runs() {
                assert_eq!(run.outcome.is_success(), run.number % 3 != 0);
                assert_eq!(run.notes, [format!("note {}", run.number).into_boxed_str()]);
            }
        }
        assert_eq!(history.counters().runs, 45);
        assert_eq!(history.last_success().unwrap().timestamp(), 44 + 5);
    }

    #[test]
    fn a_streak_grows_with_failures_and_ends_with_a_success() {
        let mut history = History::default();
        let outcomes = [
            (Outcome::Success, 0, true),
            (Outcome::Success, 0, false),
            (panicked(), 1, true),
            (Failure::from_timeout(Duration::from_secs(5), false).into(), 2, true),
            (Outcome::Cancelled, 2, true),
            (Outcome::Refused("locked".into()), 2, true),
            (Outcome::Snoozed(Duration::from_secs(1)), 2, true),
            (Outcome::Lost, 2, true),
            (panicked(), 3, true),
            (Outcome::Success, 0, true),
            (Outcome::Success, 0, false),
        ];
        for (number, (outcome, streak, is_news)) in (1..).zip(outcomes) {
            let recorded = record(&mut history, number, 1, &outcome);
            assert_eq!(recorded, Recorded { streak, is_news }, "run {number}");
            assert_eq!(history.streak(), streak);
        }
    }

    #[test]
    fn counts_of_a_removed_task_are_added_once() {
        let totals = SharedTotals::default();
        let (mut history, mut other) = (History::default(), History::default());
        record(&mut history, 1, 1, &panicked());
        history.skip(SkipReason::Paused, 4, false);
        history.count_in(&totals);
        history.count_in(&totals);
        assert_eq!(totals.sum(), Totals { runs: 1, failures: 1, skipped: 4, at_least: false });
        record(&mut history, 2, 1, &Outcome::Cancelled);
        record(&mut history, 3, 1, &panicked());
        history.skip(SkipReason::Overlap, 5, false);
        assert_eq!(totals.sum(), Totals { runs: 3, failures: 2, skipped: 9, at_least: false });
        other.skip(SkipReason::Misfire, u64::MAX, false);
        other.count_in(&totals);
        assert_eq!(totals.sum().skipped, u64::MAX, "a sum that is too large saturates");
    }

    #[test]
    fn events_are_counted_by_kind() {
        let mut history = History::default();
        let error = crate::run::TaskError::from_display("no");
        record(&mut history, 1, 3, &Failure::from_error(&error).into());
        record(&mut history, 2, 1, &panicked());
        record(&mut history, 3, 2, &Failure::from_timeout(Duration::from_secs(1), false).into());
        record(&mut history, 4, 1, &Outcome::Cancelled);
        record(&mut history, 5, 1, &Outcome::Success);
        history.skip(SkipReason::Overlap, 2, false);
        history.skip(SkipReason::Limit, 4, false);
        history.skip(SkipReason::Paused, 3, false);
        history.skip(SkipReason::Misfire, u64::MAX, false);
        history.skip(SkipReason::Rescheduled, 1, false);
        let success = history.last_success();
        record(&mut history, 6, 1, &Outcome::Refused("locked".into()));
        assert_eq!((history.last_success(), history.runs().count()), (success, 5));
        let expected = Counters {
            runs: 5,
            successes: 1,
            errors: 1,
            panics: 1,
            timeouts: 1,
            cancelled: 1,
            snoozed: 0,
            lost: 0,
            attempts: 8,
            skipped_overlap: 2,
            skipped_limit: 4,
            skipped_paused: 3,
            skipped_misfire: u64::MAX,
            skipped_rescheduled: 1,
            skipped_refused: 1,
            skipped_at_least: false,
        };
        assert_eq!(history.counters(), expected);
        assert_eq!(history.counters().failures(), 3);
        assert_eq!(history.counters().skipped(), u64::MAX, "a sum that is too large saturates");
    }
}
