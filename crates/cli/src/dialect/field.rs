//! Reads a field of another program's expressions into the numbers it matches.

use std::ops::Range;

use scheduler_expr::quoted;

use crate::error::CliError;

/// A field of a dialect: its name, its numbers, and the names of its numbers from `first_name` on.
pub(super) struct DialectField {
    pub(super) name: &'static str,
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) names: &'static [&'static str],
    pub(super) first_name: u32,
}

/// The items that a dialect allows.
#[derive(Clone, Copy)]
pub(super) struct FieldSyntax {
    /// The separator of a range.
    pub(super) range: &'static str,
    /// True if a range may run over the end of its field.
    pub(super) wraps: bool,
    /// True if `5/10` is 5 and every tenth after it.
    pub(super) steps_from_a_number: bool,
    /// True if `*/10` is allowed.
    pub(super) steps_from_star: bool,
    /// Lets `/10` mean `*/10`.
    pub(super) steps_from_nothing: bool,
    /// True if a step may exceed its field.
    pub(super) long_steps: bool,
    /// Rejects a step from a number that reaches no other one.
    pub(super) rejects_single_value_steps: bool,
}

/// A part of the text, and the byte at which it begins.
#[derive(Clone, Copy)]
pub(super) struct TextPart<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

/// An error in a part of the text.
pub(super) struct PartError {
    span: Range<usize>,
    reason: String,
    help: Option<String>,
}

impl PartError {
    pub(super) fn new(word: TextPart<'_>, reason: impl Into<String>) -> Self {
        let span = word.at..word.at + word.text.len();
        Self { span, reason: reason.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// As a fault in a text; `what` begins the message, such as `invalid crontab line`.
    pub(super) fn in_text(self, text: &str, what: &str, field: &str) -> CliError {
        let fault = CliError::no(format!("{what}: {}", self.reason)).at(text, self.span, field);
        match self.help {
            Some(help) => fault.help(help),
            None => fault,
        }
    }
}

impl<'a> TextPart<'a> {
    pub(super) fn split(self, separator: char) -> impl Iterator<Item = TextPart<'a>> {
        let mut at = self.at;
        self.text.split(separator).map(move |text| {
            let word = TextPart { text, at };
            at += text.len() + separator.len_utf8();
            word
        })
    }

    pub(super) fn split_once(self, separator: &str) -> Option<(TextPart<'a>, TextPart<'a>)> {
        let (before, after) = self.text.split_once(separator)?;
        let at = self.at + before.len() + separator.len();
        Some((TextPart { text: before, at: self.at }, TextPart { text: after, at }))
    }
}

/// The words of a text that are separated by blanks.
pub(super) fn words(text: &str) -> Vec<TextPart<'_>> {
    let offset = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace().map(|word| TextPart { text: word, at: offset(word) }).collect()
}

impl DialectField {
    /// All numbers of the field.
    pub(super) fn all(&self) -> u64 {
        (self.min..=self.max).fold(0, |set, number| set | 1 << number)
    }

    /// Reads a list of items into a set, bit `n` for the number `n`.
    pub(super) fn read(&self, word: TextPart<'_>, syntax: FieldSyntax) -> Result<u64, PartError> {
        word.split(',').try_fold(0, |set, item| Ok(set | self.read_item(item, syntax)?))
    }

