//! A parsed expression: what its six fields mean.

use std::hash::{Hash, Hasher};

use super::{CronField, days};
use crate::calendar::CalendarDays;

/// A parsed cron expression.
///
/// Two expressions are equal when each of their fields means the same, however it is written: `0 0
/// 0 ? * 0` equals `0  0  0  *  *  SUN`. [`Display`](std::fmt::Display) writes one text for all of
/// them, which reads back as an equal expression; [`source`](Self::source) is what was written.
///
/// ```
/// use scheduler_expr::CronExpression;
///
/// let cron = CronExpression::parse("@weekly")?;
/// assert_eq!(cron, CronExpression::parse("0 0 0 ? * 7")?);
/// assert_eq!(cron.to_string(), "0 0 0 * * SUN");
/// assert_eq!(cron.source(), "@weekly");
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
///
/// The grammar and the meaning are those of Spring's `CronExpression`.
#[doc(alias = "CronSequenceGenerator")]
#[derive(Clone, Debug)]
pub struct CronExpression {
    pub(super) source: Box<str>,
    pub(super) fields: Fields,
}

/// The values that the six fields match. Bit `n` of a set stands for the number `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fields {
    pub(super) seconds: u64,
    pub(super) minutes: u64,
    pub(super) hours: u32,
    pub(super) days_of_month: days::DaysOfMonth,
    pub(super) months: u16,
    pub(super) days_of_week: days::DaysOfWeek,
}

impl CronExpression {
    /// The text as it was written, without blanks around it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The numbers that a field lists by themselves, in ascending order.
    ///
    /// Weekdays count from 1 = Monday to 7 = Sunday. Of the two day fields these are only the plain
    /// items, not what `L`, `W` and `#` add: [`days`](Self::days) knows the whole meaning.
    ///
    /// ```
    /// use scheduler_expr::{CronExpression, CronField};
    ///
    /// let cron = CronExpression::parse("0 */20 9-11 * * SUN,TUE")?;
    /// assert_eq!(cron.values(CronField::Minute).collect::<Vec<_>>(), [0, 20, 40]);
    /// assert_eq!(cron.values(CronField::DayOfWeek).collect::<Vec<_>>(), [2, 7]);
    /// # Ok::<(), scheduler_expr::ParseError>(())
    /// ```
    #[must_use]
    pub fn values(&self, field: CronField) -> FieldValues {
        let Fields { seconds, minutes, hours, days_of_month, months, days_of_week } = self.fields;
        FieldValues(match field {
            CronField::Second => seconds,
            CronField::Minute => minutes,
            CronField::Hour => hours.into(),
            CronField::DayOfMonth => days_of_month.plain.into(),
            CronField::Month => months.into(),
            CronField::DayOfWeek => u64::from(days_of_week.plain) << 1,
        })
    }

    /// Returns true if a field matches every value, as `*` does.
    #[must_use]
    pub fn is_any(&self, field: CronField) -> bool {
        let count = field.max() - field.star_min() + 1;
        self.values(field).0.count_ones() == count
    }

    /// Returns true if both day fields are plain lists, without `L`, `W` or `#`.
    #[must_use]
    pub fn has_plain_days(&self) -> bool {
        self.fields.days_of_month.is_plain() && self.fields.days_of_week.is_plain()
    }

    /// The days on which the expression fires.
    #[must_use]
    pub fn days(&self) -> CalendarDays {
        let Fields { days_of_month, months, days_of_week, .. } = self.fields;
        days::calendar_days(days_of_month, months, days_of_week)
    }
}

impl PartialEq for CronExpression {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}

impl Eq for CronExpression {}

impl Hash for CronExpression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fields.hash(state);
    }
}

/// The numbers of a field, in ascending order.
///
/// ```
/// use scheduler_expr::{CronExpression, CronField};
///
/// let cron: CronExpression = "0 0 9 * * MON-FRI".parse()?;
/// let days = cron.values(CronField::DayOfWeek);
/// assert_eq!(days.len(), 5);
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FieldValues(u64);

impl Iterator for FieldValues {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let value = u8::try_from(self.0.trailing_zeros()).ok().filter(|value| *value < 64)?;
        self.0 &= self.0 - 1;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.0.count_ones() as usize;
        (count, Some(count))
    }
}

impl ExactSizeIterator for FieldValues {}
