//! The wait of a failed job before its next attempt.

use std::time::Duration;

use scheduler_store::StoredJob;

use crate::run::task::Retry;

/// The wait before the next attempt: it doubles with each, up to the cap, and is longer by up to an eighth, which differs
/// from job to job, so that jobs that failed together do not all come back at once.
pub(super) fn retry_wait(job: &StoredJob, retry: Retry) -> Duration {
    let least = retry.longest_wait_after(job.attempt);
    let (high, low) = job.id.as_uuid().as_u64_pair();
    let part = u32::try_from((high ^ low ^ u64::from(job.attempt)) % 1_000).unwrap_or_default();
    least.saturating_add(least / 8 * part / 1_000)
}
