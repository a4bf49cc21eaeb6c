//! Draws cron expressions together with what they mean.

use std::collections::BTreeSet;

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};
use proptest::prelude::*;

/// An expression's text, and its meaning as sets of numbers and day rules.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) text: String,
    seconds: BTreeSet<u32>,
    minutes: BTreeSet<u32>,
    hours: BTreeSet<u32>,
    days_of_month: Vec<DayOfMonth>,
    months: BTreeSet<u32>,
    days_of_week: Vec<DayOfWeek>,
}

/// Shows the text alone, so that a failure stays readable.
impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[derive(Clone, Copy, Debug)]
enum DayOfMonth {
    On(u32),
    BeforeLast(u32),
    LastWeekday,
    NearestWeekday(u32),
}

/// Weekdays are 1 = Monday to 7 = Sunday.
#[derive(Clone, Copy, Debug)]
enum DayOfWeek {
    On(u32),
    Last(u32),
    Nth(u32, u32),
}

/// The text of a field or of an item of it, and the numbers it stands for.
type Drawn<T> = (String, Vec<T>);

impl Model {
    /// The model of an expression of numbers, lists, ranges, `*`, `*/n` and the `L` of
    /// day-of-month.
    pub(crate) fn of_plain(text: &str) -> Self {
        let fields: Vec<&str> = text.split(' ').collect();
        let set = |field: usize, min: u32, max: u32| read_plain(fields[field], min, max);
        Self {
            text: text.to_owned(),
            seconds: set(0, 0, 59),
            minutes: set(1, 0, 59),
            hours: set(2, 0, 23),
            days_of_month: match fields[3] {
                "L" => vec![DayOfMonth::BeforeLast(0)],
                _ => set(3, 1, 31).into_iter().map(DayOfMonth::On).collect(),
            },
            months: set(4, 1, 12),
            days_of_week: set(5, 1, 7).into_iter().map(DayOfWeek::On).collect(),
        }
    }

    pub(crate) fn matches(&self, local: NaiveDateTime) -> bool {
        self.matches_second(local.num_seconds_from_midnight()) && self.matches_day(local.date())
    }

    pub(crate) fn matches_second(&self, second_of_day: u32) -> bool {
        self.seconds.contains(&(second_of_day % 60))
            && self.minutes.contains(&(second_of_day / 60 % 60))
            && self.hours.contains(&(second_of_day / 3_600))
    }

    pub(crate) fn matches_day(&self, date: NaiveDate) -> bool {
        self.months.contains(&date.month())
            && self.days_of_month.iter().any(|rule| rule.matches(date))
            && self.days_of_week.iter().any(|rule| rule.matches(date))
    }

    /// Returns true if any day of 28 years matches, among which are years of every shape.
    pub(crate) fn may_fire(&self) -> bool {
        let first = NaiveDate::from_ymd_opt(2000, 1, 1).unwrap();
        first.iter_days().take(28 * 366).any(|date| self.matches_day(date))
    }
}

impl DayOfMonth {
    fn matches(self, date: NaiveDate) -> bool {
        let last = last_day(date);
        match self {
            Self::On(day) => date.day() == day,
            Self::BeforeLast(n) => date.day() + n == last.day(),
            Self::LastWeekday => {
                let is_weekday = |date: &NaiveDate| date.weekday().number_from_monday() <= 5;
                let days = std::iter::successors(Some(last), NaiveDate::pred_opt);
                days.take(3).find(is_weekday) == Some(date)
            }
            Self::NearestWeekday(day) => {
                let Some(target) = date.with_day(day) else { return false };
                let moved = match (target.weekday().number_from_monday(), target.day()) {
                    (6, 1) => target.with_day(3),
                    (6, _) => target.pred_opt(),
                    (7, _) => target.succ_opt(),
                    _ => Some(target),
                };
                moved == Some(date)
            }
        }
    }
}

impl DayOfWeek {
    fn matches(self, date: NaiveDate) -> bool {
        let weekday = date.weekday().number_from_monday();
        match self {
            Self::On(day) => weekday == day,
            Self::Last(day) => weekday == day && date.day() + 7 > last_day(date).day(),
            Self::Nth(day, n) => weekday == day && date.day().div_ceil(7) == n,
        }
    }
}

