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
//! Texts that Spring's composite form accepts by accident are refused: blanks around it, parentheses that
//! do not match, and texts without any number, which it reads as zero.

mod scan;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::{ParseError, ParseErrorCause, is_quotable, quoted};

pub(crate) use scan::in_seconds;

/// The longest period or delay: 100 years of 365.25 days. The clocks of the engine end in the year 2262, and what
/// waits for longer than that would never run.
const LONGEST: Duration = Duration::from_secs(36_525 * 86_400);

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
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
///
/// # Errors
///
/// When the text is not a duration, or more than 2⁶³ seconds long.
pub fn parse_duration(
    text: &str,
    default_unit: Option<DurationUnit>,
) -> Result<SignedDuration, ParseError> {
    scan::scan(text, default_unit).map_err(|error| error.within(text))
}

/// Reads a duration that must be longer than zero, such as a period.
///
/// ```
/// use scheduler_expr::parse_period;
/// use std::time::Duration;
///
/// assert_eq!(parse_period("1m30s", None)?, Duration::from_secs(90));
/// assert_eq!(parse_period("0s", None).unwrap_err().to_string(), "`0s` must be longer than zero");
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
///
/// # Errors
///
/// When the text is not a duration, is zero or negative, or longer than 100 years (`36525d`).
pub fn parse_period(
    text: &str,
    default_unit: Option<DurationUnit>,
) -> Result<Duration, ParseError> {
    let is_longer_than_zero = |length: SignedDuration| !length.is_negative() && !length.is_zero();
    parse_allowed(text, default_unit, is_longer_than_zero, not_positive)
}

/// Reads a duration that must not be negative, such as an initial delay.
///
/// ```
/// use scheduler_expr::parse_delay;
/// use std::time::Duration;
///
/// assert_eq!(parse_delay("0s", None)?, Duration::ZERO);
/// assert_eq!(parse_delay("-1s", None).unwrap_err().to_string(), "`-1s` must not be negative");
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
///
/// # Errors
///
/// When the text is not a duration, is negative, or longer than 100 years (`36525d`).
pub fn parse_delay(text: &str, default_unit: Option<DurationUnit>) -> Result<Duration, ParseError> {
    parse_allowed(text, default_unit, |length| !length.is_negative(), negative)
}

/// Refuses a text also if the duration that it was meant to be is not allowed, so that no help proposes
/// a text that the next message refuses.
fn parse_allowed(
    text: &str,
    default_unit: Option<DurationUnit>,
    is_allowed: impl Fn(SignedDuration) -> bool,
    refused: fn(&str) -> ParseError,
) -> Result<Duration, ParseError> {
    let parsed = parse_duration(text, default_unit);
    let length = match &parsed {
        Ok(length) => Some(*length),
        Err(error) => {
            error.replacement().and_then(|meant| parse_duration(meant, default_unit).ok())
        }
    };
    if length.is_some_and(|length| !is_allowed(length)) {
        return Err(refused(text));
    }
    if length.is_some_and(|length| length.to_std().is_none_or(|length| length > LONGEST)) {
        return Err(refuse(text, "is longer than 100 years")
            .with_help("the longest is `36525d`".to_owned()));
    }
    let length = parsed?;
    length.to_std().ok_or_else(|| refused(text))
}

fn refuse(text: &str, reason: &str) -> ParseError {
    ParseError::new(0..text.len(), format!("{} {reason}", quoted(text))).within(text)
}

fn not_positive(text: &str) -> ParseError {
    refuse(text, "must be longer than zero").with_cause(ParseErrorCause::NotPositive)
}

fn negative(text: &str) -> ParseError {
    refuse(text, "must not be negative")
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
    intended(text).filter(|meant| is_period(meant))
}

impl FromStr for SignedDuration {
    type Err = ParseError;

    /// Reads a duration whose unit is written.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_duration(text, None)
    }
}

