//! Splits an expression into its fields and reads each.

use super::days::{DaysOfMonth, DaysOfWeek};
use super::error::{Fault, ParseCronError};
use super::field::CronField;
use super::{Fields, item, line};

/// The macros and the fields they stand for.
pub(super) const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 0 1 1 *"),
    ("@annually", "0 0 0 1 1 *"),
    ("@monthly", "0 0 0 1 * *"),
    ("@weekly", "0 0 0 * * 0"),
    ("@daily", "0 0 0 * * *"),
    ("@midnight", "0 0 0 * * *"),
    ("@hourly", "0 0 * * * *"),
];

/// More than any schedule needs. Each byte takes time, and a text may come from anywhere.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A part of the text, and the byte at which it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Word<'a> {
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

/// Reads the six fields of an expression or of the macro that stands for them.
pub(super) fn parse(text: &str) -> Result<Fields, ParseCronError> {
    read(text).map_err(|fault| ParseCronError::new(text, fault))
}

/// Whether a character may surround an expression.
pub(super) fn is_outer_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn read(text: &str) -> Result<Fields, Fault> {
    let at = text.len() - text.trim_start_matches(is_outer_blank).len();
    let whole = Word { text: text.trim_matches(is_outer_blank), at };
    if whole.text.is_empty() {
        return Err(line::empty(text.len()));
    }
    if whole.text.len() > TEXT_BYTES_MAX {
        return Err(line::too_long(whole));
    }
    if whole.text.starts_with('@') {
        let fields = fields_of_macro(whole.text).ok_or_else(|| line::unknown_macro(whole))?;
        return read_fields(Word { text: fields, at: 0 });
    }
    read_fields(whole)
}

fn fields_of_macro(text: &str) -> Option<&'static str> {
    let found = MACROS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, fields)| *fields)
}

/// The fields of an expression that begins and ends with one.
pub(super) fn words(whole: Word<'_>) -> impl Iterator<Item = Word<'_>> {
    whole.split(' ').filter(|word| !word.text.is_empty())
}

fn read_fields(whole: Word<'_>) -> Result<Fields, Fault> {
    line::check_separators(whole)?;
    let mut words = words(whole);
    let first_six = std::array::from_fn(|_| words.next());
    let rest = words.count();
    let [Some(second), Some(minute), Some(hour), Some(day), Some(month), Some(weekday)] = first_six
    else {
        return Err(line::field_count(whole, first_six.iter().flatten().count()));
    };
    if rest > 0 {
        return Err(line::field_count(whole, 6 + rest));
    }
    Ok(Fields {
        seconds: read_set(CronField::Second, second)?,
        minutes: read_set(CronField::Minute, minute)?,
        hours: read_set(CronField::Hour, hour)? as u32,
        days_of_month: read_days_of_month(day)?,
        months: read_set(CronField::Month, month)? as u16,
        days_of_week: read_days_of_week(weekday)?,
    })
}

/// Reads a field without specials into a set, bit `n` for the number `n`.
fn read_set(field: CronField, word: Word<'_>) -> Result<u64, Fault> {
    let mut set = 0;
    for item in word.split(',') {
        set |= item::read(field, item).map_err(|fault| fault.in_field(field))?;
    }
    Ok(set)
}

fn read_days_of_month(word: Word<'_>) -> Result<DaysOfMonth, Fault> {
    if word.text == "?" {
        return Ok(DaysOfMonth::ALL);
    }
    let mut days = DaysOfMonth::default();
    for item in word.split(',') {
        item::read_day_of_month(item, &mut days)
            .map_err(|fault| fault.in_field(CronField::DayOfMonth))?;
    }
    Ok(days.normalized())
}

fn read_days_of_week(word: Word<'_>) -> Result<DaysOfWeek, Fault> {
    if word.text == "?" {
        return Ok(DaysOfWeek::ALL);
    }
    let mut days = DaysOfWeek::default();
    for item in word.split(',') {
        item::read_day_of_week(item, &mut days)
            .map_err(|fault| fault.in_field(CronField::DayOfWeek))?;
    }
    Ok(days.normalized())
}
