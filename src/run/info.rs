//! A run as plain data: facts, cause, pause and error.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::run::truncated;

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

/// The result of one call of a scheduled function.
pub type TaskResult = Result<(), TaskError>;

/// The future of an async scheduled function.
pub type BoxFuture = Pin<Box<dyn Future<Output = TaskResult> + Send>>;

/// Why a run happens.
///
/// ```no_run,standalone_crate
/// use scheduler::{Cause, Run, scheduled};
///
/// #[scheduled(cron = "@daily")]
/// fn report(run: Run) {
///     if run.cause() == Cause::Manual {
///         println!("a manual run");
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Cause {
    /// The task's schedule.
    Schedule,
    /// A request: [`run_now`](crate::TaskControl::run_now).
    Manual,
    /// A durable job that code has enqueued.
    Job,
}

impl Cause {
    /// The cause in one word: `schedule`, `manual` or `job`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Manual => "manual",
            Self::Job => "job",
        }
    }
}

/// A pause of a task or of a durable schedule: by whom, why, and until when.
///
/// ```
/// use scheduler::Pause;
///
/// let pause = Pause::new().by("ops").reason("migration").until("2026-03-30T14:00:00Z".parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a pause does nothing until a task gets it"]
pub struct Pause {
    /// The person or program that pauses.
    pub by: Option<Arc<str>>,
    /// The reason, for people.
    pub reason: Option<Arc<str>>,
    /// The end of the pause; `None` until it is resumed.
    pub until: Option<DateTime<Utc>>,
    /// The length of the pause, in place of its end.
    pub length: Option<Duration>,
}

impl Pause {
    /// A pause without an end.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the person or program that pauses. At most 1,024 bytes are kept.
    pub fn by(self, who: impl AsRef<str>) -> Self {
        Self { by: Some(truncated(who.as_ref()).into()), ..self }
    }

    /// The reason, for people. At most 1,024 bytes are kept.
    pub fn reason(self, reason: impl AsRef<str>) -> Self {
        Self { reason: Some(truncated(reason.as_ref()).into()), ..self }
    }

    /// The end of the pause, after which the task continues.
    pub fn until(self, instant: DateTime<Utc>) -> Self {
        Self { until: Some(instant), length: None, ..self }
    }

    /// The length of the pause, after which the task continues. In a store it counts by the clock of the store.
    pub fn lasting(self, length: Duration) -> Self {
        Self { until: None, length: Some(length), ..self }
    }

    /// The pause that begins now, with its end.
    pub(crate) fn beginning_at(&self, now: DateTime<Utc>) -> Self {
        let end = self
            .length
            .and_then(|length| now.checked_add_signed(TimeDelta::from_std(length).ok()?));
        Self { until: self.until.or(end), length: None, ..self.clone() }
    }
}

/// The number of causes of an error that are kept: `Error::source` may lead round in a circle.
const CAUSES_KEPT: usize = 32;

/// Why a run failed: the text of the error that the function returned, and of its causes.
///
/// The original error is not kept, so that it need not be `Send`, `Sync` or `'static`. The causes
/// are found through [`Error::source`], which again gives a `TaskError`.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskError {
    message: Box<str>,
    cause: Option<Box<TaskError>>,
    job_error_kind: Option<JobErrorKind>,
}

/// An error that asks the store for something else than the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there are no jobs"))]
pub(crate) enum JobErrorKind {
    /// The job runs again later, and this was no attempt.
    Snooze(Duration),
    /// The job is not tried again.
    GiveUp,
    /// Its payload could not be decoded, and it has not run.
    Undecodable,
}

impl TaskError {
    /// Keeps the text of something that can only be shown and has no causes.
    #[must_use]
    pub fn from_display(error: &(impl fmt::Display + ?Sized)) -> Self {
        Self { message: error.to_string().into(), cause: None, job_error_kind: None }
    }

    /// Keeps the text of an error and of its causes, at most 32 of them.
    #[must_use]
    pub fn from_error(error: &(impl Error + ?Sized)) -> Self {
        let causes: Vec<String> = std::iter::successors(error.source(), |&cause| cause.source())
            .take(CAUSES_KEPT)
            .map(ToString::to_string)
            .collect();
        let cause = causes.into_iter().rev().fold(None, |cause, message| {
            Some(Box::new(Self { message: message.into(), cause, job_error_kind: None }))
        });
        Self { message: error.to_string().into(), cause, job_error_kind: None }
    }

    /// Makes it an error of this kind.
    #[cfg(feature = "durable")]
    pub(crate) fn of_kind(self, kind: JobErrorKind) -> Self {
        Self { job_error_kind: Some(kind), ..self }
    }

    /// Returns its kind, if it is an error of a job.
    pub(crate) fn job_error_kind(&self) -> Option<JobErrorKind> {
        self.job_error_kind
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for TaskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_at_a_whole_character() {
        let kept = |text: String| Pause::new().reason(text).reason.map(|reason| reason.to_string());
        assert_eq!(kept("ü".repeat(600)), Some("ü".repeat(512)));
        assert_eq!(kept("ü".repeat(600) + "!"), Some("ü".repeat(512)));
        assert_eq!(
            kept("!".to_owned() + &"ü".repeat(600)),
            Some("!".to_owned() + &"ü".repeat(511))
        );
        assert_eq!(kept("brief".to_owned()), Some("brief".to_owned()));
    }
}
