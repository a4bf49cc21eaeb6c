//! Time zones: which offset holds when, and where it changes.
//!
//! The data are those of `chrono-tz`, which end with the year 2099. Later years follow the rules
//! that hold by then: see [`RuleYears`]. Offsets are searched, not listed, because `chrono-tz` does
//! not list its changes.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, Offset, TimeZone, Utc};
use chrono_tz::Tz;
use scheduler_expr::{ParseError, check_zone_name};

/// The seconds within which a zone changes at most once.
///
/// INVARIANT: no two changes of any zone lie closer together; the closest are 167 hours apart (Gaza
/// in 2040). A test scans the whole database for it.
pub(super) const CALM: i64 = 100 * 3_600;

/// No zone has ever been farther from UTC than this, in seconds.
pub(super) const MAX_OFFSET: i64 = 16 * 3_600;

/// A second before the first change of any zone: 1800-01-01.
const DATA_BEGIN: i64 = -5_364_662_400;

/// The first second after the zone data: 2100-01-01.
const DATA_END: i64 = 4_102_444_800;

/// Long enough to hold every yearly change.
const TWO_YEARS: i64 = 2 * 366 * 86_400;

/// A time zone: UTC or a place of the IANA database.
///
/// Names are spelled as in the database. Java's custom offsets and abbreviations (`GMT+2`, `PST`)
/// are refused, with the name to write instead.
///
/// ```
/// use scheduler_core::trigger::Zone;
///
/// let zone: Zone = "Europe/Berlin".parse()?;
/// assert_eq!(zone.name(), "Europe/Berlin");
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[doc(alias = "ZoneId")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zone(Tz);

/// A change of a zone's offset.
///
/// ```
/// use scheduler_core::trigger::Zone;
///
/// let zone: Zone = "Europe/Berlin".parse()?;
/// let (from, until) = ("2026-01-01T00:00:00Z".parse()?, "2027-01-01T00:00:00Z".parse()?);
/// let change = zone.change_between(from, until).unwrap();
/// assert!(change.is_gap());
/// assert_eq!(change.at().to_rfc3339(), "2026-03-29T01:00:00+00:00");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneChange {
    pub(super) at: i64,
    pub(super) before: i64,
    pub(super) after: i64,
}

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self(Tz::UTC);

    /// The release of the IANA time zone data that is compiled in, such as `2025b`.
    ///
    /// ```
    /// use scheduler_core::trigger::Zone;
    ///
    /// assert!(Zone::data_version().starts_with("20"));
    /// ```
    #[must_use]
    pub fn data_version() -> &'static str {
        chrono_tz::IANA_TZDB_VERSION
    }

    /// The zone that the operating system is set to. The environment variable `TZ` is not looked at: see
    /// [`of_variable`](Self::of_variable).
    ///
    /// ```
    /// use scheduler_core::trigger::Zone;
    ///
    /// let zone = Zone::system().unwrap_or(Zone::UTC);
    /// println!("the wall clock of {zone}");
    /// ```
    ///
    /// # Errors
    ///
    /// When the system gives no name, or a name that is not in the database.
    pub fn system() -> Result<Self, SystemZoneError> {
        let name = iana_time_zone::get_timezone().map_err(|cause| SystemZoneError {
            reason: format!("the system does not report its time zone: {cause}"),
        })?;
        name.parse().map_err(|error: ParseError| SystemZoneError {
            reason: format!("the system's time zone cannot be used: {error}"),
        })
    }

    /// The zone that a value of the environment variable `TZ` names, or whose file it names; `None` if it leaves the zone
    /// to the system.
    ///
    /// ```
    /// use scheduler_core::trigger::Zone;
    ///
    /// let zone = Zone::of_variable(":/usr/share/zoneinfo/Europe/Berlin").unwrap()?;
    /// assert_eq!(zone.name(), "Europe/Berlin");
    /// assert_eq!(Zone::of_variable(""), None);
    /// # Ok::<(), scheduler_expr::ParseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the name is not in the database, such as a rule of POSIX: `CET-1CEST,M3.5.0,M10.5.0/3`.
    #[must_use]
    pub fn of_variable(value: &str) -> Option<Result<Self, ParseError>> {
        let path = value.trim_start_matches(':');
        let name = path.strip_prefix("/usr/share/zoneinfo/").unwrap_or(path);
        (!matches!(name, "" | "/etc/localtime")).then(|| name.parse())
    }

    /// The name in the IANA database.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// The offset from UTC at an instant. After 2099 the rules of that time go on.
    ///
    /// ```
    /// use scheduler_core::trigger::Zone;
    ///
    /// let zone: Zone = "Europe/Berlin".parse()?;
    /// let summer = "2126-07-01T00:00:00Z".parse().unwrap();
    /// assert_eq!(zone.offset_at(summer).to_string(), "+02:00");
    /// # Ok::<(), scheduler_expr::ParseError>(())
    /// ```
    #[must_use]
    pub fn offset_at(&self, instant: DateTime<Utc>) -> FixedOffset {
        fixed(self.offset(instant.timestamp()))
    }

    /// The instant with the zone's date, time and offset; for people to read.
    #[must_use]
    pub fn local(&self, instant: DateTime<Utc>) -> DateTime<FixedOffset> {
        instant.with_timezone(&self.offset_at(instant))
    }

    /// The first change of the offset after `from` and not after `until`.
    #[must_use]
    pub fn change_between(&self, from: DateTime<Utc>, until: DateTime<Utc>) -> Option<ZoneChange> {
        let (mut low, until) = (from.timestamp().max(DATA_BEGIN), until.timestamp());
        // After the data a year without a change is like all that follow.
        let until = until.min(low.max(DATA_END).saturating_add(TWO_YEARS));
        while low < until {
            let high = (low + CALM).min(until);
            if let Some(change) = self.change_within(low, high) {
                return Some(change);
            }
            low = high;
        }
        None
    }

    /// The offset in seconds at a second since the epoch.
    pub(super) fn offset(self, second: i64) -> i64 {
        let second = if second < DATA_END { Some(second) } else { RuleYears::second_like(second) };
        let utc = second.and_then(|second| DateTime::from_timestamp(second, 0));
        let utc = utc.unwrap_or(DateTime::<Utc>::MIN_UTC).naive_utc();
        self.0.offset_from_utc_datetime(&utc).fix().local_minus_utc().into()
    }

    /// The change in `(low, high]`, which must not be longer than [`CALM`].
    pub(super) fn change_within(self, low: i64, high: i64) -> Option<ZoneChange> {
        self.change_from(low, self.offset(low), high)
    }

    /// The same, with the offset at `low` already known.
    pub(super) fn change_from(
        self,
        mut low: i64,
        before: i64,
        mut high: i64,
    ) -> Option<ZoneChange> {
        let after = self.offset(high);
        if before == after {
            return None;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offset(middle) == before { low = middle } else { high = middle }
        }
        Some(ZoneChange { at: high, before, after })
    }
}

