//! A claimed job: from the claim to the end of its run.
//!
//! It waits, and then it begins or is withdrawn, whichever comes first. It begins only while the lease of its
//! session is valid on this machine (R20). Without the feature `durable` the type has no value, which an empty `match` shows.

#[cfg(not(feature = "durable"))]
use std::convert::{Infallible as End, Infallible as StoredJob};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

#[cfg(feature = "durable")]
use scheduler_store::{End, JobProgress, OnLost, StoredJob};

use super::info::JobErrorKind;
use super::info::JobInfo;
use super::stop::StopCause;
use crate::base::sync::Mutex;

/// Called once with the end of the claim. No lock is held.
type OnJobEnd = Box<dyn FnOnce(&StoredJob, End) + Send>;

/// Asks the run of a job to stop.
type StopJob = Box<dyn Fn(&ClaimedJob, StopCause) + Send + Sync>;

/// Asks the node whether the run may begin: its lease is valid, and the job was not given back (R20).
type MayBegin = Box<dyn Fn() -> bool + Send + Sync>;

/// Called with each progress that the run reports; none is one that is no number. No lock is held.
#[cfg(feature = "durable")]
type OnProgress = Box<dyn Fn(&StoredJob, Option<JobProgress>) + Send + Sync>;

/// The number of times that a payload may be undecodable before its job is parked.
#[cfg(feature = "durable")]
pub(crate) const UNDECODABLE_LIMIT: u32 = 5;

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// A claimed job and its run. See the [module](self).
pub(crate) struct ClaimedJob {
    job: Arc<StoredJob>,
    info: OnceLock<Arc<JobInfo>>,
    /// The wait before the next attempt, if this one fails.
    pub(crate) retry_after: Duration,
    state: AtomicU8,
    is_lost: AtomicBool,
    has_outlived: AtomicBool,
    is_interrupted: AtomicBool,
    may_begin: MayBegin,
    error_kind: Mutex<Option<JobErrorKind>>,
    stop: OnceLock<StopJob>,
    on_end: Mutex<Option<OnJobEnd>>,
    #[cfg(feature = "durable")]
    on_progress: OnceLock<OnProgress>,
    /// True once a progress was ignored.
    #[cfg(feature = "durable")]
    has_ignored: AtomicBool,
}

impl ClaimedJob {
    /// The job as it was claimed.
    pub(crate) fn job(&self) -> &StoredJob {
        &self.job
    }

    /// Its identity as a number.
    pub(crate) fn number(&self) -> u128 {
        #[cfg(feature = "durable")]
        return self.job.id.as_uuid().as_u128();
        #[cfg(not(feature = "durable"))]
        match *self.job {}
    }

    /// The trace context of the code that enqueued it.
    pub(crate) fn traceparent(&self) -> Option<&str> {
        #[cfg(feature = "durable")]
        return self.job.traceparent.as_deref();
        #[cfg(not(feature = "durable"))]
        match *self.job {}
    }

    /// Its identity as plain data.
    pub(crate) fn info(&self) -> Arc<JobInfo> {
        Arc::clone(self.info.get_or_init(|| info_of(&self.job)))
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

    /// Keeps a job that has not begun from beginning. Returns false if it has begun.
    pub(crate) fn withdraw(&self) -> bool {
        // ORDERING: as in `begin`.
        let (to, ok) = (Ordering::AcqRel, Ordering::Acquire);
        self.state.compare_exchange(WAITING, WITHDRAWN, to, ok) != Err(BEGUN)
    }

    /// Reports the end of the claim, unless it was reported. No lock may be held.
    pub(crate) fn end(&self, end: End) {
        let on_end = self.on_end.lock().take();
        if let Some(on_end) = on_end {
            on_end(&self.job, end);
        }
    }

    /// Keeps the kind of error that an attempt returned.
    pub(crate) fn set_error_kind(&self, kind: JobErrorKind) {
        *self.error_kind.lock() = Some(kind);
    }

    pub(crate) fn error_kind(&self) -> Option<JobErrorKind> {
        *self.error_kind.lock()
    }

    /// Returns true if the session has ended in which the run began.
    pub(crate) fn has_lost_session(&self) -> bool {
        // ORDERING: acquire, see `set_lost`.
        self.is_lost.load(Ordering::Acquire) || self.has_outlived.load(Ordering::Acquire)
    }

    /// Takes note that the pool has dropped its run.
    pub(crate) fn interrupt(&self) {
        // ORDERING: relaxed; it is read under the lock of the task, as it is written.
        self.is_interrupted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        // ORDERING: see `interrupt`.
        self.is_interrupted.load(Ordering::Relaxed)
    }
}

/// The part of the node.
#[cfg(feature = "durable")]
impl ClaimedJob {
    /// A job that waits. `on_end` is called exactly once, also if the job never starts.
    pub(crate) fn new(
        job: impl Into<Arc<StoredJob>>,
        retry_after: Duration,
        may_begin: MayBegin,
        on_end: OnJobEnd,
    ) -> Arc<Self> {
        Arc::new(Self {
            job: job.into(),
            info: OnceLock::new(),
            retry_after,
            state: AtomicU8::new(WAITING),
            is_lost: AtomicBool::new(false),
            has_outlived: AtomicBool::new(false),
            is_interrupted: AtomicBool::new(false),
            may_begin,
            error_kind: Mutex::default(),
            stop: OnceLock::new(),
            on_end: Mutex::new(Some(on_end)),
            on_progress: OnceLock::new(),
            has_ignored: AtomicBool::new(false),
        })
    }

