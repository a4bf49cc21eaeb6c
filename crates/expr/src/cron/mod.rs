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
mod item;
mod parse;

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::calendar::CalendarDays;
use days::{DaysOfMonth, DaysOfWeek, bits};
use parse::{DAY_NAMES, MONTH_NAMES, Token, has_zone_prefix, short_name, words};

pub use days::NeverFires;
pub use parse::CronField;

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
    source: Box<str>,
    fields: Fields,
}

/// The values that the six fields match. Bit `n` of a set stands for the number `n`.
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

/// Writes the one canonical text of an expression, which reads back as an equal one.
///
/// A full field is `*`, an even pattern from the start of its field is `*/n`, three or more numbers
/// in a row are a range, weekdays and months have names.
impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&CronField::ALL.map(|field| field_text(self, field)).join(" "))
    }
}

/// The canonical text of one field.
fn field_text(cron: &CronExpression, field: CronField) -> String {
    if cron.is_any(field) {
        return "*".to_owned();
    }
    let values: Vec<u8> = cron.values(field).collect();
    let mut items = match step_from_start(field, &values) {
        Some(step) => vec![format!("*/{step}")],
        None => ranges(&values, "-", |value| field.value_text(value)),
    };
    items.extend(specials(&cron.fields, field));
    if items.is_empty() {
        // Every item of the field lies beyond the length of a month.
        return if field == CronField::DayOfMonth { "L-31" } else { "MON#6" }.to_owned();
    }
    items.join(",")
}

/// The step `n` if `*/n` means these values.
fn step_from_start(field: CronField, values: &[u8]) -> Option<u32> {
    let (first, second) = (u32::from(*values.first()?), u32::from(*values.get(1)?));
    let step = second - first;
    let expected = (field.star_min()..=field.max()).step_by(step as usize);
    expected.eq(values.iter().copied().map(u32::from)).then_some(step)
}

/// The items of a day field that are not plain values.
fn specials(fields: &Fields, field: CronField) -> Vec<String> {
    match field {
        CronField::DayOfMonth => {
            let days = fields.days_of_month;
            let nearest = bits(days.nearest_weekday).map(|day| format!("{day}W"));
            let last_weekday = days.last_weekday.then(|| "LW".to_owned());
            let before_last = bits(days.before_last).map(|n| match n {
                0 => "L".to_owned(),
                n => format!("L-{n}"),
            });
            nearest.chain(last_weekday).chain(before_last).collect()
        }
        CronField::DayOfWeek => {
            let days = fields.days_of_week;
            let name = |day: u8| field.value_text(day + 1);
            let nth = (1..).zip(days.nth).flat_map(|(n, set)| {
                bits(set.into()).map(move |day| format!("{}#{n}", field.value_text(day + 1)))
            });
            nth.chain(bits(days.last.into()).map(|day| format!("{}L", name(day)))).collect()
        }
        _ => Vec::new(),
    }
}

/// The numbers as runs of consecutive ones.
fn runs(values: &[u8]) -> Vec<(u8, u8)> {
    let runs = values.chunk_by(|a, b| a + 1 == *b);
    runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
}

/// The names of the values, with `to` between the ends of runs of three or more.
fn ranges(values: &[u8], to: &str, name: impl Fn(u8) -> String) -> Vec<String> {
    let texts = runs(values).into_iter().flat_map(|(first, last)| match last - first {
        0 => vec![name(first)],
        1 => vec![name(first), name(last)],
        _ => vec![format!("{}{to}{}", name(first), name(last))],
    });
    texts.collect()
}

/// `a`, `a or b`, `a, b or c`.
fn join(items: &[String], conjunction: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} {conjunction} {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests;
