//! The two day fields, their days, and why none ever matches.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use super::{CronExpression, CronField, MONTH_NAMES, Token, join, words};
use crate::calendar::{CalendarDays, MonthShape, lengths_of};
use crate::error::{Excerpt, quoted};

/// Saturday, Monday being 0.
const SATURDAY: u8 = 5;

/// Sunday, Monday being 0.
const SUNDAY: u8 = 6;

/// The day-of-month field. Bit `n` of each set stands for the number `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct DaysOfMonth {
    /// `n`: that day.
    pub(super) plain: u32,
    /// `nW`: the weekday nearest to that day.
    pub(super) nearest_weekday: u32,
    /// `L-n`: n days before the last; `L` is bit 0.
    pub(super) before_last: u32,
    /// `LW`: the last weekday.
    pub(super) last_weekday: bool,
}

/// The day-of-week field. Bit `d` of each set stands for a weekday, Monday being bit 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct DaysOfWeek {
    /// `d`: each such weekday.
    pub(super) plain: u8,
    /// `dL`: the last such weekday of the month.
    pub(super) last: u8,
    /// `d#n`: the n-th such weekday of the month; the first entry is `#1`.
    pub(super) nth: [u8; 5],
}

impl DaysOfMonth {
    /// Every day.
    pub(super) const ALL: Self =
        Self { plain: !1, nearest_weekday: 0, before_last: 0, last_weekday: false };

    pub(super) fn is_all(self) -> bool {
        self.plain == Self::ALL.plain
    }

    /// Returns true if the field is nothing but a list of numbers.
    pub(super) fn is_plain(self) -> bool {
        self == Self { plain: self.plain, ..Self::default() }
    }

    /// The field without items that add nothing to it.
    pub(super) fn normalized(self) -> Self {
        if self.is_all() { Self::ALL } else { self }
    }

    /// The days of a month that this field means, bit `d` for day `d`.
    pub(super) fn days(self, shape: MonthShape) -> u32 {
        let mut days = self.plain;
        for day in bits(self.nearest_weekday).filter(|day| *day <= shape.length) {
            days |= nearest_weekday(shape, day);
        }
        for n in bits(self.before_last).filter(|n| *n < shape.length) {
            days |= 1 << (shape.length - n);
        }
        if self.last_weekday {
            days |= 1 << last_weekday(shape);
        }
        days & shape.all_days()
    }
}

impl DaysOfWeek {
    /// Every day.
    pub(super) const ALL: Self = Self { plain: 0x7F, last: 0, nth: [0; 5] };

    pub(super) fn is_all(self) -> bool {
        self.plain == Self::ALL.plain
    }

    /// Returns true if the field is nothing but a list of weekdays.
    pub(super) fn is_plain(self) -> bool {
        self.last == 0 && self.nth == [0; 5]
    }

    /// The field without items that add nothing to it.
    pub(super) fn normalized(self) -> Self {
        let keep = !self.plain;
        Self { plain: self.plain, last: self.last & keep, nth: self.nth.map(|nth| nth & keep) }
    }

    /// The days of a month that this field means, bit `d` for day `d`.
    pub(super) fn days(self, shape: MonthShape) -> u32 {
        (1..=shape.length)
            .filter(|day| self.contains(shape, *day))
            .fold(0, |days, day| days | 1 << day)
    }

    fn contains(self, shape: MonthShape, day: u8) -> bool {
        let weekday = 1 << shape.weekday(day);
        let is_last = day + 7 > shape.length;
        let nth = usize::from((day - 1) / 7);
        self.plain & weekday != 0
            || (is_last && self.last & weekday != 0)
            || self.nth[nth] & weekday != 0
    }
}

/// The calendar of both day fields and the months together: all three must match.
pub(super) fn calendar_days(
    days_of_month: DaysOfMonth,
    months: u16,
    days_of_week: DaysOfWeek,
) -> CalendarDays {
    CalendarDays::new(months, |shape| days_of_month.days(shape) & days_of_week.days(shape))
}

