//! The requests of a process to a store, and the answers.
//!
//! Requests and answers are plain data, so that a simulated network can delay, drop and repeat them. Each writing request
//! has a `not_after`: a store that executes it later changes nothing and answers [`Refusal::TooLate`] (R2).
//!
//! [`Refusal::TooLate`]: crate::Refusal::TooLate

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::command::{Pause, PauseScope, PauseSpan};
use crate::id::{JobId, SessionId, StoreTime};
use crate::job::{ClaimRef, JobState, NewJob, StoredJob};
use crate::limit::LimitSpec;
use crate::progress::JobProgress;
use crate::schedule::{Next, RunEnd, ScheduleSpec, StoredSchedule, TickJob};
use crate::skips::Skips;

/// Opens a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its identity, which was never used before; also not for an open whose answer is unknown (R5).
    pub id: SessionId,
    /// The session of this process that it replaces, which ends in the same transaction.
    pub replaces: Option<SessionId>,
    /// The name of the process for people, such as `web-1`. It identifies nothing.
    pub label: String,
    /// The build of the process, for people.
    pub build: String,
    /// The name of the application. Its processes share a store.
    pub application: String,
    /// The tasks that the process runs.
    pub tasks: Arc<[SessionTask]>,
    /// The queues that it serves; none for all.
    pub queues: Option<Arc<[Arc<str>]>>,
    /// The greatest number of jobs that it runs at once.
    pub concurrency: u32,
    /// The life of the session after each renewal.
    pub lease: Duration,
    /// When the request expires.
    pub not_after: StoreTime,
}

/// A task that the process of a session runs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SessionTask {
    /// The name.
    pub name: String,
    /// The greatest version of payloads that the build of the process knows.
    pub version: u32,
}

/// A session was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The store's clock.
    pub now: StoreTime,
    /// A process of another application: see [`Open::other_application`].
    pub other_application: Option<OtherApplication>,
}

/// A process of another application that uses the same store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherApplication {
    /// The name of its application.
    pub application: String,
    /// The name of the process for people.
    pub label: String,
}

/// Renews a session's lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renew {
    /// The session.
    pub session: SessionId,
    /// The life of the session from now.
    pub lease: Duration,
    /// By how many microseconds the clock of the process is ahead of the store's; none while that is not known.
    pub clock_offset: Option<i64>,
    /// The progress of its running jobs that has changed. A store passes over a job that the session has lost, or that another
    /// transaction has locked: nothing delays a lease.
    pub progress: Vec<(ClaimRef, JobProgress)>,
    /// When the request expires.
    pub not_after: StoreTime,
}

/// The lease of a session: the mark changes with each renewal, and means nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lease {
    /// The session.
    pub session: SessionId,
    /// The mark.
    pub mark: i64,
    /// True if it has run out by the clock of the store, or can never be renewed because its machine has restarted.
    pub has_run_out: bool,
}

/// The answer to a [`Renew`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The store's clock.
    pub now: StoreTime,
    /// True if the session lives; false if it has ended for ever.
    pub is_alive: bool,
    /// True if the progress of each job was written.
    pub is_complete: bool,
}

/// Ends a session none of whose runs is without an outcome: gives back what it still holds, then deletes it, in one
/// transaction (R7).
///
/// Its jobs never began: they were claimed by a request that was given up. They are ready again, and the claim does not
/// count as an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    /// The session.
    pub session: SessionId,
    /// When the request expires.
    pub not_after: StoreTime,
}

/// Registers the schedules of a process, once in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The session.
    pub session: SessionId,
    /// When the process first opened a session, by the store's clock. Of two processes, the later one counts (R15).
    pub first_opened: StoreTime,
    /// The schedules.
    pub definitions: Vec<ScheduleSpec>,
    /// The limits of each task that the process runs, also of one that has none.
    pub limits: Vec<LimitSpec>,
    /// When the request expires.
    pub not_after: StoreTime,
}

/// The outcome for a registered schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    /// It is new.
    New,
    /// The rule of the code is the same as before. Other options were written.
    Same,
    /// The rule of the code has changed, and counts from now. An override by hand is gone.
    Changed,
    /// A process that started later has registered it, and nothing was written.
    Older,
}

/// The schedules of a process were registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The store's clock.
    pub now: StoreTime,
    /// True unless the session has ended, and nothing was written.
    pub is_alive: bool,
    /// One answer for each definition.
    pub schedules: Vec<RegisteredSchedule>,
}

/// A schedule that was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredSchedule {
    /// The outcome.
    pub outcome: Registration,
    /// The schedule as the store now keeps it.
    pub schedule: StoredSchedule,
}

