//! A job that this process has claimed: from the node, which has claimed it, to the end of its run.
//!
//! It waits, and then it begins or is withdrawn, whichever comes first. It begins only while the lease of its
//! session is valid on this machine (R20).
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::WallTime;
use scheduler_store::{StoreTime, StoredJob};

use super::cause::Cause;
use super::stop::StopCause;
use super::task_error::Verdict;
use crate::sync::Mutex;

/// How the run of a claimed job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobEnd {
    Succeeded,
    /// By an error or a panic: its text.
    Failed(String),
    TimedOut(String),
    /// It was cancelled by a command, in the store or here.
    Cancelled,
    /// Its payload could not be decoded.
    Undecodable(String),
    /// It asks to run again later, and this was no attempt.
    Snoozed(Duration),
    /// It failed, and asks not to be tried again.
    Discarded(String),
    /// A gate has refused it before it began, for this reason.
    Refused(String),
    /// The scheduler stopped before it was over.
    Interrupted,
    /// The session has ended, and it may run elsewhere.
    Lost,
    /// It never began.
    NeverStarted,
}

/// Called once with how the run ended, with no lock held.
pub(crate) type OnJobEnd = Box<dyn FnOnce(&StoredJob, JobEnd) + Send>;

/// Asks the run of a job to stop.
pub(crate) type StopJob = Box<dyn Fn(&ClaimedJob, StopCause) + Send + Sync>;

/// Asks the node whether the run may begin: its lease is valid, and the job was not given back (R20).
pub(crate) type MayBegin = Box<dyn Fn() -> bool + Send + Sync>;

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// A claimed job and its run. See the [module](self).
pub(crate) struct ClaimedJob {
    job: StoredJob,
    state: AtomicU8,
    is_lost: AtomicBool,
    is_interrupted: AtomicBool,
    may_begin: MayBegin,
    verdict: Mutex<Option<Verdict>>,
    stop: OnceLock<StopJob>,
    on_end: Mutex<Option<OnJobEnd>>,
}

impl ClaimedJob {
    /// A job that waits. `on_end` is called exactly once, also if the job never begins.
    pub(crate) fn new(job: StoredJob, may_begin: MayBegin, on_end: OnJobEnd) -> Arc<ClaimedJob> {
        Arc::new(Self {
            job,
            state: AtomicU8::new(WAITING),
            is_lost: AtomicBool::new(false),
            is_interrupted: AtomicBool::new(false),
            may_begin,
            verdict: Mutex::default(),
            stop: OnceLock::new(),
            on_end: Mutex::new(Some(on_end)),
        })
    }

    /// The session has ended: asks a run in progress to stop, and keeps a job that waits from beginning.
    pub(crate) fn set_lost(&self) {
        // ORDERING: release, so that a run that sees it sees what the node knew.
        self.is_lost.store(true, Ordering::Release);
        self.ask_to_stop(StopCause::Lost);
    }

    /// The job is cancelled: asks a run in progress to stop, and keeps a job that waits from beginning.
    pub(crate) fn cancel(&self) {
        self.ask_to_stop(StopCause::Cancelled);
    }

    fn ask_to_stop(&self, cause: StopCause) {
        if !self.withdraw()
            && let Some(stop) = self.stop.get()
        {
            stop(self, cause);
        }
    }
}

/// What the room of tasks needs.
impl ClaimedJob {
    /// Keeps a job that has not begun from beginning. Returns false if it has begun.
    pub(crate) fn withdraw(&self) -> bool {
        // ORDERING: as in `begin`.
        let (to, ok) = (Ordering::AcqRel, Ordering::Acquire);
        self.state.compare_exchange(WAITING, WITHDRAWN, to, ok) != Err(BEGUN)
    }

    /// The job as it was claimed.
    pub(crate) fn job(&self) -> &StoredJob {
        &self.job
    }

    /// Begins a job that waits, if the node lets it. One whose lease is over never begins.
    pub(crate) fn begin(&self) -> bool {
        if !(self.may_begin)() {
            self.withdraw();
            return false;
        }
        // ORDERING: each side sees what the other did before it won.
        let (to, ok) = (Ordering::AcqRel, Ordering::Acquire);
        self.state.compare_exchange(WAITING, BEGUN, to, ok).is_ok()
    }

    fn has_begun(&self) -> bool {
        // ORDERING: as in `begin`.
        self.state.load(Ordering::Acquire) == BEGUN
    }

    /// Says how its run is asked to stop.
    pub(crate) fn on_stop(&self, stop: StopJob) {
        drop(self.stop.set(stop));
    }

    /// Reports how the run ended, unless that was reported.
    pub(crate) fn end(&self, end: JobEnd) {
        let on_end = self.on_end.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(on_end) = on_end {
            on_end(&self.job, end);
        }
    }

    /// Keeps what the job asks for beside its result.
    pub(crate) fn keep_verdict(&self, verdict: Verdict) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pool has dropped its run.
    pub(crate) fn interrupt(&self) {
        // ORDERING: relaxed; it is read under the lock of the task, as it is written.
        self.is_interrupted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        // ORDERING: see `interrupt`.
        self.is_interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn is_lost(&self) -> bool {
        // ORDERING: acquire, see `set_lost`.
        self.is_lost.load(Ordering::Acquire)
    }

    /// The number of the attempt, over all processes.
    pub(crate) fn attempt(&self) -> u32 {
        self.job.attempt
    }

    /// Why it runs.
    pub(crate) fn cause(&self) -> Cause {
        match &self.job.origin {
            None => Cause::Job,
            Some(origin) if origin.tick.is_some() => Cause::Schedule,
            Some(_) => Cause::Manual,
        }
    }

    /// The tick, or when an enqueued job was due.
    pub(crate) fn fire_time(&self) -> WallTime {
        let tick = self.job.origin.as_ref().and_then(|origin| origin.tick);
        instant(tick.unwrap_or(self.job.run_at)).into()
    }

    pub(crate) fn due(&self) -> WallTime {
        instant(self.job.run_at).into()
    }
}

/// A job that nobody has ended: its run was given up, or never began.
impl Drop for ClaimedJob {
    fn drop(&mut self) {
        self.end(if self.has_begun() { JobEnd::Interrupted } else { JobEnd::NeverStarted });
    }
}

impl fmt::Debug for ClaimedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, task, state) = (self.job.id, &self.job.task, &self.state);
        f.debug_struct("ClaimedJob")
            .field("id", &id)
            .field("task", task)
            .field("state", state)
            .finish_non_exhaustive()
    }
}

/// An instant of a store's clock.
pub(crate) fn instant(time: StoreTime) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(time.as_micros()).unwrap_or_default()
}