    /// Sets the function that takes what its run reports.
    pub(crate) fn on_progress(&self, report: OnProgress) {
        drop(self.on_progress.set(report));
    }

    /// Passes a progress of its run on. One that is no number is reported once.
    pub(crate) fn report_progress(&self, fraction: f64, text: &str) {
        let progress = JobProgress::new(fraction, text);
        // ORDERING: relaxed; nothing else depends on it.
        let is_told = progress.is_some() || !self.has_ignored.swap(true, Ordering::Relaxed);
        if let Some(report) = self.on_progress.get().filter(|_| is_told) {
            report(&self.job, progress);
        }
    }

    /// Sets the function that asks its run to stop.
    pub(crate) fn on_stop(&self, stop: StopJob) {
        drop(self.stop.set(stop));
    }

    /// The session has ended: asks a run in progress to stop, and keeps a job that waits from beginning.
    pub(crate) fn set_lost(&self) {
        // ORDERING: release, so that a run that sees it sees what the node knew.
        self.is_lost.store(true, Ordering::Release);
        self.ask_to_stop(StopCause::Lost);
    }

    /// The session has ended of a run that goes on, because its job runs at most once. It learns that, and its outcome counts.
    pub(crate) fn set_outlived(&self) {
        // ORDERING: as in `set_lost`.
        self.has_outlived.store(true, Ordering::Release);
    }

    pub(crate) fn is_lost(&self) -> bool {
        // ORDERING: acquire, see `set_lost`.
        self.is_lost.load(Ordering::Acquire)
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

    /// The end of a run that was lost. If another process has the job already, the fence refuses it.
    pub(crate) fn end_of_lost(&self) -> End {
        // The node knows the wait and the limit.
        End::Lost { after: Duration::ZERO, max_lost: u32::MAX }
    }

    /// The end of a run that did not end before the scheduler stopped: no failure. It runs again, unless it must not.
    pub(crate) fn end_of_interrupted(&self) -> End {
        match self.job.on_lost {
            OnLost::Abandon => {
                let error = "interrupted: its process stopped before it was over";
                End::Park { error: error.to_owned() }
            }
            OnLost::Rerun => End::Snooze { after: Duration::ZERO },
        }
    }
}

/// A job whose end was not reported: its run was dropped, or never began.
#[cfg(feature = "durable")]
impl Drop for ClaimedJob {
    fn drop(&mut self) {
        // ORDERING: as in `begin`.
        let has_begun = self.state.load(Ordering::Acquire) == BEGUN;
        self.end(if has_begun { self.end_of_interrupted() } else { End::GiveBack });
    }
}

impl fmt::Debug for ClaimedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimedJob")
            .field("job", &self.info())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "durable")]
fn info_of(job: &StoredJob) -> Arc<JobInfo> {
    let (id, key, queue) = (job.id.to_string(), job.key.as_deref(), &*job.queue);
    Arc::new(JobInfo { id: id.into(), key: key.map(Arc::from), queue: queue.into() })
}

#[cfg(not(feature = "durable"))]
fn info_of(job: &StoredJob) -> Arc<JobInfo> {
    match *job {}
}
