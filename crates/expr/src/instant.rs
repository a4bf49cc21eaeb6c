//! Instants: of the wall clock as people write them, and monotonic ones.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use crate::error::{ParseError, quoted};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// An instant of the wall clock.
///
/// ```
/// use scheduler_expr::Instant;
///
/// let instant = Instant::parse("2027-01-01T01:00:00.5+01:00")?;
/// assert_eq!((instant.seconds(), instant.nanos()), (1_798_761_600, 500_000_000));
///
/// let error = Instant::parse("2027-01-01T00:00:00").unwrap_err();
/// assert_eq!(error.to_string(), "`2027-01-01T00:00:00` has no offset from UTC");
/// assert_eq!(error.help(), Some("write `2027-01-01T00:00:00Z`"));
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    seconds: i64,
    nanos: u32,
}

impl Instant {
    /// Reads an instant, such as `2027-01-01T09:00:00+01:00`. Seconds may be left out, and have up to nine
    /// decimals; a blank may stand in place of the `T`.
    ///
    /// # Errors
    ///
    /// When the text has another form, lacks the offset, or names a day or time that does not exist.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Parser { text, at: 0 }.instant().map_err(|error| error.within(text))
    }

    /// Whole seconds since 1970-01-01 in UTC.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// The rest, in nanoseconds.
    #[must_use]
    pub fn nanos(self) -> u32 {
        self.nanos
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn instant(&mut self) -> Result<Instant, ParseError> {
        let year = self.number("year", 4, 1..10_000)?;
        self.expect(b"-")?;
        let month = self.number("month", 2, 1..13)?;
        self.expect(b"-")?;
        let day = self.number("day", 2, 1..length_of(year, month) + 1)?;
        if self.is_at_end() {
            return Err(self.incomplete("has no time of day", "T00:00:00Z"));
        }
        self.expect(b"Tt ")?;
        let hour = self.number("hour", 2, 0..24)?;
        self.expect(b":")?;
        let minute = self.number("minute", 2, 0..60)?;
        let (mut second, mut nanos) = (0, 0);
        if self.take(b":").is_some() {
            second = self.number("second", 2, 0..60)?;
            if self.take(b".").is_some() {
                nanos = self.decimals()?;
            }
        }
        if self.is_at_end() {
            return Err(self.incomplete("has no offset from UTC", "Z"));
        }
        let offset = self.offset()?;
        if !self.is_at_end() {
            return Err(self.other_form());
        }
        let local = days_since_1970(year, month, day) * DAY + (hour * 60 + minute) * 60 + second;
        Ok(Instant { seconds: local - offset, nanos })
    }

    /// The number of seconds that local time is ahead of UTC.
    fn offset(&mut self) -> Result<i64, ParseError> {
        let sign = match self.expect(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Ok(0),
        };
        let hours = self.number("offset hour", 2, 0..24)?;
        self.expect(b":")?;
        let minutes = self.number("offset minute", 2, 0..60)?;
        Ok(sign * (hours * 60 + minutes) * 60)
    }

    fn decimals(&mut self) -> Result<u32, ParseError> {
        let rest = &self.text[self.at..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
        if !(1..=9).contains(&digits.len()) {
            return Err(self.other_form());
        }
        self.at += digits.len();
        format!("{digits:0<9}").parse().map_err(|_| self.other_form())
    }

    fn number(&mut self, what: &str, digits: usize, range: Range<i64>) -> Result<i64, ParseError> {
        let span = self.at..self.at + digits;
        let text = self.text.get(span.clone()).unwrap_or_default();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.other_form());
        }
        self.at = span.end;
        match text.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => {
                let (least, most) = (range.start, range.end - 1);
                let reason = format!("{what} `{text}` is out of range {least}-{most}");
                Err(ParseError::new(span, reason))
            }
        }
    }

    fn expect(&mut self, bytes: &[u8]) -> Result<u8, ParseError> {
        self.take(bytes).ok_or_else(|| self.other_form())
    }

    fn take(&mut self, bytes: &[u8]) -> Option<u8> {
        let byte = *self.text.as_bytes().get(self.at)?;
        let found = bytes.contains(&byte).then_some(byte)?;
        self.at += 1;
        Some(found)
    }

    fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn other_form(&self) -> ParseError {
        self.fault(match self.text {
            "" => "the text is empty".to_owned(),
            text => format!("{} is not an instant", quoted(text)),
        })
    }

    /// The text ends before it has all parts.
    fn incomplete(&self, reason: &str, rest: &str) -> ParseError {
        let replacement = format!("{}{rest}", self.text);
        self.fault(format!("{} {reason}", quoted(self.text))).with_replacement(replacement)
    }

    fn fault(&self, reason: String) -> ParseError {
        ParseError::new(0..self.text.len(), reason)
    }
}

