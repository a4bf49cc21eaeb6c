//! Events between this process and the store of durable jobs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::observe::SkipReason;
use crate::observe::text::{duration, plural};

/// An event between this process and the store of durable jobs.
///
/// A later version may add kinds and fields, so match with `_` and `..`.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "kind", rename_all = "snake_case")
)]
pub enum StoreEvent {
    /// This process has opened a session.
    #[non_exhaustive]
    SessionOpened {
        /// The session.
        session: Arc<str>,
        /// The session of this process that it replaces.
        replaces: Option<Arc<str>>,
    },
    /// Another application keeps its jobs in the same tables, by the first session of this process.
    #[non_exhaustive]
    OtherApplication {
        /// The application of this process.
        application: Arc<str>,
        /// The other one.
        other: Arc<str>,
        /// A process of the other one.
        process: Arc<str>,
        /// The store.
        store: Arc<str>,
        /// The code that separates them.
        help: Arc<str>,
    },
    /// The session of this process has ended before its runs: they are lost, and run elsewhere.
    #[non_exhaustive]
    SessionLost {
        /// The session.
        session: Arc<str>,
        /// Why.
        reason: Arc<str>,
        /// The number of runs in progress.
        runs: u32,
    },
    /// This process has ended sessions of processes that died, and made their jobs ready again.
    #[non_exhaustive]
    TookOver {
        /// The sessions.
        sessions: Vec<Arc<str>>,
    },
    /// The process of a job died before its outcome was stored.
    #[non_exhaustive]
    JobLost {
        /// The job.
        job: Arc<str>,
        /// Its task.
        task: Arc<str>,
        /// Its key, if it has one.
        key: Option<Arc<str>>,
        /// The queue in which it waited.
        queue: Arc<str>,
        /// The number of the lost attempt.
        attempt: u32,
        /// True if it was parked and does not run again by itself.
        is_parked: bool,
    },
    /// A job was given up, and is kept with its last error for a retry by hand, as long as the store keeps parked jobs.
    #[non_exhaustive]
    JobParked {
        /// The job, with its error.
        #[cfg_attr(feature = "serde", serde(flatten))]
        job: Arc<ParkedJob>,
    },
    /// A run has ended whose job was another process's already: its outcome is not stored.
    #[non_exhaustive]
    FinishRefused {
        /// The job.
        job: Arc<str>,
    },
    /// A claim was given back whose answer had been lost.
    #[non_exhaustive]
    ClaimReturned {
        /// The job.
        job: Arc<str>,
    },
    /// A schedule of this program was registered.
    #[non_exhaustive]
    ScheduleRegistered {
        /// The schedule.
        schedule: Arc<str>,
        /// True if another rule was registered before: the new one counts from now.
        is_changed: bool,
        /// True if it is paused in the store.
        is_paused: bool,
        /// The next tick, unless it is paused.
        next: Option<DateTime<Utc>>,
    },
    /// A schedule of this program stays as it is, since a process that started later has registered it.
    #[non_exhaustive]
    ScheduleOlder {
        /// The schedule.
        schedule: Arc<str>,
    },
    /// A process that started later has registered another rule: this one does not fire the schedule.
    #[non_exhaustive]
    ScheduleSilent {
        /// The schedule.
        schedule: Arc<str>,
        /// The rule that counts.
        rule: Arc<str>,
    },
    /// This process cannot read the rule of a schedule, and leaves it to processes that can.
    #[non_exhaustive]
    ScheduleUnreadable {
        /// The schedule.
        schedule: Arc<str>,
        /// The rule that counts.
        rule: Arc<str>,
        /// Why it cannot be read.
        reason: Arc<str>,
    },
    /// A schedule was fired for a time that is to come, by a clock that was ahead: it does not fire before.
    #[non_exhaustive]
    ScheduleAhead {
        /// The schedule.
        schedule: Arc<str>,
        /// The last tick that was fired.
        last_fired: DateTime<Utc>,
    },
    /// No living process has a task whose jobs are due, or whose schedule fires; or none knows the payloads of due jobs, which a newer
    /// build has enqueued. One process says so, once a minute.
    #[non_exhaustive]
    TaskUnknown {
        /// The task.
        task: Arc<str>,
        /// The number of its jobs that are due and that no process can run.
        due: u64,
        /// Its durable schedules.
        schedules: Vec<Arc<str>>,
        /// The name of a known task that may have been meant.
        nearest: Option<Arc<str>>,
        /// The tasks that living processes have.
        known: Vec<Arc<str>>,
        /// The greatest version of the payloads of those jobs; none if no process has the task.
        version: Option<u32>,
        /// The greatest version that a living process knows; none if no process has the task.
        known_version: Option<u32>,
        /// The process that has the task and does not serve the queue of those jobs, and which it serves.
        elsewhere: Option<Arc<str>>,
    },
    /// The clock of this process differs from the store's by more than two seconds. Told once until it does not.
    #[non_exhaustive]
    ClockOff {
        /// The difference.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "by_seconds", serialize_with = "super::serial::seconds")
        )]
        by: Duration,
        /// True if the clock of this process is ahead.
        is_ahead: bool,
    },
    /// People have paused this process, so that it takes no jobs and fires no ticks, or have let it go on.
    #[non_exhaustive]
    NodePaused {
        /// True if it is paused now.
        is_paused: bool,
    },
    /// Ticks of a schedule made while the program runs were skipped.
    #[non_exhaustive]
    TicksSkipped {
        /// The schedule.
        schedule: Arc<str>,
        /// Why.
        reason: SkipReason,
        /// The count.
        count: u64,
        /// True if there may be more than `count`.
        at_least: bool,
    },
    /// The store does not answer.
    #[non_exhaustive]
    Away {
        /// Why.
        reason: Arc<str>,
    },
    /// The store answers again.
    #[non_exhaustive]
    Back {
        /// For how long it did not.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "after_seconds", serialize_with = "super::serial::seconds")
        )]
        after: Duration,
    },
    /// The store has answered a request with an error, and has not done it. Told again once a minute while that goes on.
    #[non_exhaustive]
    Refused {
        /// The request, such as `poll` or `finish`.
        request: Arc<str>,
        /// Why.
        reason: Arc<str>,
    },
    /// Jobs were cancelled, because no process had taken them by the time at which they expire.
    #[non_exhaustive]
    JobsExpired {
        /// Their kind.
        task: Arc<str>,
        /// The number of jobs.
        count: u64,
    },
    /// A run has reported a progress that is no number, and it is ignored. Told once for each run.
    #[non_exhaustive]
    ProgressIgnored {
        /// The job.
        job: Arc<str>,
        /// Its kind.
        task: Arc<str>,
    },
    /// A row of the store cannot be read.
    #[non_exhaustive]
    Damaged {
        /// The row.
        row: Arc<str>,
        /// The damage, and the repair.
        reason: Arc<str>,
    },
}

