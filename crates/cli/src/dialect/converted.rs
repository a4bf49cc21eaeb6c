//! What a text of any dialect means here.

use scheduler_core::trigger::Zone;
use scheduler_expr::CronExpression;

use super::on_clock_changes::OnClockChanges;
use crate::fault::{self, Fault};

/// What a text of any dialect means here.
#[derive(Clone, Debug)]
pub(crate) struct Converted {
    /// Expressions of which none fires when another does; nearly always one.
    pub(crate) expressions: Vec<CronExpression>,
    /// The zone that the text names.
    pub(crate) zone: Option<Zone>,
    /// What the conversion changed, and what the person has to know.
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
pub(super) fn expression(fields: &[String; 6]) -> Result<CronExpression, Fault> {
    let written = fault::parse(&fields.join(" "))?;
    fault::parse(&written.to_string())
}

/// The values of a set, as a list.
pub(super) fn list(set: u64) -> String {
    let values = (0..64).filter(|value| set & (1 << value) != 0);
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}
