//! Durations: `500ms`, `1h30m`, `PT1M30S`.
//!
//! The forms and their meaning are those of Spring's `@Scheduled`, tried in this order:
//!
//! | form | example | notes |
//! |---|---|---|
//! | ISO-8601 | `PT1H30M`, `-P1DT0.5S` | as `java.time.Duration.parse`: days to seconds, any letter case |
//! | simple | `10s`, `-5MS`, `250` | one number and a unit in any letter case; without a unit only where one is given |
//! | composite | `1h 30m`, `-(1m30s)` | units from large to small, lower case, each at most once |
//!
//! Units: `ns us ms s m h d`. Fractions exist only in the seconds of the ISO form.
//!
//! What Spring's composite form accepts by accident is refused: blanks around it, parentheses that
//! do not match, and texts without any number, which it reads as zero.

mod error;
mod hint;
mod intended;
mod scan;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

pub use error::{ParseDurationError, ParseDurationErrorKind};
pub(crate) use hint::in_seconds;

use crate::excerpt::is_quotable;
use error::Fault;

/// The longest period or delay: 100 years of 365.25 days. The clocks of the engine end in the year 2262, and what
/// waits for longer than that would never run.
const LONGEST: Duration = Duration::from_secs(36_525 * 86_400);

/// Nanoseconds in a second.
const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// An exact length of time that may be negative: whole nanoseconds, up to 2⁶³ seconds either way,
/// as `java.time.Duration`.
///
/// ```
/// use scheduler_expr::parse_duration;
/// use std::time::Duration;
///
/// let length = parse_duration("-1h30m", None)?;
/// assert!(length.is_negative());
/// assert_eq!(length.to_std(), None);
/// assert_eq!(parse_duration("PT1M30S", None)?.to_std(), Some(Duration::from_secs(90)));
/// # Ok::<(), scheduler_expr::ParseDurationError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignedDuration {
    nanos: i128,
}

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

/// Reads a duration, which may be zero or negative.
///
/// A number without a unit counts in `default_unit`, and is an error when there is none.
///
/// ```
/// use scheduler_expr::{DurationUnit, parse_duration};
///
/// assert_eq!(parse_duration("1h30m", None)?.as_nanos(), 5_400_000_000_000);
/// assert_eq!(parse_duration("PT-0.5S", None)?.as_nanos(), -500_000_000);
/// assert_eq!(parse_duration("250", Some(DurationUnit::Milliseconds))?.to_string(), "250ms");
/// assert_eq!(parse_duration("250", None).unwrap_err().to_string(), "`250` has no unit");
/// # Ok::<(), scheduler_expr::ParseDurationError>(())
/// ```
///
/// # Errors
///
/// When the text is not a duration, or more than 2⁶³ seconds long.
pub fn parse_duration(
    text: &str,
    default_unit: Option<DurationUnit>,
) -> Result<SignedDuration, ParseDurationError> {
    scan::scan(text, default_unit).map_err(|fault| ParseDurationError::new(text, fault))
}

/// Reads a duration that must be longer than zero, such as a period.
///
/// ```
/// use scheduler_expr::parse_period;
/// use std::time::Duration;
///
/// assert_eq!(parse_period("1m30s", None)?, Duration::from_secs(90));
/// assert_eq!(parse_period("0s", None).unwrap_err().to_string(), "`0s` must be longer than zero");
/// # Ok::<(), scheduler_expr::ParseDurationError>(())
/// ```
///
/// # Errors
///
/// When the text is not a duration, is zero or negative, or longer than 100 years (`36525d`).
pub fn parse_period(
    text: &str,
    default_unit: Option<DurationUnit>,
) -> Result<Duration, ParseDurationError> {
    let is_longer_than_zero = |length: SignedDuration| !length.is_negative() && !length.is_zero();
    parse_allowed(text, default_unit, is_longer_than_zero, Fault::not_positive)
}

