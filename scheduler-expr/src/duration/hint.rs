//! The faults in words: for each the sentence that says what is wrong, and what to write instead.

use std::ops::Range;

use super::DurationUnit;
use super::error::{Fault, ParseDurationErrorKind as Kind};
use crate::excerpt::{is_quotable, quoted};

/// The help when nothing better is known.
const UNITS: &str = "the units are `ns us ms s m h d`";

pub(super) fn empty(text: &str) -> Fault {
    let fault = Fault::new(Kind::Empty, 0..text.len(), "the duration is empty");
    fault.help("write for example `30s`".to_owned())
}

/// The whole text is a number, and there is no unit for it.
pub(super) fn no_default_unit(text: &str) -> Fault {
    let reason = format!("{} has no unit", quoted(text));
    let help = is_quotable(text).then(|| {
        let whole_seconds =
            text.strip_suffix("000").filter(|seconds| seconds.parse::<i64>().is_ok());
        let seconds = whole_seconds.map_or(String::new(), |seconds| format!(" or `{seconds}s`"));
        format!("write `{text}ms`{seconds} (Spring's plain numbers are milliseconds)")
    });
    Fault::new(Kind::NoUnit, 0..text.len(), reason).help(help)
}

/// A number of the composite form is not followed by a unit.
pub(super) fn no_unit(text: &str, number: Range<usize>, is_first: bool) -> Fault {
    let rest = &text[number.end..];
    match rest.chars().next() {
        None | Some(' ' | ')') => {}
        Some(odd) => {
            let fault = unexpected(text, number.end);
            return match help_after_number(odd) {
                Some(help) => fault.help(help.to_owned()),
                None => fault,
            };
        }
    }
    let word = rest.strip_prefix(' ').unwrap_or("");
    if is_first && !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        let letters = number.end + 1..text.len();
        return unknown_unit(text, number, letters);
    }
    let reason = format!("{} has no unit", quoted(&text[number.clone()]));
    Fault::new(Kind::NoUnit, number, reason).help(UNITS.to_owned())
}

/// What a character right after a number may have been meant for.
fn help_after_number(odd: char) -> Option<&'static str> {
    match odd {
        '.' | ',' => Some("use a smaller unit instead of a fraction, such as `1500ms`"),
        ':' => Some("write for example `1h30m`"),
        '_' => Some("write the digits without separators"),
        _ => None,
    }
}

/// Letters that are no unit, after a number.
pub(super) fn unknown_unit(text: &str, number: Range<usize>, letters: Range<usize>) -> Fault {
    let (written, unit) = (&text[number.clone()], &text[letters.clone()]);
    let is_whole = number.start == 0 && letters.end == text.len() && is_quotable(text);
    let help = match intended_unit(&unit.to_ascii_lowercase()) {
        Some(suffix) if is_whole => format!("write `{written}{suffix}`"),
        Some(suffix) => format!("write `{suffix}`"),
        None => weeks_help(written, unit).unwrap_or_else(|| UNITS.to_owned()),
    };
    let reason = format!("{} is not a unit of time", quoted(unit));
    Fault::new(Kind::UnknownUnit, letters, reason).help(help)
}

/// The unit that a word in lower case means to be.
fn intended_unit(word: &str) -> Option<&'static str> {
    match word {
        "n" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => Some("ns"),
        "u" | "micro" | "micros" | "microsecond" | "microseconds" => Some("us"),
        "milli" | "millis" | "msec" | "msecs" | "millisecond" | "milliseconds" => Some("ms"),
        "sec" | "secs" | "second" | "seconds" => Some("s"),
        "min" | "mins" | "minute" | "minutes" => Some("m"),
        "hr" | "hrs" | "hour" | "hours" => Some("h"),
        "day" | "days" => Some("d"),
        other => DurationUnit::from_suffix(other).map(DurationUnit::suffix),
    }
}

fn weeks_help(written: &str, unit: &str) -> Option<String> {
    let is_weeks = ["w", "week", "weeks"].iter().any(|weeks| unit.eq_ignore_ascii_case(weeks));
    let days = written.parse::<i64>().ok()?.checked_mul(7)?;
    is_weeks.then(|| format!("write `{days}d`"))
}

pub(super) fn unit_order(span: Range<usize>) -> Fault {
    let reason = "units go from large to small, each at most once";
    Fault::new(Kind::UnitOrder, span, reason).help("write for example `1h30m`".to_owned())
}

pub(super) fn unclosed(at: usize) -> Fault {
    let fault = Fault::new(Kind::Malformed, at..at, "the parenthesis is not closed");
    fault.help("add `)` at the end".to_owned())
}

/// A character that has no meaning, or the end where a number belongs.
pub(super) fn unexpected(text: &str, at: usize) -> Fault {
    let Some(c) = text[at..].chars().next() else {
        let fault = Fault::new(Kind::Malformed, at..at, "a number is missing");
        return fault.help("write for example `30s`".to_owned());
    };
    let reason = format!("{} has no meaning here", quoted(c.encode_utf8(&mut [0; 4])));
    let fault = Fault::new(Kind::Malformed, at..at + c.len_utf8(), reason);
    fault.help("write a duration like `500ms`, `1h30m` or `PT1H30M`".to_owned())
}

pub(super) fn malformed_iso(text: &str, at: usize) -> Fault {
    let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
    let reason = "not an ISO-8601 duration of days, hours, minutes and seconds";
    let fault = Fault::new(Kind::Malformed, at..end, reason);
    fault.help("write for example `P1DT2H30M` or `PT1.5S`".to_owned())
}

pub(super) fn too_long(text: &str, span: Range<usize>) -> Fault {
    let reason = format!("{} is too long a time", quoted(&text[span.clone()]));
    Fault::new(Kind::TooLong, span, reason).help("the longest duration is 2⁶³ seconds".to_owned())
}