/// A task that a process runs, and how many jobs of it the process can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRoom {
    /// The name.
    pub task: Arc<str>,
    /// The number of its jobs that may be claimed now.
    pub room: u32,
    /// The greatest version of payloads that the process knows. Jobs with newer ones are left alone.
    pub version: u32,
}

/// Repairs what a lost statement may have left, claims jobs, and returns what is due.
///
/// The repairs: a tick that waits behind a job that has ended becomes a job (R12); a delay whose job has ended gets its next
/// tick (R19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    /// The session that claims.
    pub session: SessionId,
    /// The tasks that the process knows. Jobs and schedules of others are left alone.
    pub tasks: Arc<[TaskRoom]>,
    /// The queues that the process serves; none for all.
    pub queues: Option<Arc<[Arc<str>]>>,
    /// The greatest number of jobs to claim. They are taken in the order of priority, due time, identity: see
    /// [`choose`](Self::choose).
    pub limit: u32,
    /// The greatest number of them that are [`OnLost::Abandon`](crate::OnLost::Abandon): no more than begin at once.
    pub abandon_limit: u32,
    /// The greatest number of them that were lost twice in a row: one at most, so that a job that kills its process parks no
    /// others with it (R14).
    pub lost_limit: u32,
    /// True to also return the leases of all other sessions.
    pub with_leases: bool,
    /// When the request expires.
    pub not_after: StoreTime,
}

/// The bytes of payload that one poll claims at most, beside one job that is longer alone.
pub const CLAIM_BYTES_MAX: usize = 4 << 20;

/// The answer to a [`Poll`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    /// The store's clock.
    pub now: StoreTime,
    /// False if the session has ended: then nothing was claimed.
    pub is_alive: bool,
    /// The claimed jobs, which are running now, in the order in which they were taken.
    pub jobs: Vec<StoredJob>,
    /// Schedules of known tasks that have something to decide, by name: their next tick is due, or unknown. Those that are
    /// paused are left out.
    pub due: Vec<DueSchedule>,
    /// When the next job becomes due that is not now, is not paused, and has a known task and version of its payload; or when a
    /// pause of jobs ends.
    pub next_job: Option<StoreTime>,
    /// When the next schedule of a known task has something to decide.
    pub next_tick: Option<StoreTime>,
    /// Jobs of this session that are to be cancelled, by identity.
    pub cancels: Vec<ClaimRef>,
    /// The leases of all other sessions, in the order of their identities, if they were asked for; also if the own one has
    /// ended.
    pub leases: Vec<Lease>,
    /// The jobs that are paused: those that this process has claimed and not begun are to be given back (R22).
    pub paused: Vec<PauseScope>,
    /// True if another poll may find more jobs at once: lanes were not looked at, or have more.
    pub is_partial: bool,
    /// True if as many jobs of a task or a partition run as may: the end of one makes room for another.
    pub is_full: bool,
    /// True if the session is paused: then nothing was claimed, what has not begun is to be given back, and no tick is to be fired.
    pub is_paused: bool,
    /// Rows that could not be read, each reported once by this store.
    pub damaged: Vec<UnreadableRow>,
    /// The number of jobs of each task that this poll has cancelled, because they had expired.
    pub expired: BTreeMap<String, u64>,
}

/// A schedule that has something to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueSchedule {
    /// The schedule.
    pub schedule: StoredSchedule,
    /// When the latest unfinished job of it was accepted, unless its overlap is allowed.
    pub busy_since: Option<StoreTime>,
}

/// A row that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableRow {
    /// The row.
    pub row: String,
    /// The fault, and the remedy.
    pub reason: String,
}

/// The rule for a tick that fires while a job of the schedule is unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnBusy {
    /// The cursor moves, and the tick is counted as skipped.
    Skip,
    /// The cursor moves, and the tick waits for the end of the job. One that waits already is counted as skipped.
    Queue,
    /// Nothing changes.
    Wait,
}

/// Moves the cursor of a schedule, and makes a job of a tick: both or neither.
///
/// It is a compare-and-set on the cursor and the rule that the process computed from (R6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fire {
    /// The session.
    pub session: SessionId,
    /// The name of the schedule.
    pub schedule: String,
    /// The text of the rule that counted.
    pub rule: String,
    /// The cursor that was seen.
    pub seen: StoreTime,
    /// The pause that was seen, also one that is over: it decides why ticks are skipped.
    pub pause: Option<PauseSpan>,
    /// The cursor as it shall be, at least the one that was seen.
    pub cursor: StoreTime,
    /// When the schedule fires next.
    pub next: Next,
    /// The tick that becomes a job; none if only the cursor moves.
    pub job: Option<TickJob>,
    /// The rule for the tick if the schedule is busy.
    pub on_busy: OnBusy,
    /// Ticks that are skipped with it.
    pub skips: Skips,
    /// Claims the job in the same transaction, if it is due and not paused, and its payload has no greater version than this.
    pub claim: Option<u32>,
    /// When the request expires.
    pub not_after: StoreTime,
}

