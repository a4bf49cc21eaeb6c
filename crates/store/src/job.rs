//! Jobs: enqueued, kept by a store, and their attempts.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt::{self, Display};
use std::time::Duration;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::check::storable;
use crate::error::DecodeError;
use crate::id::{Fence, JobId, SessionId, StoreTime};
use crate::progress::JobProgress;

pub use scheduler_expr::{OnLost, Priority};

/// The argument of a job: bytes that only its code understands, and the version of their type. They may
/// be secret: `Debug` does not show them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Payload {
    /// The version of the type, from 1; 0 if the job has no argument.
    pub version: u32,
    /// The encoded value: JSON; empty if the job has no argument.
    pub bytes: Vec<u8>,
}

impl Payload {
    /// Decodes it; no argument is `null`.
    ///
    /// # Errors
    ///
    /// If the bytes are no JSON, or not of that type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        let bytes = if self.bytes.is_empty() { b"null" } else { &*self.bytes };
        serde_json::from_slice(bytes).map_err(|error| DecodeError::of::<T>(&error))
    }

    /// The same with another value, for [`Command::Edit`](crate::Command::Edit).
    ///
    /// # Errors
    ///
    /// If the value cannot be written as JSON.
    pub fn with(&self, value: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { version: self.version.max(1), bytes: serde_json::to_vec(value)? })
    }

    /// Why it is no JSON, if it is none.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let value = serde_json::from_slice::<IgnoredAny>(&self.bytes);
        value.err().map(|error| error.to_string())
    }

    /// The bytes as text, for people.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.decode::<serde_json::Value>();
        let value = value.unwrap_or_else(|_| serde_json::Value::String(self.text().into_owned()));
        let mut payload = serializer.serialize_struct("StoredPayload", 2)?;
        payload.serialize_field("version", &self.version)?;
        payload.serialize_field("value", &value)?;
        payload.end()
    }
}

fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, length) = (self.version, self.bytes.len());
        write!(f, "Payload {{ version: {version}, length: {length} }}")
    }
}

/// When a job is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// At once.
    #[default]
    Now,
    /// That long after the store has accepted it.
    After(Duration),
    /// At an instant of the store's clock.
    At(StoreTime),
}

/// When a job expires that no process has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// That long after it is due.
    After(Duration),
    /// At an instant of the store's clock.
    At(StoreTime),
}

/// The end of a key: until then it keeps other jobs out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyUntil {
    /// Until the job has ended.
    #[default]
    End,
    /// Until its first run starts.
    Start,
    /// Until the job has ended and this time has passed since it was accepted, whatever has become of it. Deleting the job frees
    /// the key.
    For(Duration),
}

/// The rule for a job whose key another job of the task has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnConflict {
    /// The other one stays as it is, and this one is not accepted.
    #[default]
    Keep,
    /// The other one gets the payload, the priority and the due time of this one if it waits.
    Replace,
    /// The same, but it is due at most that long after it was accepted.
    Debounce(Duration),
}

/// A key: one job of a task has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The text.
    pub text: String,
    /// The time until which it keeps others out.
    pub until: KeyUntil,
    /// The rule if another job has the key.
    pub on_conflict: OnConflict,
}

/// A job to enqueue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Its identity, made by the caller.
    pub id: JobId,
    /// The name of the task that runs it.
    pub task: String,
    /// Its argument.
    pub payload: Payload,
    /// The queue in which it waits.
    pub queue: String,
    /// Its priority.
    pub priority: Priority,
    /// The part of its task's jobs that it belongs to, such as a tenant. Empty if its task has limits and no parts.
    pub partition: Option<String>,
    /// When it is due.
    pub when: When,
    /// When it is cancelled, unless a process has taken it by then; none for never.
    pub expires: Option<Expiry>,
    /// Its key, if it has one.
    pub key: Option<Key>,
    /// After how many attempts it is parked; at least 1.
    pub max_attempts: u32,
    /// The rule if its process dies.
    pub on_lost: OnLost,
    /// The W3C trace context of the code that enqueues it, if it is traced.
    pub traceparent: Option<String>,
    /// True if it may have been sent before. A store that no request reaches late looks for it among finished jobs only then (R3).
    pub is_resent: bool,
    /// True if its task has a limit of waiting jobs. A store looks at no limit for others.
    pub is_guarded: bool,
}

/// The name of the queue of jobs that name none.
pub const DEFAULT_QUEUE: &str = "default";

