//! The fire times that a task with a trigger has had, so that none is given twice.
//!
//! A wall clock that is set back shows the same times again. Those that have fired must not fire a
//! second time; those that have not — because the clock had jumped over them, or had been wrong —
//! are as good as any. So the past is kept as stretches of the wall clock in which fire times were
//! served without a jump, the latest last. There are few of them: what lies between the two that are
//! nearest to each other counts as served when there would be more.

use crate::time::WallTime;

/// How many stretches are kept; when there are more, the two that are nearest to each other become one.
const STRETCHES_MAX: usize = 8;

/// What may lie between two starts beyond their distance on the wall clock without being a jump,
/// in nanoseconds.
const TOLERANCE: i64 = 500_000_000;

/// The fire times of a task, as stretches.
#[derive(Clone, Debug, Default)]
pub(crate) struct FireHistory {
    stretches: Vec<Stretch>,
    /// When the last run started, by the wall clock.
    last_start: Option<WallTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    first: WallTime,
    last: WallTime,
}

impl FireHistory {
    /// Records a run that was scheduled for one instant and started at another.
    pub(crate) fn note(&mut self, scheduled: WallTime, started: WallTime) {
        let passed = self.last_start.replace(started).map(|last| distance(last, started));
        match (self.stretches.last_mut(), passed) {
            (Some(stretch), Some(passed)) if stretch.is_followed_by(scheduled, passed) => {
                stretch.last = scheduled;
            }
            _ => self.stretches.push(Stretch { first: scheduled, last: scheduled }),
        }
        if self.stretches.len() > STRETCHES_MAX {
            self.join_nearest();
        }
    }

    /// Makes one of two stretches, such that the least counts as served that was not: joined to one from
    /// when the clock was years ahead, another would silence the task for as long.
    fn join_nearest(&mut self) {
        let pairs =
            (1..self.stretches.len()).flat_map(|later| (0..later).map(move |it| (it, later)));
        let gap = |(one, other): &(usize, usize)| self.stretches[*one].gap(self.stretches[*other]);
        if let Some((one, other)) = pairs.min_by_key(gap) {
            // The later one stays where it is: the last may go on.
            let joined = self.stretches.remove(one).joined(self.stretches[other - 1]);
            self.stretches[other - 1] = joined;
        }
    }

    /// The end of what has been served around an instant, or none when it has not been served.
    pub(crate) fn end_of_served(&self, instant: WallTime) -> Option<WallTime> {
        let around = self.stretches.iter().filter(|stretch| stretch.contains(instant));
        around.map(|stretch| stretch.last).max()
    }
}

impl Stretch {
    fn contains(&self, instant: WallTime) -> bool {
        self.first <= instant && instant <= self.last
    }

    /// How far it is from the one to the other, in nanoseconds; none where they meet.
    fn gap(self, other: Self) -> i64 {
        distance(self.last, other.first).max(distance(other.last, self.first)).max(0)
    }

    fn joined(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    /// Returns true if a fire time goes on from here: later, and no farther than time has passed.
    fn is_followed_by(&self, scheduled: WallTime, passed: i64) -> bool {
        let distance = distance(self.last, scheduled);
        distance >= 0 && distance <= passed.saturating_add(TOLERANCE)
    }
}

/// From one instant to another, in nanoseconds; negative where that is earlier.
fn distance(from: WallTime, to: WallTime) -> i64 {
    to.as_nanos().saturating_sub(from.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> WallTime {
        WallTime::from_nanos(second * 1_000_000_000)
    }

    fn history(runs: &[(i64, i64)]) -> FireHistory {
        let mut history = FireHistory::default();
        for (scheduled, started) in runs {
            history.note(at(*scheduled), at(*started));
        }
        history
    }

    #[track_caller]
    fn check(history: &FireHistory, instant: i64, expected: Option<i64>) {
        assert_eq!(history.end_of_served(at(instant)), expected.map(at), "{instant}");
    }

    #[test]
    fn runs_in_time_are_one_stretch() {
        let history = history(&[(100, 100), (160, 160), (220, 221)]);
        for (instant, expected) in [(99, None), (100, Some(220)), (200, Some(220)), (221, None)] {
            check(&history, instant, expected);
        }
    }

    #[test]
    fn a_jump_forward_leaves_what_it_jumped_over_unserved() {
        let history = history(&[(100, 100), (101, 3_701), (3_702, 3_702), (3_703, 3_703)]);
        check(&history, 101, Some(101));
        check(&history, 102, None);
        check(&history, 3_701, None);
        check(&history, 3_702, Some(3_703));
    }

    #[test]
    fn a_clock_set_back_starts_a_stretch_and_the_old_ones_stay_served() {
        let history = history(&[(5_000, 5_000), (5_001, 5_001), (1_000, 1_000), (1_001, 1_001)]);
        check(&history, 1_000, Some(1_001));
        check(&history, 1_002, None);
        check(&history, 5_000, Some(5_001));
    }

    #[test]
    fn what_an_overrun_left_out_counts_as_served() {
        let history = history(&[(0, 0), (600, 600)]);
        check(&history, 300, Some(600));
    }

    #[test]
    fn as_many_jumps_as_are_kept_are_distinguished() {
        let starts = 0..STRETCHES_MAX as i64;
        let runs: Vec<(i64, i64)> = starts.map(|jump| (jump * 1_000, jump * 1_000)).collect();
        let mut history = FireHistory::default();
        for (scheduled, started) in &runs {
            // The clock jumps forward after each run: less time passes than lies between them.
            history.last_start = history.last_start.map(|_| at(started - 7));
            history.note(at(*scheduled), at(*started));
        }
        for (scheduled, _) in &runs {
            check(&history, *scheduled, Some(*scheduled));
            check(&history, scheduled + 500, None);
        }
        history.note(at(100_000), at(100_000 - 500));
        check(&history, 500, Some(1_000));
        check(&history, 1_500, None);
    }

    #[test]
    fn many_jumps_silence_no_task_whose_clock_was_far_ahead() {
        let year = 31_536_000;
        let caught_up = (1..=40).map(|hour| (hour * 3_600, 200_000));
        let runs: Vec<_> = std::iter::once((year, year)).chain(caught_up).collect();
        let history = history(&runs);
        check(&history, year, Some(year));
        assert!((1..=40).all(|hour| history.end_of_served(at(hour * 3_600)).is_some()));
        check(&history, 41 * 3_600, None);
    }

    #[test]
    fn many_jumps_take_bounded_memory_and_never_forget_a_fire_time() {
        let runs: Vec<(i64, i64)> = (0..100).map(|jump| (jump * 1_000, jump * 1_000 + 7)).collect();
        let mut history = FireHistory::default();
        for (scheduled, started) in &runs {
            history.note(at(*scheduled), at(*started));
            history.note(at(*scheduled), at(*started - 500));
        }
        assert!(history.stretches.len() <= STRETCHES_MAX);
        for (scheduled, _) in &runs {
            assert!(history.end_of_served(at(*scheduled)).is_some());
        }
    }
}
