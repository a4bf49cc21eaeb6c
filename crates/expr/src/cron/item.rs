//! Reads fields, and their items: a number, a name, a range, a step, or one of the specials of the
//! two day fields.

use super::{CronField, DaysOfMonth, DaysOfWeek, Fault, Fields, Word, hint, reversed, words};

/// The greatest number the grammar knows, as in Spring: steps and counts may exceed their field.
const GREATEST: u64 = i32::MAX as u64;

/// Reads the fields, second first.
pub(super) fn fields(words: [Word<'_>; 6]) -> Result<Fields, Fault> {
    let [second, minute, hour, day, month, weekday] = words;
    let set = |field, word| {
        items(field, word, |item, set: &mut u64| {
            *set |= read(field, item)?;
            Ok(())
        })
    };
    Ok(Fields {
        seconds: set(CronField::Second, second)?,
        minutes: set(CronField::Minute, minute)?,
        hours: set(CronField::Hour, hour)? as u32,
        days_of_month: match day.text {
            "?" => DaysOfMonth::ALL,
            _ => items(CronField::DayOfMonth, day, read_day_of_month)?.normalized(),
        },
        months: set(CronField::Month, month)? as u16,
        days_of_week: match weekday.text {
            "?" => DaysOfWeek::ALL,
            _ => items(CronField::DayOfWeek, weekday, read_day_of_week)?.normalized(),
        },
    })
}

/// Reads a text of six fields, for messages: a text that is none has no words to say so.
pub(super) fn fields_of(text: &str) -> Option<Fields> {
    let six: Vec<Word<'_>> = words(Word { text, at: 0 }).collect();
    fields(six.try_into().ok()?).ok()
}

/// Reads the items of a field, each with `read`.
fn items<T: Default>(
    field: CronField,
    word: Word<'_>,
    read: impl Fn(Word<'_>, &mut T) -> Result<(), Fault>,
) -> Result<T, Fault> {
    let mut set = T::default();
    let all = word.split(',').try_for_each(|item| read(item, &mut set));
    all.map_err(|fault| fault.in_field(field))?;
    Ok(set)
}

/// Reads an item without specials into a set, bit `n` for the number `n`.
fn read(field: CronField, item: Word<'_>) -> Result<u64, Fault> {
    if item.text.is_empty() {
        return Err(hint::empty_item(field, item));
    }
    let (base, step) = match item.split_once('/') {
        Some((base, step)) => (base, Some(step)),
        None => (item, None),
    };
    if base.text == "?" && !field.is_day() {
        return Err(hint::question_mark(field, base));
    }
    let (start, end) = read_range(field, base, step.is_some())?;
    let step = step.map_or(Ok(1), |step| read_step(field, step))?;
    if start > end {
        return Err(reversed::fault(field, item, (start, end), step));
    }
    Ok((start..=end).step_by(step).fold(0, |set, number| set | 1 << number))
}

/// Reads what stands before the step: `*`, a number, or a range, which may run backwards. A number
/// alone reaches to the end of its field when a step follows.
fn read_range(field: CronField, base: Word<'_>, has_step: bool) -> Result<(u32, u32), Fault> {
    if base.text == "*" {
        return Ok((field.star_min(), field.max()));
    }
    let Some((first, last)) = base.split_once('-').filter(|(first, _)| !first.text.is_empty())
    else {
        let number = read_value(field, base)?;
        return Ok((number, if has_step { field.max() } else { number }));
    };
    let (start, end) = (read_value(field, first)?, read_value(field, last)?);
    // A range that begins with Sunday begins the week with it.
    let start = if field == CronField::DayOfWeek && start == 7 { 0 } else { start };
    Ok((start, end))
}

fn read_step(field: CronField, step: Word<'_>) -> Result<usize, Fault> {
    match read_digits(step.text) {
        Some(number) if number > 0 && number <= GREATEST => Ok(number as usize),
        number => Err(hint::invalid_step(field, step, number)),
    }
}

/// Reads a number or a name that lies in the field's range.
fn read_value(field: CronField, word: Word<'_>) -> Result<u32, Fault> {
    let Some(number) = read_digits(word.text).or_else(|| read_name(field, word.text)) else {
        return Err(hint::not_a_number(field, word));
    };
    let in_range = u32::try_from(number).ok().filter(|n| (field.min()..=field.max()).contains(n));
    in_range.ok_or_else(|| hint::out_of_range(field, word, number))
}

/// The value of ASCII digits; a number too long to matter is as good as the greatest.
fn read_digits(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = text.bytes().map(|byte| u64::from(byte - b'0'));
    Some(digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(digit)))
}

/// The value of a name. After digits it stands for its number's digits, as in Spring.
fn read_name(field: CronField, text: &str) -> Option<u64> {
    let letters = text.find(|c: char| !c.is_ascii_digit())?;
    let number = field.number_of(&text[letters..])?;
    read_digits(&format!("{}{number}", &text[..letters]))
}

/// Reads an item of the day-of-month field.
fn read_day_of_month(item: Word<'_>, days: &mut DaysOfMonth) -> Result<(), Fault> {
    const FIELD: CronField = CronField::DayOfMonth;
    if let Some(after_l) = item.text.strip_prefix('L') {
        return read_last(item, after_l, days);
    }
    if item.text.ends_with('W') {
        let number = item.without_last(1);
        if read_digits(number.text).is_none() {
            return Err(hint::misplaced(FIELD, item));
        }
        days.nearest_weekday |= 1 << read_value(FIELD, number)?;
        return Ok(());
    }
    let set = read(FIELD, item).map_err(|fault| match special_meant(item.text) {
        Some(meant) => hint::miswritten_special(item, &meant),
        None => fault,
    })?;
    days.plain |= set as u32;
    Ok(())
}

/// The special of day-of-month that an item would be in upper case, or with its `W` at the end.
fn special_meant(item: &str) -> Option<String> {
    if item.len() >= hint::SPECIAL_LENGTH {
        return None;
    }
    let upper = item.to_ascii_uppercase();
    let turned = upper.strip_prefix('W').map(|number| format!("{number}W"));
    let is_taken =
        |text: &str| read_day_of_month(Word { text, at: 0 }, &mut DaysOfMonth::default()).is_ok();
    // What is the item itself has been refused.
    let other = Some(upper).filter(|upper| upper != item);
    other.into_iter().chain(turned).find(|meant| is_taken(meant))
}

/// Reads `L`, `LW` or `L-n`, given what follows the `L`.
fn read_last(item: Word<'_>, after_l: &str, days: &mut DaysOfMonth) -> Result<(), Fault> {
    match after_l {
        "" => days.before_last |= 1,
        "W" => days.last_weekday = true,
        _ => match after_l.strip_prefix('-').and_then(read_digits) {
            Some(n @ 1..=30) => days.before_last |= 1 << n,
            // More than 30 days before the last is a day of no month.
            Some(n) if n > 0 && n <= GREATEST => {}
            _ => return Err(hint::misplaced(CronField::DayOfMonth, item)),
        },
    }
    Ok(())
}

/// Reads an item of the day-of-week field.
fn read_day_of_week(item: Word<'_>, days: &mut DaysOfWeek) -> Result<(), Fault> {
    const FIELD: CronField = CronField::DayOfWeek;
    if let Some((day, nth)) = item.split_once('#') {
        let weekday = read_single_day(item, day)?;
        return match read_digits(nth.text) {
            Some(n @ 1..=5) => {
                days.nth[n as usize - 1] |= weekday;
                Ok(())
            }
            // No month has a sixth such day.
            Some(n) if n > 0 && n <= GREATEST => Ok(()),
            _ => Err(hint::misplaced(FIELD, item)),
        };
    }
    if item.text.ends_with(['L', 'l']) && !ends_with_month(item.text) {
        days.last |= read_single_day(item, item.without_last(1))?;
        return Ok(());
    }
    let set = read(FIELD, item)?;
    // Sunday is 7 and 0, and the last bit of the week.
    days.plain |= (set >> 1) as u8 | ((set & 1) << 6) as u8;
    Ok(())
}

/// Returns true if an item ends with a month, such as `JUL` or `APRIL`: that `L` is not the special.
fn ends_with_month(item: &str) -> bool {
    let last = item.rsplit('-').next().unwrap_or(item);
    let month = CronField::Month;
    month.number_of(last).is_some() || month.intended_name(last).is_some()
}

/// Reads the single weekday of `dL` or `d#n`, as a bit.
fn read_single_day(item: Word<'_>, day: Word<'_>) -> Result<u8, Fault> {
    const FIELD: CronField = CronField::DayOfWeek;
    let is_name = FIELD.number_of(day.text).is_some();
    if !is_name && (day.text.len() > 1 || read_digits(day.text).is_none()) {
        return Err(hint::misplaced(FIELD, item));
    }
    let number = read_value(FIELD, day)?;
    Ok(1 << ((number + 6) % 7))
}