impl StoreEvent {
    /// The name of the kind in snake case, such as `session_lost`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SessionOpened { .. } => "session_opened",
            Self::OtherApplication { .. } => "other_application",
            Self::SessionLost { .. } => "session_lost",
            Self::TookOver { .. } => "took_over",
            Self::JobLost { .. } => "job_lost",
            Self::JobParked { .. } => "job_parked",
            Self::FinishRefused { .. } => "finish_refused",
            Self::ClaimReturned { .. } => "claim_returned",
            Self::ScheduleRegistered { .. } => "schedule_registered",
            Self::ScheduleOlder { .. } => "schedule_older",
            Self::ScheduleSilent { .. } => "schedule_silent",
            Self::ScheduleUnreadable { .. } => "schedule_unreadable",
            Self::ScheduleAhead { .. } => "schedule_ahead",
            Self::TaskUnknown { .. } => "task_unknown",
            Self::ClockOff { .. } => "clock_off",
            Self::NodePaused { .. } => "node_paused",
            Self::TicksSkipped { .. } => "ticks_skipped",
            Self::Away { .. } => "away",
            Self::Back { .. } => "back",
            Self::Refused { .. } => "refused",
            Self::JobsExpired { .. } => "jobs_expired",
            Self::ProgressIgnored { .. } => "progress_ignored",
            Self::Damaged { .. } => "damaged",
        }
    }
}

