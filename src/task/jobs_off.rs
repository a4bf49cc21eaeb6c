//! Without the feature `durable` there are no jobs.

use super::transition::Transition;
use crate::observe::Outcome;
use crate::run::{Claimed, Run, Verdict};

/// None wait.
#[derive(Default)]
pub(super) struct WaitingJobs;

/// None end.
pub(super) type EndedJobs = ();

impl Transition<'_> {
    pub(super) fn next_job(&mut self) -> Option<Claimed> {
        None
    }

    pub(super) fn end_job(&mut self, _run: &Run, _outcome: &Outcome) {}

    pub(super) fn give_jobs_back(&mut self) {
        let WaitingJobs = self.state.jobs;
    }
}

pub(super) fn tell((): EndedJobs) {}

pub(super) fn heed_verdict(_run: &Run, _verdict: Option<Verdict>) -> bool {
    false
}

pub(super) fn outcome_of_success(_run: &Run) -> Outcome {
    Outcome::Success
}

pub(super) fn interrupt(_run: &Run) {}
