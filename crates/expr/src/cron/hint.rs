//! The faults of an item in words: for each the sentence that says what is wrong, and what to write
//! instead.
//!
//! What is to be written takes the place of what the caret marks, and is taken there.

use super::{CronField, Fault, ParseCronErrorKind as Kind, Word, has_zone_prefix};
use crate::excerpt::quoted;

pub(super) fn empty_item(field: CronField, item: Word<'_>) -> Fault {
    let reason = format!("the {field} list has an empty item");
    Fault::new(Kind::EmptyItem, item.span(), reason).help("remove the surplus comma".to_owned())
}

pub(super) fn out_of_range(field: CronField, word: Word<'_>, number: u64) -> Fault {
    let (min, max) = (field.min(), field.max());
    let reason = format!("{field} {} is out of range {min}-{max}", quoted(word.text));
    let help = match (field, number) {
        (CronField::Hour, 24 | 25) => Some("midnight is hour 0"),
        (CronField::Second | CronField::Minute, 60) => Some("a full minute or hour is 0"),
        (CronField::DayOfMonth | CronField::Month, 0) => Some("counting begins with 1"),
        (CronField::DayOfMonth, 32..) => Some("the last day of every month is `L`"),
        (CronField::DayOfWeek, _) => Some("1 is Monday, 7 and 0 are Sunday"),
        _ => None,
    };
    let fault = Fault::new(Kind::OutOfRange { min, max }, word.span(), reason);
    fault.help(help.map(str::to_owned))
}

pub(super) fn invalid_step(field: CronField, step: Word<'_>, number: Option<u64>) -> Fault {
    let shown = quoted(step.text);
    let (reason, help) = match number {
        None if step.text.is_empty() => {
            (format!("the {field} step is missing"), "a step is a number, as in `*/5`")
        }
        Some(0) => (format!("the {field} step is zero"), "the smallest step is 1"),
        Some(_) => (format!("the {field} step {shown} is too large"), "write a smaller step"),
        None => {
            (format!("the {field} step {shown} is not a number"), "a step is a number, as in `*/5`")
        }
    };
    Fault::new(Kind::InvalidStep, step.span(), reason).help(help.to_owned())
}

pub(super) fn not_a_number(field: CronField, word: Word<'_>) -> Fault {
    let shown = quoted(word.text);
    if word.text.is_empty() {
        let reason = format!("a number is missing in {field}");
        return Fault::new(Kind::NotANumber, word.span(), reason);
    }
    if let Some(help) = special_help(field, word.text) {
        return no_meaning(field, word).help(help.to_owned());
    }
    let reason = match field.names().first() {
        Some(name) => {
            let name = super::field::short_name(name);
            format!("{field} {shown} is neither a number nor a name such as `{name}`")
        }
        None => format!("{field} {shown} is not a number"),
    };
    Fault::new(Kind::NotANumber, word.span(), reason).help(number_help(field, word.text))
}

/// A special that stands where it has no meaning.
pub(super) fn misplaced(field: CronField, item: Word<'_>) -> Fault {
    no_meaning(field, item).help(specials_of(field).map(str::to_owned))
}

fn no_meaning(field: CronField, word: Word<'_>) -> Fault {
    let reason = format!("{} has no meaning in {field}", quoted(word.text));
    Fault::new(Kind::MisplacedSpecial, word.span(), reason)
}

/// A `?` that stands for the whole item of a field which is none of days.
pub(super) fn question_mark(field: CronField, mark: Word<'_>) -> Fault {
    no_meaning(field, mark).help(format!("write `*`; {QUESTION_MARK}"))
}

const QUESTION_MARK: &str = "`?` is for day-of-month and day-of-week";

/// A special of day-of-month with its letters in lower case, or before the number.
pub(super) fn miswritten_special(item: Word<'_>, meant: &str) -> Fault {
    let help = match item.text.eq_ignore_ascii_case(meant) {
        true => format!("write it in upper case: `{meant}`"),
        false => format!("write `{meant}`"),
    };
    no_meaning(CronField::DayOfMonth, item).help(help)
}

/// A text of as many bytes looks like no special.
pub(super) const SPECIAL_LENGTH: usize = 16;

/// What a text that looks like a special should have been, if it looks like one.
fn special_help(field: CronField, text: &str) -> Option<&'static str> {
    let upper = text.to_ascii_uppercase();
    let is_special = upper.bytes().all(|b| b"LW#?0123456789-".contains(&b))
        && upper.bytes().any(|b| b"LW#?".contains(&b))
        && upper.len() < SPECIAL_LENGTH;
    if !is_special {
        return None;
    }
    if text.contains('?') {
        return Some(match field.is_day() {
            true => "`?` is the whole field or not there at all",
            false => QUESTION_MARK,
        });
    }
    specials_of(field).or(Some("`L`, `W` and `#` are for day-of-month and day-of-week"))
}

/// The specials that a field knows.
fn specials_of(field: CronField) -> Option<&'static str> {
    match field {
        CronField::DayOfMonth => Some(
            "day-of-month knows `L` (last day), `L-3` (3 days before it), `LW` (last weekday) and `15W` (weekday nearest to the 15th)",
        ),
        CronField::DayOfWeek => Some(
            "day-of-week knows `FRIL` (last Friday of the month) and `FRI#2` (second Friday); the last day of the month is `L` in day-of-month",
        ),
        _ => None,
    }
}

/// What a text that is no number may have been meant to be.
fn number_help(field: CronField, text: &str) -> Option<String> {
    if let Some(name) = field.intended_name(text) {
        return Some(format!("names have three letters: write `{name}`"));
    }
    let named = [CronField::Month, CronField::DayOfWeek].into_iter().find(|other| {
        *other != field && (other.number_of(text).is_some() || other.intended_name(text).is_some())
    });
    if let Some(other) = named {
        let place = if other == CronField::Month { "5th" } else { "6th" };
        return Some(format!("this belongs into {other}, the {place} field"));
    }
    if let Some(odd) = text.chars().find(|c| !c.is_ascii() || c.is_control()) {
        return Some(match odd.is_numeric() {
            true => "write numbers with the digits 0 to 9".to_owned(),
            false => format!("remove the character U+{:04X}", u32::from(odd)),
        });
    }
    let help = match text {
        _ if has_zone_prefix(text) => "the zone is an attribute: `zone = \"…\"`",
        "H" => "`H` is Jenkins' hash; write a number",
        _ if text.contains('*') => "`*` stands alone or before a step, as in `*/5`",
        _ if text.starts_with(['+', '-']) => "write the number without a sign",
        _ if text.contains("..") => "a range is written with a hyphen, as in `1-5`",
        _ if text.contains(':') => "hour and minute are fields of their own: 09:30 is `0 30 9`",
        _ => return None,
    };
    Some(help.to_owned())
}
