//! Reads the three forms of a duration.

use std::ops::Range;

use super::{DurationUnit, NANOS_PER_SECOND, SignedDuration, intended};
use crate::error::{ParseError, ParseErrorCause, is_quotable, quoted};

/// The greatest number of letters of a unit in the simple form.
const SIMPLE_UNIT_LETTERS: usize = 2;

/// The greatest number of digits of a fraction in the ISO form.
const FRACTION_DIGITS: usize = 9;

/// The components of the ISO form, before and after its `T`.
const ISO_DATE: &[(u8, DurationUnit)] = &[(b'D', DurationUnit::Days)];
const ISO_TIME: &[(u8, DurationUnit)] =
    &[(b'H', DurationUnit::Hours), (b'M', DurationUnit::Minutes), (b'S', DurationUnit::Seconds)];

pub(super) fn scan(
    text: &str,
    default_unit: Option<DurationUnit>,
) -> Result<SignedDuration, ParseError> {
    if text.trim().is_empty() {
        return Err(empty(text));
    }
    if text.trim() != text {
        return Err(blanks_around(text, scan(text.trim(), default_unit).is_ok()));
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
    SignedDuration::from_nanos(nanos).ok_or_else(|| too_long(text, 0..text.len()))
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
    ) -> Option<Result<i128, ParseError>> {
        let mut scanner = self.clone();
        let number = scanner.number(is_negative)?;
        let letters = scanner.run(|byte| byte.is_ascii_alphabetic());
        if !scanner.rest().is_empty() || letters.len() > SIMPLE_UNIT_LETTERS {
            return None;
        }
        let unit = if letters.is_empty() {
            default_unit.ok_or_else(|| self.missing_unit(&number))
        } else {
            let suffix = self.text[letters.clone()].to_ascii_lowercase();
            DurationUnit::from_suffix(&suffix).ok_or_else(|| unknown_unit(self.text, letters))
        };
        let nanos = unit.and_then(|unit| self.nanos_of(&number, unit));
        // The caller applies the sign to the whole.
        Some(nanos.map(|nanos| if is_negative { -nanos } else { nanos }))
    }

    /// A number that is too great for any unit gains nothing by one.
    fn missing_unit(&self, number: &Number) -> ParseError {
        match number.value {
            Some(_) => no_default_unit(self.text),
            None => too_long(self.text, number.span.clone()),
        }
    }

    /// Several numbers with their units, from large to small, possibly in parentheses.
    fn composite(&mut self) -> Result<i128, ParseError> {
        let has_parentheses = self.takes(|byte| byte == b'(');
        let (mut total, mut previous) = (0_i128, None);
        while previous.is_none() || self.peek().is_some_and(|byte| byte != b')') {
            let may_have_blank = has_parentheses || previous.is_some();
            let (unit, nanos) = self.segment(previous, may_have_blank)?;
            total += nanos;
            previous = Some(unit);
        }
        if has_parentheses && !self.takes(|byte| byte == b')') {
            return Err(unclosed(self.at));
        }
        if self.rest().is_empty() { Ok(total) } else { Err(unexpected(self.text, self.at)) }
    }

    /// One number with its unit, which must be smaller than the `previous` one.
    fn segment(
        &mut self,
        previous: Option<DurationUnit>,
        may_have_blank: bool,
    ) -> Result<(DurationUnit, i128), ParseError> {
        if may_have_blank {
            self.takes(|byte| byte.is_ascii_whitespace());
        }
        let number = self.number(false).ok_or_else(|| unexpected(self.text, self.at))?;
        let letters = self.run(|byte| byte.is_ascii_alphabetic());
        if letters.is_empty() {
            return Err(no_unit(self.text, number.span));
        }
        let unit = DurationUnit::from_suffix(&self.text[letters.clone()])
            .ok_or_else(|| unknown_unit(self.text, letters.clone()))?;
        if previous.is_some_and(|previous| previous <= unit) {
            return Err(unit_order(number.span.start..letters.end));
        }
        Ok((unit, self.nanos_of(&number, unit)?))
    }

    /// Reads the ISO form after its `P`.
    fn iso(&mut self) -> Result<i128, ParseError> {
        let mut total = self.iso_components(ISO_DATE)?;
        let date_end = self.at;
        if self.takes_letter(b'T') {
            let time_start = self.at;
            total += self.iso_components(ISO_TIME)?;
            if self.at == time_start {
                return Err(malformed_iso(self.text, self.at));
            }
        }
        let is_bare = self.at == date_end && self.text[..date_end].ends_with(['P', 'p']);
        if is_bare || !self.rest().is_empty() {
            Err(malformed_iso(self.text, self.at))
        } else {
            Ok(total)
        }
    }

    /// The components that stand here, in their order.
    fn iso_components(&mut self, order: &[(u8, DurationUnit)]) -> Result<i128, ParseError> {
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

    fn nanos_of(&self, number: &Number, unit: DurationUnit) -> Result<i128, ParseError> {
        let nanos = number.value.map(|value| i128::from(value) * unit.nanos());
        let in_range = nanos.filter(|nanos| i64::try_from(nanos / NANOS_PER_SECOND).is_ok());
        in_range.ok_or_else(|| too_long(self.text, number.span.clone()))
    }
}

/// The help when nothing better is known.
const UNITS: &str = "the units are `ns us ms s m h d`";

fn empty(text: &str) -> ParseError {
    let fault = ParseError::new(0..text.len(), "the duration is empty");
    fault.with_help("write for example `30s`".to_owned())
}

/// Blanks around a text, which may be a duration without them.
fn blanks_around(text: &str, is_else_right: bool) -> ParseError {
    let (inside, end) = (text.trim(), text.trim_end().len());
    let blanks = if end < text.len() { end..text.len() } else { 0..end - inside.len() };
    let fault = ParseError::new(blanks, "no blanks may stand around a duration");
    if is_else_right && is_quotable(inside) {
        return fault.with_replacement(inside.to_owned());
    }
    let help = match is_number(inside) {
        true => "remove the blanks, and give the number a unit, as in `500ms`",
        false => "remove the blanks",
    };
    fault.with_help(help.to_owned()).with_replacement(intended(text))
}

/// Returns true if a text is a number with or without a sign.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The whole text is a number, and there is no unit for it.
fn no_default_unit(text: &str) -> ParseError {
    let message = format!("{} has no unit", quoted(text));
    let fault = ParseError::new(0..text.len(), message).with_cause(ParseErrorCause::NoUnit);
    if !is_quotable(text) {
        return fault;
    }
    let seconds = in_seconds(text).map_or(String::new(), |seconds| format!("`{seconds}` or "));
    let help = format!("write {seconds}`{text}ms` (Spring's plain numbers are milliseconds)");
    fault.with_replacement(format!("{text}ms")).with_help(help)
}

/// A number without a unit as seconds, in which it probably was meant: thousands are milliseconds.
pub(crate) fn in_seconds(number: &str) -> Option<String> {
    let is_number = |text: &&str| text.parse::<i64>().is_ok();
    let thousands = number.strip_suffix("000").filter(is_number);
    let seconds = thousands.or(Some(number).filter(is_number))?;
    Some(format!("{seconds}s"))
}

/// A number of the composite form is not followed by a unit.
fn no_unit(text: &str, number: Range<usize>) -> ParseError {
    let rest = &text[number.end..];
    match rest.chars().next() {
        None | Some(' ' | ')') => {}
        Some(odd) => {
            let fault = unexpected(text, number.end);
            return match help_after_number(odd) {
                Some(help) => fault.with_help(help.to_owned()).with_replacement(intended(text)),
                None => fault,
            };
        }
    }
    let word = rest.trim_start_matches(' ');
    let letters = word.bytes().take_while(u8::is_ascii_alphabetic).count();
    let start = text.len() - word.len();
    if letters == 0 {
        let reason = format!("{} has no unit", quoted(&text[number.clone()]));
        return ParseError::new(number, reason)
            .with_cause(ParseErrorCause::NoUnit)
            .with_help(UNITS.to_owned())
            .with_replacement(intended(text));
    }
    if DurationUnit::from_suffix(&word[..letters].to_ascii_lowercase()).is_none() {
        return unknown_unit(text, start..start + letters);
    }
    let reason = "no blank may stand between a number and its unit";
    let fault = ParseError::new(number.end..start, reason);
    fault.with_help("remove the blank".to_owned()).with_replacement(intended(text))
}

/// The help for an unexpected character right after a number.
fn help_after_number(odd: char) -> Option<&'static str> {
    match odd {
        '.' | ',' => Some("use a smaller unit instead of a fraction, such as `1500ms`"),
        ':' => Some("write for example `1h30m`"),
        '_' => Some("write the digits without separators"),
        _ => None,
    }
}

