//! Jobs, schedules and processes as a store keeps them, with times that people read.

use std::borrow::Cow;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_store::{
    AttemptOutcome, Fence, JobId, JobState, Next, OnLost, Overlap, PauseScope, Priority, SessionId,
    Skips, Timing,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::run::instant;

/// A job as a store keeps it. Times are by the store's clock.
///
/// With the feature `serde` it serializes, with the payload as the JSON that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StoredJob {
    /// Its identity.
    pub id: JobId,
    /// The name of the task that runs it.
    pub task: String,
    /// Its argument.
    pub payload: StoredPayload,
    /// The queue in which it waits.
    pub queue: String,
    /// Its priority.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
    pub priority: Priority,
    /// Its key; none after its first start if the key was until then.
    pub key: Option<String>,
    /// Its state.
    pub state: JobState,
    /// When it is due, or was when it was claimed.
    pub run_at: DateTime<Utc>,
    /// The number of claims, without those that were given back.
    pub attempt: u32,
    /// The number of sessions that died while they had it.
    pub lost: u32,
    /// The number of times that its payload could not be decoded since it last ran.
    pub undecoded: u32,
    /// After how many attempts it is parked.
    pub max_attempts: u32,
    /// The rule if its process dies.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
    pub on_lost: OnLost,
    /// The fence of its last change of hands; 0 before the first.
    pub fence: Fence,
    /// The session that has it, or had it when it ended.
    pub session: Option<SessionId>,
    /// The schedule that made it; none of a job that code has enqueued.
    pub origin: Option<Origin>,
    /// True if a running job is to be cancelled: its session asks it to stop.
    pub is_cancel_requested: bool,
    /// When the store accepted it.
    pub created_at: DateTime<Utc>,
    /// When it was last claimed.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// The error of its last attempt, or why it was parked.
    pub error: Option<String>,
    /// The W3C trace context of the code that enqueued it, if it was traced.
    pub traceparent: Option<String>,
    /// Its last attempts that did not succeed, the earliest first, at most ten: those before a retry by hand, too.
    pub attempts: Vec<JobAttempt>,
}

/// An attempt of a job that did not succeed. Times are by the store's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct JobAttempt {
    /// The number of the attempt, from 1. One that does not count has the number of the next.
    pub number: u32,
    /// When a process claimed it.
    pub started_at: DateTime<Utc>,
    /// When the store learned that it had ended.
    pub ended_at: DateTime<Utc>,
    /// The end.
    pub outcome: AttemptOutcome,
    /// The name of the process for people; empty if the store no longer knew it.
    pub node: String,
    /// The first 500 characters of the error.
    pub error: String,
}

/// The argument of a stored job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredPayload {
    /// The version of its type, from 1; 0 if the job has no argument.
    pub version: u32,
    /// Its JSON, as it was stored; empty if the job has no argument.
    pub bytes: Vec<u8>,
}

/// The schedule that made a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Origin {
    /// The name of the schedule.
    pub schedule: String,
    /// The tick; none for a run by hand.
    pub tick: Option<DateTime<Utc>>,
    /// The number of ticks before this one that were missed and not run.
    pub missed: u64,
}

