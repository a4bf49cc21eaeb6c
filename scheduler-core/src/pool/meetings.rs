//! How often a worker meets others at the pool's lock.
//!
//! Where tasks are so brief that two workers meet there again and again, they take longer together than one of
//! them alone: what a task is made of, and what the lock guards, goes from the cache of one core to that of the
//! other with each task. So one of them rests for a moment, as long as a few wake-ups take, while others go on.
//! What comes due meanwhile beside a task that turns out to be long waits until the rest is over.

use std::cell::Cell;
use std::time::Duration;

/// What a meeting counts, where each turn without one takes one away.
const MEETING: u32 = 3;

/// Too many: four in a row, or somewhat more that are not.
const TOO_MANY: u32 = 4 * MEETING;

/// How long a rest is, in wake-ups: a shorter one costs more than it saves.
const WAKE_UPS: u32 = 3;

/// The meetings of one worker.
#[derive(Debug)]
pub(super) struct Meetings {
    score: Cell<u32>,
    /// None by a clock that somebody moves, which nobody waits for.
    rest: Duration,
}

impl Meetings {
    pub(super) fn new(wake_up: Duration) -> Self {
        Self { score: Cell::new(0), rest: wake_up * WAKE_UPS }
    }

    /// Notes a turn at the lock.
    #[inline]
    pub(super) fn note(&self, has_met: bool) {
        let score = self.score.get();
        self.score.set(if has_met { score + MEETING } else { score.saturating_sub(1) });
    }

    #[inline]
    pub(super) fn are_too_many(&self) -> bool {
        self.score.get() >= TOO_MANY && !self.rest.is_zero()
    }

    pub(super) fn forget(&self) {
        self.score.set(0);
    }

    pub(super) fn rest(&self) -> Duration {
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_the_system() -> Meetings {
        Meetings::new(Duration::from_micros(40))
    }

    #[test]
    fn four_meetings_in_a_row_are_too_many_until_they_are_forgotten() {
        let meetings = by_the_system();
        (0..3).for_each(|_| meetings.note(true));
        assert!(!meetings.are_too_many());
        meetings.note(true);
        assert!(meetings.are_too_many());
        meetings.forget();
        assert!(!meetings.are_too_many());
    }

    #[test]
    fn meetings_now_and_then_are_never_too_many() {
        let meetings = by_the_system();
        for turn in 0..10_000 {
            meetings.note(turn % 4 == 0);
            assert!(!meetings.are_too_many(), "after {turn} turns");
        }
        (0..100).for_each(|turn| meetings.note(turn % 2 == 0));
        assert!(meetings.are_too_many(), "every other turn is too often");
    }

    #[test]
    fn nobody_rests_where_somebody_moves_the_clock() {
        let meetings = Meetings::new(Duration::ZERO);
        (0..100).for_each(|_| meetings.note(true));
        assert!(!meetings.are_too_many());
    }
}
