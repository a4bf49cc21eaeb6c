//! The faults in words: for each the sentence that says what is wrong, and what to write instead.

use std::ops::Range;

use super::{DurationUnit, Fault, ParseDurationErrorKind as Kind};
use crate::excerpt::{is_quotable, quoted};

/// The help when nothing better is known.
const UNITS: &str = "the units are `ns us ms s m h d`";

pub(super) fn empty(text: &str) -> Fault {
    let fault = Fault::new(Kind::Empty, 0..text.len(), "the duration is empty");
    fault.help("write for example `30s`".to_owned())
}

/// Blanks around a text, which may be a duration without them.
pub(super) fn blanks_around(text: &str, is_else_right: bool) -> Fault {
    let (inside, end) = (text.trim(), text.trim_end().len());
    let blanks = if end < text.len() { end..text.len() } else { 0..end - inside.len() };
    let fault = Fault::new(Kind::Malformed, blanks, "no blanks may stand around a duration");
    if is_else_right && is_quotable(inside) {
        return fault.instead(inside.to_owned());
    }
    let help = match is_number(inside) {
        true => "remove the blanks, and give the number a unit, as in `500ms`",
        false => "remove the blanks",
    };
    fault.help(help.to_owned()).instead_of(text)
}

/// Returns true if a text is a number with or without a sign.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The whole text is a number, and there is no unit for it.
pub(super) fn no_default_unit(text: &str) -> Fault {
    let fault = Fault::new(Kind::NoUnit, 0..text.len(), format!("{} has no unit", quoted(text)));
    if !is_quotable(text) {
        return fault;
    }
    let seconds = in_seconds(text).map_or(String::new(), |seconds| format!("`{seconds}` or "));
    let help = format!("write {seconds}`{text}ms` (Spring's plain numbers are milliseconds)");
    fault.instead(format!("{text}ms")).help(help)
}

/// A number without a unit as seconds, in which it probably was meant: thousands are milliseconds.
pub(crate) fn in_seconds(number: &str) -> Option<String> {
    let is_number = |text: &&str| text.parse::<i64>().is_ok();
    let thousands = number.strip_suffix("000").filter(is_number);
    let seconds = thousands.or(Some(number).filter(is_number))?;
    Some(format!("{seconds}s"))
}

/// A number of the composite form is not followed by a unit.
pub(super) fn no_unit(text: &str, number: Range<usize>) -> Fault {
    let rest = &text[number.end..];
    match rest.chars().next() {
        None | Some(' ' | ')') => {}
        Some(odd) => {
            let fault = unexpected(text, number.end);
            return match help_after_number(odd) {
                Some(help) => fault.help(help.to_owned()).instead_of(text),
                None => fault,
            };
        }
    }
    let word = rest.trim_start_matches(' ');
    let letters = word.bytes().take_while(u8::is_ascii_alphabetic).count();
    let start = text.len() - word.len();
    if letters == 0 {
        let reason = format!("{} has no unit", quoted(&text[number.clone()]));
        return Fault::new(Kind::NoUnit, number, reason).help(UNITS.to_owned()).instead_of(text);
    }
    if DurationUnit::from_suffix(&word[..letters].to_ascii_lowercase()).is_none() {
        return unknown_unit(text, start..start + letters);
    }
    let reason = "no blank may stand between a number and its unit";
    let fault = Fault::new(Kind::Malformed, number.end..start, reason);
    fault.help("remove the blank".to_owned()).instead_of(text)
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
pub(super) fn unknown_unit(text: &str, letters: Range<usize>) -> Fault {
    let reason = format!("{} is not a unit of time", quoted(&text[letters.clone()]));
    Fault::new(Kind::UnknownUnit, letters, reason).help(UNITS.to_owned()).instead_of(text)
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
    fault.help("write a duration like `500ms`, `1h30m` or `PT1H30M`".to_owned()).instead_of(text)
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
