//! The lints, and all findings about an expression.

use chrono::{DateTime, Utc};
use scheduler_core::trigger::{CronTrigger, Zone, ZoneChange};
use scheduler_expr::{CronExpression, CronField};

use crate::times::{A_YEAR, day_of};

/// A warning about an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Its name, for programs.
    pub(crate) lint: &'static str,
    pub(crate) what: String,
    pub(crate) help: String,
}

impl Finding {
    pub(super) fn new(
        lint: &'static str,
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { lint, what: what.into(), help: help.into() }
    }
}

/// All findings about an expression.
pub(super) fn all(cron: &CronExpression, zone: Zone, now: DateTime<Utc>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = uneven_steps(cron).collect();
    findings.extend(whole_weeks(cron));
    findings.extend(both_days(cron));
    findings.extend(short_months(cron));
    findings.extend(every_second(cron));
    findings.extend(clock_changes(cron, zone, now));
    findings
}

/// The size of a field in which steps go round: the hour after 23 is 0, the day after 28 perhaps not 1.
fn size(field: CronField) -> Option<u32> {
    match field {
        CronField::Second | CronField::Minute => Some(60),
        CronField::Hour => Some(24),
        CronField::Month => Some(12),
        CronField::DayOfWeek => Some(7),
        CronField::DayOfMonth => None,
    }
}

/// The unit of the distance between two values of a field.
fn unit(field: CronField) -> &'static str {
    match field {
        CronField::Second => "second",
        CronField::Minute => "minute",
        CronField::Hour => "hour",
        CronField::DayOfMonth | CronField::DayOfWeek => "day",
        CronField::Month => "month",
    }
}

/// `*/45`: the last gap of the field is another one than the step.
fn uneven_steps(cron: &CronExpression) -> impl Iterator<Item = Finding> {
    let words = cron.source().split(' ').filter(|word| !word.is_empty());
    let items = CronField::ALL
        .into_iter()
        .zip(words)
        .flat_map(|(field, word)| word.split(',').map(move |item| (field, item)));
    items.filter_map(|(field, item)| uneven_step(field, item))
}

