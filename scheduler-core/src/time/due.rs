//! When something is due, and on which of the two clocks.

use std::time::Duration;

use super::{Clock, Tick, WallTime};

/// One reading of both clocks.
///
/// ```
/// use scheduler_core::{ManualClock, Now};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let before = Now::read(&clock);
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(Now::read(&clock).tick.since(before.tick), Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The monotonic time.
    pub tick: Tick,
    /// The wall-clock time.
    pub wall: WallTime,
}

impl Now {
    /// Reads both times of a clock.
    #[must_use]
    pub fn read(clock: &dyn Clock) -> Self {
        clock.read()
    }
}

/// An instant of the monotonic or of the wall clock.
///
/// A wall-clock instant stays one until it is reached: if the wall clock is set meanwhile, the
/// instant is reached sooner or later accordingly.
///
/// ```
/// use scheduler_core::{Clock, Due, ManualClock, Now};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let minute = Duration::from_secs(60);
/// let due = Due::Wall(Now::read(&clock).wall + minute);
/// clock.suspend(Duration::from_secs(20));
/// let now = Now::read(&clock);
/// assert_eq!(due.left(now), Duration::from_secs(40));
/// assert_eq!(due.as_tick(now), clock.now() + Duration::from_secs(40));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// An instant of the monotonic clock: for rates, delays and time-outs.
    Tick(Tick),
    /// An instant of the wall clock: for the fire times of cron.
    Wall(WallTime),
}

impl Due {
    /// An instant that is never reached, and for which no worker wakes up.
    pub const NEVER: Self = Self::Tick(Tick::MAX);

    /// The time left, or zero when the instant has been reached.
    #[must_use]
    pub fn left(self, now: Now) -> Duration {
        match self {
            Self::Tick(tick) => tick.since(now.tick),
            Self::Wall(wall) => wall.since(now.wall),
        }
    }

    /// Returns true if the instant has been reached; [`NEVER`](Self::NEVER) is only by a clock at its own end,
    /// and a task that is due then does not run even so.
    #[inline]
    #[must_use]
    pub fn is_reached(self, now: Now) -> bool {
        match self {
            Self::Tick(tick) => tick <= now.tick,
            Self::Wall(wall) => wall <= now.wall && wall != WallTime::MAX,
        }
    }

    /// Returns whether it is a time of the wall clock, and the time as a number.
    pub(crate) const fn into_parts(self) -> (bool, u64) {
        match self {
            Self::Tick(tick) => (false, tick.as_nanos()),
            Self::Wall(wall) => (true, wall.key()),
        }
    }

    /// Where a timer that is armed for this time enters the queue at `now`.
    ///
    /// It may be armed for a time on the wall clock that has long passed, again and again. That counts as now, so that
    /// it takes turns with others that are due, and cannot starve them. A tick is kept: missed
    /// fire times of a fixed rate come in their exact order.
    pub(crate) fn not_overtaking(self, now: Now) -> Self {
        match self {
            Self::Tick(_) => self,
            Self::Wall(WallTime::MAX) => self,
            Self::Wall(wall) => Self::Wall(wall.max(now.wall).min(WallTime::LAST)),
        }
    }

    /// This instant on the monotonic clock, by the present reading.
    #[must_use]
    pub fn as_tick(self, now: Now) -> Tick {
        match self {
            Self::Tick(tick) => tick,
            Self::Wall(WallTime::MAX) => Tick::MAX,
            Self::Wall(wall) if wall >= now.wall => now.tick + wall.since(now.wall),
            Self::Wall(wall) => {
                let late = now.wall.since(wall);
                Tick::ZERO + now.tick.since(Tick::ZERO + late)
            }
        }
    }

    /// This instant on the wall clock, by the present reading.
    #[inline]
    #[must_use]
    pub fn as_wall(self, now: Now) -> WallTime {
        match self {
            Self::Wall(wall) => wall,
            Self::Tick(Tick::MAX) => WallTime::MAX,
            Self::Tick(tick) if tick >= now.tick => now.wall + tick.since(now.tick),
            Self::Tick(tick) => now.wall - now.tick.since(tick),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Now {
        let wall = WallTime::from_nanos(1_000_000_000_000);
        Now { tick: Tick::from_nanos(50_000_000_000), wall }
    }

    #[test]
    fn a_wall_instant_maps_to_the_tick_at_which_it_is_reached() {
        let second = Duration::from_secs(1);
        assert_eq!(Due::Wall(now().wall + second).as_tick(now()), now().tick + second);
        assert_eq!(Due::Wall(now().wall - second * 49).as_tick(now()), Tick::ZERO + second);
        assert_eq!(Due::Wall(now().wall - second * 51).as_tick(now()), Tick::ZERO);
        assert_eq!(Due::Wall(WallTime::MAX).as_tick(now()), Tick::MAX);
        assert_eq!(Due::Wall(WallTime::MIN).as_tick(now()), Tick::ZERO);
    }

    #[test]
    fn a_tick_maps_to_the_wall_reading_it_would_have() {
        let second = Duration::from_secs(1);
        assert_eq!(Due::Tick(Tick::ZERO).as_wall(now()), now().wall - second * 50);
        assert_eq!(Due::Tick(now().tick + second).as_wall(now()), now().wall + second);
        assert_eq!(Due::Tick(Tick::MAX).as_wall(now()), WallTime::MAX);
    }

    #[test]
    fn an_instant_is_reached_as_soon_as_it_is_now() {
        let moment = Duration::from_nanos(1);
        assert!(Due::Tick(now().tick).is_reached(now()));
        assert!(!Due::Tick(now().tick + moment).is_reached(now()));
        assert!(Due::Tick(Tick::ZERO).is_reached(now()));
        assert!(Due::Wall(now().wall).is_reached(now()));
        assert!(!Due::Wall(now().wall + moment).is_reached(now()));
    }

    #[test]
    fn an_overdue_entry_is_reached_by_a_clock_at_the_end_of_time() {
        let end = Now { tick: Tick::from_nanos(1), wall: WallTime::MAX };
        assert!(Due::Wall(now().wall).not_overtaking(end).is_reached(end));
        assert!(!Due::Wall(WallTime::MAX).not_overtaking(end).is_reached(end));
        assert_eq!(Due::Wall(WallTime::MIN).not_overtaking(now()), Due::Wall(now().wall));
        assert_eq!(Due::Tick(Tick::ZERO).not_overtaking(now()), Due::Tick(Tick::ZERO));
    }

    #[test]
    fn the_end_of_time_is_never_reached() {
        let end = Now { tick: Tick::from_nanos(1), wall: WallTime::MAX };
        assert!(!Due::Wall(WallTime::MAX).is_reached(end));
        assert!(Due::Wall(WallTime::MIN).is_reached(now()));
    }
}