/// Nanoseconds in a second.
const NANOS_PER_SECOND: i128 = 1_000_000_000;

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

    fn nanos(self) -> i128 {
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

    fn from_suffix(suffix: &str) -> Option<Self> {
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
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignedDuration {
    nanos: i128,
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

    /// Returns true if it is shorter than zero.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Returns true if it is exactly zero.
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

/// The greatest number of digits behind a decimal point that are read.
const FRACTION_DIGITS: usize = 9;

/// A number and its unit, however they are written.
struct Amount<'a> {
    digits: &'a str,
    /// The digits behind the decimal point.
    fraction: &'a str,
    unit: DurationUnit,
    /// The number of units: a week is 7 days.
    factor: i128,
}

/// The text of a duration that `text` was surely meant to be, such as `1h30`, `1.5h`, `5 minutes`; always one that can be read.
///
/// It guesses nothing if a text may mean two things: a number without a unit, units that do not go
/// from large to small, a comma.
fn intended(text: &str) -> Option<String> {
    let text = text.trim();
    if !is_quotable(text) {
        return None;
    }
    let (sign, text) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (&text[..1], rest),
        None => ("", text),
    };
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let parts = parts(inside.unwrap_or(text).trim())?;
    let nanos = total(&parts)?;
    let length = SignedDuration::from_nanos(nanos)?;
    if parts.iter().any(|part| part.factor > 1 || !part.fraction.is_empty()) {
        return Some(format!("{sign}{length}"));
    }
    let written = parts.iter().map(|part| format!("{}{}", part.digits, part.unit.suffix()));
    Some(format!("{sign}{}", written.collect::<String>()))
}

fn parts(text: &str) -> Option<Vec<Amount<'_>>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = split_after(rest, |byte| byte.is_ascii_digit() || byte == b'.');
        let (word, after) = split_after(after.trim_start(), |byte| byte.is_ascii_alphabetic());
        let (digits, fraction) = match number.split_once('.') {
            Some((_, "")) => return None,
            Some(halves) => halves,
            None => (number, ""),
        };
        rest = after.trim_start();
        let (unit, factor) = match word {
            "" if rest.is_empty() => (unit_after(parts.last()?, digits)?, 1),
            word => unit_named(&word.to_ascii_lowercase())?,
        };
        parts.push(Amount { digits, fraction, unit, factor });
    }
    (!parts.is_empty()).then_some(parts)
}

fn split_after(text: &str, is_part: impl Fn(u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len()))
}

/// The unit of a number at the end that has none: the one below that before it, `1h30` being
/// `1h30m`, unless the number makes more than one of that before it.
fn unit_after(before: &Amount<'_>, digits: &str) -> Option<DurationUnit> {
    let at = DurationUnit::ALL.iter().position(|unit| *unit == before.unit)?;
    let unit = *DurationUnit::ALL.get(at + 1)?;
    let count: i128 = digits.parse::<i64>().ok()?.into();
    (before.factor == 1 && count * unit.nanos() < before.unit.nanos()).then_some(unit)
}

fn unit_named(word: &str) -> Option<(DurationUnit, i128)> {
    match word {
        "w" | "week" | "weeks" => Some((DurationUnit::Days, 7)),
        word => Some((DurationUnit::from_word(word)?, 1)),
    }
}

/// The nanoseconds of all parts, whose units go from large to small.
fn total(parts: &[Amount<'_>]) -> Option<i128> {
    let size = |part: &Amount<'_>| part.unit.nanos() * part.factor;
    if parts.windows(2).any(|pair| size(&pair[0]) <= size(&pair[1])) {
        return None;
    }
    parts.iter().try_fold(0, |sum: i128, part| {
        // Half of one unit together with a number of the next would be guesswork.
        let is_clear = part.fraction.is_empty() || parts.len() == 1;
        if !is_clear || part.fraction.len() > FRACTION_DIGITS {
            return None;
        }
        let scale = 10_i128.pow(part.fraction.len() as u32);
        let number: i64 = format!("{}{}", part.digits, part.fraction).parse().ok()?;
        let scaled = i128::from(number).checked_mul(size(part))?;
        (scaled % scale == 0).then(|| sum.checked_add(scaled / scale))?
    })
}

#[cfg(test)]
mod tests;