fn uneven_step(field: CronField, item: &str) -> Option<Finding> {
    let (base, step) = item.split_once('/')?;
    if base.contains('-') {
        // Both ends are given.
        return None;
    }
    let step: u32 = step.parse().ok().filter(|step| *step > 1)?;
    let (name, unit) = (field.name(), unit(field));
    let Some(size) = size(field) else {
        let what =
            format!("`{item}` in {name} begins anew with each month, so that the last gap differs");
        let help = match base {
            "*" | "1" => format!("for a run each {step} days, use fixed_rate = \"{step}d\""),
            _ => "list the days that are meant".to_owned(),
        };
        return Some(Finding::new("uneven-step", what, help));
    };
    let values = values(field, item)?;
    let help = dividers(size, step);
    if let [only] = *values {
        // 0 and 7 are one day: each seventh day from Sunday is every Sunday.
        let is_whole_week = field == CronField::DayOfWeek && base == "0" && step == size;
        return (!is_whole_week).then(|| {
            let only = match is_name(base) {
                true => base.to_ascii_uppercase(),
                false => only.to_string(),
            };
            let what =
                format!("`{item}` in {name} is only {only}: the step leaves the field at once");
            Finding::new("uneven-step", what, help)
        });
    }
    let next = values.iter().skip(1).copied().chain([values[0] + size]);
    let rest =
        values.iter().zip(next).map(|(value, next)| next - value).find(|gap| *gap != step)?;
    let what =
        format!("`{item}` in {name} has gaps of {step} {unit}s, and one of {}", count(rest, unit));
    Some(Finding::new("uneven-step", what, help))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// The values of one item of a field, in order; Sunday is 7.
fn values(field: CronField, item: &str) -> Option<Vec<u32>> {
    let fields = CronField::ALL.map(|each| if each == field { item } else { "*" });
    let cron = CronExpression::parse(&fields.join(" ")).ok()?;
    Some(cron.values(field).map(u32::from).collect())
}

/// `SUN-SUN`: the range of weekdays from a day to itself is the whole week, if the day is written as its beginning and its end.
fn whole_weeks(cron: &CronExpression) -> impl Iterator<Item = Finding> {
    let mut words = cron.source().split(' ').filter(|word| !word.is_empty());
    let weekdays = words.next_back().unwrap_or_default().split(',');
    let day = |text: &str| values(CronField::DayOfWeek, text);
    weekdays.filter_map(move |item| {
        let (first, last) = item.split_once('-')?;
        let is_one_day =
            day(first)? == day(last)? && values(CronField::DayOfWeek, item)?.len() == 7;
        is_one_day.then(|| {
            let what = format!("`{item}` in day-of-week is every day, as in Spring");
            Finding::new(
                "whole-week",
                what,
                format!("for one day a week write `{last}`, for every day `*`"),
            )
        })
    })
}

fn count(number: u32, unit: &str) -> String {
    if number == 1 { format!("1 {unit}") } else { format!("{number} {unit}s") }
}

/// The steps that divide a field, near to what was written.
fn dividers(size: u32, step: u32) -> String {
    let divides = |n: &u32| size.is_multiple_of(*n);
    let below = (2..step.min(size)).rev().find(divides);
    let above = (step + 1..size).find(divides);
    match (below, above) {
        (Some(below), Some(above)) => {
            format!("steps that divide the {size} evenly are {below} and {above}")
        }
        (Some(only), None) | (None, Some(only)) => {
            format!("a step that divides the {size} evenly is {only}")
        }
        (None, None) => "list the values that are meant".to_owned(),
    }
}

/// Both day fields are given.
fn both_days(cron: &CronExpression) -> Option<Finding> {
    let is_restricted = |field| !cron.is_any(field);
    let both = is_restricted(CronField::DayOfMonth) && is_restricted(CronField::DayOfWeek);
    both.then(|| {
        Finding::new(
            "both-days",
            "day-of-month and day-of-week must both match, as in Spring; in a crontab either is enough",
            "for either, write two annotations; `scheduler explain --from unix` shows them",
        )
    })
}

/// Days that some of the months lack.
fn short_months(cron: &CronExpression) -> Option<Finding> {
    const DAYS: [(u8, &[u8]); 3] = [(31, &[2, 4, 6, 9, 11]), (30, &[2]), (29, &[2])];
    let days: Vec<u8> = cron.values(CronField::DayOfMonth).collect();
    let months: Vec<u8> = cron.values(CronField::Month).collect();
    let is_alone = |day: u8| days.contains(&day) && !days.contains(&(day - 1));
    let (day, lacking) = DAYS.into_iter().find(|(day, lacking)| {
        is_alone(*day) && lacking.iter().any(|month| months.contains(month))
    })?;
    const NAMES: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let lacking = lacking.iter().filter(|month| months.contains(month));
    let names: Vec<&str> = lacking.map(|month| NAMES[usize::from(*month) - 1]).collect();
    let often = if day == 29 { " in common years" } else { "" };
    let what = format!("there is no day {day} in {}{often}: those are skipped", names.join(", "));
    Some(Finding::new("short-months", what, "for the last day of every month, write `L`"))
}

/// Every second of a minute or an hour that was chosen: the slip of a sixth field that is forgotten.
fn every_second(cron: &CronExpression) -> Option<Finding> {
    let is_any = |field| cron.is_any(field);
    let chosen = !is_any(CronField::Minute) || !is_any(CronField::Hour);
    if !is_any(CronField::Second) || !chosen {
        return None;
    }
    let count = |field| cron.values(field).count();
    let runs = 60 * count(CronField::Minute) * count(CronField::Hour);
    let what = format!("the second is `*`: {} runs on each such day", thousands(runs));
    let rest = cron.to_string();
    let rest = rest.strip_prefix("* ").unwrap_or(&rest);
    Some(Finding::new(
        "every-second",
        what,
        format!("for one run a minute at most, write `0 {rest}`"),
    ))
}

fn thousands(number: usize) -> String {
    match number {
        ..1_000 => number.to_string(),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}

/// Times that do not exist on one day of the year, or come twice.
fn clock_changes(cron: &CronExpression, zone: Zone, now: DateTime<Utc>) -> Vec<Finding> {
    // A task of every hour also runs in the hours around a change.
    if cron.is_any(CronField::Hour) {
        return Vec::new();
    }
    let trigger = CronTrigger::new(cron.clone(), zone);
    let end = now.checked_add_signed(A_YEAR).unwrap_or(DateTime::<Utc>::MAX_UTC);
    let mut changes = Vec::new();
    let mut from = now;
    while let Some(change) = trigger.clash_between(from, end) {
        from = change.at();
        changes.push(change);
    }
    let first = |is_gap: bool| changes.iter().find(|change| change.is_gap() == is_gap);
    [first(true).map(|gap| left_out(*gap, zone)), first(false).map(|change| twice(*change, zone))]
        .into_iter()
        .flatten()
        .collect()
}

/// The local times of a change: `from 02:00 to 03:00 on Sun 2026-03-29`.
fn stretch(change: ZoneChange) -> String {
    let (first, end) = change.local_times();
    let day = day_of(change);
    format!("from {} to {} on {day}", first.format("%H:%M"), end.format("%H:%M"))
}

fn left_out(gap: ZoneChange, zone: Zone) -> Finding {
    let what = format!("{zone} has no time {}: what falls into it does not run", stretch(gap));
    Finding::new("clock-gap", what, "to run right after it instead, write dst_gap = \"run_after\"")
}

fn twice(change: ZoneChange, zone: Zone) -> Finding {
    let what = format!("{zone} has the time {} twice: it runs twice", stretch(change));
    Finding::new("clock-overlap", what, "to run once, write dst_overlap = \"first\"")
}
