//! Instants and lengths as a test writes and reads them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Utc};
use scheduler_core::trigger::Zone;

use crate::testing::or_panic;

/// Examples of the text of an instant.
const HELP: &str = "write a local time with its zone, `2026-03-27T09:00[Europe/Berlin]`, or an \
                    instant with its offset, `2026-03-27T08:00:00Z`";

/// An instant, and the zone in which people see it.
///
/// Its text has the form of Java's `ZonedDateTime`, and can be read back.
///
/// ```
/// use scheduler::testing::moment;
///
/// let nine = moment("2026-03-30T09:00[Europe/Berlin]");
/// assert_eq!(nine.to_string(), "2026-03-30T09:00:00+02:00[Europe/Berlin]");
/// assert_eq!(nine.local(), "Mon 2026-03-30 09:00+02:00");
/// assert_eq!(nine, moment("2026-03-30T07:00:00Z"));
/// ```
#[derive(Clone, Copy)]
pub struct Moment {
    at: DateTime<Utc>,
    zone: Zone,
}

/// An instant, from the text of one or from a type of `chrono`; see [`Moment`].
///
/// ```
/// use scheduler::testing::moment;
///
/// let nine = moment("2026-03-30T09:00[Europe/Berlin]");
/// assert_eq!(nine.local(), "Mon 2026-03-30 09:00+02:00");
/// assert_eq!(nine.instant().to_rfc3339(), "2026-03-30T07:00:00+00:00");
/// ```
///
/// # Panics
///
/// When the text is no instant, or its local time is skipped by its zone or comes twice; the message
/// says what could have been meant.
#[must_use]
#[track_caller]
pub fn moment(instant: impl IntoMoment) -> Moment {
    or_panic(instant.into_moment())
}

impl Moment {
    pub(super) fn new(at: DateTime<Utc>, zone: Zone) -> Self {
        Self { at, zone }
    }

    /// The instant.
    #[must_use]
    pub fn instant(&self) -> DateTime<Utc> {
        self.at
    }

    /// The zone in which people see it.
    #[must_use]
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// The day of the week, the local time, and its offset: `Mon 2026-03-30 09:00+02:00`. Seconds are
    /// shown where there are some.
    #[must_use]
    pub fn local(&self) -> String {
        let local = self.zone.local(self.at);
        let has_seconds = self.at.timestamp_subsec_nanos() > 0 || local.timestamp() % 60 != 0;
        let format =
            if has_seconds { "%a %Y-%m-%d %H:%M:%S%.f%:z" } else { "%a %Y-%m-%d %H:%M%:z" };
        local.format(format).to_string()
    }
}

/// Two moments are equal when they are the same instant, in whatever zone.
impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Moment {}

