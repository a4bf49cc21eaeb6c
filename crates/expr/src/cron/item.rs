//! Reads fields and their items: a number, a name, a range, a step, or a special of the day fields.
//!
//! The text that a help says to write takes the place of the marked bytes, and is accepted there.

use super::{
    CronField, DaysOfMonth, DaysOfWeek, Fields, Token, has_zone_prefix, short_name, words,
};
use crate::error::{ParseError, is_quotable, quoted};

/// The greatest number the grammar knows, as in Spring: steps and counts may exceed their field.
const GREATEST: u64 = i32::MAX as u64;

/// Reads the fields, second first.
pub(super) fn fields(words: [Token<'_>; 6]) -> Result<Fields, ParseError> {
    let [second, minute, hour, day, month, weekday] = words;
    let set = |field, word| {
        items(field, word, |item, set: &mut u64| {
            *set |= read(field, item)?;
            Ok(())
        })
    };
    Ok(Fields {
        seconds: set(CronField::Second, second)?,
        minutes: set(CronField::Minute, minute)?,
        hours: set(CronField::Hour, hour)? as u32,
        days_of_month: match day.text {
            "?" => DaysOfMonth::ALL,
            _ => items(CronField::DayOfMonth, day, read_day_of_month)?.normalized(),
        },
        months: set(CronField::Month, month)? as u16,
        days_of_week: match weekday.text {
            "?" => DaysOfWeek::ALL,
            _ => items(CronField::DayOfWeek, weekday, read_day_of_week)?.normalized(),
        },
    })
}

/// Reads a text of six fields, for messages: a text that is none has no words to say so.
pub(super) fn fields_of(text: &str) -> Option<Fields> {
    let six: Vec<Token<'_>> = words(Token { text, at: 0 }).collect();
    fields(six.try_into().ok()?).ok()
}

/// Reads the items of a field, each with `read`.
fn items<T: Default>(
    field: CronField,
    word: Token<'_>,
    read: impl Fn(Token<'_>, &mut T) -> Result<(), ParseError>,
) -> Result<T, ParseError> {
    let mut set = T::default();
    let all = word.split(',').try_for_each(|item| read(item, &mut set));
    all.map_err(|error| error.with_label(field.name()))?;
    Ok(set)
}

/// Reads an item without specials into a set, bit `n` for the number `n`.
fn read(field: CronField, item: Token<'_>) -> Result<u64, ParseError> {
    if item.text.is_empty() {
        return Err(empty_item(field, item));
    }
    let (base, step) = match item.split_once('/') {
        Some((base, step)) => (base, Some(step)),
        None => (item, None),
    };
    if base.text == "?" && !field.is_day() {
        return Err(question_mark(field, base));
    }
    let (start, end) = read_range(field, base, step.is_some())?;
    let step = step.map_or(Ok(1), |step| read_step(field, step))?;
    if start > end {
        return Err(reversed_range(field, item, (start, end), step));
    }
    Ok((start..=end).step_by(step).fold(0, |set, number| set | 1 << number))
}

/// Reads what stands before the step: `*`, a number, or a range, which may run backwards. A number
/// alone reaches to the end of its field when a step follows.
fn read_range(field: CronField, base: Token<'_>, has_step: bool) -> Result<(u32, u32), ParseError> {
    if base.text == "*" {
        return Ok((field.star_min(), field.max()));
    }
    let Some((first, last)) = base.split_once('-').filter(|(first, _)| !first.text.is_empty())
    else {
        let number = read_value(field, base)?;
        return Ok((number, if has_step { field.max() } else { number }));
    };
    let (start, end) = (read_value(field, first)?, read_value(field, last)?);
    // A range that begins with Sunday begins the week with it.
    let start = if field == CronField::DayOfWeek && start == 7 { 0 } else { start };
    Ok((start, end))
}

fn read_step(field: CronField, step: Token<'_>) -> Result<usize, ParseError> {
    match read_digits(step.text) {
        Some(number) if number > 0 && number <= GREATEST => Ok(number as usize),
        number => Err(invalid_step(field, step, number)),
    }
}

/// Reads a number or a name that lies in the field's range.
fn read_value(field: CronField, word: Token<'_>) -> Result<u32, ParseError> {
    let Some(number) = read_digits(word.text).or_else(|| read_name(field, word.text)) else {
        return Err(not_a_number(field, word));
    };
    let in_range = u32::try_from(number).ok().filter(|n| (field.min()..=field.max()).contains(n));
    in_range.ok_or_else(|| out_of_range(field, word, number))
}

/// The value of ASCII digits; a number too long to matter is as good as the greatest.
fn read_digits(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = text.bytes().map(|byte| u64::from(byte - b'0'));
    Some(digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(digit)))
}

/// The value of a name. After digits it stands for its number's digits, as in Spring.
fn read_name(field: CronField, text: &str) -> Option<u64> {
    let letters = text.find(|c: char| !c.is_ascii_digit())?;
    let number = field.number_of(&text[letters..])?;
    read_digits(&format!("{}{number}", &text[..letters]))
}

/// Reads an item of the day-of-month field.
fn read_day_of_month(item: Token<'_>, days: &mut DaysOfMonth) -> Result<(), ParseError> {
    const FIELD: CronField = CronField::DayOfMonth;
    if let Some(after_l) = item.text.strip_prefix('L') {
        return read_last(item, after_l, days);
    }
    if item.text.ends_with('W') {
        let number = item.without_last(1);
        if read_digits(number.text).is_none() {
            return Err(misplaced(FIELD, item));
        }
        days.nearest_weekday |= 1 << read_value(FIELD, number)?;
        return Ok(());
    }
    let set = read(FIELD, item).map_err(|fault| match special_meant(item.text) {
        Some(meant) => miswritten_special(item, &meant),
        None => fault,
    })?;
    days.plain |= set as u32;
    Ok(())
}

/// The special of day-of-month that an item would be in upper case, or with its `W` at the end.
fn special_meant(item: &str) -> Option<String> {
    if item.len() >= SPECIAL_LENGTH {
        return None;
    }
    let upper = item.to_ascii_uppercase();
    let turned = upper.strip_prefix('W').map(|number| format!("{number}W"));
    let is_taken =
        |text: &str| read_day_of_month(Token { text, at: 0 }, &mut DaysOfMonth::default()).is_ok();
    // The item itself has been refused.
    let other = Some(upper).filter(|upper| upper != item);
    other.into_iter().chain(turned).find(|meant| is_taken(meant))
}

/// Reads `L`, `LW` or `L-n`, given what follows the `L`.
fn read_last(item: Token<'_>, after_l: &str, days: &mut DaysOfMonth) -> Result<(), ParseError> {
    match after_l {
        "" => days.before_last |= 1,
        "W" => days.last_weekday = true,
        _ => match after_l.strip_prefix('-').and_then(read_digits) {
            Some(n @ 1..=30) => days.before_last |= 1 << n,
            // More than 30 days before the last is a day of no month.
            Some(n) if n > 0 && n <= GREATEST => {}
            _ => return Err(misplaced(CronField::DayOfMonth, item)),
        },
    }
    Ok(())
}

/// Reads an item of the day-of-week field.
fn read_day_of_week(item: Token<'_>, days: &mut DaysOfWeek) -> Result<(), ParseError> {
    const FIELD: CronField = CronField::DayOfWeek;
    if let Some((day, nth)) = item.split_once('#') {
        let weekday = read_single_day(item, day)?;
        return match read_digits(nth.text) {
            Some(n @ 1..=5) => {
                days.nth[n as usize - 1] |= weekday;
                Ok(())
            }
            // No month has a sixth such day.
            Some(n) if n > 0 && n <= GREATEST => Ok(()),
            _ => Err(misplaced(FIELD, item)),
        };
    }
    if item.text.ends_with(['L', 'l']) && !ends_with_month(item.text) {
        days.last |= read_single_day(item, item.without_last(1))?;
        return Ok(());
    }
    let set = read(FIELD, item)?;
    // Sunday is 7 and 0, and the last bit of the week.
    days.plain |= (set >> 1) as u8 | ((set & 1) << 6) as u8;
    Ok(())
}

/// Returns true if an item ends with a month, such as `JUL` or `APRIL`: that `L` is not the special.
fn ends_with_month(item: &str) -> bool {
    let last = item.rsplit('-').next().unwrap_or(item);
    let month = CronField::Month;
    month.number_of(last).is_some() || month.intended_name(last).is_some()
}

/// Reads the single weekday of `dL` or `d#n`, as a bit.
fn read_single_day(item: Token<'_>, day: Token<'_>) -> Result<u8, ParseError> {
    const FIELD: CronField = CronField::DayOfWeek;
    let is_name = FIELD.number_of(day.text).is_some();
    if !is_name && (day.text.len() > 1 || read_digits(day.text).is_none()) {
        return Err(misplaced(FIELD, item));
    }
    let number = read_value(FIELD, day)?;
    Ok(1 << ((number + 6) % 7))
}

fn empty_item(field: CronField, item: Token<'_>) -> ParseError {
    let reason = format!("the {field} list has an empty item");
    ParseError::new(item.span(), reason).with_help("remove the surplus comma".to_owned())
}

fn out_of_range(field: CronField, word: Token<'_>, number: u64) -> ParseError {
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
    let fault = ParseError::new(word.span(), reason);
    fault.with_help(help.map(str::to_owned))
}

fn invalid_step(field: CronField, step: Token<'_>, number: Option<u64>) -> ParseError {
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
    ParseError::new(step.span(), reason).with_help(help.to_owned())
}

fn not_a_number(field: CronField, word: Token<'_>) -> ParseError {
    let shown = quoted(word.text);
    if word.text.is_empty() {
        let reason = format!("a number is missing in {field}");
        return ParseError::new(word.span(), reason);
    }
    if let Some(help) = special_help(field, word.text) {
        return no_meaning(field, word).with_help(help.to_owned());
    }
    let reason = match field.names().first() {
        Some(name) => {
            let name = short_name(name);
            format!("{field} {shown} is neither a number nor a name such as `{name}`")
        }
        None => format!("{field} {shown} is not a number"),
    };
    ParseError::new(word.span(), reason).with_help(number_help(field, word.text))
}

/// A special that stands where it has no meaning.
fn misplaced(field: CronField, item: Token<'_>) -> ParseError {
    no_meaning(field, item).with_help(specials_of(field).map(str::to_owned))
}

fn no_meaning(field: CronField, word: Token<'_>) -> ParseError {
    let reason = format!("{} has no meaning in {field}", quoted(word.text));
    ParseError::new(word.span(), reason)
}

/// A `?` that stands for the whole item of a field which is none of days.
fn question_mark(field: CronField, mark: Token<'_>) -> ParseError {
    no_meaning(field, mark).with_help(format!("write `*`; {QUESTION_MARK}"))
}

const QUESTION_MARK: &str = "`?` is for day-of-month and day-of-week";

/// A special of day-of-month with its letters in lower case, or before the number.
fn miswritten_special(item: Token<'_>, meant: &str) -> ParseError {
    let help = match item.text.eq_ignore_ascii_case(meant) {
        true => format!("write it in upper case: `{meant}`"),
        false => format!("write `{meant}`"),
    };
    no_meaning(CronField::DayOfMonth, item).with_help(help)
}

/// A text of as many bytes looks like no special.
const SPECIAL_LENGTH: usize = 16;

/// The help for a text that looks like a special, if it does.
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

/// The help for a text that is not a number.
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

/// One end of a range, as it is written and as it is understood.
struct RangeEnd<'a> {
    text: &'a str,
    number: u32,
}

