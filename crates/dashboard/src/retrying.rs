//! Durable tasks whose jobs fail, and are tried again.

use std::collections::{BTreeMap, BTreeSet};

use scheduler::store::{AttemptOutcome, JobFilter, JobState, RunEnd, StoreTime, StoredJob};
use scheduler::{Jobs, JobsError};

/// So many failed attempts of a job in a row make its task fail.
const FAILURES_MIN: u64 = 2;
/// The number of jobs that one question is about.
const JOBS_MAX: u32 = 500;
/// Of so many tasks each is asked for, so that the jobs of no other hide theirs; of more the newest jobs of all.
const TASKS_MAX: usize = 8;

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
    tasks: &BTreeSet<String>,
) -> Result<BTreeMap<String, Retrying>, JobsError> {
    let asked: Vec<Option<&String>> =
        if tasks.len() > TASKS_MAX { vec![None] } else { tasks.iter().map(Some).collect() };
    let mut found = BTreeMap::<String, Retrying>::new();
    for task in asked {
        for state in [JobState::Ready, JobState::Running] {
            let (task, state) = (task.cloned(), Some(state));
            let filter = JobFilter { task, state, has_error: true, ..JobFilter::default() };
            for job in jobs.list(&filter, JOBS_MAX)? {
                let Some(retrying) = Retrying::of(&job).filter(|_| tasks.contains(&job.task))
                else {
                    continue;
                };
                let worst = found.entry(job.task).or_insert_with(|| retrying.clone());
                if worst.failures < retrying.failures {
                    *worst = retrying;
                }
            }
        }
    }
    Ok(found)
}
