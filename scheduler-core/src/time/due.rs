//! When something is due, and on which of the two clocks.

use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;

use super::Clock;
use super::Tick;

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
    pub wall: DateTime<Utc>,
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
/// let due = Due::Wall(clock.wall() + Duration::from_secs(60));
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
    Wall(DateTime<Utc>),
}

impl Due {
    /// An instant that is never reached, and that nobody wakes up for.
    pub const NEVER: Self = Self::Tick(Tick::MAX);

    /// The time left, or zero when the instant has been reached.
    #[must_use]
    pub fn left(self, now: Now) -> Duration {
        match self {
            Self::Tick(tick) => tick.since(now.tick),
            Self::Wall(wall) => (wall - now.wall).to_std().unwrap_or(Duration::ZERO),
        }
    }

    /// Whether the instant has been reached; [`NEVER`](Self::NEVER) is only by a clock at its own end,
    /// and a task that is due then does not run even so.
    #[inline]
    #[must_use]
    pub fn is_reached(self, now: Now) -> bool {
        match self {
            Self::Tick(tick) => tick <= now.tick,
            Self::Wall(wall) => wall <= now.wall,
        }
    }

    /// Where a task with this fire time enters the queue at `now`.
    ///
    /// A trigger may answer with an instant long past, again and again. It counts as now there, so that
    /// such a task takes turns with others that are due, and cannot starve them. A tick is kept: missed
    /// fire times of a fixed rate come in their exact order.
    pub(crate) fn not_overtaking(self, now: Now) -> Self {
        match self {
            Self::Tick(_) => self,
            Self::Wall(wall) => Self::Wall(wall.max(now.wall)),
        }
    }

    /// This instant on the monotonic clock, as far as the present reading tells.
    #[must_use]
    pub fn as_tick(self, now: Now) -> Tick {
        match self {
            Self::Tick(tick) => tick,
            Self::Wall(wall) if wall >= now.wall => now.tick + self.left(now),
            Self::Wall(wall) => {
                let late = (now.wall - wall).to_std().unwrap_or(Duration::MAX);
                Tick::ZERO + now.tick.since(Tick::ZERO + late)
            }
        }
    }

    /// This instant on the wall clock, as far as the present reading tells.
    #[must_use]
    pub fn as_wall(self, now: Now) -> DateTime<Utc> {
        match self {
            Self::Wall(wall) => wall,
            Self::Tick(tick) => {
                let ahead = chrono::TimeDelta::from_std(tick.since(now.tick));
                let behind = chrono::TimeDelta::from_std(now.tick.since(tick));
                let wall = now.wall.checked_add_signed(ahead.unwrap_or_default());
                wall.and_then(|wall| wall.checked_sub_signed(behind.unwrap_or_default()))
                    .unwrap_or(DateTime::<Utc>::MAX_UTC)
            }
        }
    }
}

/// A wall-clock instant as unsigned nanoseconds since 1970, saturating at both ends.
pub(crate) fn wall_nanos(wall: DateTime<Utc>) -> u64 {
    let Ok(seconds) = u64::try_from(wall.timestamp()) else { return 0 };
    let nanos = u64::from(wall.timestamp_subsec_nanos());
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Now {
        let wall = DateTime::from_timestamp(1_000, 0).unwrap();
        Now { tick: Tick::from_nanos(50_000_000_000), wall }
    }

    #[test]
    fn a_wall_instant_maps_to_the_tick_at_which_it_is_reached() {
        let second = Duration::from_secs(1);
        assert_eq!(Due::Wall(now().wall + second).as_tick(now()), now().tick + second);
        assert_eq!(Due::Wall(now().wall - second * 49).as_tick(now()), Tick::ZERO + second);
        assert_eq!(Due::Wall(now().wall - second * 51).as_tick(now()), Tick::ZERO);
        assert_eq!(Due::Wall(DateTime::<Utc>::MAX_UTC).as_tick(now()), Tick::MAX);
        assert_eq!(Due::Wall(DateTime::<Utc>::MIN_UTC).as_tick(now()), Tick::ZERO);
    }

    #[test]
    fn a_tick_maps_to_the_wall_reading_it_would_have() {
        assert_eq!(Due::Tick(Tick::ZERO).as_wall(now()).timestamp(), 950);
        assert_eq!(Due::Tick(Tick::from_nanos(51_000_000_000)).as_wall(now()).timestamp(), 1_001);
        assert!(Due::Tick(Tick::MAX).as_wall(now()).timestamp() > 18_000_000_000);
    }

    #[test]
    fn wall_nanoseconds_saturate() {
        assert_eq!(wall_nanos(DateTime::<Utc>::MIN_UTC), 0);
        assert_eq!(wall_nanos(DateTime::<Utc>::MAX_UTC), u64::MAX);
        assert_eq!(wall_nanos(now().wall), 1_000_000_000_000);
    }
}