/// One line.
impl fmt::Display for StoreEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SessionOpened { session, .. } => write!(f, "session {session} opened"),
            Self::OtherApplication { application, other, process, store, .. } => write!(
                f,
                "`{application}` and `{other}` (process {process}) have no task in common and use the same tables, so that \
                 each runs ticks of both: {store}"
            ),
            Self::SessionLost { session, reason, runs } => {
                write_session_lost(f, session, *runs, reason)
            }
            Self::TookOver { sessions } => {
                let sessions = plural(sessions.len() as u64, "session");
                write!(f, "took over from {sessions} whose process died")
            }
            Self::JobLost { job, task, attempt, is_parked, .. } => {
                write_lost(f, (job, task), *attempt, *is_parked)
            }
            Self::JobParked { job } => write!(f, "{job}"),
            Self::FinishRefused { job } => write!(f, "the outcome of job {job} {REFUSED}"),
            Self::ClaimReturned { job } => write!(f, "job {job} {RETURNED}"),
            Self::ScheduleRegistered { schedule, is_changed: true, .. } => {
                write!(f, "schedule `{schedule}` has another rule from now on")
            }
            Self::ScheduleRegistered { schedule, .. } => {
                write!(f, "schedule `{schedule}` is registered")
            }
            Self::ScheduleOlder { schedule } => {
                write!(f, "schedule `{schedule}` {OLDER}")
            }
            Self::ScheduleSilent { schedule, rule } => write!(
                f,
                "schedule `{schedule}` is not fired by this process: a newer one has registered {rule}"
            ),
            Self::ScheduleUnreadable { schedule, rule, reason } => write!(
                f,
                "schedule `{schedule}` is not fired by this process, which cannot read its rule \
                 {rule}: {reason}"
            ),
            Self::ScheduleAhead { schedule, last_fired } => write!(
                f,
                "schedule `{schedule}` was fired by a clock that was ahead, and does not fire before {}",
                last_fired.format("%F %T UTC")
            ),
            Self::TaskUnknown { task, due, version: Some(version), known_version, .. } => {
                write_unknown_version(f, task, *due, *version, known_version.unwrap_or_default())
            }
            Self::TaskUnknown { task, due, elsewhere: Some(elsewhere), .. } => {
                write_elsewhere(f, task, *due, elsewhere)
            }
            Self::TaskUnknown { task, due, schedules, nearest, .. } => {
                write_unknown(f, task, *due, schedules, nearest.as_deref())
            }
            Self::ClockOff { by, is_ahead } => write_clock(f, *by, *is_ahead),
            Self::NodePaused { is_paused } => {
                f.write_str(if *is_paused { PAUSED } else { RESUMED })
            }
            Self::TicksSkipped { schedule, reason, count, at_least } => {
                write_skipped(f, schedule, (*count, *at_least), reason.name())
            }
            Self::Away { reason } => write!(f, "the store is unavailable: {reason}"),
            Self::Back { after } => write!(f, "the store answers again after {}", duration(*after)),
            Self::Refused { request, reason } => {
                write!(f, "the store has refused the request `{request}`: {reason}")
            }
            Self::JobsExpired { task, count } => {
                write!(f, "{} of `{task}` {EXPIRED}", plural(*count, "job"))
            }
            Self::ProgressIgnored { job, task } => write!(f, "job {job} of `{task}` {IGNORED}"),
            Self::Damaged { row, reason } => write!(f, "damaged row {row} in the store: {reason}"),
        }
    }
}

const PAUSED: &str =
    "this process is paused: it takes no jobs and fires no ticks, and its runs go on";
const RESUMED: &str = "this process takes jobs again";
const EXPIRED: &str = "expired: no process had taken them by their time";
const IGNORED: &str =
    "has reported a progress that is no number, which is ignored: it has divided by zero";
const REFUSED: &str = "is not stored: the job was lost meanwhile";
const RETURNED: &str = "was claimed unnoticed, and is given back";
const OLDER: &str = "was registered by a newer process; this process does not change it";

fn write_session_lost(
    f: &mut fmt::Formatter<'_>,
    session: &str,
    runs: u32,
    reason: &str,
) -> fmt::Result {
    let runs = plural(u64::from(runs), "run");
    write!(f, "session {session} is lost, and {runs} in progress with it: {reason}")
}

fn write_lost(
    f: &mut fmt::Formatter<'_>,
    (job, task): (&str, &str),
    attempt: u32,
    is_parked: bool,
) -> fmt::Result {
    let then = if is_parked { "it is parked" } else { "it runs again" };
    write!(f, "job {job} of task `{task}` lost its process in attempt {attempt}; {then}")
}

fn write_skipped(
    f: &mut fmt::Formatter<'_>,
    schedule: &str,
    (count, at_least): (u64, bool),
    reason: &str,
) -> fmt::Result {
    let least = if at_least { "at least " } else { "" };
    let ticks = plural(count, "tick");
    write!(f, "schedule `{schedule}`: skipped {least}{ticks}: {reason}")
}

