//! Guesses the duration that a text was surely meant to be: `1h30`, `1.5h`, `5 minutes`.
//!
//! It guesses nothing if a text may mean two things: a number without a unit, units that do not go
//! from large to small, a comma.

use super::{DurationUnit, SignedDuration};
use crate::excerpt::is_quotable;

/// The greatest number of digits behind a decimal point that are read.
const FRACTION_DIGITS: usize = 9;

/// A number and its unit, however they are written.
struct Part<'a> {
    digits: &'a str,
    /// The digits behind the decimal point.
    fraction: &'a str,
    unit: DurationUnit,
    /// The number of units: a week is 7 days.
    factor: i128,
}

/// The text of a duration that `text` was meant to be; always one that can be read.
pub(super) fn intended(text: &str) -> Option<String> {
    let text = text.trim();
    if !is_quotable(text) {
        return None;
    }
    let (sign, text) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (&text[..1], rest),
        None => ("", text),
    };
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let parts = parts(inside.unwrap_or(text).trim())?;
    let nanos = total(&parts)?;
    let length = SignedDuration::from_nanos(nanos)?;
    if parts.iter().any(|part| part.factor > 1 || !part.fraction.is_empty()) {
        return Some(format!("{sign}{length}"));
    }
    let written = parts.iter().map(|part| format!("{}{}", part.digits, part.unit.suffix()));
    Some(format!("{sign}{}", written.collect::<String>()))
}

fn parts(text: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = split_after(rest, |byte| byte.is_ascii_digit() || byte == b'.');
        let (word, after) = split_after(after.trim_start(), |byte| byte.is_ascii_alphabetic());
        let (digits, fraction) = match number.split_once('.') {
            Some((_, "")) => return None,
            Some(halves) => halves,
            None => (number, ""),
        };
        rest = after.trim_start();
        let (unit, factor) = match word {
            "" if rest.is_empty() => (unit_after(parts.last()?, digits)?, 1),
            word => unit_named(&word.to_ascii_lowercase())?,
        };
        parts.push(Part { digits, fraction, unit, factor });
    }
    (!parts.is_empty()).then_some(parts)
}

fn split_after(text: &str, is_part: impl Fn(u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len()))
}

/// The unit of a number at the end that has none: the one below that before it, `1h30` being
/// `1h30m`, unless the number makes more than one of that before it.
fn unit_after(before: &Part<'_>, digits: &str) -> Option<DurationUnit> {
    let at = DurationUnit::ALL.iter().position(|unit| *unit == before.unit)?;
    let unit = *DurationUnit::ALL.get(at + 1)?;
    let count: i128 = digits.parse::<i64>().ok()?.into();
    (before.factor == 1 && count * unit.nanos() < before.unit.nanos()).then_some(unit)
}

fn unit_named(word: &str) -> Option<(DurationUnit, i128)> {
    match word {
        "w" | "week" | "weeks" => Some((DurationUnit::Days, 7)),
        word => Some((DurationUnit::from_word(word)?, 1)),
    }
}

/// The nanoseconds of all parts, whose units go from large to small.
fn total(parts: &[Part<'_>]) -> Option<i128> {
    let size = |part: &Part<'_>| part.unit.nanos() * part.factor;
    if parts.windows(2).any(|pair| size(&pair[0]) <= size(&pair[1])) {
        return None;
    }
    parts.iter().try_fold(0, |sum: i128, part| {
        // Half of one unit together with a number of the next would be guesswork.
        let is_clear = part.fraction.is_empty() || parts.len() == 1;
        if !is_clear || part.fraction.len() > FRACTION_DIGITS {
            return None;
        }
        let scale = 10_i128.pow(part.fraction.len() as u32);
        let number: i64 = format!("{}{}", part.digits, part.fraction).parse().ok()?;
        let scaled = i128::from(number).checked_mul(size(part))?;
        (scaled % scale == 0).then(|| sum.checked_add(scaled / scale))?
    })
}