/// A schedule as a store keeps it. Times are by the store's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSchedule {
    /// Its name, unique in the store.
    pub name: String,
    /// The name of the task that runs its jobs.
    pub task: String,
    /// The argument of its jobs.
    pub payload: StoredPayload,
    /// The queue of its jobs.
    pub queue: String,
    /// The priority of its jobs.
    pub priority: Priority,
    /// After how many attempts its jobs are parked.
    pub max_attempts: u32,
    /// The rule for its jobs if their process dies.
    pub on_lost: OnLost,
    /// The rule for a tick that comes while a job is unfinished.
    pub overlap: Overlap,
    /// True if it was made while a program ran; false if it stands in the code.
    pub is_dynamic: bool,
    /// The rule that counts, as a JSON object of its attributes.
    pub rule: String,
    /// True if the rule was set by hand, in place of the one in the code.
    pub is_overridden: bool,
    /// The next tick; none if a process has yet to compute it, if it follows the end of an unfinished job, or if there is none.
    pub next: Option<DateTime<Utc>>,
    /// True if there is no further tick.
    pub has_ended: bool,
    /// The number of ticks that have become jobs.
    pub fired: u64,
    /// The last tick that became a job.
    pub last_fired: Option<DateTime<Utc>>,
    /// The numbers of skipped ticks.
    pub skips: Skips,
    /// The last pause, which may be over.
    pub pause: Option<StoredPause>,
    /// With [`Overlap::QueueOne`]: the tick that waits for the end of the job.
    pub waiting: Option<DateTime<Utc>>,
    pub(super) timing: Timing,
}

/// A pause as a store keeps it. Times are by the store's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredPause {
    /// When it began.
    pub since: DateTime<Utc>,
    /// When it ends, or has ended; none until it is resumed.
    pub until: Option<DateTime<Utc>>,
    /// The person or program that paused; empty if none was named.
    pub by: String,
    /// The reason, for people; may be empty.
    pub reason: String,
}

/// A pause of a kind of job or of a queue, for all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobPause {
    /// The jobs.
    pub scope: PauseScope,
    /// The pause.
    pub pause: StoredPause,
}

/// A process that uses the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SessionInfo {
    /// The identity of its session.
    pub id: SessionId,
    /// The name of the process for people.
    pub label: String,
    /// The build of the process.
    pub build: String,
    /// The name of the application.
    pub application: String,
    /// The names of the tasks that the process runs, former ones among them.
    pub tasks: Vec<String>,
    /// When the session was opened.
    pub opened_at: DateTime<Utc>,
    /// True if its lease has run out.
    pub has_run_out: bool,
}

impl StoredPayload {
    /// The argument as a value of its type. A job without an argument has the value of JSON's `null`, such as `()`.
    ///
    /// # Errors
    ///
    /// It is of another type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(if self.bytes.is_empty() { b"null" } else { &self.bytes })
    }

    /// Another value, with the same version; `1` if the job had no argument. See [`Jobs::edit`](crate::Jobs::edit).
    ///
    /// # Errors
    ///
    /// The value cannot be encoded as JSON.
    pub fn with(&self, value: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { version: self.version.max(1), bytes: serde_json::to_vec(value)? })
    }

    /// Says why it is no JSON; none if it is.
    pub(super) fn fault(&self) -> Option<String> {
        let value = serde_json::from_slice::<serde::de::IgnoredAny>(&self.bytes);
        value.err().map(|error| error.to_string())
    }

    /// The JSON as text; empty if the job has no argument.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

impl StoredSchedule {
    /// The time from tick to tick of a fixed rate, or from the end of a job to the next tick of a fixed delay.
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        match self.timing {
            Timing::Rate { period, .. } => Some(period),
            Timing::Delay { delay, .. } => Some(delay),
            Timing::Computed | Timing::Once(_) | Timing::OnceAfter(_) => None,
        }
    }
}

impl StoredPause {
    /// Returns true if the pause holds at an instant.
    #[must_use]
    pub fn holds(&self, now: DateTime<Utc>) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// The value, or a text if it is no JSON.
#[cfg(feature = "serde")]
impl serde::Serialize for StoredPayload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let value = self.decode::<serde_json::Value>();
        let value = value.unwrap_or_else(|_| serde_json::Value::String(self.text().into_owned()));
        let mut payload = serializer.serialize_struct("StoredPayload", 2)?;
        payload.serialize_field("version", &self.version)?;
        payload.serialize_field("value", &value)?;
        payload.end()
    }
}

