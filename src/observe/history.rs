//! What a task remembers of its runs: the last of them, counters, and how many failed in a row.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::WallTime;

use super::Counters;
use super::Ledger;
use super::Outcome;
use super::RunRecord;
use super::SkipReason;
use super::Totals;
use crate::run::Cause;
use crate::run::Run;

/// How many runs are remembered.
pub(crate) const RUNS_KEPT: usize = 20;

/// The past of one task. Plain data: whoever owns it guards it.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(
    /// None of a task that has none: there may be very many that wait for their first run.
    Option<Box<Past>>,
);

#[derive(Clone, Debug, Default)]
struct Past {
    /// A ring: a new record takes the place of the oldest.
    runs: Vec<Kept>,
    /// Where the oldest record is, once there are enough.
    oldest: usize,
    counters: Counters,
    streak: u64,
    /// When it began, and how long it took: added up only for those who ask.
    last_success: Option<(WallTime, Duration)>,
    /// Where a task that was removed counts, too.
    ledger: Option<Arc<Ledger>>,
}

/// A record, with its instants as numbers: most are never looked at.
#[derive(Clone, Debug)]
struct Kept {
    number: u64,
    cause: Cause,
    fire_time: WallTime,
    started_at: WallTime,
    took: Duration,
    attempts: u32,
    outcome: Outcome,
    notes: Vec<Box<str>>,
}

impl Kept {
    fn record(&self) -> RunRecord {
        RunRecord {
            number: self.number,
            cause: self.cause,
            fire_time: self.fire_time.to_utc(),
            started_at: self.started_at.to_utc(),
            took: self.took,
            attempts: self.attempts,
            outcome: self.outcome.clone(),
            notes: self.notes.clone(),
        }
    }
}

/// What a run that is over means for its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// How many runs in a row have failed, this one included.
    pub(crate) streak: u64,
    /// Whether everybody should know: it is no success, or the first, or the first after failures.
    pub(crate) is_news: bool,
}

impl Past {
    /// Takes note of a run that is over: when it began, how long it took, and what came of it.
    #[inline]
    fn record(
        &mut self,
        run: &Run,
        began: WallTime,
        took: Duration,
        outcome: &Outcome,
    ) -> Recorded {
        let is_first = self.counters.successes == 0;
        let streak_before = self.streak;
        let counters = &mut self.counters;
        counters.runs += 1;
        counters.attempts += u64::from(run.attempt());
        let count = match outcome {
            Outcome::Success => &mut counters.successes,
            Outcome::Error(_) => &mut counters.errors,
            Outcome::Panic(_) => &mut counters.panics,
            Outcome::Timeout(_) => &mut counters.timeouts,
            Outcome::Cancelled => &mut counters.cancelled,
        };
        *count += 1;
        let is_success = outcome.is_success();
        if is_success {
            self.streak = 0;
            self.last_success = Some((began, took));
        } else if outcome.is_failure() {
            self.streak += 1;
        }
        self.keep(run, began, took, outcome);
        if let Some(ledger) = &self.ledger {
            let failures = u64::from(outcome.is_failure());
            ledger.add(Totals { runs: 1, failures, skipped: 0 });
        }
        let is_news = !is_success || is_first || streak_before > 0;
        Recorded { streak: self.streak, is_news }
    }

    /// Writes a record over the oldest one.
    fn keep(&mut self, run: &Run, began: WallTime, took: Duration, outcome: &Outcome) {
        if self.runs.len() < RUNS_KEPT {
            self.runs.push(Kept {
                number: run.number(),
                cause: run.cause(),
                fire_time: run.planned_for(),
                started_at: began,
                took,
                attempts: run.attempt(),
                outcome: outcome.clone(),
                notes: run.take_notes(),
            });
            return;
        }
        // Field by field: a record is large, and nearly always like the one before.
        let record = &mut self.runs[self.oldest];
        record.number = run.number();
        record.cause = run.cause();
        record.fire_time = run.planned_for();
        record.started_at = began;
        record.took = took;
        record.attempts = run.attempt();
        if !(outcome.is_success() && record.outcome.is_success()) {
            record.outcome = outcome.clone();
        }
        record.notes = run.take_notes();
        self.oldest = if self.oldest + 1 == RUNS_KEPT { 0 } else { self.oldest + 1 };
    }
}

impl History {
    /// Takes note of a run that is over: when it began, how long it took, and what came of it.
    #[inline]
    pub(crate) fn record(
        &mut self,
        run: &Run,
        began: WallTime,
        took: Duration,
        outcome: &Outcome,
    ) -> Recorded {
        self.past().record(run, began, took, outcome)
    }

    #[inline]
    fn past(&mut self) -> &mut Past {
        self.0.get_or_insert_default()
    }

    /// Whether a success would be no news.
    #[inline]
    pub(crate) fn expects_success(&self) -> bool {
        self.0.as_ref().is_some_and(|past| past.counters.successes > 0 && past.streak == 0)
    }

