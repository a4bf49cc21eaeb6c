//! Cron expressions of other programs, turned into those of this one.
//!
//! A line of a crontab, an expression of Quartz and an `OnCalendar` of systemd look alike and mean different things:
//! where the week begins, what two day fields mean together, what a step counts from. Each reader here knows the
//! meaning of its own dialect, works out which values match, and writes them anew. Notes tell the person about differences.
//!
//! Nothing is guessed: a text without an equivalent is refused, with the place and a way out.

use std::ops::Range;

use clap::ValueEnum;
use scheduler_core::trigger::Zone;
use scheduler_expr::{CronExpression, quoted};

use crate::error::{self, CliError};
use crate::times::Touched;

pub(crate) use crate::dialect::unix::{CronFields, line as unix_line, of_macro as unix_macro};

mod quartz;
mod systemd;
mod unix;

/// Whose cron expressions are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// Spring's six fields, which are those of this program.
    Spring,
    /// The five fields of a crontab.
    Unix,
    /// The six or seven fields of Quartz.
    Quartz,
    /// The `OnCalendar=` of a systemd timer.
    Systemd,
}

/// Reads a text of a dialect.
pub(crate) fn read(text: &str, dialect: Dialect) -> Result<Converted, CliError> {
    match dialect {
        Dialect::Spring => Ok(Converted::one(error::parse(text)?, None, Vec::new())),
        Dialect::Unix => unix::convert(text),
        Dialect::Quartz => quartz::convert(text),
        Dialect::Systemd => systemd::convert(text),
    }
}

/// The expressions of a text of any dialect.
#[derive(Clone, Debug)]
pub(crate) struct Converted {
    /// Expressions that never fire at the same time; nearly always one.
    pub(crate) expressions: Vec<CronExpression>,
    /// The zone that the text names.
    pub(crate) zone: Option<Zone>,
    /// Differences that the person has to know.
    pub(crate) notes: Vec<String>,
    /// The difference of the other program at changes of the clock.
    pub(crate) on_clock_changes: Option<OnClockChanges>,
}

impl Converted {
    pub(super) fn one(expression: CronExpression, zone: Option<Zone>, notes: Vec<String>) -> Self {
        Self { expressions: vec![expression], zone, notes, on_clock_changes: None }
    }
}

/// The expression of these six fields, in its canonical text.
pub(super) fn expression(fields: &[String; 6]) -> Result<CronExpression, CliError> {
    let written = error::parse(&fields.join(" "))?;
    error::parse(&written.to_string())
}

/// The values of a set, as a list.
pub(super) fn list(set: u64) -> String {
    let values = (0..64).filter(|value| set & (1 << value) != 0);
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}

/// The way in which another program treats clock changes, where it differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OnClockChanges {
    note: &'static str,
    /// True if it differs where clocks go forward.
    in_gaps: bool,
}

impl OnClockChanges {
    /// Vixie's cron and its descendants, for lines with fixed times.
    pub(super) const MAKES_UP: Self = Self {
        note: "when the clock changes, cron runs what was left out right after the gap, and nothing twice; for that, write dst_gap = \"run_after\", dst_overlap = \"first\"",
        in_gaps: true,
    };

    /// Quartz.
    pub(super) const RUNS_THE_SECOND: Self = Self {
        note: "when clocks go back, Quartz runs what comes twice only the second time; for that, write dst_overlap = \"last\"",
        in_gaps: false,
    };

    /// systemd.
    pub(super) const RUNS_THE_FIRST: Self = Self {
        note: "when clocks go back, systemd runs what comes twice only the first time; for that, write dst_overlap = \"first\"",
        in_gaps: false,
    };

    /// The note for expressions that changes of the clock touch like this.
    pub(crate) fn note(self, touched: Touched) -> Option<&'static str> {
        (touched.by_overlap || self.in_gaps && touched.by_gap).then_some(self.note)
    }
}

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
    pub(super) span: Range<usize>,
    pub(super) reason: String,
    pub(super) help: Option<String>,
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

    /// As a fault in a text of what the dialect calls its expressions.
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
                PartError::new(item, reason).help(self.split_wrapped_range(start, end, syntax))
            );
        }
        Ok(self.between(start, end, step))
    }

    /// The help for a range that runs over the end of the field.
    fn split_wrapped_range(&self, start: u32, end: u32, syntax: FieldSyntax) -> String {
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

/// The value of ASCII digits; a number too long to matter is as good as the greatest.
pub(super) fn digits(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u32::MAX))
}

pub(super) const MONTHS: &[&str] =
    &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/// Sunday first.
pub(super) const DAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
