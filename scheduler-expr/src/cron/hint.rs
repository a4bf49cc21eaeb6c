//! The faults in words: for each the sentence that says what is wrong, and what to write instead.
//!
//! A suggestion that repeats the whole expression is only made when it is short, and only when it
//! parses.

use super::error::{Fault, ParseCronErrorKind as Kind};
use super::field::CronField;
use super::parse;
use super::parse::{MACROS, Word, words};
use crate::excerpt::{is_quotable, quoted};

/// The order of the fields, as messages write it.
const FIELD_ORDER: &str = "second minute hour day-of-month month day-of-week";

pub(super) fn empty(length: usize) -> Fault {
    let reason = format!("the text is empty, but 6 fields are needed: {FIELD_ORDER}");
    Fault::new(Kind::Empty, 0..length, reason)
        .help("write for example `0 0 9 * * MON-FRI`".to_owned())
}

pub(super) fn unknown_macro(word: Word<'_>) -> Fault {
    let (name, argument) = word.text.split_once(' ').unwrap_or((word.text, ""));
    let (argument, lower) = (argument.trim(), name.to_ascii_lowercase());
    let is_known = MACROS.iter().any(|(known, _)| *known == lower);
    let reason = if is_known {
        format!("the macro {} stands alone, without fields", quoted(name))
    } else {
        format!("{} is not a macro", quoted(name))
    };
    let help = match lower.as_str() {
        _ if is_known => format!("write `{lower}`"),
        "@every" if is_quotable(argument) && !argument.is_empty() => {
            format!("a fixed interval is no cron expression; use `fixed_rate = \"{argument}\"`")
        }
        "@every" => "a fixed interval is no cron expression; use `fixed_rate = \"…\"`".to_owned(),
        "@reboot" => {
            "to run once when the program starts, use `initial_delay = \"0s\"` alone".to_owned()
        }
        "@secondly" => "write `* * * * * *`".to_owned(),
        "@minutely" => "write `0 * * * * *`".to_owned(),
        "@weekdays" => "write `0 0 0 * * MON-FRI`".to_owned(),
        _ => format!("the macros are {}", MACROS.map(|(name, _)| format!("`{name}`")).join(" ")),
    };
    Fault::new(Kind::UnknownMacro, word.span(), reason).help(help)
}

/// Refuses blanks other than the space: Spring separates fields by nothing else.
pub(super) fn check_separators(whole: Word<'_>) -> Result<(), Fault> {
    let is_blank = |c: char| c != ' ' && c.is_whitespace();
    let Some((at, blank)) = whole.text.char_indices().find(|(_, c)| is_blank(*c)) else {
        return Ok(());
    };
    let what = match blank {
        '\t' => "a tab".to_owned(),
        '\n' | '\r' => "a line break".to_owned(),
        other => format!("the blank U+{:04X}", u32::from(other)),
    };
    let at = whole.at + at;
    let reason = format!("fields are separated by spaces, but here stands {what}");
    let fault = Fault::new(Kind::NotASpace, at..at + blank.len_utf8(), reason);
    Err(fault.help("write a space instead".to_owned()))
}

pub(super) fn field_count(whole: Word<'_>, found: usize) -> Fault {
    let fields = if found == 1 { "field" } else { "fields" };
    let reason = format!("{found} {fields}, but 6 are needed: {FIELD_ORDER}");
    let span = words(whole).nth(6).map_or(whole.span(), |seventh| seventh.at..whole.span().end);
    let help = match found {
        _ if whole.text.starts_with('#') => Some("a comment is no cron expression".to_owned()),
        _ if has_zone_prefix(whole.text) => {
            Some("the zone is an attribute: `zone = \"…\"`".to_owned())
        }
        1 => single_word_help(whole.text),
        5 => unix_help(whole),
        7.. => surplus_help(whole, found),
        _ => None,
    };
    Fault::new(Kind::FieldCount { found }, span, reason).help(help)
}

fn has_zone_prefix(text: &str) -> bool {
    text.starts_with("TZ=") || text.starts_with("CRON_TZ=")
}

fn single_word_help(text: &str) -> Option<String> {
    let is_meant = |name: &str| name[1..].eq_ignore_ascii_case(text);
    if let Some((name, _)) = MACROS.iter().find(|(name, _)| is_meant(name)) {
        return Some(format!("write `{name}`"));
    }
    crate::parse_duration(text, None).ok()?;
    Some(format!("this is a duration; use `fixed_rate = \"{text}\"`"))
}

