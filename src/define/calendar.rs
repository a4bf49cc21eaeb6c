//! Days on which a task does not run.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, TimeDelta, Utc, Weekday};
use scheduler_core::trigger::CronTrigger;

/// The most days in a row that are left out; a calendar without an end has no next fire time.
const DAYS_MAX: u32 = 366 * 5;

/// A set of days: dates, and days of the week.
///
/// A task with `skip_days = "holidays"` does not fire on the days of the calendar that the builder was given by the name
/// `holidays`. A day is one of the time zone of the task's cron expression.
///
/// ```
/// use scheduler::Calendar;
/// use scheduler::chrono::{NaiveDate, Weekday};
///
/// let date = |year, month, day| NaiveDate::from_ymd_opt(year, month, day).unwrap();
/// let holidays = Calendar::new()
///     .dates([date(2026, 12, 25), date(2026, 12, 26)])
///     .weekdays([Weekday::Sun]);
/// assert!(holidays.contains(date(2026, 12, 25)));
/// assert!(!holidays.contains(date(2026, 12, 24)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[doc(alias = "HolidayCalendar")]
#[must_use = "a calendar does nothing until a builder has it"]
pub struct Calendar {
    dates: BTreeSet<NaiveDate>,
    weekdays: BTreeSet<u8>,
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

    /// Returns true if the day is one of the calendar.
    #[must_use]
    pub fn contains(&self, day: NaiveDate) -> bool {
        self.dates.contains(&day) || self.weekdays.contains(&number(day.weekday()))
    }

    /// A number that is the same for equal calendars in all processes, and differs for others but by accident.
    #[cfg(feature = "durable")]
    pub(crate) fn fingerprint(&self) -> u64 {
        // FNV-1a.
        let days = self.weekdays.iter().map(|day| i32::from(*day));
        let dates = self.dates.iter().map(Datelike::num_days_from_ce);
        let bytes = days.chain(std::iter::once(-1)).chain(dates).flat_map(i32::to_le_bytes);
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Returns the first fire time after an instant that is on no day of the calendar.
    pub(crate) fn next_after(
        &self,
        trigger: &CronTrigger,
        instant: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        let zone = trigger.zone();
        let mut next = trigger.next_after(instant)?;
        for _ in 0..DAYS_MAX {
            let local = zone.local(next).naive_local();
            if !self.contains(local.date()) {
                return Some(next);
            }
            let tomorrow = local.date().checked_add_days(Days::new(1))?.and_time(NaiveTime::MIN);
            let end = next + (tomorrow - local);
            // The offset may change within the day.
            let change =
                zone.offset_at(end).local_minus_utc() - zone.offset_at(next).local_minus_utc();
            let end = end - TimeDelta::seconds(change.into()) - TimeDelta::nanoseconds(1);
            next = trigger.next_after(end.max(next))?;
        }
        None
    }
}

fn number(day: Weekday) -> u8 {
    day.num_days_from_monday() as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use scheduler_core::trigger::Zone;

    fn date(day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 3, day).expect("a date")
    }

    #[test]
    fn a_day_is_in_by_date_or_by_weekday() {
        let calendar = Calendar::new().dates([date(2)]).weekdays([Weekday::Sun]);
        let days: Vec<u32> = (1..=8).filter(|day| calendar.contains(date(*day))).collect();
        assert_eq!(days, [1, 2, 8]);
    }

    #[test]
    fn days_are_left_out_in_the_zone_of_the_expression_across_its_changes() {
        let zone: Zone = "Europe/Berlin".parse().expect("a zone");
        let trigger = CronTrigger::new("0 30 */6 * * *".parse().expect("an expression"), zone);
        // On the 29th the clocks go forward.
        let calendar = Calendar::new().dates([date(29)]);
        let mut at: DateTime<Utc> = "2026-03-28T17:00:00Z".parse().expect("an instant");
        let mut found = Vec::new();
        for _ in 0..3 {
            at = calendar.next_after(&trigger, at).expect("it goes on");
            found.push(zone.local(at).naive_local().to_string());
        }
        assert_eq!(found, ["2026-03-28 18:30:00", "2026-03-30 00:30:00", "2026-03-30 06:30:00"]);
    }

    #[test]
    fn a_calendar_of_all_days_has_no_next_fire_time() {
        let trigger = CronTrigger::new("0 0 9 * * *".parse().expect("an expression"), Zone::UTC);
        let every = [
            Weekday::Mon,
            Weekday::Tue,
            Weekday::Wed,
            Weekday::Thu,
            Weekday::Fri,
            Weekday::Sat,
            Weekday::Sun,
        ];
        let calendar = Calendar::new().weekdays(every);
        assert_eq!(calendar.next_after(&trigger, DateTime::UNIX_EPOCH), None);
    }
}