impl Fire {
    /// Returns true if it was computed from this state of its schedule: from this rule, this cursor and this pause (R6).
    #[must_use]
    pub fn has_seen(&self, schedule: &StoredSchedule) -> bool {
        self.rule == schedule.rule().text
            && self.seen == schedule.cursor
            && self.seen <= self.cursor
            && self.pause == schedule.pause.as_ref().map(Pause::span)
    }
}

/// The answer to a [`Fire`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fired {
    /// The cursor has moved, and the tick, if there was one, is a job. The job is here if it was claimed.
    Moved(Option<Box<StoredJob>>),
    /// The cursor has moved, and the tick was skipped: a job is unfinished.
    Skipped,
    /// The cursor has moved, and the tick waits for the end of a job.
    Queued,
    /// The cursor has moved, and so many ticks were skipped: a job waits for its turn, because its task has a limit. The tick, if there
    /// was one, is one of them or waits for the end of the job.
    Limited(u64),
    /// Nothing has changed: a job is unfinished.
    Busy,
    /// Nothing has changed: by the store's clock the tick is yet to come.
    TooEarly,
    /// Nothing has changed: the cursor, the rule or the pause is another by now. The schedule as it is; none if it is
    /// gone.
    Refused(Option<Box<StoredSchedule>>),
    /// Nothing has changed: the session has ended.
    Ended,
    /// Nothing has changed: another transaction has locked the schedule.
    Locked,
}

/// The end of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The attempt succeeded.
    Done,
    /// The attempt succeeded, and the job is deleted at once. Until a prune a store remembers its
    /// identity, and who has ended it, so that a request that is sent again finds it (R3, R4).
    Gone,
    /// The attempt failed. The job is due again after the wait, or is parked if this was its last attempt.
    Failed {
        /// The wait.
        after: Duration,
        /// The error.
        error: String,
    },
    /// It is parked whatever attempts it has left.
    Park {
        /// The error.
        error: String,
    },
    /// It is cancelled.
    Cancelled,
    /// It runs again after the wait, and this was no attempt.
    Snooze {
        /// The wait.
        after: Duration,
    },
    /// It began, and its process could not hold the lease until its end. That counts as a loss: it is ready again after the
    /// wait, or is parked if it must not run twice or was lost `max_lost` times in a row.
    Lost {
        /// The wait.
        after: Duration,
        /// After how many losses in a row it is parked.
        max_lost: u32,
    },
    /// It never began: it is ready again, and the claim was no attempt.
    GiveBack,
    /// Its payload could not be decoded. It is ready again after the wait, and the claim was no attempt; or it is parked if
    /// that has happened `limit` times.
    Undecodable {
        /// The wait.
        after: Duration,
        /// The error.
        error: String,
        /// After how many times it is parked.
        limit: u32,
    },
}

/// Ends the claim of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// The session that has claimed it.
    pub session: SessionId,
    /// The job and the fence of the claim.
    pub held: ClaimRef,
    /// The end.
    pub end: End,
    /// The last progress of the run, if it has reported some.
    pub progress: Option<JobProgress>,
}

impl Finish {
    /// An end without a progress of the run.
    #[must_use]
    pub const fn new(session: SessionId, held: ClaimRef, end: End) -> Self {
        Self { session, held, end, progress: None }
    }
}

/// The answer to a [`Finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It is stored, and the job has this state. A failed job whose cancellation was requested is cancelled.
    Stored(JobState),
    /// It was stored before: the request came twice. The job has this state.
    AlreadyMine(JobState),
    /// The job is no longer this session's, and nothing has changed.
    Lost,
    /// Another transaction has locked the job or its schedule. Nothing has changed: ask again later.
    Locked,
}

/// Ends sessions that were seen dead, and gives their jobs back.
///
/// It takes all running jobs whose session is gone, too, by session and fence: a claim may be committed into a session that
/// is already deleted (R10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reap {
    /// The sessions with the leases that were seen; those that were renewed since live on (R8, R9).
    pub dead: Vec<Lease>,
    /// The name of the process that has found them, for people.
    pub found_by: String,
    /// After how many losses in a row a job is parked.
    pub max_lost: u32,
    /// A lost job is due again after a wait below this one, which differs from job to job and follows from `draw` (R14).
    pub spread: Duration,
    /// A random number.
    pub draw: u64,
    /// When the request expires.
    pub not_after: StoreTime,
}