/// The numbers of the bits that are set.
pub(super) fn bits(set: u32) -> impl Iterator<Item = u8> {
    (0..32).filter(move |bit| set & (1 << bit) != 0)
}

/// Spring's `nW`: the Monday to Friday nearest to a day, without leaving the month: the 1st moves
/// forward to the 3rd, and a last day that is a Sunday has no answer.
fn nearest_weekday(shape: MonthShape, day: u8) -> u32 {
    match shape.weekday(day) {
        SATURDAY if day == 1 => 1 << 3,
        SATURDAY => 1 << (day - 1),
        SUNDAY if day == shape.length => 0,
        SUNDAY => 1 << (day + 1),
        _ => 1 << day,
    }
}

/// The last Monday to Friday of a month.
fn last_weekday(shape: MonthShape) -> u8 {
    match shape.weekday(shape.length) {
        SATURDAY => shape.length - 1,
        SUNDAY => shape.length - 2,
        _ => shape.length,
    }
}

/// The verdict that an expression can never match, and why.
///
/// ```
/// use scheduler_expr::CronExpression;
///
/// let never = CronExpression::parse("0 0 0 31 4,6 *")?.never_fires().unwrap();
/// assert_eq!(never.to_string(), "cron expression never matches: April and June have no day 31");
/// assert_eq!(never.caret(), "0 0 0 31 4,6 *\n      ^^");
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct NeverFires {
    reason: String,
    span: Range<usize>,
    excerpt: Excerpt,
}

impl CronExpression {
    /// Returns true if any wall-clock time of any year matches. This is decided exactly, not by searching
    /// up to a horizon.
    #[must_use]
    pub fn may_fire(&self) -> bool {
        !self.days().is_empty()
    }

    /// Why no wall-clock time can ever match, if that is so.
    ///
    /// ```
    /// use scheduler_expr::CronExpression;
    ///
    /// let never = CronExpression::parse("0 0 0 30 2 *")?.never_fires().unwrap();
    /// assert_eq!(never.reason(), "February has no day 30");
    /// # Ok::<(), scheduler_expr::ParseError>(())
    /// ```
    #[must_use]
    pub fn never_fires(&self) -> Option<NeverFires> {
        if self.may_fire() { None } else { Some(NeverFires::explain(self)) }
    }
}

impl NeverFires {
    /// The reason: `February has no day 30`.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The bytes of the expression's [source](CronExpression::source) that are to blame.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Two lines: the expression, and carets below what is to blame.
    #[must_use]
    pub fn caret(&self) -> String {
        self.excerpt.caret(None)
    }

    /// Explains an expression that never matches.
    fn explain(cron: &CronExpression) -> Self {
        let whole = Token { text: cron.source(), at: 0 };
        let word = |field: CronField| words(whole).nth(field as usize).unwrap_or(whole);
        let (day, weekday) = (word(CronField::DayOfMonth), word(CronField::DayOfWeek));
        let months = cron.fields.months;
        let is_empty = |day, weekday| calendar_days(day, months, weekday).is_empty();
        let (span, reason) = if is_empty(cron.fields.days_of_month, DaysOfWeek::ALL) {
            (day.span(), no_such_day(cron, day.text))
        } else if is_empty(DaysOfMonth::ALL, cron.fields.days_of_week) {
            let reason =
                format!("no month has {}: a weekday comes 5 times at most", quoted(weekday.text));
            (weekday.span(), reason)
        } else {
            let place = if months == ALL_MONTHS {
                "of any month".to_owned()
            } else {
                format!("in {}", month_list(months, "or"))
            };
            let (day_text, weekday_text) = (quoted(day.text), quoted(weekday.text));
            let reason = format!(
                "no day {place} matches both day-of-month {day_text} and day-of-week {weekday_text}"
            );
            (day.at..weekday.span().end, reason)
        };
        let excerpt = Excerpt::new(cron.source(), &span);
        Self { reason, span, excerpt }
    }
}