/// Letters that are no unit, after a number.
fn unknown_unit(text: &str, letters: Range<usize>) -> ParseError {
    let reason = format!("{} is not a unit of time", quoted(&text[letters.clone()]));
    ParseError::new(letters, reason).with_help(UNITS.to_owned()).with_replacement(intended(text))
}

fn unit_order(span: Range<usize>) -> ParseError {
    let reason = "units go from large to small, each at most once";
    ParseError::new(span, reason).with_help("write for example `1h30m`".to_owned())
}

fn unclosed(at: usize) -> ParseError {
    let fault = ParseError::new(at..at, "the parenthesis is not closed");
    fault.with_help("add `)` at the end".to_owned())
}

/// A character that has no meaning, or the end where a number belongs.
fn unexpected(text: &str, at: usize) -> ParseError {
    let Some(c) = text[at..].chars().next() else {
        let fault = ParseError::new(at..at, "a number is missing");
        return fault.with_help("write for example `30s`".to_owned());
    };
    let reason = format!("{} has no meaning here", quoted(c.encode_utf8(&mut [0; 4])));
    let fault = ParseError::new(at..at + c.len_utf8(), reason);
    fault
        .with_help("write a duration like `500ms`, `1h30m` or `PT1H30M`".to_owned())
        .with_replacement(intended(text))
}

fn malformed_iso(text: &str, at: usize) -> ParseError {
    let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
    let reason = "not an ISO-8601 duration of days, hours, minutes and seconds";
    let fault = ParseError::new(at..end, reason);
    fault.with_help("write for example `P1DT2H30M` or `PT1.5S`".to_owned())
}

fn too_long(text: &str, span: Range<usize>) -> ParseError {
    let reason = format!("{} is too long a time", quoted(&text[span.clone()]));
    ParseError::new(span, reason).with_help("the longest duration is 2⁶³ seconds".to_owned())
}