impl Hash for Moment {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.at.hash(state);
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.zone == Zone::UTC {
            return write!(f, "{}", self.at.format("%Y-%m-%dT%H:%M:%S%.fZ"));
        }
        let local = self.zone.local(self.at);
        write!(f, "{}[{}]", local.format("%Y-%m-%dT%H:%M:%S%.f%:z"), self.zone.name())
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A name of an instant: a text, an instant of `chrono`, or a [`Moment`].
///
/// ```
/// use scheduler::testing::moment;
///
/// let noon = moment("2026-03-27T12:00[Europe/Berlin]");
/// assert_eq!(noon, moment("2026-03-27T11:00:00Z"));
/// assert_eq!(moment(noon.instant()), noon);
/// ```
pub trait IntoMoment {
    /// The instant, or the reason why this is no instant.
    ///
    /// # Errors
    ///
    /// When a text names no instant, or its local time is skipped by the zone or comes twice.
    fn into_moment(self) -> Result<Moment, String>;
}

impl IntoMoment for Moment {
    fn into_moment(self) -> Result<Moment, String> {
        Ok(self)
    }
}

impl<T: TimeZone> IntoMoment for DateTime<T> {
    fn into_moment(self) -> Result<Moment, String> {
        Ok(Moment::new(self.with_timezone(&Utc), Zone::UTC))
    }
}

impl IntoMoment for &str {
    fn into_moment(self) -> Result<Moment, String> {
        parse(self)
    }
}

impl IntoMoment for String {
    fn into_moment(self) -> Result<Moment, String> {
        parse(&self)
    }
}

fn parse(text: &str) -> Result<Moment, String> {
    let no_instant = || format!("`{text}` is no instant\nhelp: {HELP}");
    let (time, zone) = match text.strip_suffix(']').map(|rest| rest.split_once('[')) {
        None => (text, None),
        Some(None) => return Err(no_instant()),
        Some(Some((time, name))) => (time, Some(zone_named(text, name)?)),
    };
    let (local, offset) = split_offset(time).ok_or_else(no_instant)?;
    let local = parse_local(local).ok_or_else(no_instant)?;
    match (offset, zone) {
        (None, None) => Err(format!("`{text}` does not say in which zone\nhelp: {HELP}")),
        (Some(offset), None) => Ok(Moment::new(instant(local, offset), Zone::UTC)),
        (None, Some(zone)) => resolve(text, local, zone),
        (Some(offset), Some(zone)) => {
            let at = instant(local, offset);
            let right = zone.offset_at(at);
            if right == offset {
                return Ok(Moment::new(at, zone));
            }
            let name = zone.name();
            Err(format!("`{text}`: the offset of {name} at that instant is {right}"))
        }
    }
}

fn zone_named(text: &str, name: &str) -> Result<Zone, String> {
    name.parse().map_err(|error: scheduler_expr::ParseError| {
        let help = error.help().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
        format!("`{text}`: {error}{help}")
    })
}

/// The local time and its offset, where there is one; none when what stands there is no offset.
fn split_offset(time: &str) -> Option<(&str, Option<FixedOffset>)> {
    if let Some(local) = time.strip_suffix(['Z', 'z']) {
        return Some((local, FixedOffset::east_opt(0)));
    }
    // The minus signs of a date stand before the first colon.
    let clock = time.find(':').unwrap_or(time.len());
    let Some(sign) = time[clock..].find(['+', '-']).map(|sign| clock + sign) else {
        return Some((time, None));
    };
    let offset = time[sign..].parse().ok()?;
    Some((&time[..sign], Some(offset)))
}

fn parse_local(text: &str) -> Option<NaiveDateTime> {
    let formats =
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"];
    let times = formats.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    times.or_else(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0))
}

fn instant(local: NaiveDateTime, offset: FixedOffset) -> DateTime<Utc> {
    let utc = local.checked_sub_offset(offset).unwrap_or(local);
    DateTime::from_naive_utc_and_offset(utc, Utc)
}

/// The instant of a local time that comes exactly once.
fn resolve(text: &str, local: NaiveDateTime, zone: Zone) -> Result<Moment, String> {
    let around = |days: i64| {
        let utc = local.checked_add_signed(TimeDelta::days(days)).unwrap_or(local);
        zone.offset_at(DateTime::from_naive_utc_and_offset(utc, Utc))
    };
    let (before, after) = (instant(local, around(-1)), instant(local, around(1)));
    let is_real = |at: &DateTime<Utc>| zone.local(*at).naive_local() == local;
    let moment = |at| Moment::new(at, zone);
    match (is_real(&before), is_real(&after)) {
        (true, false) => Ok(moment(before)),
        (false, true) => Ok(moment(after)),
        (true, true) if before == after => Ok(moment(before)),
        (true, true) => Err(format!(
            "`{text}` comes twice, because clocks are set back\nhelp: write `{}` or `{}`",
            moment(before),
            moment(after)
        )),
        (false, false) => Err(format!(
            "`{text}` does not exist, because clocks are set forward\nhelp: write `{}` or `{}`",
            moment(after),
            moment(before)
        )),
    }
}

