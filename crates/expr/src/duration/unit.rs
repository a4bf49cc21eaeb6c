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
/// # Ok::<(), scheduler_expr::ParseError>(())
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
        self.row().0
    }

    /// The unit as it is written behind a number.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        self.row().1
    }

    pub(super) fn nanos(self) -> i128 {
        self.row().2
    }

    fn row(self) -> (&'static str, &'static str, i128) {
        match self {
            Self::Nanoseconds => ("nanoseconds", "ns", 1),
            Self::Microseconds => ("microseconds", "us", 1_000),
            Self::Milliseconds => ("milliseconds", "ms", 1_000_000),
            Self::Seconds => ("seconds", "s", NANOS_PER_SECOND),
            Self::Minutes => ("minutes", "m", 60 * NANOS_PER_SECOND),
            Self::Hours => ("hours", "h", 3_600 * NANOS_PER_SECOND),
            Self::Days => ("days", "d", 86_400 * NANOS_PER_SECOND),
        }
    }

    pub(super) fn from_suffix(suffix: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.suffix() == suffix)
    }

    /// The unit of a suffix, a name or an abbreviation in lower case, such as `ms`, `second` or `hrs`.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::from_suffix(match word {
            "n" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => "ns",
            "u" | "micro" | "micros" | "microsecond" | "microseconds" => "us",
            "milli" | "millis" | "msec" | "msecs" | "millisecond" | "milliseconds" => "ms",
            "sec" | "secs" | "second" | "seconds" => "s",
            "min" | "mins" | "minute" | "minutes" => "m",
            "hr" | "hrs" | "hour" | "hours" => "h",
            "day" | "days" => "d",
            suffix => suffix,
        })
    }
}