impl NewJob {
    /// A job without an argument, due at once.
    #[must_use]
    pub fn new(id: JobId, task: impl Into<String>) -> Self {
        Self {
            id,
            task: task.into(),
            payload: Payload::default(),
            queue: DEFAULT_QUEUE.to_owned(),
            priority: Priority::default(),
            partition: None,
            when: When::Now,
            expires: None,
            key: None,
            max_attempts: 1,
            on_lost: OnLost::default(),
            traceparent: None,
            is_resent: false,
            is_guarded: false,
        }
    }

    /// When it expires, if it is due then.
    #[must_use]
    pub fn expires_at(&self, run_at: StoreTime) -> Option<StoreTime> {
        self.expires.map(|expiry| match expiry {
            Expiry::After(wait) => run_at.after(wait),
            Expiry::At(at) => at,
        })
    }
}

/// The answer of a store for one enqueued job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The store keeps it: now, or since it was sent before with the same identity.
    Accepted(JobId),
    /// This other job has its key, and stays as it is. One that has ended may be deleted by now.
    Kept(JobId),
    /// This other job, which waits, has its key, and now has its payload, priority, due time and attempts.
    Replaced(JobId),
}

impl Enqueued {
    /// The job that the store keeps: the one that was enqueued, or the one that has its key.
    #[must_use]
    pub const fn id(self) -> JobId {
        match self {
            Self::Accepted(id) | Self::Kept(id) | Self::Replaced(id) => id,
        }
    }

    /// Reads a row that the statement of [`Store::statement`](crate::Store::statement) returns. None if it is another row.
    #[must_use]
    pub fn from_row(id: &str, outcome: &str) -> Option<Self> {
        let id = id.parse().ok()?;
        match outcome {
            "accepted" => Some(Self::Accepted(id)),
            "kept" => Some(Self::Kept(id)),
            "replaced" => Some(Self::Replaced(id)),
            _ => None,
        }
    }
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// It waits until it is due and claimed; also between attempts.
    Ready,
    /// A session has claimed it.
    Running,
    /// It has succeeded.
    Done,
    /// It has been given up, is kept with its last error, and can be retried by hand.
    Parked,
    /// It was cancelled.
    Cancelled,
}

impl JobState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Ready, Self::Running, Self::Done, Self::Parked, Self::Cancelled];

    /// Returns true if the job may still run by itself.
    #[must_use]
    pub const fn is_unfinished(self) -> bool {
        matches!(self, Self::Ready | Self::Running)
    }

    /// The lower-case word that stores keep and people read.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Done => "done",
            Self::Parked => "parked",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A job as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct StoredJob {
    /// Its identity.
    pub id: JobId,
    /// The name of the task that runs it.
    pub task: String,
    /// Its argument.
    pub payload: Payload,
    /// The queue in which it waits.
    pub queue: String,
    /// Its priority.
    #[serde(serialize_with = "as_text")]
    pub priority: Priority,
    /// The part of its task's jobs that it belongs to, see [`NewJob::partition`].
    pub partition: Option<String>,
    /// Its key; none after its first start if the key was until then.
    pub key: Option<String>,
    /// Its state.
    pub state: JobState,
    /// When it is due, or was when it was claimed.
    pub run_at: StoreTime,
    /// Once it has run in a partition with order: it is claimed no earlier, and `run_at` stays as its place.
    pub held_until: Option<StoreTime>,
    /// When it is cancelled, unless a process has taken it by then.
    pub expires_at: Option<StoreTime>,
    /// The number of claims, without those that were given back.
    pub attempt: u32,
    /// The number of its last claims that were lost, one after the other: an attempt that ends otherwise sets it to 0.
    pub lost: u32,
    /// The number of times that its payload could not be decoded since it last ran.
    pub undecoded: u32,
    /// After how many attempts it is parked, if the last one fails. Each attempt that was lost adds one.
    pub max_attempts: u32,
    /// The rule if its process dies.
    #[serde(serialize_with = "as_text")]
    pub on_lost: OnLost,
    /// The fence of its last change of hands; 0 before the first.
    pub fence: Fence,
    /// The session that has it, or had it when it ended.
    pub session: Option<SessionId>,
    /// The schedule that made it, and the tick it is for; a run by hand has no tick.
    pub origin: Option<Origin>,
    /// True if a running job is to be cancelled: its session asks it to stop.
    pub is_cancel_requested: bool,
    /// When the store accepted it.
    pub created_at: StoreTime,
    /// When it was last claimed.
    pub started_at: Option<StoreTime>,
    /// When it ended.
    pub finished_at: Option<StoreTime>,
    /// The error of its last attempt, or why it was parked.
    pub error: Option<String>,
    /// The W3C trace context of the code that enqueued it, if it was traced.
    pub traceparent: Option<String>,
    /// Its last attempts that did not succeed, the earliest first.
    pub attempts: Vec<JobAttempt>,
    /// The progress that its last run has reported.
    pub progress: Option<JobProgress>,
}

