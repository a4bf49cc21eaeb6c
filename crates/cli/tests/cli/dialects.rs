//! Expressions of crontabs fire when cron would run them: held against a reading of `crontab(5)` that shares no code.

use proptest::prelude::*;
use scheduler_expr::CronExpression;
use serde_json::Value;

use crate::Typed;

/// A field of a crontab line.
fn field(min: u32, max: u32) -> impl Strategy<Value = String> {
    let number = move || (min..=max).prop_map(|number| number.to_string());
    let range =
        move || (min..=max, min..=max).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b)));
    let item = prop_oneof![
        number(),
        range(),
        (range(), 1..9_u32).prop_map(|(range, step)| format!("{range}/{step}")),
        (1..40_u32).prop_map(|step| format!("*/{step}")),
    ];
    prop_oneof![
        3 => Just("*".to_owned()),
        2 => number(),
        3 => prop::collection::vec(item, 1..4).prop_map(|items| items.join(",")),
    ]
}

/// Returns true if a field has a number, by the words of `crontab(5)`.
fn matches(field: &str, number: u32, (min, max): (u32, u32)) -> bool {
    field.split(',').any(|item| {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let step: u32 = step.parse().expect("a step");
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => (min, max),
            (_, Some((from, to))) => {
                (from.parse().expect("a number"), to.parse().expect("a number"))
            }
            _ => (range.parse().expect("a number"), range.parse().expect("a number")),
        };
        number >= min && (from..=to).contains(&number) && (number - from).is_multiple_of(step)
    })
}

/// The days of 2026 and 2027: month, day of the month, day of the week with 0 = Sunday.
fn days() -> Vec<(u32, u32, u32)> {
    const LENGTHS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    // 2026 begins with a Thursday.
    let mut weekday = 4;
    let mut days = Vec::new();
    for _ in 2026..=2027 {
        for (month, length) in (1..).zip(LENGTHS) {
            for day in 1..=length {
                days.push((month, day, weekday));
                weekday = (weekday + 1) % 7;
            }
        }
    }
    days
}

/// The days of a line, by the numbers of each field that match.
struct Days {
    days: Vec<bool>,
    months: Vec<bool>,
    weekdays: Vec<bool>,
    has_star: bool,
}

impl Days {
    fn of(fields: &[String]) -> Self {
        let all = |nth: usize, min, max| {
            (0..=max).map(|number| matches(&fields[nth], number, (min, max))).collect::<Vec<_>>()
        };
        let has_star = fields[2].starts_with('*') || fields[4].starts_with('*');
        Self { days: all(2, 1, 31), months: all(3, 1, 12), weekdays: all(4, 0, 7), has_star }
    }

    /// Returns true if cron runs the line on a day.
    fn has(&self, (month, day, weekday): (u32, u32, u32)) -> bool {
        let is_day = self.days[day as usize];
        let is_weekday = self.weekdays[weekday as usize] || weekday == 0 && self.weekdays[7];
        let fits = if self.has_star { is_day && is_weekday } else { is_day || is_weekday };
        self.months[month as usize] && fits
    }
}

/// The expressions that a line becomes.
fn expressions(line: &str) -> Vec<CronExpression> {
    let answer =
        Typed::new(&["explain", line, "--from", "unix", "--zone", "UTC", "--json"]).answer();
    let is_read = answer.code == 0 || answer.errors.contains("never matches");
    assert!(is_read, "{line}: {}", answer.errors);
    let answer: Value = serde_json::from_str(&answer.output).expect("JSON");
    let list = answer["expressions"].as_array().expect("a list").clone();
    list.iter()
        .map(|one| one["cron"].as_str().expect("a text").parse().expect("an expression"))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_line_of_a_crontab_fires_when_cron_runs_it(
        minute in field(0, 59), hour in field(0, 23), day in field(1, 31), month in field(1, 12), weekday in field(0, 7),
    ) {
        let fields = [minute, hour, day, month, weekday];
        let line = fields.join(" ");
        let (all, meant) = (expressions(&line), Days::of(&fields));
        let calendars: Vec<_> = all.iter().map(CronExpression::days).collect();
        // Days since 1970 of 2026-01-01.
        for (number, date) in (20_454..).zip(days()) {
            let count = calendars.iter().filter(|days| days.contains(number)).count();
            prop_assert_eq!(count, usize::from(meant.has(date)), "{} on {:?}", line, date);
        }
        for cron in &all {
            let values = |field| cron.values(field).map(u32::from).collect::<Vec<_>>();
            let of = |nth: usize, max| (0..=max).filter(|n| matches(&fields[nth], *n, (0, max))).collect::<Vec<_>>();
            prop_assert_eq!(values(scheduler_expr::CronField::Minute), of(0, 59));
            prop_assert_eq!(values(scheduler_expr::CronField::Hour), of(1, 23));
            prop_assert_eq!(values(scheduler_expr::CronField::Second), [0]);
        }
    }
}