#[cfg(feature = "serde")]
fn as_text<S: serde::Serializer>(
    value: &impl std::fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl From<scheduler_store::StoredJob> for StoredJob {
    fn from(job: scheduler_store::StoredJob) -> Self {
        Self {
            id: job.id,
            task: job.task,
            payload: job.payload.into(),
            queue: job.queue,
            priority: job.priority,
            key: job.key,
            state: job.state,
            run_at: instant(job.run_at),
            attempt: job.attempt,
            lost: job.lost,
            undecoded: job.undecoded,
            max_attempts: job.max_attempts,
            on_lost: job.on_lost,
            fence: job.fence,
            session: job.session,
            origin: job.origin.map(Origin::from),
            is_cancel_requested: job.is_cancel_requested,
            created_at: instant(job.created_at),
            started_at: job.started_at.map(instant),
            finished_at: job.finished_at.map(instant),
            error: job.error,
            traceparent: job.traceparent,
            attempts: job.attempts.into_iter().map(JobAttempt::from).collect(),
        }
    }
}

impl From<scheduler_store::JobAttempt> for JobAttempt {
    fn from(attempt: scheduler_store::JobAttempt) -> Self {
        let scheduler_store::JobAttempt { number, started_at, ended_at, outcome, node, error } =
            attempt;
        let (started_at, ended_at) = (instant(started_at), instant(ended_at));
        Self { number, started_at, ended_at, outcome, node, error }
    }
}

impl From<scheduler_store::Origin> for Origin {
    fn from(origin: scheduler_store::Origin) -> Self {
        let scheduler_store::Origin { schedule, tick, missed } = origin;
        Self { schedule, tick: tick.map(instant), missed }
    }
}

impl From<scheduler_store::Payload> for StoredPayload {
    fn from(payload: scheduler_store::Payload) -> Self {
        let scheduler_store::Payload { version, bytes } = payload;
        Self { version, bytes }
    }
}

impl From<scheduler_store::StoredSchedule> for StoredSchedule {
    fn from(schedule: scheduler_store::StoredSchedule) -> Self {
        let is_overridden = schedule.override_rule.is_some();
        let of_code = schedule.definition;
        let rule = schedule.override_rule.unwrap_or(of_code.rule);
        Self {
            name: of_code.name,
            task: of_code.task,
            payload: of_code.payload.into(),
            queue: of_code.queue,
            priority: of_code.priority,
            max_attempts: of_code.max_attempts,
            on_lost: of_code.on_lost,
            overlap: of_code.overlap,
            is_dynamic: of_code.is_dynamic,
            rule: rule.text,
            is_overridden,
            next: match schedule.next {
                Next::At(tick) => Some(instant(tick)),
                Next::Unknown | Next::AfterJob | Next::Never => None,
            },
            has_ended: schedule.next == Next::Never,
            fired: schedule.fired,
            last_fired: schedule.last_fired.map(instant),
            skips: schedule.skips,
            pause: schedule.pause.map(StoredPause::from),
            waiting: schedule.waiting.map(|job| instant(job.tick)),
            timing: rule.timing,
        }
    }
}

impl From<scheduler_store::Pause> for StoredPause {
    fn from(pause: scheduler_store::Pause) -> Self {
        let scheduler_store::Pause { since, until, by, reason } = pause;
        Self { since: instant(since), until: until.map(instant), by, reason }
    }
}

impl From<scheduler_store::JobPause> for JobPause {
    fn from(paused: scheduler_store::JobPause) -> Self {
        Self { scope: paused.scope, pause: paused.pause.into() }
    }
}

impl From<scheduler_store::SessionInfo> for SessionInfo {
    fn from(session: scheduler_store::SessionInfo) -> Self {
        let scheduler_store::SessionInfo {
            id,
            label,
            build,
            application,
            tasks,
            opened_at,
            has_run_out,
        } = session;
        Self { id, label, build, application, tasks, opened_at: instant(opened_at), has_run_out }
    }
}
