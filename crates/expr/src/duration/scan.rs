//! Reads the three forms of a duration.

use std::ops::Range;

use super::{DurationUnit, Fault, NANOS_PER_SECOND, SignedDuration, hint};

/// How many letters the unit of the simple form has at most.
const SIMPLE_UNIT_LETTERS: usize = 2;

/// How many digits the fraction of the ISO form has at most.
const FRACTION_DIGITS: usize = 9;

/// The components of the ISO form, before and after its `T`.
const ISO_DATE: &[(u8, DurationUnit)] = &[(b'D', DurationUnit::Days)];
const ISO_TIME: &[(u8, DurationUnit)] =
    &[(b'H', DurationUnit::Hours), (b'M', DurationUnit::Minutes), (b'S', DurationUnit::Seconds)];

pub(super) fn scan(
    text: &str,
    default_unit: Option<DurationUnit>,
) -> Result<SignedDuration, Fault> {
    if text.trim().is_empty() {
        return Err(hint::empty(text));
    }
    if text.trim() != text {
        return Err(hint::blanks_around(text, scan(text.trim(), default_unit).is_ok()));
    }
    let mut scanner = Scanner { text, at: 0 };
    let is_negative = scanner.sign();
    let nanos = if scanner.takes_letter(b'P') {
        scanner.iso()?
    } else {
        match scanner.simple(is_negative, default_unit) {
            Some(simple) => simple?,
            None => scanner.composite()?,
        }
    };
    let nanos = if is_negative { -nanos } else { nanos };
    SignedDuration::from_nanos(nanos).ok_or_else(|| hint::too_long(text, 0..text.len()))
}

/// A place in a text.
#[derive(Clone)]
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// A run of digits, with the sign that stands before it.
struct Number {
    span: Range<usize>,
    value: Option<i64>,
    is_negative: bool,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    /// Moves past an ASCII character if it stands here.
    fn takes(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        let found = self.peek().is_some_and(|byte| byte.is_ascii() && wanted(byte));
        self.at += usize::from(found);
        found
    }

    fn takes_letter(&mut self, upper: u8) -> bool {
        self.takes(|byte| byte.to_ascii_uppercase() == upper)
    }

    /// Moves past a sign. Returns true if it was a minus.
    fn sign(&mut self) -> bool {
        let is_negative = self.peek() == Some(b'-');
        self.takes(|byte| byte == b'-' || byte == b'+');
        is_negative
    }

    /// Moves past everything that `is_part` accepts.
    fn run(&mut self, is_part: impl Fn(u8) -> bool) -> Range<usize> {
        let start = self.at;
        while self.takes(&is_part) {}
        start..self.at
    }

    /// Reads digits, if any stand here. `None` as the value means that they are too many.
    fn number(&mut self, is_negative: bool) -> Option<Number> {
        let span = self.run(|byte| byte.is_ascii_digit());
        let mut digits = self.text[span.clone()].bytes().map(|byte| i64::from(byte - b'0'));
        // Downwards, because there is one more negative number than there are positive ones.
        let below_zero =
            digits.try_fold(0_i64, |value, digit| value.checked_mul(10)?.checked_sub(digit));
        let value = if is_negative { below_zero } else { below_zero.and_then(i64::checked_neg) };
        (!span.is_empty()).then_some(Number { span, value, is_negative })
    }

    /// A number and at most two letters up to the end of the text; `None` when this is another
    /// form.
    fn simple(
        &self,
        is_negative: bool,
        default_unit: Option<DurationUnit>,
    ) -> Option<Result<i128, Fault>> {
        let mut scanner = self.clone();
        let number = scanner.number(is_negative)?;
        let letters = scanner.run(|byte| byte.is_ascii_alphabetic());
        if !scanner.rest().is_empty() || letters.len() > SIMPLE_UNIT_LETTERS {
            return None;
        }
        let unit = if letters.is_empty() {
            default_unit.ok_or_else(|| self.no_default_unit(&number))
        } else {
            let suffix = self.text[letters.clone()].to_ascii_lowercase();
            DurationUnit::from_suffix(&suffix).ok_or_else(|| hint::unknown_unit(self.text, letters))
        };
        let nanos = unit.and_then(|unit| self.nanos_of(&number, unit));
        // The caller applies the sign to the whole.
        Some(nanos.map(|nanos| if is_negative { -nanos } else { nanos }))
    }

