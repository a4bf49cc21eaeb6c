//! A wall-clock instant as i64 nanoseconds.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

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
    pub(crate) const LAST: Self = Self(i64::MAX - 1);

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
