//! A run as plain data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::cause::Cause;

/// A run and its attempt, as plain data: it keeps nothing alive.
///
/// ```
/// use scheduler::{Event, EventKind};
///
/// fn listen(event: &Event) {
///     if let EventKind::RunStarted { run, .. } = &event.kind {
///         println!("run {}, attempt {} of {}", run.number, run.attempt, run.max_attempts);
///         run.job.iter().for_each(|job| println!("job {} of queue {}", job.id, job.queue));
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RunInfo {
    /// The number of the run within its task, from 1. Attempts of a durable job in this process have the same number.
    pub number: u64,
    /// The number of the attempt within the run, from 1; of a durable job, over all processes.
    pub attempt: u32,
    /// After how many attempts the run fails, or its durable job is parked.
    pub max_attempts: u32,
    /// Why the run happens.
    pub cause: Cause,
    /// The instant that the task's rule asked for, without jitter; of a manual run, when it started.
    pub fire_time: DateTime<Utc>,
    /// When this attempt was due: the fire time plus jitter, or the end of the wait after the attempt before.
    pub due: DateTime<Utc>,
    /// When this attempt started, by the wall clock.
    pub started_at: DateTime<Utc>,
    /// The durable job that runs, if a store keeps it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub job: Option<Arc<JobInfo>>,
}

impl RunInfo {
    /// The time from the due time of this attempt to its start.
    #[must_use]
    pub fn lateness(&self) -> Duration {
        (self.started_at - self.due).to_std().unwrap_or_default()
    }

    /// `attempt 2 of 5`, with the job if it has one.
    pub(crate) fn attempt_text(&self) -> String {
        let of = match self.max_attempts {
            u32::MAX => String::new(),
            max => format!(" of {max}"),
        };
        let job = self.job.as_ref().map_or_else(String::new, |job| format!(" of {job}"));
        format!("attempt {}{of}{job}", self.attempt)
    }
}

/// The durable job that runs, as plain data: part of a [`RunInfo`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct JobInfo {
    /// Its identity, as the store, the command line and the dashboard show it.
    pub id: Arc<str>,
    /// Its key, if it has one.
    pub key: Option<Arc<str>>,
    /// The queue in which it waited.
    pub queue: Arc<str>,
}

/// `job 0198c5…`, with the key if it has one: ``job 0198c5… (key `invoice-17`)``.
impl fmt::Display for JobInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {}", self.id)?;
        self.key.as_ref().map_or(Ok(()), |key| write!(f, " (key `{key}`)"))
    }
}
