//! Says in English when an expression fires.
//!
//! Words are produced only for shapes that they describe exactly. A part that has no such words is
//! written field by field, in its canonical text. A test reads the words back and compares what they
//! mean with the expression.
//!
//! What the words mean: "every 15 minutes" counts from the full hour, "every 2 hours" from midnight;
//! "from 09:00 to 17:45" names the first and the last time; "weekday" is Monday to Friday.

mod day;
mod time;

use super::display::field_text;
use super::never::join;
use super::{CronExpression, CronField};

/// How many items are listed in words at most.
const LONGEST_LIST: usize = 8;

/// Words for the time of day, and whether they are bare times: "09:00", which need a day beside them.
struct TimeWords {
    words: String,
    are_bare: bool,
}

pub(super) fn describe(cron: &CronExpression) -> String {
    if let Some(never) = cron.never_fires() {
        return format!("never: {}", never.reason());
    }
    let time = time::words(cron).unwrap_or_else(|| TimeWords {
        words: fields(cron, [CronField::Hour, CronField::Minute, CronField::Second]),
        are_bare: false,
    });
    let days = day::words(cron).unwrap_or_else(|| {
        fields(cron, [CronField::DayOfMonth, CronField::Month, CronField::DayOfWeek])
    });
    match days.as_str() {
        "" if time.are_bare => format!("{}, every day", time.words),
        "" => time.words,
        _ if time.are_bare && days.starts_with("in ") => {
            format!("{}, every day {days}", time.words)
        }
        _ => format!("{}, {days}", time.words),
    }
}

/// The fields that are not `*`, by name.
fn fields(cron: &CronExpression, fields: [CronField; 3]) -> String {
    let restricted = fields.into_iter().filter(|field| field_text(cron, *field) != "*");
    let texts = restricted.map(|field| format!("{field} {}", field_text(cron, field)));
    texts.collect::<Vec<_>>().join(", ")
}

/// The numbers as runs of consecutive ones.
fn runs(values: &[u8]) -> Vec<(u8, u8)> {
    let runs = values.chunk_by(|a, b| a + 1 == *b);
    runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
}

/// "a, b and c", with runs of three or more as "a to c"; none when it would be too long.
fn list(values: &[u8], name: impl Fn(u8) -> String) -> Option<String> {
    let mut items = Vec::new();
    for (first, last) in runs(values) {
        match last - first {
            0 => items.push(name(first)),
            1 => items.extend([name(first), name(last)]),
            _ => items.push(format!("{} to {}", name(first), name(last))),
        }
    }
    (items.len() <= LONGEST_LIST).then(|| join(&items, "and"))
}
