//! The result of reading a text of any dialect.

use scheduler_core::trigger::Zone;
use scheduler_expr::CronExpression;

use crate::changes::Touched;
use crate::error::{self, CliError};

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