/// The schedule and the tick that made a job.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Origin {
    /// The name of the schedule.
    pub schedule: String,
    /// The tick; none for a run by hand.
    pub tick: Option<StoreTime>,
    /// The number of ticks before this one that were missed and not run.
    pub missed: u64,
}

/// A job, and the fence with which a session has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClaimRef {
    /// The job.
    pub job: JobId,
    /// The fence of the claim.
    pub fence: Fence,
}

impl Origin {
    /// The tick of a schedule; none for a run by hand.
    #[must_use]
    pub fn new(schedule: String, tick: Option<StoreTime>, missed: u64) -> Self {
        Self { schedule, tick, missed }
    }
}

impl StoredJob {
    /// A job without contents, for a store that reads one.
    #[must_use]
    pub fn empty(id: JobId) -> Self {
        let mut job = Self::new(&NewJob::new(id, ""), StoreTime::MIN, StoreTime::MIN);
        job.queue.clear();
        job
    }

    /// A job that is accepted now, and was never claimed.
    #[must_use]
    pub fn new(new: &NewJob, run_at: StoreTime, now: StoreTime) -> Self {
        Self {
            id: new.id,
            task: new.task.clone(),
            payload: new.payload.clone(),
            queue: new.queue.clone(),
            priority: new.priority,
            partition: new.partition.clone(),
            key: new.key.as_ref().map(|key| key.text.clone()),
            state: JobState::Ready,
            run_at,
            held_until: None,
            expires_at: new.expires_at(run_at),
            attempt: 0,
            lost: 0,
            undecoded: 0,
            max_attempts: new.max_attempts.max(1),
            on_lost: new.on_lost,
            fence: Fence::default(),
            session: None,
            origin: None,
            is_cancel_requested: false,
            created_at: now,
            started_at: None,
            finished_at: None,
            error: None,
            traceparent: new.traceparent.clone(),
            attempts: Vec::new(),
            progress: None,
        }
    }

    /// Returns true if it is to be cancelled because it has not begun by its time.
    #[must_use]
    pub fn is_expired(&self, now: StoreTime) -> bool {
        let is_over = self.expires_at.is_some_and(|at| at <= now);
        self.state == JobState::Ready && self.started_at.is_none() && is_over
    }

    /// Its place among the due jobs: jobs start in this order.
    #[must_use]
    pub fn place(&self) -> (Reverse<Priority>, StoreTime, JobId) {
        (Reverse(self.priority), self.run_at, self.id)
    }

    /// Its place in a partition with order: none starts before one that has begun.
    #[must_use]
    pub fn place_in_order(&self) -> (bool, (Reverse<Priority>, StoreTime, JobId)) {
        (self.held_until.is_none(), self.place())
    }

    /// When it is due: `run_at`, or later while it keeps its place in a partition with order.
    #[must_use]
    pub fn due_at(&self) -> StoreTime {
        let held_until = self.held_until.filter(|_| self.state == JobState::Ready);
        held_until.map_or(self.run_at, |until| until.max(self.run_at))
    }

    /// Cancels it because it has not begun by its time.
    pub fn expire(&mut self, now: StoreTime) {
        (self.state, self.finished_at) = (JobState::Cancelled, Some(now));
        self.error = Some(EXPIRED.to_owned());
    }

    /// The error of a job that is parked because its process died.
    #[must_use]
    pub fn lost_error(&self) -> String {
        format!("lost: the session of attempt {} ended before its outcome was stored", self.attempt)
    }

    /// The job with its fence.
    #[must_use]
    pub fn held(&self) -> ClaimRef {
        ClaimRef { job: self.id, fence: self.fence }
    }
}

/// The error of a job that has expired.
pub const EXPIRED: &str = "it expired before it began";

/// The greatest number of jobs that one poll cancels because they have expired.
pub const EXPIRED_MAX: u32 = 500;

/// The number of attempts that a store keeps of a job: the last ones.
pub const ATTEMPTS_MAX: usize = 10;
/// The greatest length of the error of an attempt, and of the name of its process, in characters.
pub const ATTEMPT_TEXT_MAX: usize = 500;

/// Between the fields of an attempt, and between attempts.
const FIELD: char = '\u{1F}';
const RECORD: char = '\u{1E}';

