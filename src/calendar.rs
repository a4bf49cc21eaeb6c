//! Days on which a task does not run.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use chrono::{Datelike, NaiveDate, Weekday};

use crate::unwind::drop_payload;

type Rule = Arc<dyn Fn(NaiveDate) -> bool + Send + Sync>;

/// A set of days: dates, days of the week, and days for which a closure returns true.
///
/// A task with `skip_days = "holidays"` does not fire on the days of the calendar that the builder was
/// given by the name `holidays`. A day is one of the time zone of the task's cron expression.
///
/// ```
/// use scheduler::Calendar;
/// use scheduler::chrono::{Datelike, NaiveDate, Weekday};
///
/// let date = |year, month, day| NaiveDate::from_ymd_opt(year, month, day).unwrap();
/// let holidays = Calendar::new()
///     .dates([date(2026, 12, 25), date(2026, 12, 26)])
///     .weekdays([Weekday::Sun])
///     .days(|day| day.month() == 8);
/// assert!(holidays.contains(date(2026, 8, 3)));
/// assert!(!holidays.contains(date(2026, 12, 24)));
/// ```
#[derive(Clone, Default)]
#[doc(alias = "HolidayCalendar")]
#[must_use = "a calendar does nothing until a builder has it"]
pub struct Calendar {
    dates: BTreeSet<NaiveDate>,
    weekdays: BTreeSet<u8>,
    rules: Vec<Rule>,
}

impl Calendar {
    /// A calendar without days.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds these dates.
    pub fn dates(mut self, dates: impl IntoIterator<Item = NaiveDate>) -> Self {
        self.dates.extend(dates);
        self
    }

    /// Adds these days of each week.
    pub fn weekdays(mut self, days: impl IntoIterator<Item = Weekday>) -> Self {
        self.weekdays.extend(days.into_iter().map(number));
        self
    }

    /// Adds the days for which `rule` returns true. It must always return the same for the same day, and
    /// return soon. A day for which it panics is not added.
    pub fn days(mut self, rule: impl Fn(NaiveDate) -> bool + Send + Sync + 'static) -> Self {
        self.rules.push(Arc::new(rule));
        self
    }

    /// Returns true if the day is one of the calendar.
    #[must_use]
    pub fn contains(&self, day: NaiveDate) -> bool {
        self.dates.contains(&day)
            || self.weekdays.contains(&number(day.weekday()))
            || self.rules.iter().any(|rule| holds(rule, day))
    }

    /// Returns true if [`contains`](Self::contains) calls code of the user, which must not happen under a lock.
    #[allow(dead_code)]
    pub(crate) fn calls_user_code(&self) -> bool {
        !self.rules.is_empty()
    }
}

fn number(day: Weekday) -> u8 {
    day.num_days_from_monday() as u8
}

fn holds(rule: &Rule, day: NaiveDate) -> bool {
    catch_unwind(AssertUnwindSafe(|| rule(day))).unwrap_or_else(|payload| {
        drop_payload(payload);
        false
    })
}

impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calendar")
            .field("dates", &self.dates)
            .field("weekdays", &self.weekdays)
            .field("rules", &self.rules.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_in_by_date_by_weekday_or_by_rule() {
        let date = |day| NaiveDate::from_ymd_opt(2026, 3, day).expect("a date");
        let calendar = Calendar::new()
            .dates([date(2)])
            .weekdays([Weekday::Sun])
            .days(|day| day.day() == 5)
            .days(|day| if day.day() == 6 { panic!("the rule panics") } else { false });
        let days: Vec<u32> = (1..=7).filter(|day| calendar.contains(date(*day))).collect();
        assert_eq!(days, [1, 2, 5]);
        assert!(calendar.calls_user_code());
        assert!(!Calendar::new().weekdays([Weekday::Sat]).calls_user_code());
    }
}