    /// Takes note of fire times that passed without a run.
    pub(crate) fn skip(&mut self, reason: SkipReason, count: u64) {
        let past = self.past();
        let skipped = match reason {
            SkipReason::Overlap => &mut past.counters.skipped_overlap,
            SkipReason::Paused => &mut past.counters.skipped_paused,
            SkipReason::Misfire => &mut past.counters.skipped_misfire,
            SkipReason::Rescheduled => &mut past.counters.skipped_rescheduled,
        };
        *skipped = skipped.saturating_add(count);
        if let Some(ledger) = &past.ledger {
            ledger.add(Totals { skipped: count, ..Totals::default() });
        }
    }

    /// Adds what is counted to a ledger, and all that is counted from now on; to the first one only.
    pub(crate) fn count_in(&mut self, ledger: &Arc<Ledger>) {
        let past = self.past();
        if past.ledger.is_none() {
            ledger.add(Totals::from(&past.counters));
            past.ledger = Some(Arc::clone(ledger));
        }
    }

    /// The last runs, the latest first.
    pub(crate) fn runs(&self) -> impl Iterator<Item = RunRecord> {
        self.0.iter().flat_map(|past| {
            let count = past.runs.len();
            let index = move |back| (past.oldest + count - 1 - back) % count;
            (0..count).map(move |back| past.runs[index(back)].record())
        })
    }

    /// When the last run ended that is remembered.
    pub(crate) fn last_end(&self) -> Option<WallTime> {
        let past = self.0.as_ref()?;
        let latest = (past.oldest + past.runs.len()).checked_sub(1)?;
        let run = past.runs.get(latest % past.runs.len().max(1))?;
        Some(run.started_at + run.took)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.0.as_ref().map_or_else(Counters::default, |past| past.counters)
    }

    /// How many runs in a row have failed; a cancelled run neither counts nor ends it.
    pub(crate) fn streak(&self) -> u64 {
        self.0.as_ref().map_or(0, |past| past.streak)
    }

    /// When the last run that succeeded ended.
    pub(crate) fn last_success(&self) -> Option<DateTime<Utc>> {
        let (started_at, took) = self.0.as_ref()?.last_success?;
        Some((started_at + took).to_utc())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Failure;
    use crate::run::Facts;

    fn note(history: &mut History, number: u64, attempt: u32, outcome: &Outcome) -> Recorded {
        let began = WallTime::from_nanos(0) + Duration::from_secs(number);
        let facts = Facts {
            task: "task".into(),
            number,
            attempt,
            cause: Cause::Schedule,
            fire_time: began,
            started_at: began,
        };
        let run = Run::new(facts);
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
            note(&mut history, number, 1, &outcome);
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
            (Failure::from_timeout(Duration::from_secs(5)).into(), 2, true),
            (Outcome::Cancelled, 2, true),
            (panicked(), 3, true),
            (Outcome::Success, 0, true),
            (Outcome::Success, 0, false),
        ];
        for (number, (outcome, streak, is_news)) in (1..).zip(outcomes) {
            let recorded = note(&mut history, number, 1, &outcome);
            assert_eq!(recorded, Recorded { streak, is_news }, "run {number}");
            assert_eq!(history.streak(), streak);
        }
    }

    #[test]
    fn what_a_removed_task_counts_is_added_up_once() {
        let ledger = Arc::new(Ledger::default());
        let (mut history, mut other) = (History::default(), History::default());
        note(&mut history, 1, 1, &panicked());
        history.skip(SkipReason::Paused, 4);
        history.count_in(&ledger);
        history.count_in(&ledger);
        assert_eq!(ledger.sum(), Totals { runs: 1, failures: 1, skipped: 4 });
        note(&mut history, 2, 1, &Outcome::Cancelled);
        note(&mut history, 3, 1, &panicked());
        history.skip(SkipReason::Overlap, 5);
        assert_eq!(ledger.sum(), Totals { runs: 3, failures: 2, skipped: 9 });
        other.skip(SkipReason::Misfire, u64::MAX);
        other.count_in(&ledger);
        assert_eq!(ledger.sum().skipped, u64::MAX, "a sum that is too large saturates");
    }

    #[test]
    fn what_happened_is_counted_by_kind() {
        let mut history = History::default();
        let error = crate::run::TaskError::from_display("no");
        note(&mut history, 1, 3, &Failure::from_error(&error).into());
        note(&mut history, 2, 1, &panicked());
        note(&mut history, 3, 2, &Failure::from_timeout(Duration::from_secs(1)).into());
        note(&mut history, 4, 1, &Outcome::Cancelled);
        note(&mut history, 5, 1, &Outcome::Success);
        history.skip(SkipReason::Overlap, 2);
        history.skip(SkipReason::Paused, 3);
        history.skip(SkipReason::Misfire, u64::MAX);
        history.skip(SkipReason::Rescheduled, 1);
        let expected = Counters {
            runs: 5,
            successes: 1,
            errors: 1,
            panics: 1,
            timeouts: 1,
            cancelled: 1,
            attempts: 8,
            skipped_overlap: 2,
            skipped_paused: 3,
            skipped_misfire: u64::MAX,
            skipped_rescheduled: 1,
        };
        assert_eq!(history.counters(), expected);
        assert_eq!(history.counters().failures(), 3);
        assert_eq!(history.counters().skipped(), u64::MAX, "a sum that is too large saturates");
    }
}
