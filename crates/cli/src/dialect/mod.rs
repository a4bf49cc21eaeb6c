//! Cron expressions of other programs, turned into those of this one.
//!
//! A line of a crontab, an expression of Quartz and an `OnCalendar` of systemd look alike and mean different things:
//! where the week begins, what two day fields mean together, what a step counts from. Each reader here knows the
//! meaning of its own dialect, works out which values match, and writes them anew. Notes tell the person about differences.
//!
//! Nothing is guessed: a text without an equivalent is refused, with the place and a way out.

use clap::ValueEnum;
use scheduler_core::trigger::Zone;
use scheduler_expr::CronExpression;

use crate::error::{self, CliError};
use crate::times::Touched;

pub(crate) use crate::dialect::unix::{CronFields, line as unix_line, of_macro as unix_macro};

mod field;
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
    fn one(expression: CronExpression, zone: Option<Zone>, notes: Vec<String>) -> Self {
        Self { expressions: vec![expression], zone, notes, on_clock_changes: None }
    }
}

/// The expression of these six fields, in its canonical text.
fn expression(fields: &[String; 6]) -> Result<CronExpression, CliError> {
    // Parsed again, so that carets of errors and lints are below what people see, which is the canonical text.
    let written = error::parse(&fields.join(" "))?;
    error::parse(&written.to_string())
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
    const MAKES_UP: Self = Self {
        note: "when the clock changes, cron runs what was left out right after the gap, and nothing twice; for that, write dst_gap = \"run_after\", dst_overlap = \"first\"",
        in_gaps: true,
    };

    /// Quartz.
    const RUNS_THE_SECOND: Self = Self {
        note: "when clocks go back, Quartz runs what comes twice only the second time; for that, write dst_overlap = \"last\"",
        in_gaps: false,
    };

    /// systemd.
    const RUNS_THE_FIRST: Self = Self {
        note: "when clocks go back, systemd runs what comes twice only the first time; for that, write dst_overlap = \"first\"",
        in_gaps: false,
    };

    /// The note for expressions that changes of the clock touch like this.
    pub(crate) fn note(self, touched: Touched) -> Option<&'static str> {
        (touched.by_overlap || self.in_gaps && touched.by_gap).then_some(self.note)
    }
}
