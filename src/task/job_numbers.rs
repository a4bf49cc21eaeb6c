//! The run numbers of jobs between their attempts.

use std::collections::BTreeMap;

use super::lazy_box::LazyBox;
use crate::run::{ClaimedJob, Run};

/// The number of jobs between two attempts whose numbers are kept. A job may never come back to this process.
const NUMBERS_KEPT: usize = 1_000;

/// The numbers of runs of jobs that are tried again, by job: the next attempt has the same number if it takes place here.
#[derive(Debug, Default)]
pub(super) struct JobNumbers(LazyBox<BTreeMap<u128, u64>>);

impl JobNumbers {
    /// Keeps the number of a run for the next attempt of its job.
    pub(super) fn keep(&mut self, run: &Run) {
        let Some(job) = run.claimed() else { return };
        self.0.insert(job.number(), run.number());
        if self.0.len() > NUMBERS_KEPT {
            // The oldest, since identities begin with a time.
            self.0.pop_first();
        }
    }

    /// The number that was kept for a job.
    pub(super) fn take(&mut self, job: &ClaimedJob) -> Option<u64> {
        if self.0.is_empty() { None } else { self.0.remove(&job.number()) }
    }
}