impl ZoneChange {
    /// The first instant with the new offset.
    #[must_use]
    pub fn at(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(self.at, 0).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// The offset that ends.
    #[must_use]
    pub fn offset_before(&self) -> FixedOffset {
        fixed(self.before)
    }

    /// The offset that begins.
    #[must_use]
    pub fn offset_after(&self) -> FixedOffset {
        fixed(self.after)
    }

    /// Returns true if clocks go forward, so that local times are missing; else they go back and local
    /// times come twice.
    #[must_use]
    pub fn is_gap(&self) -> bool {
        self.after > self.before
    }

    /// The local times that are missing or come twice: from the first, up to but without the
    /// second.
    #[must_use]
    pub fn local_times(&self) -> (NaiveDateTime, NaiveDateTime) {
        let local = |offset: i64| {
            let time = DateTime::from_timestamp(self.at + offset, 0);
            time.unwrap_or(DateTime::<Utc>::MAX_UTC).naive_utc()
        };
        (local(self.before.min(self.after)), local(self.before.max(self.after)))
    }

    /// The number of seconds that are missing or come twice.
    pub(super) fn width(&self) -> i64 {
        (self.after - self.before).abs()
    }
}

/// The years whose rules go on for ever.
///
/// From 2088 on no zone has anything but yearly rules, such as "the last Sunday of October",
/// between March and December. The meaning of such a rule depends only on the weekday with which March
/// begins, and these twelve years have all seven. Tests hold both against the data.
struct RuleYears;

impl RuleYears {
    /// The rule years with a first of March on a Monday, a Tuesday, and so on.
    const BY_FIRST_OF_MARCH: [i32; 7] = [2088, 2089, 2090, 2091, 2097, 2092, 2093];

