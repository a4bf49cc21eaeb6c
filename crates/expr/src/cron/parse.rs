//! Splits a text into the six fields of an expression, and words.
//!
//! A help that repeats the whole expression is only given when it is short, and only when it parses.

use std::fmt;
use std::str::FromStr;

use super::{CronExpression, Fields, item};
use crate::duration::{intended_period, parse_duration};
use crate::error::{ParseError, is_quotable, quoted};
use crate::zone::check_zone_name;

/// More than any schedule needs. Each byte takes time, and a text may come from anywhere.
const TEXT_BYTES_MAX: usize = 64 << 10;

impl CronExpression {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// When the text is not a cron expression, or has more than 64 KiB. The error names the field, the
    /// bytes at fault and the remedy. An expression that can never match is no error here: see
    /// [`never_fires`](Self::never_fires).
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let fields = parse(text)
            .map_err(|error| error.within(text).with_prefix("invalid cron expression: "))?;
        Ok(Self { source: text.trim_matches(is_outer_blank).into(), fields })
    }
}

impl FromStr for CronExpression {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// Reads the six fields of an expression, or of the macro that stands for them.
fn parse(text: &str) -> Result<Fields, ParseError> {
    let at = text.len() - text.trim_start_matches(is_outer_blank).len();
    let whole = Token { text: text.trim_matches(is_outer_blank), at };
    if whole.text.is_empty() {
        return Err(empty(text.len()));
    }
    if whole.text.len() > TEXT_BYTES_MAX {
        return Err(too_long(whole));
    }
    if whole.text.starts_with('@') {
        let fields = fields_of_macro(whole.text).ok_or_else(|| unknown_macro(whole))?;
        return parse_fields(Token { text: fields, at: 0 });
    }
    parse_fields(whole)
}

fn parse_fields(whole: Token<'_>) -> Result<Fields, ParseError> {
    check_separators(whole)?;
    let mut words = words(whole);
    let first_six = std::array::from_fn(|_| words.next());
    let rest = words.count();
    let [Some(second), Some(minute), Some(hour), Some(day), Some(month), Some(weekday)] = first_six
    else {
        return Err(field_count(whole, first_six.iter().flatten().count()));
    };
    if rest > 0 {
        return Err(field_count(whole, 6 + rest));
    }
    item::fields([second, minute, hour, day, month, weekday])
}

/// The order of the fields, as messages write it.
const FIELD_ORDER: &str = "second minute hour day-of-month month day-of-week";

/// The macros and the fields they stand for.
const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 0 1 1 *"),
    ("@annually", "0 0 0 1 1 *"),
    ("@monthly", "0 0 0 1 * *"),
    ("@weekly", "0 0 0 * * 0"),
    ("@daily", "0 0 0 * * *"),
    ("@midnight", "0 0 0 * * *"),
    ("@hourly", "0 0 * * * *"),
];

/// The fields that a macro stands for, in any letter case.
fn fields_of_macro(text: &str) -> Option<&'static str> {
    let found = MACROS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, fields)| *fields)
}

fn empty(length: usize) -> ParseError {
    let reason = format!("the text is empty, but 6 fields are needed: {FIELD_ORDER}");
    ParseError::new(0..length, reason).with_help("write for example `0 0 9 * * MON-FRI`".to_owned())
}

fn too_long(whole: Token<'_>) -> ParseError {
    let reason = format!("the text has {} bytes, and 64 KiB are the most", whole.text.len());
    ParseError::new(whole.span(), reason).with_help("write each value of a list once".to_owned())
}

fn unknown_macro(word: Token<'_>) -> ParseError {
    let (name, argument) = word.text.split_once(' ').unwrap_or((word.text, ""));
    let (argument, lower) = (argument.trim(), name.to_ascii_lowercase());
    let is_known = MACROS.iter().any(|(known, _)| *known == lower);
    let reason = if is_known {
        format!("the macro {} stands alone, without fields", quoted(name))
    } else {
        format!("{} is not a macro", quoted(name))
    };
    let help = match lower.as_str() {
        _ if is_known => format!("write `{lower}`"),
        "@every" => {
            let rate = rate_of(argument).unwrap_or_else(|| "use `fixed_rate = \"…\"`".to_owned());
            format!("a fixed interval is no cron expression; {rate}")
        }
        "@reboot" => {
            "to run once when the program starts, use `initial_delay = \"0s\"` alone".to_owned()
        }
        "@secondly" => "write `* * * * * *`".to_owned(),
        "@minutely" => "write `0 * * * * *`".to_owned(),
        "@weekdays" => "write `0 0 0 * * MON-FRI`".to_owned(),
        _ => format!("the macros are {}", MACROS.map(|(name, _)| format!("`{name}`")).join(" ")),
    };
    ParseError::new(word.span(), reason).with_help(help)
}

/// The `fixed_rate` to write for the length of an interval.
fn rate_of(text: &str) -> Option<String> {
    match parse_duration(text, None) {
        Ok(length) if length.is_zero() || length.is_negative() => {
            Some("`fixed_rate` is for intervals, and they are longer than zero".to_owned())
        }
        _ => intended_period(text).map(|period| format!("use `fixed_rate = \"{period}\"`")),
    }
}

/// Refuses blanks other than the space: Spring separates fields by nothing else.
fn check_separators(whole: Token<'_>) -> Result<(), ParseError> {
    let is_blank = |c: char| c != ' ' && c.is_whitespace();
    let Some((at, blank)) = whole.text.char_indices().find(|(_, c)| is_blank(*c)) else {
        return Ok(());
    };
    let what = match blank {
        '\t' => "a tab".to_owned(),
        '\n' | '\r' => "a line break".to_owned(),
        other => format!("the blank U+{:04X}", u32::from(other)),
    };
    let at = whole.at + at;
    let reason = format!("fields are separated by spaces, but here stands {what}");
    let fault = ParseError::new(at..at + blank.len_utf8(), reason);
    Err(fault.with_help("write a space instead".to_owned()))
}