/// The set of all months.
const ALL_MONTHS: u16 = 0x1FFE;

/// Why the day-of-month field alone can never match in these months.
fn no_such_day(cron: &CronExpression, text: &str) -> String {
    let (days, months) = (cron.fields.days_of_month, cron.fields.months);
    let verb = if months.count_ones() == 1 { "has" } else { "have" };
    if days == DaysOfMonth::default() {
        return format!("no month has a day {}", quoted(text));
    }
    let list = month_list(months, "and");
    if days.is_plain() {
        let numbers: Vec<_> = bits(days.plain).map(|day| day.to_string()).collect();
        return format!("{list} {verb} no day {}", join(&numbers, "or"));
    }
    let longest = bits(months.into()).map(|month| *lengths_of(month).end()).max().unwrap_or(0);
    format!("{list} {verb} no day {}: the month has {longest} days at most", quoted(text))
}

fn month_list(months: u16, conjunction: &str) -> String {
    let names: Vec<_> =
        bits(months.into()).map(|month| MONTH_NAMES[usize::from(month) - 1].to_owned()).collect();
    join(&names, conjunction)
}

impl fmt::Display for NeverFires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cron expression never matches: {}", self.reason)
    }
}

impl fmt::Debug for NeverFires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for NeverFires {}

#[cfg(test)]
mod tests {
    use super::*;

    const TUE: u8 = 1;

    #[track_caller]
    fn check(field: DaysOfMonth, (length, first_weekday): (u8, u8), expected: &[u8]) {
        let days = field.days(MonthShape { length, first_weekday });
        assert_eq!(bits(days).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn days_of_month() {
        let nearest = |day: u8| DaysOfMonth { nearest_weekday: 1 << day, ..Default::default() };
        check(nearest(1), (30, SATURDAY), &[3]);
        check(nearest(1), (30, SUNDAY), &[2]);
        check(nearest(15), (30, SATURDAY), &[14]);
        check(nearest(15), (30, SUNDAY), &[16]);
        check(nearest(15), (30, TUE), &[15]);
        check(nearest(31), (31, 4), &[]); // the 31st is a Sunday
        check(nearest(31), (31, 3), &[30]); // the 31st is a Saturday
        check(nearest(31), (30, TUE), &[]);
        let before_last = |n: u8| DaysOfMonth { before_last: 1 << n, ..Default::default() };
        check(before_last(0), (28, TUE), &[28]);
        check(before_last(3), (31, TUE), &[28]);
        check(before_last(30), (31, TUE), &[1]);
        check(before_last(30), (30, TUE), &[]);
        let last_weekday = DaysOfMonth { last_weekday: true, ..Default::default() };
        check(last_weekday, (30, 3), &[30]); // a Friday
        check(last_weekday, (30, 4), &[29]);
        check(last_weekday, (30, SATURDAY), &[28]);
    }

    #[test]
    fn days_of_week() {
        let shape = MonthShape { length: 30, first_weekday: TUE };
        let days = |field: DaysOfWeek| bits(field.days(shape)).collect::<Vec<_>>();
        assert_eq!(days(DaysOfWeek { plain: 1 << TUE, ..Default::default() }), [1, 8, 15, 22, 29]);
        assert_eq!(days(DaysOfWeek { last: 1 << TUE, ..Default::default() }), [29]);
        assert_eq!(days(DaysOfWeek { last: 1, ..Default::default() }), [28]);
        assert_eq!(days(DaysOfWeek { last: 1 << 2, ..Default::default() }), [30]);
        let fifth = |days: u8| DaysOfWeek { nth: [0, 0, 0, 0, days], ..Default::default() };
        assert_eq!(days(fifth(1 << TUE)), [29]);
        assert_eq!(days(fifth(1)), [0; 0]);
    }
}