fn last_day(date: NaiveDate) -> NaiveDate {
    let days = date.iter_days();
    days.take_while(|day| day.month() == date.month()).last().expect("a month has a last day")
}

fn read_plain(text: &str, min: u32, max: u32) -> BTreeSet<u32> {
    let number = |text: &str| text.parse::<u32>().expect("a plain number");
    let mut set = BTreeSet::new();
    for item in text.split(',') {
        let (base, step) =
            item.split_once('/').map_or((item, 1), |(base, step)| (base, number(step)));
        let (from, to) = match base.split_once('-') {
            _ if base == "*" => (min, max),
            Some((from, to)) => (number(from), number(to)),
            None => (number(base), number(base)),
        };
        set.extend((from..=to).step_by(step as usize));
    }
    set
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];

/// The text of a number: as itself, with a zero before it, or its name.
fn written(number: u32, names: &'static [&'static str], style: u8) -> String {
    match names.get(number.wrapping_sub(1) as usize) {
        Some(name) if style == 0 => (*name).to_owned(),
        Some(name) if style == 1 => name.to_lowercase(),
        _ if style == 2 => format!("{number:02}"),
        _ => number.to_string(),
    }
}

/// One item of numbers in `min..=max`, where `*` begins at `star_min`.
fn item(
    (min, star_min, max): (u32, u32, u32),
    names: &'static [&'static str],
) -> impl Strategy<Value = Drawn<u32>> + Clone {
    let parts = (min..=max, min..=max, 1..=max + 3, 0..6_u8, 0..4_u8);
    parts.prop_map(move |(a, b, step, kind, style)| {
        let (low, high) = (a.min(b), a.max(b));
        let write = |number| written(number, names, style);
        let every = |from: u32, to: u32, step: u32| (from..=to).step_by(step as usize).collect();
        match kind {
            0 => ("*".to_owned(), every(star_min, max, 1)),
            1 => (format!("*/{step}"), every(star_min, max, step)),
            2 => (format!("{}-{}", write(low), write(high)), every(low, high, 1)),
            3 => (format!("{}-{}/{step}", write(low), write(high)), every(low, high, step)),
            4 => (format!("{}/{step}", write(a)), every(a, max, step)),
            _ => (write(a), vec![a]),
        }
    })
}

/// A list of items.
fn list<T: Clone + std::fmt::Debug>(
    item: impl Strategy<Value = Drawn<T>> + Clone,
) -> impl Strategy<Value = Drawn<T>> {
    prop::collection::vec(item, 1..4).prop_map(|items| {
        let text = items.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(",");
        (text, items.into_iter().flat_map(|(_, values)| values).collect())
    })
}

fn numbers(range: (u32, u32, u32)) -> BoxedStrategy<Drawn<u32>> {
    prop_oneof![1 => Just(("0".to_owned(), vec![0])), 3 => list(item(range, &[]))].boxed()
}

fn any_day_of_month() -> BoxedStrategy<Drawn<DayOfMonth>> {
    let plain = item((1, 1, 31), &[])
        .prop_map(|(text, days)| (text, days.into_iter().map(DayOfMonth::On).collect()));
    let special = prop_oneof![
        Just(("L".to_owned(), vec![DayOfMonth::BeforeLast(0)])),
        Just(("LW".to_owned(), vec![DayOfMonth::LastWeekday])),
        (1..40_u32).prop_map(|n| (format!("L-{n}"), vec![DayOfMonth::BeforeLast(n)])),
        (1..=31_u32).prop_map(|n| (format!("{n}W"), vec![DayOfMonth::NearestWeekday(n)])),
    ];
    let all =
        ["*", "?"].map(|text| (text.to_owned(), (1..=31).map(DayOfMonth::On).collect::<Vec<_>>()));
    prop_oneof![
        3 => prop::sample::select(all.to_vec()),
        2 => list(plain.clone()),
        2 => list(prop_oneof![plain, special]),
    ]
    .boxed()
}

