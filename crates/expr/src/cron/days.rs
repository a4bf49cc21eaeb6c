//! The two day fields with their `L`, `W` and `#`, and which days of a month they mean.

use crate::calendar::{CalendarDays, MonthShape};

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
