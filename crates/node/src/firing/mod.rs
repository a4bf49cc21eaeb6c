//! The ticks of a schedule that fire, and those that are skipped.
//!
//! A schedule is a cursor over its ticks. From the row, the store's clock and the policy, [`plan()`] computes the
//! statements that decide the ticks which have come: a tick fell into a pause, came during an unfinished job, was
//! missed, or fires. No plan walks over all ticks of a long outage: counting is arithmetic for rates, and bounded for
//! computed rules.

mod plan;
mod sequence;
#[cfg(test)]
mod tests;

pub(crate) use plan::{Plan, plan};
pub use sequence::COUNTED_MAX;
