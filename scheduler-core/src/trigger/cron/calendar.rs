//! Searches the calendar for the next matching local time, without zones.
//!
//! The only file that knows the `cron` crate. The crate gets not the user's text but a
//! normalised one, with every number listed and weekdays counted its way, and wall-clock times
//! dressed as UTC, so that its own treatment of zones never runs. Features that it lacks are added
//! here: the days of `L`, `W` and `#`, and years before 1970 and from 2100 on. Those are searched in
//! a year of the same shape, with the same leap day and the same weekdays.

use std::fmt::Write;
use std::str::FromStr;

use chrono::{DateTime, Datelike, NaiveDate};
use cron::Schedule;
use scheduler_expr::{CalendarDays, CronExpression, CronField};

/// Seconds in a day of a wall clock that is never changed.
const DAY: i64 = 86_400;

/// The days that the `cron` crate can search, counted from 1970-01-01: up to the end of 2099.
const SEARCHABLE_DAYS: std::ops::Range<i64> = 0..47_482;

/// A year for every shape that a year can have: common years and leap years, by the weekday of
/// their first day, Monday first.
const MODEL_YEARS: [[i32; 7]; 2] =
    [[2001, 2002, 2003, 2009, 2010, 2005, 2006], [2024, 2008, 2020, 2004, 2016, 2000, 2012]];

/// The wall-clock times at which an expression matches, as seconds since 1970-01-01T00:00 of that
/// clock.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    schedule: Schedule,
    days: CalendarDays,
    is_empty: bool,
    /// True if the crate finds the day by itself, and fast.
    is_direct: bool,
    /// The last matching second of a matching day.
    last_second: i64,
}

impl Calendar {
    pub(super) fn new(expression: &CronExpression) -> Self {
        let days = expression.days();
        let text = normalized(expression);
        // INVARIANT: lists of numbers in range always parse; a test tries every field at its
        // limits.
        let schedule = Schedule::from_str(&text)
            .unwrap_or_else(|error| unreachable!("`{text}` is normalised: {error}"));
        let has_free_days =
            expression.is_any(CronField::DayOfMonth) || expression.is_any(CronField::DayOfWeek);
        Self {
            schedule,
            is_empty: days.is_empty(),
            days,
            is_direct: expression.has_plain_days() && has_free_days,
            last_second: last_second(expression),
        }
    }

    /// The first matching time after `local`; none when no time ever matches, or none that chrono
    /// can express.
    pub(super) fn next_after(&self, local: i64) -> Option<i64> {
        if self.is_empty {
            return None;
        }
        let day = local.div_euclid(DAY);
        if self.is_direct && SEARCHABLE_DAYS.contains(&day) {
            let found = self.search(local);
            if found.is_some() {
                return found;
            }
        }
        let second = local.rem_euclid(DAY);
        if second < self.last_second && self.days.contains(day) {
            return self.search_day(day, second);
        }
        let day = self.days.next_from(day + 1)?;
        self.search_day(day, -1)
    }

    /// The first matching time of a matching day that lies after a second of that day.
    fn search_day(&self, day: i64, second: i64) -> Option<i64> {
        let model = model_of(day)?;
        let found = self.search(model * DAY + second)?;
        (found.div_euclid(DAY) == model).then(|| found + (day - model) * DAY)
    }

    fn search(&self, local: i64) -> Option<i64> {
        let local = DateTime::from_timestamp(local, 0)?;
        let found = self.schedule.after(&local).next();
        found.map(|found| found.timestamp())
    }
}

/// The last second of a day whose hour, minute and second match.
fn last_second(expression: &CronExpression) -> i64 {
    let last = |field| expression.values(field).last().map_or(0, i64::from);
    last(CronField::Hour) * 3_600 + last(CronField::Minute) * 60 + last(CronField::Second)
}

/// A day that can be searched in place of `day`: itself, or the same date in a year of the same
/// shape.
fn model_of(day: i64) -> Option<i64> {
    if SEARCHABLE_DAYS.contains(&day) {
        return Some(day);
    }
    let date = NaiveDate::from_epoch_days(i32::try_from(day).ok()?)?;
    let new_year = date.with_ordinal(1)?.weekday().num_days_from_monday();
    let year = MODEL_YEARS[usize::from(date.leap_year())][new_year as usize];
    Some(date.with_year(year)?.to_epoch_days().into())
}

