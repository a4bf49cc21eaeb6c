//! The names of time zones.
//!
//! Only the names: the engine knows the offsets. The list comes from the IANA
//! database which the engine carries; a test of the engine holds the two together. No file is
//! opened to check a name.

use crate::error::{ParseError, quoted};
use crate::name::nearest;

/// The names, sorted by their bytes, one per line.
const ZONES: &str = include_str!("zones.txt");

/// Abbreviations that IANA does not know, sorted, one per line with the zone to write instead.
///
/// The zones are those of `java.time.ZoneId.SHORT_IDS`; for what Java does not know either, a place with that offset.
const ABBREVIATIONS: &str = include_str!("abbreviations.txt");

/// Checks that `name` is an IANA time zone, in its exact spelling.
///
/// ```
/// use scheduler_expr::check_zone_name;
///
/// assert!(check_zone_name("Europe/Berlin").is_ok());
/// let error = check_zone_name("europe/berlin").unwrap_err();
/// assert_eq!(error.to_string(), "unknown time zone `europe/berlin`");
/// ```
///
/// # Errors
///
/// When it is not. Java's abbreviations (`PST`) and custom offsets (`GMT+2`), which Spring accepts,
/// are refused with the name to write instead.
pub fn check_zone_name(name: &str) -> Result<(), ParseError> {
    if is_known(name) {
        return Ok(());
    }
    let reason = match name {
        "" => "the time zone is empty".to_owned(),
        _ => format!("unknown time zone {}", quoted(name)),
    };
    Err(ParseError::new(0..name.len(), reason).within(name).with_help(help_for(name)))
}

/// The names of all time zones, sorted.
///
/// ```
/// assert!(scheduler_expr::zone_names().any(|name| name == "Europe/Berlin"));
/// ```
pub fn zone_names() -> impl Iterator<Item = &'static str> {
    ZONES.lines()
}

fn is_known(name: &str) -> bool {
    zone_names().any(|known| known == name)
}

fn help_for(name: &str) -> String {
    let trimmed = name.trim();
    if let Some(known) = zone_names().find(|known| known.eq_ignore_ascii_case(trimmed)) {
        return format!("did you mean `{known}`?");
    }
    if let Some((_, zone)) = abbreviations().find(|(short, _)| *short == trimmed) {
        return format!("an abbreviation is no time zone; write `{zone}`");
    }
    if let Some(help) = offset_help(trimmed) {
        return help;
    }
    let place = trimmed.replace(' ', "_");
    let is_city = |known: &&str| {
        known.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&place))
    };
    match zone_names().find(is_city).or_else(|| neighbour(&place)) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "write a name of the IANA database, such as `Europe/Berlin` or `UTC`".to_owned(),
    }
}

fn abbreviations() -> impl Iterator<Item = (&'static str, &'static str)> {
    ABBREVIATIONS.lines().filter_map(|line| line.split_once(' '))
}

/// A zone of the same region, whose city is spelled almost like this.
fn neighbour(place: &str) -> Option<&'static str> {
    let (region, city) = place.rsplit_once('/')?;
    if !place.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '_' | '-')) {
        return None;
    }
    let cities = || {
        zone_names().filter_map(|known| {
            let (other, city) = known.rsplit_once('/')?;
            other.eq_ignore_ascii_case(region).then_some((known, city))
        })
    };
    let found = nearest(city, cities().map(|(_, city)| city))?;
    cities().find(|(_, city)| *city == found).map(|(known, _)| known)
}

/// Help for a fixed offset such as `GMT+2` or `+02:00`: IANA has whole hours, with the sign
/// reversed.
fn offset_help(text: &str) -> Option<String> {
    let prefixes = ["UTC", "GMT", "UT", ""];
    let offset = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let (sign, hours) = match offset.as_bytes().first()? {
        b'+' => ('-', &offset[1..]),
        b'-' => ('+', &offset[1..]),
        _ => return None,
    };
    let hours = hours.strip_suffix(":00").unwrap_or(hours).trim_start_matches('0');
    let name = format!("Etc/GMT{sign}{hours}");
    Some(match is_known(&name) {
        true => format!(
            "write `{name}` (the sign is reversed), or better a place such as `Europe/Berlin`"
        ),
        false => "a fixed offset is no time zone; write a place such as `Europe/Berlin`, or `UTC`"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &str) {
        let help = |error: ParseError| error.help().unwrap_or_default().to_owned();
        let help = check_zone_name(name).err().map_or(String::new(), help);
        assert!(help.contains(expected), "{name:?}: {help}");
        assert_eq!(help.is_empty(), expected.is_empty(), "{name:?}: {help}");
    }

    #[test]
    fn accepts_the_names_of_the_database_only() {
        for name in
            ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "EST", "Etc/GMT+2", "GMT0"]
        {
            check(name, "");
        }
        for name in ["", "../../etc/passwd", "Europe/Berlin\0", "UTC+25", "Foo/Bar", "\u{feff}UTC"]
        {
            check(name, "such as `Europe/Berlin`");
        }
        check(&"A".repeat(10 << 10), "IANA");
    }

    #[test]
    fn suggests_the_name_that_is_meant() {
        check("europe/berlin", "`Europe/Berlin`");
        check(" UTC", "did you mean `UTC`?");
        check("Berlin", "`Europe/Berlin`");
        check("Europe/Berln", "did you mean `Europe/Berlin`?");
        check("america/new yrok", "did you mean `America/New_York`?");
        check("Europe/Atlantis", "such as `Europe/Berlin`");
        check("new york", "`America/New_York`");
        check("PST", "`America/Los_Angeles`");
        check("Z", "write `UTC`");
        check("EDT", "`America/New_York`");
        check("CEST", "an abbreviation is no time zone; write `Europe/Berlin`");
        check("GMT+2", "`Etc/GMT-2`");
        check("UTC-05:00", "`Etc/GMT+5`");
        check("+05:30", "fixed offset");
    }

    #[test]
    fn says_what_is_no_zone() {
        let error = check_zone_name("Europe/Berln").unwrap_err();
        assert_eq!(error.to_string(), "unknown time zone `Europe/Berln`");
        assert_eq!(error.caret(), "Europe/Berln\n^^^^^^^^^^^^");
        assert_eq!(check_zone_name("").unwrap_err().to_string(), "the time zone is empty");
    }

    #[test]
    fn quotes_a_long_name_in_part() {
        let error = check_zone_name(&"A".repeat(10 << 10)).unwrap_err();
        assert!(error.to_string().chars().count() < 80);
        assert!(error.caret().lines().all(|line| line.chars().count() <= 200));
    }

    #[test]
    fn abbreviations_lead_to_names_of_the_database() {
        for (short, zone) in abbreviations() {
            assert!(!is_known(short), "{short}");
            assert!(zone.split("` or `").all(is_known), "{zone}");
        }
        assert!(abbreviations().is_sorted());
        assert_eq!(abbreviations().count(), ABBREVIATIONS.lines().count());
    }

    #[test]
    fn names_are_sorted() {
        assert!(zone_names().is_sorted());
    }
}