/// So many milliseconds.
///
/// ```
/// use scheduler::testing::*;
///
/// assert_eq!(millis(1_500) + minutes(2), secs(121) + millis(500));
/// assert_eq!(days(1), hours(24));
/// ```
#[must_use]
pub const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// So many seconds.
///
/// ```
/// use scheduler::testing::secs;
///
/// assert_eq!([0, 8, 16].map(secs)[1].as_secs(), 8);
/// ```
#[must_use]
pub const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// So many minutes.
#[must_use]
pub const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(60))
}

/// So many hours.
#[must_use]
pub const fn hours(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(3_600))
}

/// So many days of 24 hours.
#[must_use]
pub const fn days(count: u64) -> Duration {
    Duration::from_secs(count.saturating_mul(86_400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(parse(text).map(|moment| moment.to_string()), Ok(expected.to_owned()), "{text}");
    }

    #[track_caller]
    fn check_fault(text: &str, expected: &str) {
        let fault = parse(text).expect_err(text);
        assert!(fault.contains(expected), "{fault}");
    }

    #[test]
    fn all_usual_forms_are_read_and_written_back() {
        check("2026-03-27T09:00[Europe/Berlin]", "2026-03-27T09:00:00+01:00[Europe/Berlin]");
        check(
            "2026-03-30T09:00:01.5[Europe/Berlin]",
            "2026-03-30T09:00:01.500+02:00[Europe/Berlin]",
        );
        check("2026-03-30 09:00[Europe/Berlin]", "2026-03-30T09:00:00+02:00[Europe/Berlin]");
        check("2026-03-30[Europe/Berlin]", "2026-03-30T00:00:00+02:00[Europe/Berlin]");
        check(
            "2026-03-30T09:00:00+02:00[Europe/Berlin]",
            "2026-03-30T09:00:00+02:00[Europe/Berlin]",
        );
        check("2026-03-30T09:00:00+02:00", "2026-03-30T07:00:00Z");
        check("2026-03-30T09:00-03:30", "2026-03-30T12:30:00Z");
        check("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
        check("2026-01-01T00:00[UTC]", "2026-01-01T00:00:00Z");
    }

    #[test]
    fn local_times_that_are_skipped_or_come_twice_are_refused_with_both_candidates() {
        check_fault(
            "2026-03-29T02:30[Europe/Berlin]",
            "write `2026-03-29T01:30:00+01:00[Europe/Berlin]` or `2026-03-29T03:30:00+02:00[",
        );
        check_fault(
            "2026-10-25T02:30[Europe/Berlin]",
            "write `2026-10-25T02:30:00+02:00[Europe/Berlin]` or `2026-10-25T02:30:00+01:00[",
        );
        check("2026-10-25T02:30+01:00[Europe/Berlin]", "2026-10-25T02:30:00+01:00[Europe/Berlin]");
    }

    #[test]
    fn a_wrong_instant_is_refused_with_a_right_one() {
        check_fault("2026-03-27T09:00", "does not say in which zone\nhelp: write a local time");
        check_fault("tomorrow", "`tomorrow` is no instant\nhelp: write a local time with its zone");
        check_fault("2026-03-27T09:00]", "is no instant");
        check_fault("2026-13-27T09:00Z", "is no instant");
        check_fault("2026-03-27T09:00+1", "is no instant");
        check_fault("2026-03-27T09:00[Europe/Berlim]", "Europe/Berlin");
        check_fault("2026-03-27T09:00+02:00[Europe/Berlin]", "at that instant is +01:00");
        check_fault("2026-03-27T09:00[ü]", "ü");
    }

    #[test]
    fn a_local_time_shows_seconds_where_there_are_some() {
        assert_eq!(moment("2026-03-27T09:00Z").local(), "Fri 2026-03-27 09:00+00:00");
        assert_eq!(moment("2026-03-27T09:00:07Z").local(), "Fri 2026-03-27 09:00:07+00:00");
    }
}
