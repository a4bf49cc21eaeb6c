//! The units of durations.

/// Nanoseconds in a second.
pub(super) const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// A unit of time, for numbers that are written without one.
///
/// ```
/// use scheduler_expr::{DurationUnit, parse_duration};
/// use std::time::Duration;
///
/// let minutes = parse_duration("5", Some(DurationUnit::Minutes))?;
/// assert_eq!(minutes.to_std(), Some(Duration::from_secs(300)));
/// # Ok::<(), scheduler_expr::ParseDurationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "TimeUnit")]
pub enum DurationUnit {
    /// `ns`
    Nanoseconds,
    /// `us`
    Microseconds,
    /// `ms`
    Milliseconds,
    /// `s`
    Seconds,
    /// `m`
    Minutes,
    /// `h`
    Hours,
    /// `d`, always 24 hours
    Days,
}

impl DurationUnit {
    /// All units, from large to small.
    pub const ALL: [Self; 7] = [
        Self::Days,
        Self::Hours,
        Self::Minutes,
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
    ];

    /// The unit as Java names it, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Microseconds => "microseconds",
            Self::Milliseconds => "milliseconds",
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
            Self::Days => "days",
        }
    }

    /// How the unit is written behind a number.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Minutes => "m",
            Self::Hours => "h",
            Self::Days => "d",
        }
    }

    pub(super) fn nanos(self) -> i128 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => NANOS_PER_SECOND,
            Self::Minutes => 60 * NANOS_PER_SECOND,
            Self::Hours => 3_600 * NANOS_PER_SECOND,
            Self::Days => 86_400 * NANOS_PER_SECOND,
        }
    }

    pub(super) fn from_suffix(suffix: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.suffix() == suffix)
    }
}