    /// Reads one item.
    pub(super) fn read_item(
        &self,
        item: TextPart<'_>,
        syntax: FieldSyntax,
    ) -> Result<u64, PartError> {
        if item.text.is_empty() {
            return Err(PartError::new(item, format!("the {} list has an empty item", self.name))
                .help("remove the surplus comma"));
        }
        let (base, step) = match item.split_once("/") {
            Some((base, step)) => (base, Some(step)),
            None => (item, None),
        };
        let ends = base.split_once(syntax.range);
        let (start, end) = match (base.text, ends) {
            ("*", _) if step.is_some() && !syntax.steps_from_star => {
                return Err(PartError::new(item, "a step needs a number to begin with")
                    .help(format!("write `{}/{}`", self.min, step.map_or("", |step| step.text))));
            }
            ("", _) if step.is_some() && !syntax.steps_from_nothing => {
                let step = step.map_or("", |step| step.text);
                let from =
                    if syntax.steps_from_star { "*".to_owned() } else { self.min.to_string() };
                return Err(PartError::new(item, "a step needs something to begin with")
                    .help(format!("write `{from}/{step}`")));
            }
            ("*", _) => (self.min, self.max),
            ("", _) if step.is_some() => (self.min, self.max),
            (_, Some((first, last))) => (self.number(first)?, self.number(last)?),
            _ => match (self.number(base)?, step) {
                (number, None) => (number, number),
                (number, Some(_)) if syntax.steps_from_a_number => (number, self.max),
                (number, Some(step)) => {
                    let instead = format!("write `{number}-{}/{}`", self.max, step.text);
                    return Err(
                        PartError::new(item, "a step needs a range or `*` before it").help(instead)
                    );
                }
            },
        };
        let is_open = step.is_some() && ends.is_none();
        let step = step.map_or(Ok(1), |step| self.step(step, syntax))?;
        if syntax.rejects_single_value_steps && is_open && step > (end - start) as usize {
            return Err(PartError::new(item, format!("the step leaves the {} at once", self.name))
                .help(format!("write `{start}`")));
        }
        if start > end && !syntax.wraps {
            let reason = format!("the {} range runs backwards", self.name);
            return Err(
                PartError::new(item, reason).help(self.wrapped_range_help(start, end, syntax))
            );
        }
        Ok(self.between(start, end, step))
    }

    /// The help for a range that runs over the end of the field.
    fn wrapped_range_help(&self, start: u32, end: u32, syntax: FieldSyntax) -> String {
        let range = |from: u32, to: u32| match from == to {
            true => from.to_string(),
            false => format!("{from}{}{to}", syntax.range),
        };
        // The last day of a week from 0 to 7 is its first.
        let is_sunday = self.max == 7 && end == self.min;
        match is_sunday {
            true => format!("write `{}`", range(start, self.max)),
            false => format!("write `{},{}`", range(start, self.max), range(self.min, end)),
        }
    }

    /// The numbers of a range, which may run over the end of the field, as 22 to 2 does.
    pub(super) fn between(&self, start: u32, end: u32, step: usize) -> u64 {
        if start <= end {
            return (start..=end).step_by(step).fold(0, |set, number| set | 1 << number);
        }
        let size = self.max - self.min + 1;
        let values = (start..=end + size).step_by(step);
        values.fold(0, |set, number| set | 1 << ((number - self.min) % size + self.min))
    }

    fn step(&self, step: TextPart<'_>, syntax: FieldSyntax) -> Result<usize, PartError> {
        match digits(step.text) {
            Some(0) => Err(PartError::new(step, "the step is zero").help("the smallest step is 1")),
            Some(number) if number <= self.max || syntax.long_steps => Ok(number as usize),
            Some(_) => Err(PartError::new(step, format!("the step exceeds the {}", self.name))
                .help(format!("the greatest step is {}", self.max))),
            None => {
                Err(PartError::new(step, format!("the step {} is not a number", quoted(step.text)))
                    .help("a step is a number, as in `*/5`"))
            }
        }
    }

    /// The number that a word stands for.
    pub(super) fn number(&self, word: TextPart<'_>) -> Result<u32, PartError> {
        let shown = quoted(word.text);
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(word.text));
        let number =
            named.map(|index| index as u32 + self.first_name).or_else(|| digits(word.text));
        match number {
            Some(number) if (self.min..=self.max).contains(&number) => Ok(number),
            Some(_) => Err(PartError::new(
                word,
                format!("{} {shown} is out of range {}-{}", self.name, self.min, self.max),
            )),
            None => Err(PartError::new(word, format!("{} {shown} is not a number", self.name))),
        }
    }
}

/// The values of a set, as a list.
pub(super) fn list(set: u64) -> String {
    let values = (0..64).filter(|value| set & (1 << value) != 0);
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}

/// The value of ASCII digits; a number too long to matter is as good as the greatest.
pub(super) fn digits(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u32::MAX))
}

pub(super) const MONTHS: &[&str] =
    &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/// Sunday first.
pub(super) const DAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