/// The number of days a month has.
fn length_of(year: i64, month: i64) -> i64 {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_since_1970(next.0, next.1, 1) - days_since_1970(year, month, 1)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar; years begin in March here, so that the leap
/// day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

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
    use super::*;
    use std::time::Duration;

    #[track_caller]
    fn check(text: &str, seconds: i64) {
        assert_eq!(Instant::parse(text).map(Instant::seconds), Ok(seconds), "{text}");
    }

    #[track_caller]
    fn check_fault(text: &str, reason: &str, instead: Option<&str>) {
        let error = Instant::parse(text).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.replacement()), (reason, instead));
    }

    #[test]
    fn an_instant_counts_from_1970_in_utc() {
        check("1970-01-01T00:00:00Z", 0);
        check("1969-12-31T23:59Z", -60);
        check("2000-02-29T12:00:00z", 951_825_600);
        check("2000-03-01 00:00:00+00:00", 951_868_800);
        check("2027-01-01T00:00:00Z", 1_798_761_600);
        check("2027-01-01T00:00:00-05:30", 1_798_761_600 + 5 * 3_600 + 1_800);
        check("9999-12-31T23:59:59Z", 253_402_300_799);
        check("0001-01-01T00:00:00Z", -62_135_596_800);
    }

    #[test]
    fn decimals_of_a_second_are_kept_exactly() {
        let nanos = |text| Instant::parse(text).map(Instant::nanos);
        assert_eq!(nanos("2027-01-01T00:00:00.5Z"), Ok(500_000_000));
        assert_eq!(nanos("2027-01-01T00:00:00.000000001Z"), Ok(1));
        assert!(nanos("2027-01-01T00:00:00.Z").is_err());
        assert!(nanos("2027-01-01T00:00:00.0000000001Z").is_err());
    }

    #[test]
    fn a_missing_field_is_proposed() {
        let instead = Some("2027-01-01T00:00:00Z");
        check_fault("2027-01-01", "`2027-01-01` has no time of day", instead);
        let text = "2027-01-01T00:00:00";
        check_fault(text, "`2027-01-01T00:00:00` has no offset from UTC", instead);
        check_fault("", "the text is empty", None);
        for text in ["1.1.2027", "2027-01-01T00:00:00 Europe/Berlin", "2027-1-1", "tomorrow", "é"]
        {
            check_fault(text, &format!("`{text}` is not an instant"), None);
        }
    }

    #[test]
    fn days_and_times_that_do_not_exist_are_shown_in_their_place() {
        check_fault("2027-02-29T00:00:00Z", "day `29` is out of range 1-28", None);
        check_fault("2027-01-01T24:00:00Z", "hour `24` is out of range 0-23", None);
        check_fault("2027-01-01T00:00:00+25:00", "offset hour `25` is out of range 0-23", None);
        let caret = Instant::parse("2027-13-01T00:00:00Z").unwrap_err().caret();
        assert_eq!(caret, "2027-13-01T00:00:00Z\n     ^^");
    }

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