/// Reads a duration that must not be negative, such as an initial delay.
///
/// ```
/// use scheduler_expr::parse_delay;
/// use std::time::Duration;
///
/// assert_eq!(parse_delay("0s", None)?, Duration::ZERO);
/// assert_eq!(parse_delay("-1s", None).unwrap_err().to_string(), "`-1s` must not be negative");
/// # Ok::<(), scheduler_expr::ParseDurationError>(())
/// ```
///
/// # Errors
///
/// When the text is not a duration, is negative, or longer than 100 years (`36525d`).
pub fn parse_delay(
    text: &str,
    default_unit: Option<DurationUnit>,
) -> Result<Duration, ParseDurationError> {
    parse_allowed(text, default_unit, |length| !length.is_negative(), Fault::negative)
}

/// A text that would not be allowed either, if it were written as it is meant, is refused for that:
/// no message is to propose what the next one refuses.
fn parse_allowed(
    text: &str,
    default_unit: Option<DurationUnit>,
    is_allowed: impl Fn(SignedDuration) -> bool,
    refused: fn(&str) -> Fault,
) -> Result<Duration, ParseDurationError> {
    let parsed = parse_duration(text, default_unit);
    let length = match &parsed {
        Ok(length) => Some(*length),
        Err(error) => {
            error.instead().and_then(|instead| parse_duration(instead, default_unit).ok())
        }
    };
    if length.is_some_and(|length| !is_allowed(length)) {
        return Err(ParseDurationError::new(text, refused(text)));
    }
    if length.is_some_and(|length| length.to_std().is_none_or(|length| length > LONGEST)) {
        return Err(ParseDurationError::new(text, Fault::too_long(text)));
    }
    let length = parsed?;
    length.to_std().ok_or_else(|| ParseDurationError::new(text, refused(text)))
}

/// The period that `text` means, as it is to be written: itself if it is one, or what it was surely
/// meant to be. Only what is short enough to be repeated in a message.
///
/// ```
/// use scheduler_expr::intended_period;
///
/// assert_eq!(intended_period("5s").as_deref(), Some("5s"));
/// assert_eq!(intended_period("1.5 hours").as_deref(), Some("1h30m"));
/// assert_eq!(intended_period("0s"), None);
/// assert_eq!(intended_period("5"), None);
/// ```
#[must_use]
pub fn intended_period(text: &str) -> Option<String> {
    let is_period = |text: &str| parse_period(text, None).is_ok();
    if is_quotable(text) && is_period(text) {
        return Some(text.to_owned());
    }
    intended::intended(text).filter(|meant| is_period(meant))
}

impl SignedDuration {
    /// The duration of that many nanoseconds, unless it is more than 2⁶³ seconds.
    #[must_use]
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        i64::try_from(nanos.div_euclid(NANOS_PER_SECOND)).ok()?;
        Some(Self { nanos })
    }

    /// The whole duration in nanoseconds.
    #[must_use]
    pub fn as_nanos(self) -> i128 {
        self.nanos
    }

    /// Whether it is shorter than zero.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whether it is exactly zero.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// The same as a [`Duration`], unless it is negative.
    #[must_use]
    pub fn to_std(self) -> Option<Duration> {
        let seconds = u64::try_from(self.nanos.div_euclid(NANOS_PER_SECOND)).ok()?;
        let nanos = self.nanos.rem_euclid(NANOS_PER_SECOND) as u32;
        Some(Duration::new(seconds, nanos))
    }
}

/// Writes the composite form, `1h30m`, which reads back as the same duration.
impl fmt::Display for SignedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.pad("0s");
        }
        let mut text = String::from(if self.is_negative() { "-" } else { "" });
        let mut rest = self.nanos.unsigned_abs();
        for unit in DurationUnit::ALL {
            let length = unit.nanos().unsigned_abs();
            if rest >= length {
                text.push_str(&format!("{}{}", rest / length, unit.suffix()));
                rest %= length;
            }
        }
        f.pad(&text)
    }
}

impl FromStr for SignedDuration {
    type Err = ParseDurationError;

    /// Reads a duration whose unit is written.
    fn from_str(text: &str) -> Result<Self, ParseDurationError> {
        parse_duration(text, None)
    }
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

    fn nanos(self) -> i128 {
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

    fn from_suffix(suffix: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.suffix() == suffix)
    }
}

#[cfg(test)]
mod tests;