    /// A number that is too great for any unit gains nothing by one.
    fn no_default_unit(&self, number: &Number) -> Fault {
        match number.value {
            Some(_) => hint::no_default_unit(self.text),
            None => hint::too_long(self.text, number.span.clone()),
        }
    }

    /// Several numbers with their units, from large to small, possibly in parentheses.
    fn composite(&mut self) -> Result<i128, Fault> {
        let has_parentheses = self.takes(|byte| byte == b'(');
        let (mut total, mut previous) = (0_i128, None);
        while previous.is_none() || self.peek().is_some_and(|byte| byte != b')') {
            let may_have_blank = has_parentheses || previous.is_some();
            let (unit, nanos) = self.segment(previous, may_have_blank)?;
            total += nanos;
            previous = Some(unit);
        }
        if has_parentheses && !self.takes(|byte| byte == b')') {
            return Err(hint::unclosed(self.at));
        }
        if self.rest().is_empty() { Ok(total) } else { Err(hint::unexpected(self.text, self.at)) }
    }

    /// One number with its unit, which must be smaller than the `previous` one.
    fn segment(
        &mut self,
        previous: Option<DurationUnit>,
        may_have_blank: bool,
    ) -> Result<(DurationUnit, i128), Fault> {
        if may_have_blank {
            self.takes(|byte| byte.is_ascii_whitespace());
        }
        let number = self.number(false).ok_or_else(|| hint::unexpected(self.text, self.at))?;
        let letters = self.run(|byte| byte.is_ascii_alphabetic());
        if letters.is_empty() {
            return Err(hint::no_unit(self.text, number.span));
        }
        let unit = DurationUnit::from_suffix(&self.text[letters.clone()])
            .ok_or_else(|| hint::unknown_unit(self.text, letters.clone()))?;
        if previous.is_some_and(|previous| previous <= unit) {
            return Err(hint::unit_order(number.span.start..letters.end));
        }
        Ok((unit, self.nanos_of(&number, unit)?))
    }

    /// What follows the `P` of the ISO form.
    fn iso(&mut self) -> Result<i128, Fault> {
        let mut total = self.iso_components(ISO_DATE)?;
        let date_end = self.at;
        if self.takes_letter(b'T') {
            let time_start = self.at;
            total += self.iso_components(ISO_TIME)?;
            if self.at == time_start {
                return Err(hint::malformed_iso(self.text, self.at));
            }
        }
        let is_bare = self.at == date_end && self.text[..date_end].ends_with(['P', 'p']);
        if is_bare || !self.rest().is_empty() {
            Err(hint::malformed_iso(self.text, self.at))
        } else {
            Ok(total)
        }
    }

    /// The components that stand here, in their order.
    fn iso_components(&mut self, order: &[(u8, DurationUnit)]) -> Result<i128, Fault> {
        let mut total = 0;
        for (letter, unit) in order {
            let start = self.at;
            let is_negative = self.sign();
            let Some(number) = self.number(is_negative) else {
                self.at = start;
                break;
            };
            let fraction = if *letter == b'S' { self.fraction() } else { 0 };
            if !self.takes_letter(*letter) {
                self.at = start;
                continue;
            }
            total += self.nanos_of(&number, *unit)?;
            total += if number.is_negative { -fraction } else { fraction };
        }
        Ok(total)
    }

    /// The nanoseconds of a decimal fraction of a second, zero if there is none.
    fn fraction(&mut self) -> i128 {
        let start = self.at;
        if !self.takes(|byte| byte == b'.' || byte == b',') {
            return 0;
        }
        let digits = self.run(|byte| byte.is_ascii_digit());
        if digits.len() > FRACTION_DIGITS {
            self.at = start;
            return 0;
        }
        format!("{:0<FRACTION_DIGITS$}", &self.text[digits]).parse().unwrap_or_default()
    }

    fn nanos_of(&self, number: &Number, unit: DurationUnit) -> Result<i128, Fault> {
        let nanos = number.value.map(|value| i128::from(value) * unit.nanos());
        let in_range = nanos.filter(|nanos| i64::try_from(nanos / NANOS_PER_SECOND).is_ok());
        in_range.ok_or_else(|| hint::too_long(self.text, number.span.clone()))
    }
}
