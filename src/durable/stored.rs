//! Jobs and processes as a store keeps them, with times that people read.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use scheduler_store::{Fence, JobId, JobState, OnLost, Priority, SessionId};
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
    /// When the session was opened.
    pub opened_at: DateTime<Utc>,
    /// True if its lease has run out.
    pub has_run_out: bool,
}

impl StoredPayload {
    /// The argument as a value of its type. A job without an argument has that of JSON's `null`, such as `()`.
    ///
    /// # Errors
    ///
    /// It is of another type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(if self.bytes.is_empty() { b"null" } else { &self.bytes })
    }

    /// The JSON as text; empty if the job has no argument.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
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
        let scheduler_store::Payload { version, bytes } = job.payload;
        Self {
            id: job.id,
            task: job.task,
            payload: StoredPayload { version, bytes },
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
        }
    }
}

impl From<scheduler_store::Origin> for Origin {
    fn from(origin: scheduler_store::Origin) -> Self {
        let scheduler_store::Origin { schedule, tick, missed } = origin;
        Self { schedule, tick: tick.map(instant), missed }
    }
}

impl From<scheduler_store::SessionInfo> for SessionInfo {
    fn from(session: scheduler_store::SessionInfo) -> Self {
        let scheduler_store::SessionInfo { id, label, build, opened_at, has_run_out } = session;
        Self { id, label, build, opened_at: instant(opened_at), has_run_out }
    }
}