/// An attempt of a job that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct JobAttempt {
    /// The number of the attempt, from 1. One that the store did not count has the number of the next.
    pub number: u32,
    /// When it was claimed.
    pub started_at: StoreTime,
    /// When the store learned that it has ended.
    pub ended_at: StoreTime,
    /// The end.
    pub outcome: AttemptOutcome,
    /// The name of the process for people; empty if the store no longer knew it.
    pub node: String,
    /// The error, perhaps cut.
    pub error: String,
}

/// The end of an attempt that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// It failed.
    Failed,
    /// It failed, and has given up whatever attempts were left.
    GaveUp,
    /// Its process died, or lost its session.
    Lost,
    /// The payload could not be decoded. It does not count.
    Undecodable,
}

impl JobAttempt {
    /// An attempt that began and ended then, of an unknown process and without an error.
    #[must_use]
    pub fn new(
        number: u32,
        started_at: StoreTime,
        ended_at: StoreTime,
        outcome: AttemptOutcome,
    ) -> Self {
        Self { number, started_at, ended_at, outcome, node: String::new(), error: String::new() }
    }
}

impl AttemptOutcome {
    /// All outcomes.
    const ALL: [Self; 4] = [Self::Failed, Self::GaveUp, Self::Lost, Self::Undecodable];

    /// The word that stores keep and people read.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::GaveUp => "gave_up",
            Self::Lost => "lost",
            Self::Undecodable => "undecodable",
        }
    }
}

/// A text that is no part of the form of the column.
pub(crate) fn short(text: &str) -> String {
    let plain = |letter| if matches!(letter, FIELD | RECORD) { ' ' } else { letter };
    storable(text).chars().map(plain).take(ATTEMPT_TEXT_MAX).collect()
}

/// Attempts as the text of a column; none if there are none.
#[must_use]
pub fn attempts_to_text(attempts: &[JobAttempt]) -> Option<String> {
    let text = |attempt: &JobAttempt| {
        let JobAttempt { number, started_at, ended_at, outcome, node, error } = attempt;
        let times = [started_at.as_micros().to_string(), ended_at.as_micros().to_string()];
        let [started, ended] = &times;
        let fields = [&number.to_string(), started, ended, outcome.word(), node, error];
        fields.join(&FIELD.to_string())
    };
    let texts: Vec<String> = attempts.iter().map(text).collect();
    (!texts.is_empty()).then(|| texts.join(&RECORD.to_string()))
}

/// Reads what [`attempts_to_text`] has written. Attempts that another program has damaged are left out.
#[must_use]
pub fn attempts_of_text(text: &str) -> Vec<JobAttempt> {
    text.split(RECORD).filter_map(attempt_of).collect()
}

fn attempt_of(text: &str) -> Option<JobAttempt> {
    let mut fields = text.split(FIELD);
    let mut next = || fields.next();
    let number = next()?.parse().ok()?;
    let time = |text: &str| {
        let micros = text.parse().ok()?;
        let times = StoreTime::MIN.as_micros()..=StoreTime::MAX.as_micros();
        times.contains(&micros).then(|| StoreTime::from_micros(micros))
    };
    let (started_at, ended_at) = (time(next()?)?, time(next()?)?);
    let word = next()?;
    let outcome = AttemptOutcome::ALL.into_iter().find(|outcome| outcome.word() == word)?;
    let (node, error) = (next()?.to_owned(), next()?.to_owned());
    Some(JobAttempt { number, started_at, ended_at, outcome, node, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_read_as_they_were_written() {
        let attempt = |number, error: &str| JobAttempt {
            number,
            started_at: StoreTime::from_micros(-7),
            ended_at: StoreTime::MAX,
            outcome: AttemptOutcome::Undecodable,
            node: String::new(),
            error: short(error),
        };
        let long = "é".repeat(ATTEMPT_TEXT_MAX + 1);
        let attempts = [attempt(1, "a\u{1F}b\u{1E}c\n"), attempt(2, ""), attempt(u32::MAX, &long)];
        assert_eq!(attempts[0].error, "a b c\n");
        assert_eq!(attempts[2].error.chars().count(), ATTEMPT_TEXT_MAX);
        let text = attempts_to_text(&attempts).expect("there are some");
        assert_eq!(attempts_of_text(&text), attempts);
        assert_eq!((attempts_to_text(&[]), attempts_of_text("")), (None, Vec::new()));
        let damaged = format!("{}\u{1E}1\u{1F}x\u{1E}{}", &text[..9], text);
        assert_eq!(attempts_of_text(&damaged), attempts);
    }
}
