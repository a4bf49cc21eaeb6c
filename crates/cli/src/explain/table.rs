//! The fields of an expression, one a line.

use std::fmt::Write;

use scheduler_expr::{CronExpression, CronField};

/// The six fields with what they match, and what is easily misread.
pub(super) fn field_table(cron: &CronExpression) -> String {
    let mut table = String::new();
    let texts = cron.to_string();
    for (field, text) in CronField::ALL.into_iter().zip(texts.split(' ')) {
        let name = field.name().replace('-', " ");
        let means = meaning(cron, field, text);
        let remark = remark(cron, field).map(|remark| format!("   ← {remark}")).unwrap_or_default();
        // A table is written to a text, which takes everything.
        let _ = writeln!(table, "  {name:<13} {means}{remark}");
    }
    table
}

/// The greatest number of values of a step that are listed one by one.
const MAX_LISTED_VALUES: usize = 12;

/// The values of a step from `*`, if there are few; otherwise the text of the field.
fn meaning(cron: &CronExpression, field: CronField, text: &str) -> String {
    if text == "*" {
        return "any".to_owned();
    }
    let values: Vec<u8> = cron.values(field).collect();
    let has_specials = text.contains(['L', 'W', '#']) && field != CronField::Month;
    match text.starts_with("*/") && values.len() <= MAX_LISTED_VALUES && !has_specials {
        true => values.iter().map(|value| name(field, *value)).collect::<Vec<_>>().join(","),
        false => text.to_owned(),
    }
}

fn name(field: CronField, value: u8) -> String {
    const DAYS: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
    match field {
        CronField::DayOfWeek => DAYS[usize::from(value - 1) % DAYS.len()].to_owned(),
        _ => value.to_string(),
    }
}

fn remark(cron: &CronExpression, field: CronField) -> Option<String> {
    let last = |field| cron.values(field).last();
    match field {
        CronField::Hour if !cron.is_any(CronField::Hour) => {
            let (hour, minute) = (last(CronField::Hour)?, last(CronField::Minute)?);
            let is_many = cron.values(CronField::Minute).len() > 1;
            is_many
                .then(|| format!("the last run is at {hour:02}:{minute:02}, not at {hour:02}:00"))
        }
        CronField::DayOfWeek => {
            let restricts = |field| !cron.is_any(field);
            (restricts(CronField::DayOfMonth) && restricts(CronField::DayOfWeek))
                .then(|| "both day fields must match".to_owned())
        }
        _ => None,
    }
}
