//! Without the feature `durable` there are no jobs.

use std::sync::Arc;

use super::claimed::WaitingJobs;
use super::locked_task::LockedTask;
use crate::observe::Outcome;
use crate::run::{ClaimedJob, Run};

impl LockedTask<'_> {
    pub(super) fn next_job(&mut self) -> Option<Arc<ClaimedJob>> {
        None
    }

    pub(super) fn end_job(&mut self, _run: &Run, _outcome: &Outcome) {}

    pub(super) fn give_jobs_back(&mut self) {
        let WaitingJobs {} = self.state.jobs;
    }
}
