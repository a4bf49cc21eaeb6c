//! An instant of a monotonic clock.

use std::fmt;
use std::time::Duration;

/// An instant of a monotonic clock: nanoseconds since the clock's epoch.
///
/// Unsigned, saturating, and compared as a value: an instant that is too far away to be represented
/// is [`Tick::MAX`], about 584 years after the epoch. (The JDK compares differences of signed
/// nanoseconds, and a giant period can wrap and starve its queue.)
///
/// ```
/// use scheduler_expr::Tick;
/// use std::time::Duration;
///
/// let tick = Tick::ZERO + Duration::from_millis(12);
/// assert_eq!(tick.as_nanos(), 12_000_000);
/// assert_eq!(tick.since(Tick::ZERO), Duration::from_millis(12));
/// assert_eq!(tick + Duration::MAX, Tick::MAX);
/// assert_eq!(tick - Duration::MAX, Tick::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(u64);

impl Tick {
    /// The clock's epoch.
    pub const ZERO: Self = Self(0);

    /// The end of time; a task that is due then never runs.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant this many nanoseconds after the epoch.
    #[inline]
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    #[inline]
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this instant, or zero when `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Adds, saturating at [`Tick::MAX`].
impl std::ops::Add<Duration> for Tick {
    type Output = Self;

    #[inline]
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

/// Subtracts, saturating at [`Tick::ZERO`].
impl std::ops::Sub<Duration> for Tick {
    type Output = Self;

    #[inline]
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }
}

/// Nanoseconds, saturating.
#[inline]
fn nanos(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(duration.subsec_nanos()))
}

impl fmt::Debug for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MAX {
            f.write_str("Tick(MAX)")
        } else {
            write!(f, "Tick({:?})", Duration::from_nanos(self.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tick;
    use std::time::Duration;

    #[test]
    fn arithmetic_saturates_at_every_edge() {
        let edges =
            [0, 1, 999_999, i64::MAX as u64 - 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX];
        for start in edges {
            for nanos in edges {
                let (tick, duration) = (Tick::from_nanos(start), Duration::from_nanos(nanos));
                assert_eq!((tick + duration).as_nanos(), start.saturating_add(nanos));
                assert_eq!((tick - duration).as_nanos(), start.saturating_sub(nanos));
            }
            assert_eq!(Tick::from_nanos(start) + Duration::MAX, Tick::MAX);
            assert_eq!(Tick::from_nanos(start) - Duration::MAX, Tick::ZERO);
        }
    }

    #[test]
    fn the_time_since_a_later_instant_is_zero() {
        assert_eq!(Tick::from_nanos(3).since(Tick::from_nanos(5)), Duration::ZERO);
        assert_eq!(Tick::MAX.since(Tick::ZERO), Duration::from_nanos(u64::MAX));
    }
}
