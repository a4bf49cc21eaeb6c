//! The runs of claimed jobs: by the same code as every other run, but a node says when one starts.
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::claimed::end_of;
use super::control::Control;
use super::locked_task::LockedTask;
use super::rule::Rule;
use crate::observe::{EventKind, Outcome, SkipReason};
use crate::run::{ClaimedJob, JobEnd, Run, StopCause};

impl Control {
    /// Runs a claimed job as soon as a thread of the pool is free, beside all others. Returns false if the task has
    /// ended or runs no jobs: then the job ends as [`JobEnd::NeverStarted`].
    pub(crate) fn start_job(&self, job: &Arc<ClaimedJob>) -> bool {
        let task = Arc::downgrade(&self.task);
        job.on_stop(Box::new(move |job, cause| {
            if let Some(task) = task.upgrade() {
                Self { task }.stop_job(job, cause);
            }
        }));
        let mut locked = self.lock();
        let is_taken = locked.state.end.is_none() && matches!(locked.state.rule, Rule::Job);
        if is_taken {
            let now = locked.now;
            locked.state.planner.ask_for_job(now);
            locked.state.jobs.0.push_back(Arc::clone(job));
        } else {
            locked.effects.rare().jobs.push((Arc::clone(job), JobEnd::NeverStarted));
        }
        locked.commit();
        is_taken
    }

    /// Counts and reports ticks of its durable schedule that were skipped, up to this one: how many, and whether there may be
    /// more.
    pub(crate) fn report_skips(
        &self,
        reason: SkipReason,
        (count, at_least): (u64, bool),
        last: DateTime<Utc>,
    ) {
        let mut locked = self.lock();
        locked.state.history.skip(reason, count, at_least);
        let (first, blocked) = (last, None);
        locked.report(EventKind::Skipped { reason, first, last, count, at_least, blocked });
        locked.commit();
    }

    /// Asks the run of a job to stop, if it is in progress.
    fn stop_job(&self, job: &ClaimedJob, cause: StopCause) {
        let mut locked = self.lock();
        locked.stop_job(job, cause);
        locked.commit();
    }
}

impl LockedTask<'_> {
    /// Begins the job that waits longest. Those that were withdrawn meanwhile, or whose lease is over, never begin.
    pub(super) fn next_job(&mut self) -> Option<Arc<ClaimedJob>> {
        while let Some(job) = self.state.jobs.0.pop_front() {
            if job.begin() {
                return Some(job);
            }
            self.state.planner.forget_job();
            self.effects.rare().jobs.push((job, JobEnd::NeverStarted));
        }
        None
    }

    fn stop_job(&mut self, job: &ClaimedJob, cause: StopCause) {
        let is_its = |run: &Run| run.claimed().is_some_and(|own| std::ptr::eq(&**own, job));
        let found = self.state.active.iter().position(|active| is_its(&active.run));
        if let Some(index) = found {
            self.state.active[index].is_cancelled = true;
            self.ask_to_stop(index, cause);
        }
    }

    /// Reports the end of a job's run.
    pub(super) fn end_job(&mut self, run: &Run, outcome: &Outcome) {
        if let Some(job) = run.claimed() {
            let end = end_of(job, run, outcome);
            self.effects.rare().jobs.push((Arc::clone(job), end));
        }
    }

    /// The jobs that wait do not begin any more: the task has ended.
    pub(super) fn give_jobs_back(&mut self) {
        let jobs = std::mem::take(&mut self.state.jobs.0);
        if !jobs.is_empty() {
            let unrun = jobs.into_iter().map(|job| (job, JobEnd::NeverStarted));
            self.effects.rare().jobs.extend(unrun);
        }
    }
}
