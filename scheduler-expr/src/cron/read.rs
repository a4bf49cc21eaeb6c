//! Reads six words as the fields of an expression.

use super::days::{DaysOfMonth, DaysOfWeek};
use super::error::Fault;
use super::expression::Fields;
use super::field::CronField;
use super::item;
use super::word::{Word, words};

/// Reads the fields, second first.
pub(super) fn fields(words: [Word<'_>; 6]) -> Result<Fields, Fault> {
    let [second, minute, hour, day, month, weekday] = words;
    Ok(Fields {
        seconds: read_set(CronField::Second, second)?,
        minutes: read_set(CronField::Minute, minute)?,
        hours: read_set(CronField::Hour, hour)? as u32,
        days_of_month: read_days_of_month(day)?,
        months: read_set(CronField::Month, month)? as u16,
        days_of_week: read_days_of_week(weekday)?,
    })
}

/// Reads a text of six fields, for messages: a text that is none has no words to say so.
pub(super) fn fields_of(text: &str) -> Option<Fields> {
    let six: Vec<Word<'_>> = words(Word { text, at: 0 }).collect();
    fields(six.try_into().ok()?).ok()
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
