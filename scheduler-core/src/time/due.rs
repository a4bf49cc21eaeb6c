//! Due times, readings of both clocks, and instants of the wall clock.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use super::{Clock, Tick};

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

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND as i64;

thread_local! {
    /// The day that this thread converted last, in days since 1970: most of a conversion is finding its date.
    static LATEST_DAY: Cell<(i64, NaiveDate)> =
        const { Cell::new((0, DateTime::UNIX_EPOCH.naive_utc().date())) };
}

/// An instant of the wall clock: nanoseconds since 1970, in UTC.
///
/// Workers handle numbers; a [`DateTime`] is made where user code
/// looks at it. The range of 64 bits is from the year 1677 to 2262. Arithmetic saturates, and an
/// instant beyond the range becomes its end; [`MAX`](Self::MAX) is never reached.
///
/// ```
/// use chrono::{DateTime, Utc};
/// use scheduler_core::time::WallTime;
/// use std::time::Duration;
///
/// let nine: DateTime<Utc> = "2026-01-01T09:00:00Z".parse().unwrap();
/// let wall = WallTime::from(nine) + Duration::from_secs(60);
/// assert_eq!(wall.to_utc().to_rfc3339(), "2026-01-01T09:01:00+00:00");
/// assert_eq!(wall.since(WallTime::from(nine)), Duration::from_secs(60));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

impl WallTime {
    /// The earliest instant.
    pub const MIN: Self = Self(i64::MIN);

    /// The end of time, which is never reached.
    pub const MAX: Self = Self(i64::MAX);

    /// The last instant that is reached: a clock that stands at the end of time has reached it.
    const LAST: Self = Self(i64::MAX - 1);

    /// The instant this many nanoseconds after 1970 began, or before.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since 1970 began.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// This instant in the form that calendars use.
    #[inline]
    #[must_use]
    pub fn to_utc(self) -> DateTime<Utc> {
        let day = self.0.div_euclid(NANOS_PER_DAY);
        let (latest, mut date) = LATEST_DAY.get();
        if day != latest {
            date = DateTime::from_timestamp_nanos(self.0).date_naive();
            LATEST_DAY.set((day, date));
        }
        let nanos = self.0.rem_euclid(NANOS_PER_DAY).cast_unsigned();
        let (seconds, nanos) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
        let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds as u32, nanos as u32);
        date.and_time(time.unwrap_or_default()).and_utc()
    }

    /// The time from `earlier` to this instant, or zero when `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        if self.0 <= earlier.0 {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.0.abs_diff(earlier.0))
    }

    /// The key under which a queue sorts it: the same order, unsigned.
    pub(crate) const fn key(self) -> u64 {
        self.0.cast_unsigned() ^ (1 << 63)
    }

    /// The instant of a [`key`](Self::key).
    pub(crate) const fn from_key(key: u64) -> Self {
        Self((key ^ (1 << 63)).cast_signed())
    }

    /// The distance from a monotonic time to this, in nanoseconds.
    pub(crate) fn offset(self, tick: super::Tick) -> i128 {
        i128::from(self.0) - i128::from(tick.as_nanos())
    }
}

impl From<DateTime<Utc>> for WallTime {
    fn from(instant: DateTime<Utc>) -> Self {
        let end = if instant < DateTime::UNIX_EPOCH { Self::MIN } else { Self::MAX };
        instant.timestamp_nanos_opt().map_or(end, Self)
    }
}

impl From<WallTime> for DateTime<Utc> {
    fn from(instant: WallTime) -> Self {
        instant.to_utc()
    }
}

/// Adds, saturating at [`WallTime::MAX`].
impl std::ops::Add<Duration> for WallTime {
    type Output = Self;

    #[inline]
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add_unsigned(super::nanos(duration)))
    }
}

/// Subtracts, saturating at [`WallTime::MIN`].
impl std::ops::Sub<Duration> for WallTime {
    type Output = Self;

    #[inline]
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub_unsigned(super::nanos(duration)))
    }
}

impl fmt::Debug for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_utc().fmt(f)
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

    #[test]
    fn a_time_beyond_the_range_becomes_its_end() {
        assert_eq!(WallTime::from(DateTime::<Utc>::MIN_UTC), WallTime::MIN);
        assert_eq!(WallTime::from(DateTime::<Utc>::MAX_UTC), WallTime::MAX);
        assert_eq!(WallTime::MAX + Duration::MAX, WallTime::MAX);
        assert_eq!(WallTime::MIN - Duration::MAX, WallTime::MIN);
        assert_eq!(WallTime::MIN + Duration::MAX, WallTime::MAX);
        assert_eq!(WallTime::MAX.since(WallTime::MIN), Duration::from_nanos(u64::MAX));
        assert_eq!(WallTime::MIN.since(WallTime::MAX), Duration::ZERO);
    }

    #[test]
    fn keys_have_the_order_of_the_instants() {
        let instants = [i64::MIN, -1, 0, 1, i64::MAX].map(WallTime::from_nanos);
        assert!(instants.is_sorted_by(|one, next| one < next && one.key() < next.key()));
        assert_eq!((WallTime::MIN.key(), WallTime::MAX.key()), (0, u64::MAX));
        assert_eq!(instants.map(|instant| WallTime::from_key(instant.key())), instants);
    }

    #[test]
    fn the_lead_over_the_other_clock_is_a_difference() {
        let tick = crate::time::Tick::from_nanos(50);
        assert_eq!(WallTime::from_nanos(70).offset(tick), 20);
        assert_eq!(WallTime::from_nanos(-70).offset(tick), -120);
        assert_eq!(format!("{:?}", WallTime::from_nanos(0)), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn a_date_comes_back_as_it_was() {
        let days = [-NANOS_PER_DAY - 1, -NANOS_PER_DAY, NANOS_PER_DAY - 1, NANOS_PER_DAY];
        for nanos in [i64::MIN, -1, 0, 1_767_225_600_123_456_789, i64::MAX].into_iter().chain(days)
        {
            let wall = WallTime::from_nanos(nanos);
            assert_eq!(wall.to_utc(), DateTime::from_timestamp_nanos(nanos));
            assert_eq!(WallTime::from(wall.to_utc()), wall);
            assert_eq!(DateTime::<Utc>::from(wall), wall.to_utc());
        }
    }
}
