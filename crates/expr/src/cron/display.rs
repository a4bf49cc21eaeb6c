//! Writes the one canonical text of an expression.
//!
//! A full field is `*`, an even pattern from the start of its field is `*/n`, three or more numbers
//! in a row are a range, weekdays and months have names. The text reads back as an equal
//! expression.

use std::fmt;

use super::{CronExpression, CronField, Fields, bits};

impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&CronField::ALL.map(|field| field_text(self, field)).join(" "))
    }
}

/// The canonical text of one field.
pub(super) fn field_text(cron: &CronExpression, field: CronField) -> String {
    if cron.is_any(field) {
        return "*".to_owned();
    }
    let values: Vec<u8> = cron.values(field).collect();
    let mut items = match step_from_start(field, &values) {
        Some(step) => vec![format!("*/{step}")],
        None => ranges(&values, "-", |value| field.value_text(value)),
    };
    items.extend(specials(&cron.fields, field));
    if items.is_empty() {
        // Every item of the field lies beyond the length of a month.
        return if field == CronField::DayOfMonth { "L-31" } else { "MON#6" }.to_owned();
    }
    items.join(",")
}

/// The step `n` if `*/n` means these values.
fn step_from_start(field: CronField, values: &[u8]) -> Option<u32> {
    let (first, second) = (u32::from(*values.first()?), u32::from(*values.get(1)?));
    let step = second - first;
    let expected = (field.star_min()..=field.max()).step_by(step as usize);
    expected.eq(values.iter().copied().map(u32::from)).then_some(step)
}

/// The items of a day field that are not plain values.
fn specials(fields: &Fields, field: CronField) -> Vec<String> {
    match field {
        CronField::DayOfMonth => {
            let days = fields.days_of_month;
            let nearest = bits(days.nearest_weekday).map(|day| format!("{day}W"));
            let last_weekday = days.last_weekday.then(|| "LW".to_owned());
            let before_last = bits(days.before_last).map(|n| match n {
                0 => "L".to_owned(),
                n => format!("L-{n}"),
            });
            nearest.chain(last_weekday).chain(before_last).collect()
        }
        CronField::DayOfWeek => {
            let days = fields.days_of_week;
            let name = |day: u8| field.value_text(day + 1);
            let nth = (1..).zip(days.nth).flat_map(|(n, set)| {
                bits(set.into()).map(move |day| format!("{}#{n}", field.value_text(day + 1)))
            });
            nth.chain(bits(days.last.into()).map(|day| format!("{}L", name(day)))).collect()
        }
        _ => Vec::new(),
    }
}

/// The numbers as runs of consecutive ones.
pub(super) fn runs(values: &[u8]) -> Vec<(u8, u8)> {
    let runs = values.chunk_by(|a, b| a + 1 == *b);
    runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
}

/// The names of the values, with `to` between the ends of runs of three or more.
pub(super) fn ranges(values: &[u8], to: &str, name: impl Fn(u8) -> String) -> Vec<String> {
    let texts = runs(values).into_iter().flat_map(|(first, last)| match last - first {
        0 => vec![name(first)],
        1 => vec![name(first), name(last)],
        _ => vec![format!("{}{to}{}", name(first), name(last))],
    });
    texts.collect()
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn join(items: &[String], conjunction: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} {conjunction} {last}", head.join(", ")),
    }
}
