//! The days that match: plain arithmetic on the Gregorian calendar.
//!
//! A day is named by its distance from 1970-01-01. Its match depends only on its month,
//! the length of that month and the weekday of the month's first day: 28 cases, which all occur,
//! so a table of them decides every question exactly and for every year.

/// The shortest length of a month, and the first row of the table.
const SHORTEST: u8 = 28;

/// The number of months the calendar takes to repeat itself: 400 years are a whole number of weeks.
const MONTHS_OF_A_CYCLE: u32 = 400 * 12;

/// From 0000-03-01, where the years of [`Month`] begin, to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;

/// Days of the 400 years after which the calendar repeats itself.
const DAYS_OF_A_CYCLE: i64 = 146_097;

/// The days on which a cron expression fires: its day-of-month, month and day-of-week fields
/// together.
///
/// ```
/// use scheduler_expr::CronExpression;
///
/// let leap_days = CronExpression::parse("0 0 0 29 2 *")?.days();
/// let first_of_2024 = 19_723; // days since 1970-01-01
/// assert_eq!(leap_days.next_from(first_of_2024), Some(first_of_2024 + 31 + 28));
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarDays {
    /// Bit `m` is set when month `m` (1 to 12) may match.
    months: u16,
    /// Bit `d` is set when day `d` matches, by length of the month and weekday of its first day.
    table: [[u32; 7]; 4],
}

impl CalendarDays {
    /// Fills the table from a rule that is given a month's shape.
    pub(crate) fn new(months: u16, days_of: impl Fn(MonthShape) -> u32) -> Self {
        let mut table = [[0; 7]; 4];
        for (length, row) in (SHORTEST..).zip(&mut table) {
            for (first_weekday, days) in (0..).zip(row) {
                *days = days_of(MonthShape { length, first_weekday });
            }
        }
        Self { months, table }
    }

    /// Returns true if the day `day` days after 1970-01-01 matches.
    #[must_use]
    pub fn contains(&self, day: i64) -> bool {
        let (month, day_of_month) = Month::of(day);
        self.days_of(month) & (1 << day_of_month) != 0
    }

    /// The first matching day that is not before `day`, counted from 1970-01-01; none when no day
    /// of any year matches.
    #[must_use]
    pub fn next_from(&self, day: i64) -> Option<i64> {
        let (mut month, day_of_month) = Month::of(day);
        let mut days = self.days_of(month) & (u32::MAX << day_of_month);
        for _ in 0..=MONTHS_OF_A_CYCLE {
            if days != 0 {
                let offset = i64::from(days.trailing_zeros()) - 1;
                return Some(month.first_day.saturating_add(offset));
            }
            month = month.next_of(self.months)?;
            days = self.days_of(month);
        }
        None
    }

    /// Returns true if any day of any year matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        (1..=12).all(|month| {
            lengths_of(month).all(|length| self.row(month, length).iter().all(|days| *days == 0))
        })
    }

    fn days_of(&self, month: Month) -> u32 {
        let first_weekday = month.first_day.wrapping_add(3).rem_euclid(7);
        self.row(month.month, month.length())[first_weekday as usize]
    }

    fn row(&self, month: u8, length: u8) -> [u32; 7] {
        if self.months & (1 << month) == 0 {
            return [0; 7];
        }
        self.table[usize::from(length - SHORTEST)]
    }
}

/// All that a day rule needs to know of a month.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MonthShape {
    /// 28 to 31.
    pub(crate) length: u8,
    /// The weekday of the first day, Monday being 0.
    pub(crate) first_weekday: u8,
}

impl MonthShape {
    /// The weekday of a day of this month, Monday being 0.
    pub(crate) fn weekday(self, day: u8) -> u8 {
        (self.first_weekday + day - 1) % 7
    }

    /// The days of this month, as bits.
    pub(crate) fn all_days(self) -> u32 {
        u32::MAX >> (31 - self.length) & !1
    }
}

/// The lengths a month can have.
pub(crate) fn lengths_of(month: u8) -> std::ops::RangeInclusive<u8> {
    match month {
        2 => 28..=29,
        4 | 6 | 9 | 11 => 30..=30,
        _ => 31..=31,
    }
}

/// A month of a certain year.
#[derive(Clone, Copy, Debug)]
struct Month {
    year: i64,
    month: u8,
    first_day: i64,
}