/// The expression in the words of the `cron` crate. `L`, `W` and `#` are left out.
fn normalized(expression: &CronExpression) -> String {
    let mut text = String::new();
    for field in CronField::ALL {
        let is_day = matches!(field, CronField::DayOfMonth | CronField::DayOfWeek);
        let mut values: Vec<u8> = expression.values(field).collect();
        let is_left_out = is_day && (values.is_empty() || !expression.has_plain_days());
        if is_left_out || expression.is_any(field) {
            text.push_str("* ");
            continue;
        }
        if field == CronField::DayOfWeek {
            // The crate counts from 1 = Sunday.
            values.iter_mut().for_each(|day| *day = *day % 7 + 1);
            values.sort_unstable();
        }
        for value in values {
            let _ = write!(text, "{value},");
        }
        text.pop();
        text.push(' ');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(text: &str) -> Calendar {
        Calendar::new(&CronExpression::parse(text).unwrap())
    }

    #[track_caller]
    fn check(text: &str, after: &str, expected: &str) {
        let seconds = |time: &str| time.parse::<DateTime<chrono::Utc>>().unwrap().timestamp();
        let found = calendar(text).next_after(seconds(after));
        assert_eq!(found, Some(seconds(expected)), "{text} after {after}");
    }

    #[test]
    fn lists_numbers_and_counts_weekdays_from_sunday() {
        let text = |text| normalized(&CronExpression::parse(text).unwrap());
        assert_eq!(text("0 */20 9-11 * * MON-FRI"), "0 0,20,40 9,10,11 * * 2,3,4,5,6 ");
        assert_eq!(text("0 0 0 1 1 SAT-SUN"), "0 0 0 1 1 1,7 ");
        assert_eq!(text("* * * L * ?"), "* * * * * * ");
        assert_eq!(text("* * * * * MON#6"), "* * * * * * ");
    }

    #[test]
    fn every_value_of_every_field_is_understood() {
        for (field, values) in
            [(0, 0..=59), (1, 0..=59), (2, 0..=23), (3, 1..=31), (4, 1..=12), (5, 0..=7)]
        {
            for value in values {
                let mut fields = ["*"; 6].map(str::to_owned);
                fields[field] = value.to_string();
                calendar(&fields.join(" "));
            }
        }
    }

    #[test]
    fn model_years_have_their_shape() {
        for (is_leap, years) in [false, true].into_iter().zip(MODEL_YEARS) {
            for (weekday, year) in (0..).zip(years) {
                let new_year = NaiveDate::from_ymd_opt(year, 1, 1).unwrap();
                assert_eq!(
                    (new_year.leap_year(), new_year.weekday().num_days_from_monday()),
                    (is_leap, weekday)
                );
            }
        }
    }

    #[test]
    fn searches_days_that_the_crate_does_not_know() {
        check("0 0 0 L * *", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z");
        check("0 0 9,17 LW * *", "2026-01-30T09:00:00Z", "2026-01-30T17:00:00Z");
        check("0 0 0 ? * FRI#2", "2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z");
    }

    #[test]
    fn searches_years_that_the_crate_does_not_know() {
        check("0 0 0 29 2 MON", "2072-03-01T00:00:00Z", "2112-02-29T00:00:00Z");
        check("0 30 9 * * *", "2100-12-31T09:30:00Z", "2101-01-01T09:30:00Z");
        check("59 59 23 31 12 *", "2099-12-31T23:59:59Z", "2100-12-31T23:59:59Z");
        check("* * * * * *", "9999-12-31T23:59:59Z", "+10000-01-01T00:00:00Z");
        check("0 0 0 1 1 *", "0001-01-01T00:00:00Z", "0002-01-01T00:00:00Z");
        check("0 0 12 29 2 *", "-0001-01-01T00:00:00Z", "0000-02-29T12:00:00Z");
        check("0 0 0 13 * FRI", "1969-12-31T23:59:59Z", "1970-02-13T00:00:00Z");
    }

    #[test]
    fn ends_where_the_calendar_ends() {
        for seconds in [i64::MIN, i64::MAX, DateTime::<chrono::Utc>::MAX_UTC.timestamp()] {
            assert_eq!(calendar("0 0 0 1 1 *").next_after(seconds), None);
        }
        assert_eq!(calendar("0 0 0 30 2 *").next_after(0), None);
    }
}
