//! What the runs of all removed tasks came to together: they are not there any more to be asked.

use std::sync::PoisonError;

use crate::sync::Mutex;

use super::Counters;

/// What runs came to, as far as the last words need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) runs: u64,
    pub(crate) failures: u64,
    pub(crate) skipped: u64,
}

/// A sum that goes on while runs of its tasks are in progress.
///
/// INVARIANT: its lock is taken last of all.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    sum: Mutex<Totals>,
}

impl Totals {
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            runs: self.runs.saturating_add(more.runs),
            failures: self.failures.saturating_add(more.failures),
            skipped: self.skipped.saturating_add(more.skipped),
        }
    }
}

impl From<&Counters> for Totals {
    fn from(counters: &Counters) -> Self {
        let (failures, skipped) = (counters.failures(), counters.skipped());
        Self { runs: counters.runs, failures, skipped }
    }
}

impl Ledger {
    pub(crate) fn add(&self, more: Totals) {
        let mut sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        *sum = sum.and(more);
    }

    pub(crate) fn sum(&self) -> Totals {
        *self.sum.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
