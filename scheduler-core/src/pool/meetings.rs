//! How often a worker meets others at the pool's lock.
//!
//! Where tasks are so brief that two workers meet there again and again, they take longer together than one of
//! them alone: what a task is made of, and what the lock guards, goes from the cache of one core to that of the
//! other with each task. So one of them rests for a moment, as long as a few wake-ups take, while another goes on; and
//! once more where that one has run so many tasks meanwhile that two would hardly have run more. It is not listed as
//! waiting, and nobody wakes it but the end of the pool: what comes due meanwhile beside a task that turns out to be
//! long waits until the rest is over, and the next one if many were run before it, unless somebody else waits.
//!
//! How often, how long, and how many tasks was found with two workers on two cores.

use std::cell::Cell;
use std::time::Duration;

use super::step::Others;
use crate::time::Tick;

/// What a meeting counts, where each turn without one takes one away.
const MEETING: u32 = 3;

/// Too many: four in a row, or somewhat more that are not.
const TOO_MANY: u32 = 4 * MEETING;

/// How long a rest is, in wake-ups: a shorter one costs more than it saves.
const WAKE_UPS: u32 = 3;

/// Who rests is not missed where each of the others that are at work runs so many tasks in a wake-up.
const BRISK: u64 = 64;

/// So many rests follow each other at most: then it shows whether workers still meet.
pub(super) const IN_A_ROW: usize = 16;

/// A turn is brief if the one before began so recently, in parts of a wake-up.
const BRIEF: u32 = 8;

/// The meetings of one worker.
#[derive(Debug)]
pub(super) struct Meetings {
    score: Cell<u32>,
    /// When the last turn began.
    last: Cell<Tick>,
    /// None by a clock that somebody moves, which nobody waits for.
    wake_up: Duration,
}

impl Meetings {
    pub(super) fn new(wake_up: Duration) -> Self {
        Self { score: Cell::new(0), last: Cell::new(Tick::ZERO), wake_up }
    }

    /// Notes a turn at the lock. One that comes after a while, because a task was long or there was none, is no
    /// meeting, and what was before it counts no more.
    #[inline]
    pub(super) fn note(&self, has_met: bool, now: Tick) {
        let score = self.score.get();
        let is_brief = now.since(self.last.replace(now)) < self.wake_up / BRIEF;
        self.score.set(match (is_brief, has_met) {
            (false, _) => 0,
            (true, true) => (score + MEETING).min(TOO_MANY),
            (true, false) => score.saturating_sub(1),
        });
    }

    #[inline]
    pub(super) fn are_too_many(&self) -> bool {
        self.score.get() >= TOO_MANY
    }

    pub(super) fn forget(&self) {
        self.score.set(0);
    }

    pub(super) fn rest_length(&self) -> Duration {
        self.wake_up.saturating_mul(WAKE_UPS)
    }
}

/// Whether so many tasks were run during a rest that one more does no harm.
pub(super) fn is_not_missed(before: Others, now: Others) -> bool {
    now.completed - before.completed >= BRISK * u64::from(WAKE_UPS) * now.busy as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The meetings of a worker that has had a turn every so many microseconds, where a wake-up takes 40.
    fn after(turns: u64, micros: u64, has_met: impl Fn(u64) -> bool) -> Meetings {
        let meetings = Meetings::new(Duration::from_micros(40));
        for turn in 1..=turns {
            meetings.note(has_met(turn), Tick::from_nanos(1_000 * micros * turn));
        }
        meetings
    }

    #[test]
    fn four_meetings_in_a_row_are_too_many_until_they_are_forgotten() {
        assert!(!after(3, 1, |_| true).are_too_many());
        let meetings = after(4, 1, |_| true);
        assert!(meetings.are_too_many());
        meetings.forget();
        assert!(!meetings.are_too_many());
    }

    #[test]
    fn meetings_now_and_then_are_never_too_many() {
        (0..100).for_each(|turns| assert!(!after(turns, 1, |turn| turn % 4 == 0).are_too_many()));
        assert!(
            after(100, 1, |turn| turn % 2 == 0).are_too_many(),
            "every other turn is too often"
        );
    }

    #[test]
    fn workers_that_meet_after_a_while_do_not_keep_each_other_from_work() {
        assert!(after(100, 4, |_| true).are_too_many());
        assert!(!after(100, 5, |_| true).are_too_many());
        let meetings = after(3, 1, |_| true);
        meetings.note(true, Tick::from_nanos(1_000_000));
        meetings.note(true, Tick::from_nanos(1_000_001));
        assert!(!meetings.are_too_many(), "it has waited meanwhile");
    }

    #[test]
    fn who_rests_is_not_missed_while_each_of_the_others_runs_64_tasks_in_a_wake_up() {
        let is_not_missed = |tasks: u64, busy| {
            let before = Others { completed: 1_000, busy: 1 };
            is_not_missed(before, Others { completed: 1_000 + tasks, busy })
        };
        assert!(!is_not_missed(191, 1) && is_not_missed(192, 1));
        assert!(!is_not_missed(383, 2) && is_not_missed(384, 2));
    }

    #[test]
    fn a_rest_is_three_wake_ups_and_nobody_rests_where_somebody_moves_the_clock() {
        assert_eq!(after(0, 1, |_| true).rest_length(), Duration::from_micros(120));
        assert_eq!(Meetings::new(Duration::MAX).rest_length(), Duration::MAX);
        let meetings = Meetings::new(Duration::ZERO);
        (0..100).for_each(|_| meetings.note(true, Tick::ZERO));
        assert!(!meetings.are_too_many());
    }
}
