//! The six fields: their names, their ranges, and the names of their values.

use std::fmt;

/// One of the six fields of a cron expression, in the order in which they are written.
///
/// ```
/// use scheduler_expr::{CronExpression, CronField};
///
/// let cron: CronExpression = "0 */20 9 * * *".parse()?;
/// assert_eq!(cron.values(CronField::Minute).collect::<Vec<_>>(), [0, 20, 40]);
/// assert_eq!(CronField::Minute.name(), "minute");
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CronField {
    /// 0 to 59.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31; also `L`, `L-n`, `LW` and `nW`.
    DayOfMonth,
    /// 1 to 12, or `JAN` to `DEC`.
    Month,
    /// 1 (Monday) to 7 (Sunday), 0 being Sunday as well, or `MON` to `SUN`; also `dL` and `d#n`.
    DayOfWeek,
}

/// The names of the months, January first.
pub(crate) const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The names of the weekdays, Monday first.
pub(crate) const DAY_NAMES: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The number of letters of a name that are written in an expression.
const NAME_LENGTH: usize = 3;

impl CronField {
    /// All fields, in the order in which they are written.
    pub const ALL: [Self; 6] =
        [Self::Second, Self::Minute, Self::Hour, Self::DayOfMonth, Self::Month, Self::DayOfWeek];

    /// The field's name as error messages and the manual write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The smallest number that may be written.
    pub(crate) fn min(self) -> u32 {
        self.row().1
    }

    /// The greatest number that may be written.
    pub(crate) fn max(self) -> u32 {
        self.row().2
    }

    fn row(self) -> (&'static str, u32, u32) {
        match self {
            Self::Second => ("second", 0, 59),
            Self::Minute => ("minute", 0, 59),
            Self::Hour => ("hour", 0, 23),
            Self::DayOfMonth => ("day-of-month", 1, 31),
            Self::Month => ("month", 1, 12),
            Self::DayOfWeek => ("day-of-week", 0, 7),
        }
    }

    /// Where `*` begins: Spring counts the days of the week from Monday, although 0 is allowed.
    pub(crate) fn star_min(self) -> u32 {
        match self {
            Self::DayOfWeek => 1,
            _ => self.min(),
        }
    }

    /// Returns true if the field is one of the two that take `?`, `L` and the like.
    pub(crate) fn is_day(self) -> bool {
        matches!(self, Self::DayOfMonth | Self::DayOfWeek)
    }

    /// The full names of the values, the first standing for 1.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Month => &MONTH_NAMES,
            Self::DayOfWeek => &DAY_NAMES,
            _ => &[],
        }
    }

    /// A value as it is written: `MON`, `JAN`, `9`.
    pub(crate) fn value_text(self, value: u8) -> String {
        match self.names().get(usize::from(value).wrapping_sub(1)) {
            Some(name) => short_name(name),
            None => value.to_string(),
        }
    }

    /// The number that a three-letter name stands for, in any letter case.
    pub(crate) fn number_of(self, name: &str) -> Option<u32> {
        let is_named = |full: &&str| full[..NAME_LENGTH].eq_ignore_ascii_case(name);
        self.names().iter().position(is_named).map(|index| index as u32 + 1)
    }

    /// The three-letter name that `word` means to be, such as `THU` for `Thurs`.
    pub(crate) fn intended_name(self, word: &str) -> Option<String> {
        let is_meant = |full: &&&str| {
            word.len() > NAME_LENGTH
                && full.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
                || word.eq_ignore_ascii_case("Sept") && **full == "September"
        };
        let full = self.names().iter().find(is_meant)?;
        Some(short_name(full))
    }
}

/// The name of a value as it is written in an expression: `MON`, `JAN`.
pub(crate) fn short_name(full: &str) -> String {
    full[..NAME_LENGTH].to_ascii_uppercase()
}

impl fmt::Display for CronField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_in_any_case() {
        assert_eq!(CronField::Month.number_of("fEb"), Some(2));
        assert_eq!(CronField::DayOfWeek.number_of("SUN"), Some(7));
        assert_eq!(CronField::DayOfWeek.number_of("Thurs"), None);
        assert_eq!(CronField::Hour.number_of("MON"), None);
    }

    #[test]
    fn guesses_the_name_of_a_long_word() {
        assert_eq!(CronField::DayOfWeek.intended_name("Thurs").as_deref(), Some("THU"));
        assert_eq!(CronField::DayOfWeek.intended_name("MONDAY").as_deref(), Some("MON"));
        assert_eq!(CronField::Month.intended_name("sept").as_deref(), Some("SEP"));
        assert_eq!(CronField::Month.intended_name("MONDAY"), None);
        assert_eq!(CronField::DayOfWeek.intended_name("MON"), None);
    }
}
