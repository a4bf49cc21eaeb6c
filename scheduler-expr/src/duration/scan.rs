//! Reads the three forms of a duration.

use std::ops::Range;

use super::error::{Fault, ParseDurationErrorKind as Kind};
use super::{DurationUnit, NANOS_PER_SECOND, SignedDuration};
use crate::excerpt::{is_quotable, quoted};

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
        let fault = Fault::new(Kind::Empty, 0..text.len(), "the duration is empty");
        return Err(fault.help("write for example `30s`".to_owned()));
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
    SignedDuration::from_nanos(nanos).ok_or_else(|| too_long(0..text.len(), text))
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

    /// Moves past a sign and says whether it was a minus.
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

    /// A number and at most two letters up to the end of the text; `None` when this is another form.
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
            default_unit.ok_or_else(|| no_unit(self.text))
        } else {
            let suffix = self.text[letters.clone()].to_ascii_lowercase();
            DurationUnit::from_suffix(&suffix)
                .ok_or_else(|| unknown_unit(self.text, &number, letters))
        };
        let nanos = unit.and_then(|unit| self.nanos_of(&number, unit));
        // The caller applies the sign to the whole.
        Some(nanos.map(|nanos| if is_negative { -nanos } else { nanos }))
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
            let fault =
                Fault::new(Kind::Malformed, self.at..self.at, "the parenthesis is not closed");
            return Err(fault.help("add `)` at the end".to_owned()));
        }
        if self.rest().is_empty() { Ok(total) } else { Err(self.unexpected()) }
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
        let number = self.number(false).ok_or_else(|| self.unexpected())?;
        let letters = self.run(|byte| byte.is_ascii_alphabetic());
        if letters.is_empty() {
            return Err(self.unit_missing(&number, previous));
        }
        let unit = DurationUnit::from_suffix(&self.text[letters.clone()])
            .ok_or_else(|| unknown_unit(self.text, &number, letters.clone()))?;
        if previous.is_some_and(|previous| previous <= unit) {
            let reason = "units go from large to small, each at most once";
            let fault = Fault::new(Kind::UnitOrder, number.span.start..letters.end, reason);
            return Err(fault.help("write for example `1h30m`".to_owned()));
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
                return Err(self.iso_malformed());
            }
        }
        let is_bare = self.at == date_end && self.text[..date_end].ends_with(['P', 'p']);
        if is_bare || !self.rest().is_empty() { Err(self.iso_malformed()) } else { Ok(total) }
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
        let value =
            self.text[digits.clone()].bytes().fold(0, |n, digit| n * 10 + i128::from(digit - b'0'));
        value * 10_i128.pow((FRACTION_DIGITS - digits.len()) as u32)
    }

    fn nanos_of(&self, number: &Number, unit: DurationUnit) -> Result<i128, Fault> {
        let nanos = number.value.map(|value| i128::from(value) * unit.nanos());
        let in_range = nanos.filter(|nanos| i64::try_from(nanos / NANOS_PER_SECOND).is_ok());
        in_range.ok_or_else(|| too_long(number.span.clone(), &self.text[number.span.clone()]))
    }

    fn unit_missing(&self, number: &Number, previous: Option<DurationUnit>) -> Fault {
        let written = &self.text[number.span.clone()];
        if let Some(odd) = self.rest().chars().next().filter(|c| !matches!(c, ' ' | ')')) {
            let fault = self.unexpected();
            return match odd {
                '.' | ',' => fault
                    .help("use a smaller unit instead of a fraction, such as `1500ms`".to_owned()),
                ':' => fault.help("write for example `1h30m`".to_owned()),
                '_' => fault.help("write the digits without separators".to_owned()),
                _ => fault,
            };
        }
        if let Some(word) = self.rest().strip_prefix(' ').filter(|_| previous.is_none()) {
            let letters = self.at + 1..self.text.len();
            if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                return unknown_unit(self.text, number, letters);
            }
        }
        let fault = Fault::new(
            Kind::NoUnit,
            number.span.clone(),
            format!("{} has no unit", quoted(written)),
        );
        fault.help("the units are `ns us ms s m h d`".to_owned())
    }

    fn unexpected(&self) -> Fault {
        let Some(c) = self.rest().chars().next() else {
            return Fault::new(Kind::Malformed, self.at..self.at, "a number is missing")
                .help("write for example `30s`".to_owned());
        };
        let shown = quoted(c.encode_utf8(&mut [0; 4]));
        let fault = Fault::new(
            Kind::Malformed,
            self.at..self.at + c.len_utf8(),
            format!("{shown} has no meaning here"),
        );
        fault.help("write a duration like `500ms`, `1h30m` or `PT1H30M`".to_owned())
    }

    fn iso_malformed(&self) -> Fault {
        let end = self.at + self.rest().chars().next().map_or(0, char::len_utf8);
        let reason = "not an ISO-8601 duration of days, hours, minutes and seconds";
        Fault::new(Kind::Malformed, self.at..end, reason)
            .help("write for example `P1DT2H30M` or `PT1.5S`".to_owned())
    }
}

fn no_unit(text: &str) -> Fault {
    let reason = format!("{} has no unit", quoted(text));
    let help = is_quotable(text).then(|| {
        let whole_seconds =
            text.strip_suffix("000").filter(|seconds| seconds.parse::<i64>().is_ok());
        let seconds = whole_seconds.map_or(String::new(), |seconds| format!(" or `{seconds}s`"));
        format!("write `{text}ms`{seconds} (Spring's plain numbers are milliseconds)")
    });
    Fault::new(Kind::NoUnit, 0..text.len(), reason).help(help)
}

fn unknown_unit(text: &str, number: &Number, letters: Range<usize>) -> Fault {
    let (written, unit) = (&text[number.span.clone()], &text[letters.clone()]);
    let lower = unit.to_ascii_lowercase();
    let is_whole = number.span.start == 0 && letters.end == text.len() && is_quotable(text);
    let meant = match lower.as_str() {
        "n" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => Some("ns"),
        "u" | "micro" | "micros" | "microsecond" | "microseconds" => Some("us"),
        "milli" | "millis" | "msec" | "msecs" | "millisecond" | "milliseconds" => Some("ms"),
        "sec" | "secs" | "second" | "seconds" => Some("s"),
        "min" | "mins" | "minute" | "minutes" => Some("m"),
        "hr" | "hrs" | "hour" | "hours" => Some("h"),
        "day" | "days" => Some("d"),
        other => DurationUnit::from_suffix(other).map(DurationUnit::suffix),
    };
    let weeks =
        matches!(lower.as_str(), "w" | "week" | "weeks").then(|| written.parse::<i64>().ok());
    let help = match (meant, weeks.flatten().and_then(|weeks| weeks.checked_mul(7))) {
        (Some(suffix), _) if is_whole => format!("write `{written}{suffix}`"),
        (Some(suffix), _) => format!("write `{suffix}`"),
        (None, Some(days)) => format!("write `{days}d`"),
        (None, None) => "the units are `ns us ms s m h d`".to_owned(),
    };
    let reason = format!("{} is not a unit of time", quoted(unit));
    Fault::new(Kind::UnknownUnit, letters, reason).help(help)
}

fn too_long(span: Range<usize>, text: &str) -> Fault {
    let reason = format!("{} is too long a time", quoted(text));
    Fault::new(Kind::TooLong, span, reason).help("the longest duration is 2⁶³ seconds".to_owned())
}
