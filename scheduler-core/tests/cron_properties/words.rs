//! Reads a description back and compares what it means with the expression.
//!
//! The reader knows nothing of how descriptions are made; it knows English. Parts that are written
//! field by field must be the fields of the canonical text.

use std::collections::BTreeSet;

use scheduler_expr::{CronExpression, CronField};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

/// Fails unless the description of an expression means the expression.
pub(crate) fn check(cron: &CronExpression) {
    let words = cron.describe();
    if let Some(reason) = words.strip_prefix("never: ") {
        assert_eq!(cron.never_fires().unwrap().reason(), reason);
        return;
    }
    let again = read(&words, cron).unwrap_or_else(|| panic!("`{cron}`: cannot read `{words}`"));
    let expected = times(cron);
    assert!(again.times.is_none_or(|times| times == expected), "`{cron}` is not at `{words}`");
    let days = CronExpression::parse(&format!("0 0 0 {}", again.day_fields)).unwrap().days();
    assert_eq!(days, cron.days(), "`{cron}` is not on `{words}`");
}

/// The seconds of a day at which an expression matches.
fn times(cron: &CronExpression) -> BTreeSet<u32> {
    let values = |field| cron.values(field).map(u32::from).collect::<Vec<_>>();
    let (hours, minutes) = (values(CronField::Hour), values(CronField::Minute));
    let mut times = BTreeSet::new();
    for hour in &hours {
        for minute in &minutes {
            times.extend(
                cron.values(CronField::Second).map(|s| hour * 3_600 + minute * 60 + u32::from(s)),
            );
        }
    }
    times
}

/// The meaning of a description. Times are absent when they were written as fields and compared as such.
struct Meaning {
    times: Option<BTreeSet<u32>>,
    day_fields: String,
}

fn read(words: &str, cron: &CronExpression) -> Option<Meaning> {
    let (times, rest) = read_time_fields(words, cron).or_else(|| read_times(words))?;
    let rest = rest.strip_prefix(", ").unwrap_or(rest);
    let day_fields = read_day_fields(rest, cron).or_else(|| read_days(rest))?;
    Some(Meaning { times, day_fields })
}

/// The texts of the fields, which `words` must begin with as "hour 9, minute 5".
fn read_fields<'a>(
    words: &'a str,
    cron: &CronExpression,
    fields: [CronField; 3],
) -> Option<&'a str> {
    let canonical = cron.to_string();
    let texts: Vec<_> = canonical.split(' ').collect();
    let mut rest = words;
    let mut count = 0;
    for field in fields.into_iter().filter(|field| texts[*field as usize] != "*") {
        let separator = if count == 0 { "" } else { ", " };
        rest = rest.strip_prefix(&format!("{separator}{field} {}", texts[field as usize]))?;
        count += 1;
    }
    (count > 0).then_some(rest)
}

type Times = Option<BTreeSet<u32>>;

fn read_time_fields<'a>(words: &'a str, cron: &CronExpression) -> Option<(Times, &'a str)> {
    let rest = read_fields(words, cron, [CronField::Hour, CronField::Minute, CronField::Second])?;
    Some((None, rest))
}

fn read_day_fields(words: &str, cron: &CronExpression) -> Option<String> {
    let rest =
        read_fields(words, cron, [CronField::DayOfMonth, CronField::Month, CronField::DayOfWeek])?;
    let text = cron.to_string();
    rest.is_empty().then(|| text.splitn(4, ' ').nth(3).unwrap().to_owned())
}

