//! Run counters of removed tasks.

use std::sync::Arc;

use super::Counters;
use crate::base::sync::Mutex;

/// The counts of the stop report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) runs: u64,
    pub(crate) failures: u64,
    pub(crate) skipped: u64,
    /// True if more may have been skipped.
    pub(crate) at_least: bool,
}

/// A sum shared by tasks whose runs may still be in progress.
///
/// INVARIANT: its lock is taken last of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedTotals(Arc<Mutex<Totals>>);

impl Totals {
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            runs: self.runs.saturating_add(more.runs),
            failures: self.failures.saturating_add(more.failures),
            skipped: self.skipped.saturating_add(more.skipped),
            at_least: self.at_least || more.at_least,
        }
    }
}

impl From<&Counters> for Totals {
    fn from(counters: &Counters) -> Self {
        let (failures, skipped) = (counters.failures(), counters.skipped());
        Self { runs: counters.runs, failures, skipped, at_least: counters.skipped_at_least }
    }
}

impl SharedTotals {
    pub(crate) fn add(&self, more: Totals) {
        let mut sum = self.0.lock();
        *sum = sum.and(more);
    }

    pub(crate) fn sum(&self) -> Totals {
        *self.0.lock()
    }
}