/// The wait of a lost job before it is due again.
#[must_use]
pub fn reap_wait(job: JobId, reap: &Reap) -> Duration {
    let (high, low) = job.as_uuid().as_u64_pair();
    let mixed = (high ^ low.rotate_left(32) ^ reap.draw).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let spread = reap.spread.as_micros().max(1);
    let micros = (u128::from(mixed) * spread) >> 64;
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// The number of lost jobs, of payloads of these lengths, that one reap takes over: no more than an answer carries
/// ([`CLAIM_BYTES_MAX`]), and one at least.
pub fn reap_count(payloads: impl IntoIterator<Item = usize>) -> usize {
    let mut bytes = 0;
    let fitting = payloads.into_iter().take_while(|length| {
        bytes += length;
        bytes <= CLAIM_BYTES_MAX
    });
    fitting.count().max(1)
}

/// The answer to a [`Reap`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reaped {
    /// The sessions that have ended now.
    pub sessions: Vec<SessionId>,
    /// The jobs that were lost, as they are now, by identity. If there are any, another reap may find more.
    pub jobs: Vec<StoredJob>,
}

/// Enqueues jobs: all in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueue {
    /// The jobs.
    pub jobs: Vec<NewJob>,
    /// When the request expires.
    pub not_after: StoreTime,
}

/// Deletes jobs that have ended long ago, dynamic schedules that are over for long, old actions, keys whose time is over, and what is
/// kept of sessions that ended more than [`ENDED_SESSION_RETENTION`](crate::ENDED_SESSION_RETENTION) ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prune {
    /// The time for which done and cancelled jobs are kept.
    pub keep_done: Duration,
    /// The time for which parked jobs are kept.
    pub keep_parked: Duration,
    /// The time for which dynamic schedules that are over are kept after their last tick:
    /// [`FINISHED_SCHEDULE_RETENTION`](crate::FINISHED_SCHEDULE_RETENTION), but for tests.
    pub keep_over: Duration,
    /// The time for which actions by hand are kept.
    pub keep_actions: Duration,
    /// The greatest number of parked jobs, of schedules, of actions, of keys and of sessions that are deleted: those that ended first. Jobs that are
    /// done or cancelled are deleted in the order in which they ended, until so many or more are deleted: those that
    /// ended at the same instant go together.
    pub limit: u32,
    /// When the request expires.
    pub not_after: StoreTime,
}

/// Selects jobs: all conditions hold. Texts are compared exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Of this task.
    pub task: Option<String>,
    /// In this queue.
    pub queue: Option<String>,
    /// In this partition.
    pub partition: Option<String>,
    /// In this state.
    pub state: Option<JobState>,
    /// With this key.
    pub key: Option<String>,
    /// Made by this schedule.
    pub schedule: Option<String>,
    /// Only those that have an error: an attempt has failed, or was lost. Those that are ready are found without a look at the
    /// others.
    pub has_error: bool,
    /// With a lesser identity, which is older: the next page.
    pub after: Option<JobId>,
}

/// The number of jobs of a task in a queue, by state.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct QueueDepth {
    /// The queue.
    pub queue: String,
    /// The task.
    pub task: String,
    /// Jobs that are due.
    pub due: u64,
    /// Jobs that become due later.
    pub later: u64,
    /// Those of the due and the later ones that have an error: an attempt has failed, or was lost, and is tried again. A job counts
    /// until it runs, so that one which is due in a paused queue, or waits for room, is not forgotten.
    pub retrying: u64,
    /// Jobs that are running.
    pub running: u64,
    /// Jobs that are parked.
    pub parked: u64,
    /// The time for which the oldest due job has waited.
    pub oldest: Option<Duration>,
    /// The time since the oldest running job was claimed.
    pub oldest_running: Option<Duration>,
    /// Jobs that are due by the version of their payload, the least first.
    pub versions: Vec<VersionDepth>,
    /// The last failures of the task, in all queues and processes; none if one of its jobs was done since.
    #[serde(skip)]
    pub failing: Option<Failing>,
}

/// The jobs of a task that were parked in a row, in any process: none was done since the first of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failing {
    /// Their number.
    pub failures: u64,
    /// When the first of them was parked.
    pub since: StoreTime,
    /// The end of the last of them.
    pub last: RunEnd,
}

impl Failing {
    /// A row of a store.
    #[must_use]
    pub fn new(failures: u64, since: StoreTime, last: RunEnd) -> Self {
        Self { failures, since, last }
    }
}

/// The number of due jobs of a task in a queue whose payloads have one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct VersionDepth {
    /// The version.
    pub version: u32,
    /// Jobs that are due.
    pub due: u64,
    /// The time for which the oldest of them has waited.
    pub oldest: Duration,
}
