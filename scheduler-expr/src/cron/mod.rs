//! Cron expressions: Spring's six fields, strictly read.
//!
//! # The grammar
//!
//! ```text
//! expression := macro | second minute hour day-of-month month day-of-week      (spaces between)
//! macro      := @yearly @annually @monthly @weekly @daily @midnight @hourly    (any letter case)
//! field      := item , item , …
//! item       := *   n   n-m   */step   n/step   n-m/step
//!   day-of-month also:  ?  L  L-n  LW  nW
//!   day-of-week also:   ?  dL  d#n
//! ```
//!
//! Months and weekdays have three-letter names in any letter case. Weekdays count from 1 = Monday
//! to 7 = Sunday, 0 being Sunday too; `*/2` therefore means Monday, Wednesday, Friday, Sunday. A
//! range that begins with Sunday begins the week with it (`SUN-FRI`, and `SUN-SUN` is the whole
//! week). Blanks of any kind around the expression are ignored; inside it only spaces separate.
//!
//! # What it means
//!
//! All six fields must match: a day-of-month *and* a day-of-week, unlike Unix cron. `0 0 0 13 *
//! FRI` is Friday the 13th.
//!
//! # Where Spring is lenient and this is not
//!
//! Signs (`+5`), digits other than 0 to 9, `?` inside a list, names run together (`JANFEB`),
//! leading zeros before `L` and `#`. One oddity is kept because schedules may rest on it: a name
//! right after digits stands for its number's digits, so `0TUE` is Tuesday and `1FEB` the 12th
//! month.

mod days;
mod describe;
mod display;
mod error;
mod field;
mod hint;
mod item;
mod line;
mod never;
mod parse;
mod reversed;

use std::hash::{Hash, Hasher};
use std::str::FromStr;

pub use error::{ParseCronError, ParseCronErrorKind};
pub use field::CronField;
pub use never::NeverFires;

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
/// # Ok::<(), scheduler_expr::ParseCronError>(())
/// ```
///
/// The grammar and the meaning are those of Spring's `CronExpression`.
#[doc(alias = "CronSequenceGenerator")]
#[derive(Clone, Debug)]
pub struct CronExpression {
    source: Box<str>,
    fields: Fields,
}

/// What the six fields mean. Bit `n` of a set stands for the number `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Fields {
    seconds: u64,
    minutes: u64,
    hours: u32,
    days_of_month: days::DaysOfMonth,
    months: u16,
    days_of_week: days::DaysOfWeek,
}

impl CronExpression {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// When the text is not a cron expression, or has more than 64 KiB. The error names the field, the
    /// bytes at fault and the remedy. An expression that can never match is no error here: see
    /// [`never_fires`](Self::never_fires).
    pub fn parse(text: &str) -> Result<Self, ParseCronError> {
        let fields = parse::parse(text)?;
        Ok(Self { source: text.trim_matches(parse::is_outer_blank).into(), fields })
    }

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
    /// # Ok::<(), scheduler_expr::ParseCronError>(())
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

    /// Whether a field matches every value, as `*` does.
    #[must_use]
    pub fn is_any(&self, field: CronField) -> bool {
        let count = field.max() - field.star_min() + 1;
        self.values(field).0.count_ones() == count
    }

    /// Whether both day fields are plain lists, without `L`, `W` or `#`.
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

    /// Whether any wall-clock time of any year matches. This is decided exactly, not by searching
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
    /// # Ok::<(), scheduler_expr::ParseCronError>(())
    /// ```
    #[must_use]
    pub fn never_fires(&self) -> Option<NeverFires> {
        if self.may_fire() { None } else { Some(NeverFires::explain(self)) }
    }

    /// Says in English when the expression fires: in words where they say exactly that, else field
    /// by field.
    ///
    /// ```
    /// use scheduler_expr::CronExpression;
    ///
    /// let describe = |text| CronExpression::parse(text).map(|cron| cron.describe());
    /// assert_eq!(describe("0 */15 * * * *")?, "every 15 minutes");
    /// assert_eq!(describe("0 30 8 L * *")?, "08:30, on the last day of the month");
    /// # Ok::<(), scheduler_expr::ParseCronError>(())
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        describe::describe(self)
    }
}

impl FromStr for CronExpression {
    type Err = ParseCronError;

    fn from_str(text: &str) -> Result<Self, ParseCronError> {
        Self::parse(text)
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
/// # Ok::<(), scheduler_expr::ParseCronError>(())
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

#[cfg(test)]
mod tests;
