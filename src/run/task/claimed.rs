//! Claimed jobs as plain data: those that wait, those that are over, and what becomes of them.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::observe::{Failure, Outcome};
use crate::run::{ClaimedJob, JobEnd, Run, Verdict};

/// Jobs that wait for a thread, in the order in which the planner has them.
#[derive(Default)]
pub(super) struct WaitingJobs(pub(super) VecDeque<Arc<ClaimedJob>>);

/// Jobs that are over, to be reported with no lock held.
pub(super) type EndedJobs = Vec<(Arc<ClaimedJob>, JobEnd)>;

/// Reports how jobs ended. No lock may be held.
pub(super) fn report_job_ends(ended: EndedJobs) {
    ended.into_iter().for_each(|(job, end)| job.end(end));
}

/// Keeps what an attempt asks for beside its result. Returns true if that is to run again later.
pub(super) fn apply_job_error(run: &Run, verdict: Option<Verdict>) -> bool {
    let (Some(verdict), Some(job)) = (verdict, run.claimed()) else { return false };
    job.keep_verdict(verdict);
    matches!(verdict, Verdict::Snooze(_))
}

/// The outcome of a run that returned well.
pub(super) fn outcome_of_success(run: &Run) -> Outcome {
    match run.claimed().and_then(|job| job.verdict()) {
        Some(Verdict::Snooze(time)) => Outcome::Snoozed(time),
        _ => Outcome::Success,
    }
}

/// The pool has dropped the run of a job.
pub(super) fn interrupt(run: &Run) {
    if let Some(job) = run.claimed() {
        job.interrupt();
    }
}

/// How the run of a job ended, for the node.
pub(super) fn end_of(job: &ClaimedJob, run: &Run, outcome: &Outcome) -> JobEnd {
    if job.is_lost() {
        return JobEnd::Lost;
    }
    match (outcome, job.verdict()) {
        (Outcome::Success, _) => JobEnd::Succeeded,
        (Outcome::Snoozed(time), _) => JobEnd::Snoozed(*time),
        (Outcome::Error(failure), Some(Verdict::Undecodable)) => JobEnd::Undecodable(text(failure)),
        (Outcome::Error(failure), Some(Verdict::GiveUp)) => JobEnd::Discarded(text(failure)),
        (Outcome::Error(failure) | Outcome::Panic(failure), _) => JobEnd::Failed(text(failure)),
        (Outcome::Timeout(failure), _) => JobEnd::TimedOut(text(failure)),
        (Outcome::Refused(reason), _) => JobEnd::Refused(reason.to_string()),
        (Outcome::Lost, _) => JobEnd::Lost,
        (Outcome::Cancelled, _) if job.is_interrupted() || run.is_stopped_by_pool() => {
            JobEnd::Interrupted
        }
        (Outcome::Cancelled, _) => JobEnd::Cancelled,
    }
}

/// A failure with its causes, on one line.
fn text(failure: &Failure) -> String {
    format!("{}{}", failure.message(), failure.causes_after(": "))
}
