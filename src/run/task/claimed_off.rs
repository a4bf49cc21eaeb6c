//! Without the feature `durable` no job is claimed.

use crate::observe::Outcome;
use crate::run::{Run, Verdict};

/// None wait.
#[derive(Default)]
pub(super) struct WaitingJobs {}

/// None end.
#[derive(Default)]
pub(super) struct EndedJobs {}

pub(super) fn report_job_ends(EndedJobs {}: EndedJobs) {}

pub(super) fn apply_job_error(_run: &Run, _verdict: Option<Verdict>) -> bool {
    false
}

pub(super) fn outcome_of_success(_run: &Run) -> Outcome {
    Outcome::Success
}

pub(super) fn interrupt(_run: &Run) {}
