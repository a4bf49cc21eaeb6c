//! Cron expressions of other programs, turned into those of this one.
//!
//! # What this room is for
//!
//! A line of a crontab, an expression of Quartz and an `OnCalendar` of systemd look alike and mean different things:
//! where the week begins, what two day fields mean together, what a step counts from. Each reader here knows the
//! meaning of its own dialect, works out which values match, and writes them anew. What the person has to know
//! about the difference is a note.
//!
//! # What it must never do
//!
//! Guess. What has no equal here is refused, with the place and a way out.

mod items;
mod quartz;
mod systemd;
mod unix;

use clap::ValueEnum;
use scheduler_core::trigger::Zone;
use scheduler_expr::CronExpression;

use crate::fault::{self, Fault};
pub(crate) use unix::{Line, line as unix_line, of_macro as unix_macro};

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

/// What a text of any dialect means here.
#[derive(Clone, Debug)]
pub(crate) struct Converted {
    /// Expressions of which none fires when another does; nearly always one.
    pub(crate) expressions: Vec<CronExpression>,
    /// The zone that the text names.
    pub(crate) zone: Option<Zone>,
    /// What the conversion changed, and what the person has to know.
    pub(crate) notes: Vec<String>,
    /// What the other program does when the clock changes; of interest where that touches the expressions.
    pub(crate) on_clock_changes: Option<&'static str>,
}

impl Converted {
    fn one(expression: CronExpression, zone: Option<Zone>, notes: Vec<String>) -> Self {
        Self { expressions: vec![expression], zone, notes, on_clock_changes: None }
    }
}

/// Reads a text of a dialect.
pub(crate) fn read(text: &str, dialect: Dialect) -> Result<Converted, Fault> {
    match dialect {
        Dialect::Spring => Ok(Converted::one(fault::parse(text)?, None, Vec::new())),
        Dialect::Unix => unix::convert(text),
        Dialect::Quartz => quartz::convert(text),
        Dialect::Systemd => systemd::convert(text),
    }
}

/// The expression of these six fields, in its canonical text.
fn expression(fields: &[String; 6]) -> Result<CronExpression, Fault> {
    let written = fault::parse(&fields.join(" "))?;
    fault::parse(&written.to_string())
}

/// The values of a set, as a list.
fn list(set: u64) -> String {
    let values = (0..64).filter(|value| set & (1 << value) != 0);
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}
