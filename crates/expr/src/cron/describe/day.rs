//! Words for the days.

use crate::cron::{CronExpression, CronField, DAY_NAMES, MONTH_NAMES, bits, join, ranges};

/// The greatest number of items that are listed in words.
const LONGEST_LIST: usize = 8;

const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

/// The last day that every month has with a day after it: the weekday nearest to a later one is
/// missing in some months, which words do not say.
const LAST_SURE_DAY: u8 = 27;

/// The days in words, empty when they are all days.
pub(super) fn words(cron: &CronExpression) -> Option<String> {
    let months = match cron.is_any(CronField::Month) {
        true => String::new(),
        false => format!("in {}", month_list(cron)?),
    };
    let days = match (cron.is_any(CronField::DayOfMonth), cron.is_any(CronField::DayOfWeek)) {
        (true, true) => return Some(months),
        (true, false) => days_of_week(cron)?,
        (false, true) => match single_date(cron) {
            Some(date) => return Some(date),
            None => days_of_month(cron)?,
        },
        (false, false) => {
            let months = if months.is_empty() { String::new() } else { format!(" {months}") };
            let weekdays = days_of_week(cron)?;
            let condition = weekdays.strip_prefix("on ").unwrap_or(&weekdays);
            return Some(format!("{}{months}, only if it is {condition}", days_of_month(cron)?));
        }
    };
    Some(if months.is_empty() { days } else { format!("{days} {months}") })
}

fn values(cron: &CronExpression, field: CronField) -> Vec<u8> {
    cron.values(field).collect()
}

/// "a, b and c", with runs of three or more as "a to c"; none when it would be too long.
fn list(values: &[u8], name: impl Fn(u8) -> String) -> Option<String> {
    let items = ranges(values, " to ", name);
    (items.len() <= LONGEST_LIST).then(|| join(&items, "and"))
}

fn month_list(cron: &CronExpression) -> Option<String> {
    list(&values(cron, CronField::Month), |month| MONTH_NAMES[usize::from(month) - 1].to_owned())
}

/// One day of one month: "on 1 January".
fn single_date(cron: &CronExpression) -> Option<String> {
    let (days, months) = (values(cron, CronField::DayOfMonth), values(cron, CronField::Month));
    match (days.as_slice(), months.as_slice()) {
        ([day], [month]) if cron.has_plain_days() => {
            Some(format!("on {day} {}", MONTH_NAMES[usize::from(*month) - 1]))
        }
        _ => None,
    }
}

/// "Monday to Friday", or with specials "on every Monday and the last Friday of the month".
fn days_of_week(cron: &CronExpression) -> Option<String> {
    let plain = values(cron, CronField::DayOfWeek);
    let name = |day: u8| DAY_NAMES[usize::from(day) - 1];
    let field = cron.fields.days_of_week;
    if field.is_plain() {
        return list(&plain, |day| name(day).to_owned());
    }
    let mut items: Vec<_> = plain.iter().map(|day| format!("every {}", name(*day))).collect();
    for (ordinal, set) in ORDINALS.iter().zip(field.nth) {
        items.extend(bits(set.into()).map(|day| format!("the {ordinal} {}", name(day + 1))));
    }
    items.extend(bits(field.last.into()).map(|day| format!("the last {}", name(day + 1))));
    (items.len() <= LONGEST_LIST).then(|| format!("on {} of the month", join(&items, "and")))
}

/// "on day 15 of the month", "on day 1 and the last day of the month".
fn days_of_month(cron: &CronExpression) -> Option<String> {
    let plain = values(cron, CronField::DayOfMonth);
    let field = cron.fields.days_of_month;
    let mut items = Vec::new();
    if !plain.is_empty() {
        let noun = if plain.len() == 1 { "day" } else { "days" };
        items.push(format!("{noun} {}", list(&plain, |day| day.to_string())?));
    }
    for day in bits(field.nearest_weekday) {
        if day > LAST_SURE_DAY {
            return None;
        }
        items.push(format!("the weekday nearest to day {day}"));
    }
    if field.last_weekday {
        items.push("the last weekday".to_owned());
    }
    items.extend(bits(field.before_last).map(|n| match n {
        0 => "the last day".to_owned(),
        1 => "the day before the last day".to_owned(),
        n => format!("the day {n} days before the last day"),
    }));
    (items.len() <= LONGEST_LIST).then(|| format!("on {} of the month", join(&items, "and")))
}