impl Month {
    /// The month that a day lies in, and the day's number in it.
    ///
    /// After Howard Hinnant's `civil_from_days`: years are taken to begin in March, so that the
    /// leap day is the last of its year.
    fn of(day: i64) -> (Self, u8) {
        let shifted = day.saturating_add(DAYS_TO_1970);
        let (era, day_of_era) =
            (shifted.div_euclid(DAYS_OF_A_CYCLE), shifted.rem_euclid(DAYS_OF_A_CYCLE));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let months_since_march = (5 * day_of_year + 2) / 153;
        let day_of_month = day_of_year - (153 * months_since_march + 2) / 5 + 1;
        let month =
            if months_since_march < 10 { months_since_march + 3 } else { months_since_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let first_day = day.saturating_sub(day_of_month - 1);
        (Self { year, month: month as u8, first_day }, day_of_month as u8)
    }

    /// The next month whose bit is set.
    fn next_of(self, months: u16) -> Option<Self> {
        let later = months & (u16::MAX << self.month << 1);
        let (year, months) = if later == 0 { (self.year + 1, months) } else { (self.year, later) };
        let month = u8::try_from(months.trailing_zeros()).ok().filter(|month| *month <= 12)?;
        Some(Self { year, month, first_day: Self::first_day(year, month) })
    }

    /// The day on which a month begins, after Howard Hinnant's `days_from_civil`.
    fn first_day(year: i64, month: u8) -> i64 {
        let year = year - i64::from(month <= 2);
        let months_since_march = (i64::from(month) + 9) % 12;
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100
            + (153 * months_since_march + 2) / 5;
        era.saturating_mul(DAYS_OF_A_CYCLE).saturating_add(day_of_era - DAYS_TO_1970)
    }

    fn length(self) -> u8 {
        let lengths = lengths_of(self.month);
        if is_leap(self.year) { *lengths.end() } else { *lengths.start() }
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks day by day, as a wall calendar does.
    fn walk(from_year: i64, days: usize) -> impl Iterator<Item = (i64, i64, u8, u8)> {
        let first = (1970..from_year).map(|y| if is_leap(y) { 366 } else { 365 }).sum::<i64>();
        let mut date = (from_year, 1_u8, 1_u8);
        (first..).take(days).map(move |day| {
            let today = date;
            let (year, month, of_month) = date;
            let length = match month {
                2 if is_leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            date = match (month, of_month) {
                (12, 31) => (year + 1, 1, 1),
                (_, d) if d == length => (year, month + 1, 1),
                _ => (year, month, of_month + 1),
            };
            (day, today.0, today.1, today.2)
        })
    }

    #[test]
    fn names_the_days_of_four_centuries() {
        for (day, year, month, of_month) in walk(1970, 146_097) {
            let (found, found_day) = Month::of(day);
            assert_eq!((found.year, found.month, found_day), (year, month, of_month));
            assert_eq!(found.first_day, Month::first_day(year, month));
        }
    }

    #[test]
    fn knows_weekdays_and_leap_days() {
        let fridays_13 =
            CalendarDays::new(0x1FFE, |shape| if shape.weekday(13) == 4 { 1 << 13 } else { 0 });
        // 2026-11-13 is a Friday, the next one is 2027-08-13.
        assert_eq!(fridays_13.next_from(20_769), Some(20_770));
        assert_eq!(fridays_13.next_from(20_771), Some(21_043));
        assert!(fridays_13.contains(20_770) && !fridays_13.contains(20_769));
        let leap_days = CalendarDays::new(1 << 2, |shape| shape.all_days() & (1 << 29));
        assert_eq!(leap_days.next_from(46_082), Some(49_001)); // 2096-03-02 to 2104-02-29
    }

    #[test]
    fn waits_forty_years_for_a_leap_day_of_a_weekday() {
        let leap_days = |weekday| {
            CalendarDays::new(1 << 2, move |shape| {
                if shape.weekday(29) == weekday { shape.all_days() & (1 << 29) } else { 0 }
            })
        };
        // 2072-02-29 is a Monday, the next one is 2112-02-29.
        assert_eq!(leap_days(0).next_from(37_314), Some(37_314));
        assert_eq!(leap_days(0).next_from(37_315), Some(51_923));
    }

    #[test]
    fn an_empty_table_has_no_next_day() {
        let never = CalendarDays::new(1 << 2, |shape| shape.all_days() & (1 << 30));
        assert!(never.is_empty());
        assert_eq!(never.next_from(0), None);
    }

    #[test]
    fn survives_the_ends_of_the_number_range() {
        let all = CalendarDays::new(0x1FFE, MonthShape::all_days);
        let never = CalendarDays::new(0x1FFE, |_| 0);
        for day in [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX] {
            let _ = (all.contains(day), all.next_from(day), never.next_from(day));
        }
    }
}