/// Sunday is 7, whether it is written as 0 or 7.
fn weekday(number: u32) -> u32 {
    if number == 0 { 7 } else { number }
}

fn any_day_of_week() -> BoxedStrategy<Drawn<DayOfWeek>> {
    let plain = item((0, 1, 7), &DAYS).prop_map(|(text, days)| {
        // A range that begins with Sunday, written as 7, begins the week.
        let begins_week = text.starts_with("7-")
            || text.to_uppercase().starts_with("SUN-")
            || text.starts_with("07-");
        let days = match (begins_week, text.split_once('/')) {
            (true, None) => (0..=7).collect(),
            (true, Some((_, step))) => (0..=7).step_by(step.parse().unwrap()).collect(),
            (false, _) => days,
        };
        (text, days.into_iter().map(|day| DayOfWeek::On(weekday(day))).collect::<Vec<_>>())
    });
    let special = prop_oneof![
        (1..=7_u32, 0..4_u8).prop_map(|(day, style)| {
            (format!("{}L", written(day, &DAYS, style.min(1))), vec![DayOfWeek::Last(day)])
        }),
        (0..=7_u32, 1..=7_u32)
            .prop_map(|(day, n)| (format!("{day}#{n}"), vec![DayOfWeek::Nth(weekday(day), n)])),
    ];
    let all =
        ["*", "?"].map(|text| (text.to_owned(), (1..=7).map(DayOfWeek::On).collect::<Vec<_>>()));
    prop_oneof![
        3 => prop::sample::select(all.to_vec()),
        2 => list(plain.clone()),
        2 => list(prop_oneof![plain, special]),
    ]
    .boxed()
}

fn any_month() -> BoxedStrategy<Drawn<u32>> {
    let all = Just(("*".to_owned(), (1..=12).collect()));
    prop_oneof![2 => all, 1 => list(item((1, 1, 12), &MONTHS))].boxed()
}

/// The three day fields.
type Days =
    (BoxedStrategy<Drawn<DayOfMonth>>, BoxedStrategy<Drawn<u32>>, BoxedStrategy<Drawn<DayOfWeek>>);

fn model(
    seconds: BoxedStrategy<Drawn<u32>>,
    minutes: BoxedStrategy<Drawn<u32>>,
    hours: BoxedStrategy<Drawn<u32>>,
    days: Days,
) -> impl Strategy<Value = Model> {
    let fields = (seconds, minutes, hours, days.0, days.1, days.2);
    fields.prop_map(|(second, minute, hour, day, month, weekday)| Model {
        text: [&second.0, &minute.0, &hour.0, &day.0, &month.0, &weekday.0]
            .map(String::as_str)
            .join(" "),
        seconds: second.1.into_iter().collect(),
        minutes: minute.1.into_iter().collect(),
        hours: hour.1.into_iter().collect(),
        days_of_month: day.1,
        months: month.1.into_iter().collect(),
        days_of_week: weekday.1,
    })
}

/// Any expression.
pub(crate) fn any_model() -> impl Strategy<Value = Model> {
    let days = (any_day_of_month(), any_month(), any_day_of_week());
    model(numbers((0, 0, 59)), numbers((0, 0, 59)), numbers((0, 0, 23)), days)
}

/// An expression that fires on most days, mostly in the early hours.
pub(crate) fn busy_model() -> impl Strategy<Value = Model> {
    let all_days = Just(("*".to_owned(), (1..=31).map(DayOfMonth::On).collect::<Vec<_>>())).boxed();
    let all_months = Just(("*".to_owned(), (1..=12).collect::<Vec<_>>())).boxed();
    let early = list(item((0, 0, 4), &[]).prop_filter("`*` means all 24 hours", |(text, _)| {
        !text.contains('*') && (!text.contains('/') || text.contains('-'))
    }));
    let hours = prop_oneof![2 => early, 1 => numbers((0, 0, 23))].boxed();
    let one = (0..=59_u32).prop_map(|second| (second.to_string(), vec![second]));
    let seconds = prop_oneof![4 => one, 1 => numbers((0, 0, 59))].boxed();
    model(seconds, numbers((0, 0, 59)), hours, (all_days, all_months, any_day_of_week()))
}