    /// The second at which the rules give the same as at a second after the data.
    fn second_like(second: i64) -> Option<i64> {
        let date = DateTime::from_timestamp(second, 0)?.date_naive();
        let like = match date.month() {
            1 | 2 => NaiveDate::from_ymd_opt(2099, 1, 15)?,
            month => {
                let first_of_march = NaiveDate::from_ymd_opt(date.year(), 3, 1)?.weekday();
                let year = Self::BY_FIRST_OF_MARCH[first_of_march.num_days_from_monday() as usize];
                NaiveDate::from_ymd_opt(year, month, date.day())?
            }
        };
        Some(i64::from(like.to_epoch_days()) * 86_400 + second.rem_euclid(86_400))
    }
}

fn fixed(offset: i64) -> FixedOffset {
    let offset = i32::try_from(offset).ok().and_then(FixedOffset::east_opt);
    offset.unwrap_or_else(|| Utc.fix())
}

impl FromStr for Zone {
    type Err = ParseError;

    fn from_str(name: &str) -> Result<Self, ParseError> {
        check_zone_name(name)?;
        // INVARIANT: every name that passes the check is one that the data know; a test compares
        // them.
        Ok(Self(name.parse().unwrap_or(Tz::UTC)))
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.name()).finish()
    }
}

/// Why the system's zone is not known.
#[derive(Clone, PartialEq, Eq)]
pub struct SystemZoneError {
    reason: String,
}

impl SystemZoneError {
    /// Returns the remedy.
    #[must_use]
    pub fn help(&self) -> &'static str {
        "name the zone, for example `zone = \"Europe/Berlin\"` or `zone = \"UTC\"`"
    }
}

impl fmt::Display for SystemZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.reason)
    }
}

impl fmt::Debug for SystemZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for SystemZoneError {}

#[cfg(test)]
mod tests {
    use chrono_tz::TZ_VARIANTS;

    use super::*;

    const HOUR: i64 = 3_600;

    fn second(year: i32, month: u32) -> i64 {
        i64::from(NaiveDate::from_ymd_opt(year, month, 1).unwrap().to_epoch_days()) * 86_400
    }

    #[test]
    fn the_names_are_those_of_the_data() {
        let mut names = TZ_VARIANTS.map(Tz::name);
        names.sort_unstable();
        assert!(scheduler_expr::zone_names().eq(names));
        for name in names {
            assert_eq!(name.parse::<Zone>().map(|zone| zone.name()), Ok(name));
        }
    }

    #[test]
    fn a_variable_names_a_zone_or_its_file() {
        let check = |value: &str, expected: Option<&str>| {
            let found = Zone::of_variable(value).map(|zone| zone.unwrap().name());
            assert_eq!(found, expected, "`{value}`");
        };
        check("Europe/Berlin", Some("Europe/Berlin"));
        check(":Europe/Berlin", Some("Europe/Berlin"));
        check("/usr/share/zoneinfo/Europe/Berlin", Some("Europe/Berlin"));
        check(":/usr/share/zoneinfo/UTC", Some("UTC"));
        check(":/etc/localtime", None);
        check("/etc/localtime", None);
        check(":", None);
        check("", None);
        assert!(Zone::of_variable("CET-1CEST,M3.5.0,M10.5.0/3").unwrap().is_err());
    }

    #[test]
    fn is_shown_by_its_name() {
        let zone: Zone = "Europe/Berlin".parse().unwrap();
        assert_eq!(zone.to_string(), "Europe/Berlin");
        assert_eq!(format!("{zone:?}"), "Zone(\"Europe/Berlin\")");
    }