/// Times of day up to the comma that begins the days.
fn read_times(words: &str) -> Option<(Times, &str)> {
    if let Some(rest) = words.strip_prefix("every ") {
        // A comma begins the days unless another stretch follows it.
        let begins_days = |at: &usize| !rest[*at..].starts_with(", from ");
        let end =
            rest.match_indices(", ").map(|(at, _)| at).find(begins_days).unwrap_or(rest.len());
        return Some((Some(read_interval(&rest[..end])?), &rest[end..]));
    }
    // A list of times may have commas itself: the days begin with the first item that is no time.
    let mut times = BTreeSet::new();
    let mut rest = words;
    loop {
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        let Some(time) = clock(&rest[..end]) else { break };
        times.insert(time);
        rest = rest[end..].trim_start_matches([',', ' ']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    (!times.is_empty()).then_some((Some(times), rest))
}

fn clock(text: &str) -> Option<u32> {
    let mut parts = text.split(':').map(|part| part.parse::<u32>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    Some(hour * 3_600 + minute * 60 + second)
}

/// "15 minutes", "hour at minute 5", "minute from 09:00 to 09:59 and from 12:00 to 12:59".
fn read_interval(text: &str) -> Option<BTreeSet<u32>> {
    let (head, tail) =
        text.find(" at ").or(text.find(" from ")).map_or((text, ""), |at| text.split_at(at));
    let (count, unit) = head.split_once(' ').unwrap_or(("1", head));
    let length = match unit.trim_end_matches('s') {
        "second" => 1,
        "minute" => 60,
        "hour" => 3_600,
        _ => return None,
    };
    let step = count.parse::<u32>().ok()? * length;
    let mut times = BTreeSet::new();
    if let Some(stretches) = tail.strip_prefix(" from ") {
        for stretch in stretches.replace(", from ", " and from ").split(" and from ") {
            let (from, to) = stretch.split_once(" to ")?;
            let (from, to) = (clock(from)?, clock(to)?);
            assert_eq!((to - from) % step, 0, "`{text}` does not end where it says");
            times.extend((from..=to).step_by(step as usize));
        }
        return Some(times);
    }
    let mut first = 0;
    for part in
        tail.strip_prefix(" at ").unwrap_or("").split(" and ").filter(|part| !part.is_empty())
    {
        let (unit, number) = part.split_once(' ')?;
        first += number.parse::<u32>().ok()? * if unit == "minute" { 60 } else { 1 };
    }
    Some((first..86_400).step_by(step as usize).collect())
}

/// Day words as the three day fields of an expression.
fn read_days(words: &str) -> Option<String> {
    let (words, condition) = words.split_once(", only if it is ").unwrap_or((words, ""));
    let words = words.strip_prefix("every day").unwrap_or(words).trim_start();
    if let Some((day, month)) = single_date(words) {
        return Some(format!("{day} {month} *"));
    }
    let (days, months) = match words.strip_prefix("in ") {
        Some(months) => ("", months),
        None => words.split_once(" in ").unwrap_or((words, "")),
    };
    let month = if months.is_empty() { "*".to_owned() } else { read_list(months, &MONTHS)? };
    let (mut day_of_month, mut day_of_week) = ("*".to_owned(), "*".to_owned());
    if let Some(listed) = read_list(days, &DAYS) {
        day_of_week = listed;
    } else if let Some(text) =
        days.strip_prefix("on ").and_then(|text| text.strip_suffix(" of the month"))
    {
        match read_days_of_week(text) {
            Some(days) => day_of_week = days,
            None => day_of_month = read_days_of_month(text)?,
        }
    } else if !days.is_empty() {
        return None;
    }
    if !condition.is_empty() {
        assert_eq!(day_of_week, "*");
        day_of_week = match condition.strip_suffix(" of the month") {
            Some(text) => read_days_of_week(text)?,
            None => read_list(condition, &DAYS)?,
        };
    }
    Some(format!("{day_of_month} {month} {day_of_week}"))
}

/// "on 1 January"
fn single_date(words: &str) -> Option<(u32, usize)> {
    let (day, month) = words.strip_prefix("on ")?.split_once(' ')?;
    Some((day.parse().ok()?, MONTHS.iter().position(|name| *name == month)? + 1))
}

/// "a, b to d and e" as numbers.
fn read_list(text: &str, names: &[&str]) -> Option<String> {
    let number = |name: &str| names.iter().position(|known| *known == name).map(|index| index + 1);
    let items = text.replace(" and ", ", ");
    let items = items.split(", ").map(|item| match item.split_once(" to ") {
        Some((from, to)) => Some(format!("{}-{}", number(from)?, number(to)?)),
        None => number(item).map(|number| number.to_string()),
    });
    Some(items.collect::<Option<Vec<_>>>()?.join(","))
}

/// "every Monday, the second Tuesday and the last Friday"
fn read_days_of_week(text: &str) -> Option<String> {
    let day = |name: &str| DAYS.iter().position(|known| *known == name).map(|index| index + 1);
    let items = text.replace(" and ", ", ");
    let items = items.split(", ").map(|item| {
        if let Some(name) = item.strip_prefix("every ") {
            return day(name).map(|day| day.to_string());
        }
        let (which, name) = item.strip_prefix("the ")?.split_once(' ')?;
        let day = day(name)?;
        match ORDINALS.iter().position(|ordinal| *ordinal == which) {
            Some(index) => Some(format!("{day}#{}", index + 1)),
            None => (which == "last").then(|| format!("{day}L")),
        }
    });
    Some(items.collect::<Option<Vec<_>>>()?.join(","))
}

/// "days 1 to 7 and 15, the weekday nearest to day 3 and the last day"
fn read_days_of_month(text: &str) -> Option<String> {
    let items = text.replace(" and ", ", ");
    let items = items.split(", ").map(|item| {
        let item = item.trim_start_matches("days ").trim_start_matches("day ");
        if let Some(day) = item.strip_prefix("the weekday nearest to day ") {
            return Some(format!("{day}W"));
        }
        if let Some(n) = item
            .strip_prefix("the day ")
            .and_then(|item| item.strip_suffix(" days before the last day"))
        {
            return Some(format!("L-{n}"));
        }
        match item {
            "the last weekday" => Some("LW".to_owned()),
            "the last day" => Some("L".to_owned()),
            "the day before the last day" => Some("L-1".to_owned()),
            _ => {
                let (from, to) = item.split_once(" to ").unwrap_or((item, item));
                Some(format!("{}-{}", from.parse::<u32>().ok()?, to.parse::<u32>().ok()?))
            }
        }
    });
    Some(items.collect::<Option<Vec<_>>>()?.join(","))
}