/// A Unix line lacks the second; and if both its day fields are given, it means either of them.
fn unix_help(whole: Word<'_>) -> Option<String> {
    let text = format!("0 {}", whole.text);
    let expression = suggestion(&text)?;
    let mut help =
        format!("this looks like a Unix crontab line; add the second in front: {expression}");
    let fields = parse::parse(&text).ok()?;
    if !fields.days_of_month.is_all() && !fields.days_of_week.is_all() {
        help.push_str(" (here both day fields must match, not either of them)");
    }
    Some(help)
}

/// What follows six fields is the year of Quartz, a zone, a comment, or too much.
fn surplus_help(whole: Word<'_>, found: usize) -> Option<String> {
    let (sixth, seventh) = (words(whole).nth(5)?, words(whole).nth(6)?);
    let six = &whole.text[..sixth.span().end - whole.at];
    let expression = suggestion(six)?;
    Some(match seventh.text {
        text if text.starts_with('#') => {
            format!("a comment is not part of the expression; write {expression}")
        }
        text if text.contains('/') && !text.starts_with('*') || text == "UTC" => {
            format!("the zone is an attribute: `zone = \"…\"`; write {expression}")
        }
        _ if found == 7 => {
            let mut help = format!("remove the 7th field (year): {expression}");
            if sixth.text.bytes().any(|byte| byte.is_ascii_digit()) {
                help.push_str(" (Quartz counts weekdays from 1 = Sunday, here 1 is Monday)");
            }
            help
        }
        _ => format!("the first six fields alone are {expression}"),
    })
}

/// The text in backticks if it is short and parses.
fn suggestion(text: &str) -> Option<String> {
    (is_quotable(text) && parse::parse(text).is_ok()).then(|| format!("`{text}`"))
}

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

pub(super) fn reversed_range(
    field: CronField,
    range: Word<'_>,
    (first, start): (&str, u32),
    (last, end): (&str, u32),
) -> Fault {
    let reason = format!("{field} range {} runs backwards", quoted(range.text));
    let join = |low: &str, high: &str| {
        if low.eq_ignore_ascii_case(high) { low.to_owned() } else { format!("{low}-{high}") }
    };
    let written = |number: u32, like: &str| match field.names().get(number as usize - 1) {
        Some(name) if like.bytes().any(|b| b.is_ascii_alphabetic()) => {
            super::field::short_name(name)
        }
        _ => number.to_string(),
    };
    let greatest = written(field.max(), first);
    let head = if start == field.max() { first.to_owned() } else { join(first, &greatest) };
    let help = if field == CronField::DayOfWeek && end == 0 {
        head // up to Sunday, which ends the week as 7
    } else {
        let least =
            if field.star_min() == 0 { "0".to_owned() } else { written(field.star_min(), last) };
        let tail = if end == field.star_min() { last.to_owned() } else { join(&least, last) };
        format!("{head},{tail}")
    };
    let help = is_quotable(&help).then(|| format!("write `{help}`"));
    Fault::new(Kind::ReversedRange, range.span(), reason).help(help)
}

pub(super) fn invalid_step(field: CronField, step: Word<'_>, number: Option<u64>) -> Fault {
    let shown = quoted(step.text);
    let (reason, help) = match number {
        None if step.text.is_empty() => {
            (format!("the {field} step is missing"), "write for example `*/5`")
        }
        Some(0) => (format!("the {field} step is zero"), "the smallest step is 1"),
        Some(_) => (format!("the {field} step {shown} is too large"), "write a smaller step"),
        None => (format!("the {field} step {shown} is not a number"), "write for example `*/5`"),
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
        let reason = format!("{shown} has no meaning in {field}");
        return Fault::new(Kind::MisplacedSpecial, word.span(), reason).help(help);
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
    let reason = format!("{} has no meaning in {field}", quoted(item.text));
    Fault::new(Kind::MisplacedSpecial, item.span(), reason)
        .help(specials_of(field).map(str::to_owned))
}

/// What a text that looks like a special should have been, if it looks like one.
fn special_help(field: CronField, text: &str) -> Option<String> {
    let upper = text.to_ascii_uppercase();
    let is_special = upper.bytes().all(|b| b"LW#?0123456789-".contains(&b))
        && upper.bytes().any(|b| b"LW#?".contains(&b))
        && upper.len() < 16;
    if !is_special {
        return None;
    }
    if text.contains('?') {
        return Some(match field.is_day() {
            true => "`?` is the whole field or not there at all".to_owned(),
            false => "write `*`; `?` is for day-of-month and day-of-week".to_owned(),
        });
    }
    if field == CronField::DayOfMonth && upper != text {
        return Some(format!("write it in upper case: `{upper}`"));
    }
    let help =
        specials_of(field).unwrap_or("`L`, `W` and `#` are for day-of-month and day-of-week");
    Some(help.to_owned())
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
