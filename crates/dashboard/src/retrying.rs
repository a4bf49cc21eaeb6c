//! Durable tasks whose jobs fail, and are tried again.

use std::collections::BTreeMap;

use scheduler::store::{AttemptOutcome, JobFilter, JobState, RunEnd, StoreTime, StoredJob};
use scheduler::{Jobs, JobsError};

/// So many failed attempts of a job in a row make its task fail.
const FAILURES_MIN: u64 = 2;
/// The number of jobs of a task that are looked at.
const JOBS_MAX: u32 = 20;

/// The failed attempts of the job of a task that has most, in whichever process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retrying {
    pub(crate) failures: u64,
    /// When the first of them began.
    pub(crate) since: StoreTime,
    pub(crate) first_error: String,
    pub(crate) last: RunEnd,
}

impl Retrying {
    fn of(job: &StoredJob) -> Option<Self> {
        let is_failure =
            |outcome| matches!(outcome, AttemptOutcome::Failed | AttemptOutcome::Undecodable);
        let failed = || job.attempts.iter().filter(|attempt| is_failure(attempt.outcome));
        let failures = failed().count() as u64;
        let (first, last) = failed().next().zip(failed().next_back())?;
        (failures >= FAILURES_MIN).then(|| Self {
            failures,
            since: first.started_at,
            first_error: first.error.clone(),
            last: RunEnd::parked(last.ended_at, Some(last.started_at), Some(last.error.clone())),
        })
    }
}

/// Those of these tasks that fail: a job of them waits for its next attempt, or makes it.
pub(crate) fn retrying(
    jobs: &Jobs,
    tasks: Vec<String>,
) -> Result<BTreeMap<String, Retrying>, JobsError> {
    let mut found = BTreeMap::new();
    for task in tasks {
        let mut worst: Option<Retrying> = None;
        for state in [JobState::Ready, JobState::Running] {
            let (task, state) = (Some(task.clone()), Some(state));
            let filter = JobFilter { task, state, has_error: true, ..JobFilter::default() };
            let listed = jobs.list(&filter, JOBS_MAX)?;
            let retrying = listed.iter().filter_map(Retrying::of);
            worst = retrying.chain(worst).max_by_key(|retrying| retrying.failures);
        }
        found.extend(worst.map(|worst| (task, worst)));
    }
    Ok(found)
}
