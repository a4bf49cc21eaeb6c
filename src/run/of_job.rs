//! The durable job of a run, and the errors that decide about it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_store::{Fence, JobId, StoreTime};

use crate::run::handle::Run;
use crate::run::info::{JobErrorKind, TaskError};

/// The durable job of a run.
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
impl Run {
    /// The identity of the job that runs; none of a run that no store knows.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{Run, scheduled};
    ///
    /// #[scheduled(cron = "0 0 3 * * *", zone = "UTC", durable, name = "nightly")]
    /// fn nightly(run: Run) {
    ///     println!("job {:?}, attempt {}, after {} missed ticks", run.job_id(), run.attempt(), run.missed());
    /// }
    /// ```
    #[must_use]
    pub fn job_id(&self) -> Option<JobId> {
        Some(self.claimed()?.job().id)
    }

    /// The fence of the job: it grows each time work changes hands. A resource that refuses a fence smaller than the greatest
    /// it has seen is safe from a run that has [lost](Self::is_lost) its job and does not know yet.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        Some(self.claimed()?.job().fence)
    }

    /// Reports how far this run has come: a fraction from 0 to 1, and a text. People see the last one on the page, on the command line and as
    /// [`StoredJob::progress`](crate::store::StoredJob::progress), also when the run has ended, until the job runs again.
    ///
    /// It sends no statement of its own, and may be called for each row of an import: it goes with the next renewal of the lease, a third of the
    /// lease later at most, and with the end of the run. In a simulation it is in the store at once. Of a run that is no job, or whose job another
    /// process has by now, it does nothing.
    ///
    /// A fraction outside of 0 to 1 becomes 0 or 1. One that is no number, such as `0.0 / 0.0`, is ignored, with one warning for each run. Of the
    /// text 200 bytes are kept. It is shown to all who may see errors: give it no secrets.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{Run, job};
    ///
    /// #[job(name = "import")]
    /// fn import(#[payload] pages: u32, run: Run) {
    ///     for page in 0..pages {
    ///         run.progress(f64::from(page) / f64::from(pages), format!("page {page} of {pages}"));
    ///     }
    /// }
    /// ```
    pub fn progress(&self, fraction: f64, text: impl AsRef<str>) {
        if let Some(claimed) = self.claimed() {
            claimed.report_progress(fraction, text.as_ref());
        }
    }

    /// The tick of a durable schedule for which this runs; none of a manual run, and of an enqueued job.
    #[must_use]
    pub fn tick(&self) -> Option<DateTime<Utc>> {
        self.claimed()?.job().origin.as_ref()?.tick.map(StoreTime::utc)
    }

    /// The number of ticks before this one that were missed and are not run.
    #[must_use]
    pub fn missed(&self) -> u64 {
        let origin = self.claimed().and_then(|claimed| claimed.job().origin.as_ref());
        origin.map_or(0, |origin| origin.missed)
    }

    /// Returns true if this process has lost the job, because it could not reach the store for too long: another one may run it, or the
    /// next tick of its schedule, from the end of the lease on, and this is true before that by the clock of this process. The run is
    /// also [asked to stop](Self::stop_requested), and what it returns counts no more.
    ///
    /// With `on_lost = "abandon"` no other process runs the job, unless a person retries it. Then the run may go on: an async
    /// function is not dropped, and what it returns ends the job.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.claimed().is_some_and(|claimed| claimed.has_lost_session())
    }
}

/// Why a run of a durable job has not done its work: it failed, asks to run again later, or not to be tried again.
///
/// A function returns it in a `Result<(), JobError>`. By `?` an error, a text, a boxed error or `anyhow::Error` becomes one,
/// as in any task; it is a failure that is tried again as `retry` says.
///
/// ```no_run,standalone_crate
/// use scheduler::{JobError, job};
/// use std::time::Duration;
///
/// #[job(name = "send-invoice", retry(max = 5))]
/// fn send_invoice(#[payload] number: u32) -> Result<(), JobError> {
///     if number == 0 {
///         return Err(JobError::give_up("there is no invoice 0"));
///     }
///     let is_printed = std::fs::exists(format!("{number}.pdf"))?; // a failure, which is tried again
///     if !is_printed {
///         return Err(JobError::snooze(Duration::from_secs(60)));
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError(TaskError);

// Like `anyhow::Error` it is no `Error` itself, so that every error can become one. It is no other value in `Ok` either:
// then nothing would say what `Err("no")` is a result of.
impl JobError {
    /// It has failed for this reason, and is tried again as `retry` says.
    #[must_use]
    pub fn failed(reason: impl fmt::Display) -> Self {
        Self(TaskError::from_display(&reason))
    }

    /// It runs again after this time, and this was no attempt. A run of a task that is no job fails.
    ///
    /// With no time it gives the job back: to be returned by a job that leaves early because it was asked to stop. `Ok` would end it.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{JobError, Run, Shutdown, job};
    /// use std::time::Duration;
    ///
    /// #[job(name = "export")]
    /// fn export(run: Run, shutdown: Shutdown) -> Result<(), JobError> {
    ///     for part in 0..1_000 {
    ///         if shutdown.stop_requested() || run.stop_requested() {
    ///             return Err(JobError::snooze(Duration::ZERO));
    ///         }
    ///         println!("part {part}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn snooze(time: Duration) -> Self {
        let error = TaskError::from_display("only a durable job can be put off");
        Self(error.of_kind(JobErrorKind::Snooze(time)))
    }

    /// It has failed for this reason, and is not tried again.
    #[must_use]
    pub fn give_up(reason: impl fmt::Display) -> Self {
        Self(TaskError::from_display(&reason).of_kind(JobErrorKind::GiveUp))
    }

    pub(crate) fn into_task_error(self) -> TaskError {
        self.0
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for JobError {
    fn from(error: E) -> Self {
        Self(TaskError::from_error(&*error.into()))
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