fn field_count(whole: Token<'_>, found: usize) -> ParseError {
    let fields = if found == 1 { "field" } else { "fields" };
    let reason = format!("{found} {fields}, but 6 are needed: {FIELD_ORDER}");
    let span = words(whole).nth(6).map_or(whole.span(), |seventh| seventh.at..whole.span().end);
    let help = match found {
        _ if whole.text.starts_with('#') => Some("a comment is no cron expression".to_owned()),
        _ if has_zone_prefix(whole.text) => {
            Some("the zone is an attribute: `zone = \"…\"`".to_owned())
        }
        ..5 => macro_help(whole.text)
            .or_else(|| rate_of(whole.text).map(|rate| format!("this is a duration; {rate}"))),
        5 => unix_help(whole),
        7.. => surplus_help(whole, found),
        _ => None,
    };
    ParseError::new(span, reason).with_help(help)
}

fn macro_help(text: &str) -> Option<String> {
    let is_meant = |name: &str| name[1..].eq_ignore_ascii_case(text);
    MACROS.iter().find(|(name, _)| is_meant(name)).map(|(name, _)| format!("write `{name}`"))
}

/// A Unix line lacks the second, and its week begins with Sunday; and if both its day fields are
/// given, it means either of them, unless one begins with a star.
fn unix_help(whole: Token<'_>) -> Option<String> {
    let weekday = words(whole).nth(4)?;
    let (before, days) = (&whole.text[..weekday.at - whole.at], unix_weekdays(weekday));
    let text = format!("0 {before}{days}");
    let expression = suggestion(&text)?;
    let mut help =
        format!("this looks like a Unix crontab line; add the second in front: {expression}");
    if days != weekday.text {
        help.push_str(" (a step in `*` begins with Sunday there, with Monday here)");
    }
    let fields = item::fields_of(&text)?;
    let is_star = |nth| words(whole).nth(nth).is_some_and(|word| word.text.starts_with('*'));
    let has_star = is_star(2) || is_star(4);
    if !has_star && !fields.days_of_month.is_all() && !fields.days_of_week.is_all() {
        help.push_str(" (here both day fields must match, not either of them)");
    }
    Some(help)
}

/// The weekday field of a Unix line, with the days that a step in the whole week means there.
fn unix_weekdays(word: Token<'_>) -> String {
    let items = word.split(',').map(|item| {
        let step = item.text.strip_prefix("*/").and_then(|step| step.parse::<usize>().ok());
        match step {
            Some(step @ 2..) => {
                let names = CronField::DayOfWeek.names();
                let days = (0..7).step_by(step).map(|day| short_name(names[(day + 6) % 7]));
                days.collect::<Vec<_>>().join(",")
            }
            _ => item.text.to_owned(),
        }
    });
    items.collect::<Vec<_>>().join(",")
}

/// The help for more than six fields: a year of Quartz, a zone, a comment, or too much.
fn surplus_help(whole: Token<'_>, found: usize) -> Option<String> {
    let (sixth, seventh) = (words(whole).nth(5)?, words(whole).nth(6)?);
    let six = &whole.text[..sixth.span().end - whole.at];
    let expression = suggestion(six)?;
    Some(match seventh.text {
        text if text.starts_with('#') => {
            format!("a comment is not part of the expression; write {expression}")
        }
        text if check_zone_name(text).is_ok() => {
            format!("the zone is an attribute: `zone = \"{text}\"`; write {expression}")
        }
        text if text.contains('/') && text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            format!("the zone is an attribute: `zone = \"…\"`; write {expression}")
        }
        _ if found == 7 => {
            let mut help = format!("remove the 7th field (year): {expression}");
            if sixth.text.bytes().any(|byte| byte.is_ascii_digit()) {
                help.push_str(" (Quartz counts weekdays from 1 = Sunday, here 1 is Monday)");
            }
            help
        }
        _ => format!("the first six fields alone are {expression}"),
    })
}

/// The text in backticks if it is short and parses.
fn suggestion(text: &str) -> Option<String> {
    (is_quotable(text) && item::fields_of(text).is_some()).then(|| format!("`{text}`"))
}

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

/// A part of the text, and the byte at which it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Token<'a> {
    pub(super) fn span(self) -> std::ops::Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// The parts before and after the first `separator`.
    pub(super) fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let (before, after) = self.text.split_once(separator)?;
        let at = self.at + before.len() + separator.len_utf8();
        Some((Self { text: before, at: self.at }, Self { text: after, at }))
    }

    /// The parts between the `separator`s.
    pub(super) fn split(self, separator: char) -> impl Iterator<Item = Self> + use<'a> {
        let mut at = self.at;
        self.text.split(separator).map(move |text| {
            let word = Self { text, at };
            at += text.len() + separator.len_utf8();
            word
        })
    }

    /// Without the last `count` bytes.
    pub(super) fn without_last(self, count: usize) -> Self {
        Self { text: &self.text[..self.text.len() - count], at: self.at }
    }
}

/// The fields of an expression that begins and ends with one.
pub(super) fn words(whole: Token<'_>) -> impl Iterator<Item = Token<'_>> {
    whole.split(' ').filter(|word| !word.text.is_empty())
}

/// Returns true if a character may surround an expression.
fn is_outer_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// Returns true if a text begins with the zone of a crontab line.
pub(super) fn has_zone_prefix(text: &str) -> bool {
    text.starts_with("TZ=") || text.starts_with("CRON_TZ=")
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
