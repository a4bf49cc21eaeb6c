//! A range that runs backwards, and the items that mean what it was meant to.

use super::{CronField, Fault, ParseCronErrorKind as Kind, Word};
use crate::excerpt::{is_quotable, quoted};

/// One end of a range, as it is written and as it is understood.
struct End<'a> {
    text: &'a str,
    number: u32,
}

/// The whole `item` is at fault, its step included: a step of each part would begin anew.
pub(super) fn fault(
    field: CronField,
    item: Word<'_>,
    (start, end): (u32, u32),
    step: usize,
) -> Fault {
    let reason = format!("{field} range {} runs backwards", quoted(item.text));
    let range = item.text.split('/').next().unwrap_or_default();
    let (first, last) = range.split_once('-').unwrap_or_default();
    let (first, last) = (End { text: first, number: start }, End { text: last, number: end });
    let help = if field == CronField::DayOfWeek && end == 0 {
        up_to_sunday(&first, step)
    } else if step == 1 {
        two_ranges(field, &first, &last)
    } else {
        values(field, &first, &last, step)
    };
    let help = is_quotable(&help).then(|| format!("write `{help}`"));
    Fault::new(Kind::ReversedRange, item.span(), reason).help(help)
}

/// Sunday as 0 was meant to be the end of the week, which is 7.
fn up_to_sunday(first: &End<'_>, step: usize) -> String {
    let sunday = written(CronField::DayOfWeek, 7, first.text);
    let step = if step == 1 { String::new() } else { format!("/{step}") };
    format!("{}-{sunday}{step}", first.text)
}

/// From the first to the end of the field, and from its beginning to the last.
fn two_ranges(field: CronField, first: &End<'_>, last: &End<'_>) -> String {
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
fn values(field: CronField, first: &End<'_>, last: &End<'_>, step: usize) -> String {
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
