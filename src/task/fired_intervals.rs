//! Wall-clock intervals whose fire times are decided.
//!
//! A look at the clocks says how much time has passed since the last one. A difference of the wall clock beyond that is a jump,
//! and only as much as has passed counts as fired, on either side of it.

use std::time::Duration;

use scheduler_core::{Now, Tick, WallTime};

use super::scheduled_task::Empty;

/// The number of intervals that are kept. Of more, the two nearest to each other are joined.
const INTERVALS_MAX: usize = 16;

/// The distance between two fire times of a custom trigger, beyond the time that has passed, that is no jump.
const TOLERANCE: Duration = Duration::from_millis(500);

/// Intervals of the wall clock whose fire times have started or were skipped. Empty for a task that is not bound to that clock.
#[derive(Clone, Debug, Default)]
pub(super) struct FiredIntervals {
    /// The one that grows is the last.
    intervals: Vec<Interval>,
    /// When a fire time of a custom trigger was marked last.
    marked_at: Tick,
}

/// From one instant to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    from: WallTime,
    to: WallTime,
}

impl Empty for FiredIntervals {
    const EMPTY: &'static Self = &Self { intervals: Vec::new(), marked_at: Tick::ZERO };
}

impl FiredIntervals {
    /// Marks the time that has passed between two looks.
    pub(super) fn advance(&mut self, last: Now, now: Now) {
        let passed = now.tick.since(last.tick);
        let after = |instant: WallTime| instant + Duration::from_nanos(1);
        self.mark(after(last.wall), now.wall.min(last.wall + passed));
        self.mark(after(now.wall - passed), now.wall);
    }

    /// Marks one fire time, which starts or is skipped.
    pub(super) fn mark_one(&mut self, fire_time: WallTime) {
        if self.end_of_interval_at(fire_time).is_none() {
            self.mark(fire_time, fire_time);
        }
    }

    /// Marks a fire time that a custom trigger gave. The times between it and the one before are decided too, unless the clock
    /// has jumped.
    pub(super) fn mark_trigger_time(&mut self, fire_time: WallTime, now: Tick) {
        let passed = now.since(std::mem::replace(&mut self.marked_at, now)) + TOLERANCE;
        match self.intervals.last_mut() {
            Some(last) if last.to <= fire_time && fire_time.since(last.to) <= passed => {
                last.to = fire_time;
            }
            _ => self.mark(fire_time, fire_time),
        }
    }

    /// Marks the time between two instants, without the second.
    pub(super) fn mark_until(&mut self, from: WallTime, to: WallTime) {
        self.mark(from, to - Duration::from_nanos(1));
    }

    /// Returns the end of the fired interval around an instant, if there is one.
    pub(super) fn end_of_interval_at(&self, instant: WallTime) -> Option<WallTime> {
        let contains = |interval: &&Interval| interval.from <= instant && instant <= interval.to;
        self.intervals.iter().filter(contains).map(|interval| interval.to).max()
    }

    #[inline]
    fn mark(&mut self, from: WallTime, to: WallTime) {
        if to < from {
            return;
        }
        match self.intervals.last_mut() {
            Some(last) if last.touches(from, to) => {
                (last.from, last.to) = (last.from.min(from), last.to.max(to));
            }
            _ => self.push(Interval { from, to }),
        }
    }

    #[cold]
    fn push(&mut self, interval: Interval) {
        self.intervals.push(interval);
        if self.intervals.len() > INTERVALS_MAX {
            self.join_nearest();
        }
    }

    /// Joins the two intervals with the least between them: joined to one from when the clock was years ahead, another
    /// would silence the task for as long.
    fn join_nearest(&mut self) {
        let pairs =
            (1..self.intervals.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
        let gap = |(one, other): &(usize, usize)| self.intervals[*one].gap(self.intervals[*other]);
        if let Some((one, other)) = pairs.min_by_key(gap) {
            let (first, second) = (self.intervals[one], self.intervals[other]);
            let joined =
                Interval { from: first.from.min(second.from), to: first.to.max(second.to) };
            self.intervals[other] = joined;
            self.intervals.remove(one);
        }
    }
}

impl Interval {
    fn touches(self, from: WallTime, to: WallTime) -> bool {
        from <= self.to + Duration::from_nanos(1) && self.from <= to + Duration::from_nanos(1)
    }

    fn gap(self, other: Self) -> Duration {
        self.from.since(other.to).max(other.from.since(self.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(tick: u64, wall: i64) -> Now {
        Now {
            tick: Tick::from_nanos(tick * 1_000_000_000),
            wall: WallTime::from_nanos(wall * 1_000_000_000),
        }
    }

    fn at(second: i64) -> WallTime {
        now(0, second).wall
    }

    #[test]
    fn a_clock_that_goes_on_is_one_interval() {
        let mut fired = FiredIntervals::default();
        for second in 0..10_u8 {
            fired.advance(
                now(second.into(), second.into()),
                now(u64::from(second) + 1, i64::from(second) + 1),
            );
        }
        assert_eq!(fired.intervals.len(), 1);
        assert_eq!(
            (fired.end_of_interval_at(at(0)), fired.end_of_interval_at(at(1))),
            (None, Some(at(10)))
        );
        assert_eq!(
            (fired.end_of_interval_at(at(10)), fired.end_of_interval_at(at(11))),
            (Some(at(10)), None)
        );
    }

    #[test]
    fn a_jump_fires_only_the_times_that_have_passed() {
        let mut fired = FiredIntervals::default();
        fired.advance(now(0, 100), now(10, 1_000));
        let has_fired = |second| fired.end_of_interval_at(at(second)).is_some();
        assert_eq!(
            [101, 110, 111, 990, 991, 1_000].map(has_fired),
            [true, true, false, false, true, true]
        );
        let mut fired = FiredIntervals::default();
        fired.advance(now(0, 1_000), now(10, 100));
        let has_fired = |second| fired.end_of_interval_at(at(second)).is_some();
        assert_eq!([90, 91, 100, 101, 1_001].map(has_fired), [false, true, true, false, false]);
    }

    #[test]
    fn many_jumps_take_bounded_memory_and_silence_no_task_whose_clock_was_far_ahead() {
        let mut fired = FiredIntervals::default();
        fired.mark_one(at(31_536_000));
        for hour in 1..=40 {
            fired.mark_one(at(hour * 3_600));
        }
        assert!(fired.intervals.len() <= INTERVALS_MAX);
        assert!((1..=40).all(|hour| fired.end_of_interval_at(at(hour * 3_600)).is_some()));
        assert_eq!(fired.end_of_interval_at(at(41 * 3_600)), None);
    }
}
