//! The runs of claimed jobs, and their numbers.
//!
//! Without the feature `durable` the stored job has no value: an empty `match` ends such a path.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::Outcome;
use crate::run::{ClaimedJob, JobErrorKind, Run};
use crate::task::locked_task::LockedTask;
use crate::task::scheduled_task::LazyBox;

#[cfg(not(feature = "durable"))]
use std::convert::Infallible as End;

#[cfg(feature = "durable")]
use scheduler_store::End;

#[cfg(feature = "durable")]
use super::locked_task::Effect;

impl LockedTask<'_> {
    /// Admits the job that waits longest: [`Planner::fire`](super::planner::Planner::fire) starts it. Jobs that were
    /// withdrawn, or whose lease is over, never start.
    ///
    /// INVARIANT: `fire` starts it at once. Jobs have no limit here, and no pause: the node never claims more than
    /// `max_concurrent`.
    pub(super) fn admit_next_job(&mut self) {
        while let Some(job) = self.state.planner.next_job().cloned() {
            if job.begin() {
                return;
            }
            self.state.planner.drop_next_job();
            self.give_back(&job);
        }
    }

    /// Gives a job back that does not start.
    pub(super) fn give_back(&mut self, job: &Arc<ClaimedJob>) {
        #[cfg(feature = "durable")]
        self.effects.push(Effect::EndJob(Arc::clone(job), scheduler_store::End::GiveBack));
        #[cfg(not(feature = "durable"))]
        match *job.job() {}
    }

    /// Reports the end of a job's run.
    pub(super) fn end_job(&mut self, run: &Run, end: Option<End>) {
        let (Some(job), Some(end)) = (run.claimed(), end) else { return };
        #[cfg(feature = "durable")]
        self.effects.push(Effect::EndJob(Arc::clone(job), end));
        #[cfg(not(feature = "durable"))]
        match (end, job) {}
    }
}

/// Records the kind of error that an attempt of a job has returned. Returns true if the job is only put off.
pub(super) fn record_error_kind(run: &Run, kind: Option<JobErrorKind>) -> bool {
    let (Some(kind), Some(job)) = (kind, run.claimed()) else { return false };
    job.set_error_kind(kind);
    matches!(kind, JobErrorKind::Snooze(_))
}

/// The outcome of a run that has returned without a failure.
pub(super) fn outcome_of_success(run: &Run) -> Outcome {
    match run.claimed().and_then(|job| job.error_kind()) {
        Some(JobErrorKind::Snooze(time)) => Outcome::Snoozed(time),
        _ => Outcome::Success,
    }
}

/// The end of the claim of the job that has run; none if the run has no job.
pub(super) fn end_of_job(run: &Run, outcome: &Outcome) -> Option<End> {
    let job = run.claimed()?;
    if *outcome == Outcome::Cancelled && run.is_stopped_by_pool() {
        job.interrupt();
    }
    #[cfg(feature = "durable")]
    return Some(claims::end_of(job, outcome));
    #[cfg(not(feature = "durable"))]
    match *job.job() {}
}

/// The wait before the next attempt of a job whose claim ends so, if it failed and the store has it tried again.
pub(super) fn next_attempt_of_job(
    run: &Run,
    outcome: &Outcome,
    end: Option<&End>,
) -> Option<Duration> {
    let (job, end) = run.claimed().zip(end).filter(|_| outcome.is_failure())?;
    #[cfg(feature = "durable")]
    return job.job().wait_after(end);
    #[cfg(not(feature = "durable"))]
    match (*end, job) {}
}

/// Takes note that the pool has dropped a run, if it runs a job.
pub(super) fn interrupt(run: &Run) {
    if let Some(job) = run.claimed() {
        job.interrupt();
    }
}

#[cfg(feature = "durable")]
mod claims {
    use std::sync::Arc;
    use std::time::Duration;

    use chrono::{DateTime, Utc};
    use scheduler_store::End;

    use crate::observe::{EventKind, Failure, Outcome, SkipReason};
    use crate::run::{ClaimedJob, JobErrorKind, Run, StopCause, UNDECODABLE_LIMIT};
    use crate::task::control::Control;
    use crate::task::locked_task::LockedTask;
    use crate::task::rule::Rule;

    /// The wait of a job whose payload this process cannot decode: another build may come that can.
    const UNDECODABLE_WAIT: Duration = Duration::from_secs(60);

    /// The wait of a job that a gate has refused.
    const REFUSED_WAIT: Duration = Duration::from_secs(10);

    /// The end of a claim after a run with this outcome.
    pub(super) fn end_of(job: &ClaimedJob, outcome: &Outcome) -> End {
        if job.is_lost() {
            return job.end_of_lost();
        }
        let failed = |failure| End::Failed { after: job.retry_after, error: text(failure) };
        match (outcome, job.error_kind()) {
            (Outcome::Success, _) => End::Done,
            (Outcome::Snoozed(after), _) => End::Snooze { after: *after },
            (Outcome::Error(failure), Some(JobErrorKind::Undecodable)) => {
                let (after, limit) = (UNDECODABLE_WAIT, UNDECODABLE_LIMIT);
                End::Undecodable { after, error: text(failure), limit }
            }
            (Outcome::Error(failure), Some(JobErrorKind::GiveUp)) => {
                End::Park { error: text(failure) }
            }
            (Outcome::Error(failure) | Outcome::Panic(failure) | Outcome::Timeout(failure), _) => {
                failed(failure)
            }
            // A tick that a gate refuses is skipped, as without a store; a job waits.
            (Outcome::Refused(_), _) if job.job().origin.is_some() => End::Cancelled,
            (Outcome::Refused(_), _) => End::Snooze { after: REFUSED_WAIT },
            (Outcome::Lost, _) => job.end_of_lost(),
            (Outcome::Cancelled, _) if job.is_interrupted() => job.end_of_interrupted(),
            (Outcome::Cancelled, _) => End::Cancelled,
        }
    }

    /// A failure with its causes, on one line.
    fn text(failure: &Failure) -> String {
        format!("{}{}", failure.message(), failure.causes_after(": "))
    }

    impl Control {
        /// Runs a claimed job, concurrently with others, as soon as a thread of the pool is free. Returns false, and gives the
        /// job back, if the task has ended or runs no jobs.
        pub(crate) fn start_job(&self, job: &Arc<ClaimedJob>) -> bool {
            let task = Arc::downgrade(&self.task);
            job.on_stop(Box::new(move |job, cause| {
                if let Some(task) = task.upgrade() {
                    Self { task }.stop_job(job, cause);
                }
            }));
            let mut locked = self.lock();
            let is_taken =
                locked.state.end.is_none() && matches!(locked.state.planner.rule(), Rule::Job);
            if is_taken {
                let now = locked.now;
                locked.state.planner.request_job(Arc::clone(job), now);
            } else {
                locked.give_back(job);
            }
            locked.commit();
            is_taken
        }

        /// Counts and reports skipped ticks of its durable schedule up to this one: how many, and whether there may be
        /// more.
        pub(crate) fn report_skips(
            &self,
            reason: SkipReason,
            count: u64,
            at_least: bool,
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
        fn stop_job(&mut self, job: &ClaimedJob, cause: StopCause) {
            let runs_it =
                |run: &Run| run.claimed().is_some_and(|claimed| std::ptr::eq(&**claimed, job));
            let active = &self.state.active;
            if let Some(index) = active.iter().position(|active| runs_it(&active.run)) {
                self.state.active[index].is_cancelled = true;
                self.ask_to_stop(index, cause);
            }
        }
    }
}

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