/// The whole `item` is at fault, its step included: a step of each part would begin anew.
fn reversed_range(
    field: CronField,
    item: Token<'_>,
    (start, end): (u32, u32),
    step: usize,
) -> ParseError {
    let reason = format!("{field} range {} runs backwards", quoted(item.text));
    let range = item.text.split('/').next().unwrap_or_default();
    let (first, last) = range.split_once('-').unwrap_or_default();
    let (first, last) =
        (RangeEnd { text: first, number: start }, RangeEnd { text: last, number: end });
    let help = if field == CronField::DayOfWeek && end == 0 {
        up_to_sunday(&first, step)
    } else if step == 1 {
        two_ranges(field, &first, &last)
    } else {
        values(field, &first, &last, step)
    };
    let help = is_quotable(&help).then(|| format!("write `{help}`"));
    ParseError::new(item.span(), reason).with_help(help)
}

/// Sunday as 0 was meant to be the end of the week, which is 7.
fn up_to_sunday(first: &RangeEnd<'_>, step: usize) -> String {
    let sunday = written(CronField::DayOfWeek, 7, first.text);
    let step = if step == 1 { String::new() } else { format!("/{step}") };
    format!("{}-{sunday}{step}", first.text)
}

/// From the first to the end of the field, and from its beginning to the last.
fn two_ranges(field: CronField, first: &RangeEnd<'_>, last: &RangeEnd<'_>) -> String {
    let join = |low: &str, high: &str| {
        if low.eq_ignore_ascii_case(high) { low.to_owned() } else { format!("{low}-{high}") }
    };
    let head = match first.number == field.max() {
        true => first.text.to_owned(),
        false => join(first.text, &written(field, field.max(), first.text)),
    };
    let tail = match last.number == field.star_min() {
        true => last.text.to_owned(),
        false => join(&written(field, field.star_min(), last.text), last.text),
    };
    format!("{head},{tail}")
}

/// Each value that a step meets on its way across the end of the field.
fn values(field: CronField, first: &RangeEnd<'_>, last: &RangeEnd<'_>, step: usize) -> String {
    let count = field.max() - field.star_min() + 1;
    let met = (first.number..=last.number + count).step_by(step).map(|number| {
        let within = if number > field.max() { number - count } else { number };
        written(field, within, first.text)
    });
    met.collect::<Vec<_>>().join(",")
}

/// A number, as a name if that is how `like` is written.
fn written(field: CronField, number: u32, like: &str) -> String {
    let is_name = like.bytes().any(|byte| byte.is_ascii_alphabetic());
    if is_name { field.value_text(number as u8) } else { number.to_string() }
}
