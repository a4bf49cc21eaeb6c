//! Reads a duration within the limits of its use.

use std::str::FromStr;
use std::time::Duration;

use super::{DurationUnit, SignedDuration, intended, scan};
use crate::error::{Cause, ParseError};
use crate::excerpt::{is_quotable, quoted};

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
    refuse(text, "must be longer than zero").with_cause(Cause::NotPositive)
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
