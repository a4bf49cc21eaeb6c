//! How the end of a run becomes the end of a claim.

use std::time::Duration;

use scheduler_store::{End, OnLost, StoredJob};

use crate::run::JobEnd;
use crate::run::task::Retry;

/// How long a job waits whose payload this process cannot decode: another build may come that can.
const UNDECODABLE_WAIT: Duration = Duration::from_secs(60);

/// After how many such waits it is parked.
const UNDECODABLE_LIMIT: u32 = 5;

/// How long a job waits that a gate has refused.
const REFUSED_WAIT: Duration = Duration::from_secs(10);

pub(super) fn end_of(job: &StoredJob, end: JobEnd, retry: Retry) -> End {
    let failed = |error| End::Failed { after: retry_wait(job, retry), error };
    match end {
        JobEnd::Succeeded => End::Done,
        JobEnd::Failed(error) | JobEnd::TimedOut(error) => failed(error),
        JobEnd::Cancelled => End::Cancelled,
        JobEnd::Undecodable(error) => {
            End::Undecodable { after: UNDECODABLE_WAIT, error, limit: UNDECODABLE_LIMIT }
        }
        JobEnd::Snoozed(after) => End::Snooze { after },
        JobEnd::Discarded(error) => End::Park { error },
        // A tick that a gate refuses is skipped, as without a store; a job waits.
        JobEnd::Refused(_) if job.origin.is_some() => End::Cancelled,
        JobEnd::Refused(_) => End::Snooze { after: REFUSED_WAIT },
        JobEnd::Interrupted if job.on_lost == OnLost::Abandon => {
            End::Park { error: "interrupted: its process stopped before it was over".to_owned() }
        }
        JobEnd::Lost if job.on_lost == OnLost::Abandon => {
            let error = "lost: its process could not renew its lease before it was over";
            End::Park { error: error.to_owned() }
        }
        // Neither is a failure of the job. If another process has the job already, the fence refuses this.
        JobEnd::Interrupted | JobEnd::Lost => End::Snooze { after: Duration::ZERO },
        JobEnd::NeverStarted => End::GiveBack,
    }
}

/// The wait before the next attempt: it doubles with each, up to the cap, and is longer by up to an eighth, which differs
/// from job to job, so that jobs that failed together do not all come back at once.
pub(crate) fn retry_wait(job: &StoredJob, retry: Retry) -> Duration {
    let least = retry.longest_wait_after(job.attempt);
    let (high, low) = job.id.as_uuid().as_u64_pair();
    let part = u32::try_from((high ^ low ^ u64::from(job.attempt)) % 1_000).unwrap_or_default();
    least.saturating_add(least / 8 * part / 1_000)
}