fn write_clock(f: &mut fmt::Formatter<'_>, by: Duration, is_ahead: bool) -> fmt::Result {
    let side = if is_ahead { "ahead of" } else { "behind" };
    write!(f, "the clock of this process is {} {side} the store's", duration(by))
}

/// Says which jobs wait in a queue that no process with their task serves.
fn write_elsewhere(
    f: &mut fmt::Formatter<'_>,
    task: &str,
    due: u64,
    elsewhere: &str,
) -> fmt::Result {
    let (jobs, wait) = (plural(due, "job"), if due == 1 { "waits" } else { "wait" });
    write!(f, "no living process runs `{task}` where {jobs} of it {wait}: {elsewhere}")
}

/// Says which jobs wait for a newer build.
fn write_unknown_version(
    f: &mut fmt::Formatter<'_>,
    task: &str,
    due: u64,
    version: u32,
    known: u32,
) -> fmt::Result {
    let jobs = plural(due, "due job");
    let have = if due == 1 { "has a payload of version" } else { "have payloads up to version" };
    write!(
        f,
        "{jobs} of `{task}` {have} {version}, and no living process knows more than version {known}"
    )
}

/// Says what a task is missing for.
fn write_unknown(
    f: &mut fmt::Formatter<'_>,
    task: &str,
    due: u64,
    schedules: &[Arc<str>],
    nearest: Option<&str>,
) -> fmt::Result {
    write!(f, "no living process has the task `{task}`")?;
    if due > 0 {
        let (jobs, are) = (plural(due, "job"), if due == 1 { "is" } else { "are" });
        write!(f, ", and {jobs} of it {are} due")?;
    }
    for schedule in schedules {
        write!(f, "; its schedule `{schedule}` does not fire")?;
    }
    nearest.map_or(Ok(()), |nearest| write!(f, "; nearest name: `{nearest}`"))
}

/// A durable job that was given up, and is kept with its last error for a retry by hand: the value that
/// [`Builder::on_parked`](crate::Builder::on_parked) and the event
/// [`StoreEvent::JobParked`](crate::StoreEvent::JobParked) give.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ParkedJob {
    /// Its identity, as the store, the command line and the dashboard show it.
    #[cfg_attr(feature = "serde", serde(rename = "job"))]
    pub id: Arc<str>,
    /// The name of its task.
    pub task: Arc<str>,
    /// Its key, if it has one.
    pub key: Option<Arc<str>>,
    /// The queue in which it waited.
    pub queue: Arc<str>,
    /// The number of its attempts.
    pub attempts: u32,
    /// The error of its last attempt, with its causes, or why it was given up.
    pub error: Arc<str>,
    #[cfg_attr(feature = "serde", serde(skip))]
    payload: Bytes,
}

/// The bytes of a payload. They may be secret: no text of an event shows them.
#[derive(Clone, Default, PartialEq, Eq)]
struct Bytes(Arc<[u8]>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl ParkedJob {
    /// Its payload as it was enqueued, JSON; empty if it has none. No `Debug`, log or serialized event shows it.
    #[must_use]
    pub fn payload_bytes(&self) -> &[u8] {
        &self.payload.0
    }
}

#[cfg(feature = "durable")]
impl ParkedJob {
    /// Its payload; `None` if it has none, or if that is no `T`. One of an older version is decoded as it is, without `upgrade`.
    #[must_use]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn payload<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.payload.0).ok()
    }

    pub(crate) fn of(job: &scheduler_store::StoredJob) -> Self {
        Self {
            id: job.id.to_string().into(),
            task: job.task.as_str().into(),
            key: job.key.as_deref().map(Arc::from),
            queue: job.queue.as_str().into(),
            attempts: job.attempt,
            error: job.error.as_deref().unwrap_or_default().into(),
            payload: Bytes(job.payload.bytes.as_slice().into()),
        }
    }
}

/// ``job 0198c5… (key `invoice-17`) is parked after 3 attempts: no connection``.
impl fmt::Display for ParkedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, key, attempts, error, .. } = self;
        let key = key.as_ref().map_or_else(String::new, |key| format!(" (key `{key}`)"));
        let attempts = super::plural(u64::from(*attempts), "attempt");
        write!(f, "job {id}{key} is parked after {attempts}: {error}")
    }
}
