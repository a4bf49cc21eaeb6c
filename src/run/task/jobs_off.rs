//! Without the feature `durable` there are no jobs.

use super::claimed::WaitingJobs;
use super::transition::Transition;
use crate::observe::Outcome;
use crate::run::{Claimed, Run};

impl Transition<'_> {
    pub(super) fn next_job(&mut self) -> Option<Claimed> {
        None
    }

    pub(super) fn end_job(&mut self, _run: &Run, _outcome: &Outcome) {}

    pub(super) fn give_jobs_back(&mut self) {
        let WaitingJobs {} = self.state.jobs;
    }
}
