//! Which stretches of the wall clock a task has been through, so that a clock that is set back brings no fire time twice.
//!
//! A look at the clocks says how much time has passed since the last one. What the wall clock shows beyond that is a jump,
//! and only as much as has passed counts as served, on either side of it.

use std::time::Duration;

use scheduler_core::{Now, Tick, WallTime};

/// How many stretches are kept; of more, the two nearest to each other become one.
const STRETCHES_MAX: usize = 16;

/// How far two fire times of a custom trigger may lie apart beyond the time that has passed without a jump.
const TOLERANCE: Duration = Duration::from_millis(500);

/// Stretches of the wall clock that are served. Empty for a task that is not bound to that clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    /// The one that grows is the last.
    stretches: Vec<Stretch>,
    /// When a fire time of a custom trigger was marked last.
    marked_at: Tick,
}

/// From one instant to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    from: WallTime,
    to: WallTime,
}

impl Served {
    /// Marks what has passed between two looks.
    pub(super) fn look(&mut self, last: Now, now: Now) {
        let passed = now.tick.since(last.tick);
        let after = |instant: WallTime| instant + Duration::from_nanos(1);
        self.mark(after(last.wall), now.wall.min(last.wall + passed));
        self.mark(after(now.wall - passed), now.wall);
    }

    /// Marks one fire time, which starts or is skipped.
    pub(super) fn start(&mut self, fire_time: WallTime) {
        if self.end_around(fire_time).is_none() {
            self.mark(fire_time, fire_time);
        }
    }

    /// Marks a fire time that a custom trigger gave. What lies between it and the one before is decided too, unless the clock
    /// has jumped.
    pub(super) fn given(&mut self, fire_time: WallTime, now: Tick) {
        let passed = now.since(std::mem::replace(&mut self.marked_at, now)) + TOLERANCE;
        match self.stretches.last_mut() {
            Some(last) if last.to <= fire_time && fire_time.since(last.to) <= passed => {
                last.to = fire_time;
            }
            _ => self.mark(fire_time, fire_time),
        }
    }

    /// Marks the time between two instants, without the second.
    pub(super) fn pass(&mut self, from: WallTime, to: WallTime) {
        self.mark(from, to - Duration::from_nanos(1));
    }

    /// Returns the end of what is served around an instant, or `None` if that instant is not served.
    pub(super) fn end_around(&self, instant: WallTime) -> Option<WallTime> {
        let around = self.stretches.iter().filter(|it| it.from <= instant && instant <= it.to);
        around.map(|it| it.to).max()
    }

    #[inline]
    fn mark(&mut self, from: WallTime, to: WallTime) {
        if to < from {
            return;
        }
        match self.stretches.last_mut() {
            Some(last) if last.touches(from, to) => {
                (last.from, last.to) = (last.from.min(from), last.to.max(to));
            }
            _ => self.push(Stretch { from, to }),
        }
    }

    #[cold]
    fn push(&mut self, stretch: Stretch) {
        self.stretches.push(stretch);
        if self.stretches.len() > STRETCHES_MAX {
            self.join_nearest();
        }
    }

    /// Joins the two stretches with the least between them: joined to one from when the clock was years ahead, another
    /// would silence the task for as long.
    fn join_nearest(&mut self) {
        let pairs =
            (1..self.stretches.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
        let gap = |(one, other): &(usize, usize)| self.stretches[*one].gap(self.stretches[*other]);
        if let Some((one, other)) = pairs.min_by_key(gap) {
            let (first, second) = (self.stretches[one], self.stretches[other]);
            let joined = Stretch { from: first.from.min(second.from), to: first.to.max(second.to) };
            self.stretches[other] = joined;
            self.stretches.remove(one);
        }
    }
}

impl Stretch {
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
    fn a_clock_that_goes_on_is_one_stretch() {
        let mut served = Served::default();
        for second in 0..10_u8 {
            served.look(
                now(second.into(), second.into()),
                now(u64::from(second) + 1, i64::from(second) + 1),
            );
        }
        assert_eq!(served.stretches.len(), 1);
        assert_eq!((served.end_around(at(0)), served.end_around(at(1))), (None, Some(at(10))));
        assert_eq!((served.end_around(at(10)), served.end_around(at(11))), (Some(at(10)), None));
    }

    #[test]
    fn of_a_jump_only_what_has_passed_is_served_on_either_side() {
        let mut served = Served::default();
        served.look(now(0, 100), now(10, 1_000));
        let is_served = |second| served.end_around(at(second)).is_some();
        assert_eq!(
            [101, 110, 111, 990, 991, 1_000].map(is_served),
            [true, true, false, false, true, true]
        );
        let mut served = Served::default();
        served.look(now(0, 1_000), now(10, 100));
        let is_served = |second| served.end_around(at(second)).is_some();
        assert_eq!([90, 91, 100, 101, 1_001].map(is_served), [false, true, true, false, false]);
    }

    #[test]
    fn many_jumps_take_bounded_memory_and_silence_no_task_whose_clock_was_far_ahead() {
        let mut served = Served::default();
        served.start(at(31_536_000));
        for hour in 1..=40 {
            served.start(at(hour * 3_600));
        }
        assert!(served.stretches.len() <= STRETCHES_MAX);
        assert!((1..=40).all(|hour| served.end_around(at(hour * 3_600)).is_some()));
        assert_eq!(served.end_around(at(41 * 3_600)), None);
    }
}
