//! Says in English when an expression fires.
//!
//! Words are produced only for shapes that they describe exactly. A part that has no such words is
//! written field by field, in its canonical text. A test reads the words back and compares what
//! they mean with the expression.
//!
//! "every 15 minutes" counts from the full hour, "every 2 hours" from
//! midnight; "from 09:00 to 17:45" names the first and the last time; "weekday" is Monday to
//! Friday.

mod day;
mod time;

use super::display::field_text;
use super::{CronExpression, CronField};
use time::TimeWords;

impl CronExpression {
    /// Says in English when the expression fires: in words where they say exactly that, else field
    /// by field.
    ///
    /// ```
    /// use scheduler_expr::CronExpression;
    ///
    /// let describe = |text| CronExpression::parse(text).map(|cron| cron.describe());
    /// assert_eq!(describe("0 */15 * * * *")?, "every 15 minutes");
    /// assert_eq!(describe("0 30 8 L * *")?, "08:30, on the last day of the month");
    /// # Ok::<(), scheduler_expr::ParseError>(())
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        if let Some(never) = self.never_fires() {
            return format!("never: {}", never.reason());
        }
        let TimeWords { words, are_bare } = time::words(self).unwrap_or_else(|| TimeWords {
            words: fields(self, [CronField::Hour, CronField::Minute, CronField::Second]),
            are_bare: false,
        });
        let days = day::words(self).unwrap_or_else(|| {
            fields(self, [CronField::DayOfMonth, CronField::Month, CronField::DayOfWeek])
        });
        match days.as_str() {
            "" if are_bare => format!("{words}, every day"),
            "" => words,
            _ if are_bare && days.starts_with("in ") => format!("{words}, every day {days}"),
            _ => format!("{words}, {days}"),
        }
    }
}

/// The fields that are not `*`, by name.
fn fields(cron: &CronExpression, fields: [CronField; 3]) -> String {
    let restricted = fields.into_iter().filter(|field| field_text(cron, *field) != "*");
    let texts = restricted.map(|field| format!("{field} {}", field_text(cron, field)));
    texts.collect::<Vec<_>>().join(", ")
}
