//! The runs of claimed jobs: by the same code as every other run, but a node says when one starts.
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::claimed::end_of;
use super::control::Control;
use super::rule::Rule;
use super::transition::Transition;
use crate::observe::{EventKind, Outcome, SkipReason};
use crate::run::{Claimed, JobEnd, JobRun, Run, StopCause};

impl Control {
    /// Runs a claimed job as soon as a thread of the pool is free, beside all others. Returns false if the task has
    /// ended or runs no jobs: then the job ends as [`JobEnd::Unrun`].
    pub(crate) fn start_job(&self, job: &Claimed) -> bool {
        let ticker = Arc::downgrade(&self.ticker);
        job.on_stop(Box::new(move |job, cause| {
            if let Some(ticker) = ticker.upgrade() {
                Self { ticker }.stop_job(job, cause);
            }
        }));
        let mut transition = self.transition();
        let is_taken = transition.state.end.is_none() && matches!(transition.state.rule, Rule::Job);
        if is_taken {
            let now = transition.now;
            transition.state.planner.ask_for_job(now);
            transition.state.jobs.0.push_back(Arc::clone(job));
        } else {
            transition.effects.rare().jobs.push((Arc::clone(job), JobEnd::Unrun));
        }
        transition.commit();
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
        let mut transition = self.transition();
        transition.state.history.skip(reason, count, at_least);
        let (first, blocked) = (last, None);
        transition.report(EventKind::Skipped { reason, first, last, count, at_least, blocked });
        transition.commit();
    }

    /// Asks the run of a job to stop, if it is in progress.
    fn stop_job(&self, job: &JobRun, cause: StopCause) {
        let mut transition = self.transition();
        transition.stop_job(job, cause);
        transition.commit();
    }
}

impl Transition<'_> {
    /// Begins the job that waits longest. Those that were withdrawn meanwhile, or whose lease is over, never begin.
    pub(super) fn next_job(&mut self) -> Option<Claimed> {
        while let Some(job) = self.state.jobs.0.pop_front() {
            if job.begin() {
                return Some(job);
            }
            self.state.planner.forget_job();
            self.effects.rare().jobs.push((job, JobEnd::Unrun));
        }
        None
    }

    fn stop_job(&mut self, job: &JobRun, cause: StopCause) {
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
            let unrun = jobs.into_iter().map(|job| (job, JobEnd::Unrun));
            self.effects.rare().jobs.extend(unrun);
        }
    }
}
