//! Why an expression can never match.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use super::{
    CronExpression, CronField, DaysOfMonth, DaysOfWeek, MONTH_NAMES, Word, bits, calendar_days,
    join, words,
};
use crate::calendar::lengths_of;
use crate::excerpt::{Excerpt, quoted};

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
        let whole = Word { text: cron.source(), at: 0 };
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