    #[test]
    fn a_system_without_a_zone_says_what_to_do() {
        let error = SystemZoneError { reason: "the system does not report it".to_owned() };
        assert_eq!(error.to_string(), "the system does not report it");
        assert!(error.help().contains("zone = \"UTC\""), "{}", error.help());
    }

    #[test]
    fn the_rule_years_begin_march_with_every_weekday() {
        for (weekday, year) in (0..).zip(RuleYears::BY_FIRST_OF_MARCH) {
            let first_of_march = NaiveDate::from_ymd_opt(year, 3, 1).unwrap();
            assert_eq!(first_of_march.weekday().num_days_from_monday(), weekday);
            assert!((2088..2100).contains(&year));
        }
    }

    /// The rule for the years after the data must be right for the last years of the data.
    #[test]
    fn the_rules_agree_with_the_last_years_of_the_data() {
        for zone in TZ_VARIANTS.map(Zone) {
            let mut at = second(2088, 1);
            while at < DATA_END {
                let (from, until) = (at, (at + 30 * HOUR).min(DATA_END - 1));
                at += 30 * HOUR;
                let agrees =
                    |s: i64| zone.offset(s) == zone.offset(RuleYears::second_like(s).unwrap());
                assert!(agrees(from), "{zone} at {from}");
                if let Some(change) = zone.change_within(from, until) {
                    assert!(agrees(change.at - 1) && agrees(change.at), "{zone} at {}", change.at);
                }
            }
        }
    }

    #[test]
    fn offsets_go_on_without_a_break_after_the_data() {
        for zone in TZ_VARIANTS.map(Zone) {
            assert_eq!(zone.offset(DATA_END - 1), zone.offset(DATA_END), "{zone}");
            assert_eq!(zone.offset(second(2101, 1) - 1), zone.offset(second(2101, 1)), "{zone}");
        }
    }

    #[test]
    fn finds_the_change_to_the_second() {
        let zone: Zone = "Europe/Berlin".parse().unwrap();
        let from = "2026-03-29T00:00:00Z".parse().unwrap();
        let change = zone.change_between(from, DateTime::<Utc>::MAX_UTC).unwrap();
        assert_eq!(change.at().to_rfc3339(), "2026-03-29T01:00:00+00:00");
        assert!(change.is_gap());
        let (first, end) = change.local_times();
        assert_eq!(
            (first.to_string(), end.to_string()),
            ("2026-03-29 02:00:00".into(), "2026-03-29 03:00:00".into())
        );
        assert_eq!(Zone::UTC.change_between(from, DateTime::<Utc>::MAX_UTC), None);
        let first = zone.change_between(DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
        assert_eq!(
            first.map(|change| change.at().to_rfc3339()).as_deref(),
            Some("1893-03-31T23:06:32+00:00")
        );
        let far = "9999-01-01T00:00:00Z".parse().unwrap();
        let next = zone.change_between(far, DateTime::<Utc>::MAX_UTC).unwrap();
        assert_eq!(next.at().to_rfc3339(), "9999-03-28T01:00:00+00:00");
    }

    /// The zones that change oftenest and oddest; all there are with `TEST_ALL_ZONES` set, which
    /// takes a minute in release and is due when `chrono-tz` is upgraded.
    #[test]
    fn changes_lie_far_apart() {
        let odd = [Tz::Asia__Gaza, Tz::Africa__Casablanca, Tz::America__Juneau, Tz::Pacific__Apia];
        let (zones, start) = match std::env::var_os("TEST_ALL_ZONES") {
            Some(_) => (TZ_VARIANTS.to_vec(), second(1840, 1)),
            None => (odd.to_vec(), second(2005, 1)),
        };
        for zone in zones.into_iter().map(Zone) {
            let mut previous = start - CALM;
            for from in (start..second(2101, 1)).step_by(HOUR as usize) {
                let Some(change) = zone.change_within(from, from + HOUR) else { continue };
                assert!(
                    change.at - previous >= CALM,
                    "{zone} changes at {previous} and {}",
                    change.at
                );
                assert!(change.width() <= 24 * HOUR && change.after.abs() <= MAX_OFFSET, "{zone}");
                previous = change.at;
            }
        }
    }
}
