//! Which ticks of a schedule fire, and which are skipped.
//!
//! # What this room is for
//!
//! A schedule is a cursor over its ticks. From the row, the store's clock and the policy, [`plan()`] computes the statements
//! that decide the ticks which have come: what becomes of each follows from whether it fell into a pause, came during an
//! unfinished job, or was missed.
//!
//! # What it must never do
//!
//! Walk over all ticks of a long outage. Counting is arithmetic for rates, and bounded for computed rules.

mod plan;
mod sequence;
#[cfg(test)]
mod tests;

pub(crate) use plan::{Plan, plan};
pub use sequence::COUNTED_MAX;
