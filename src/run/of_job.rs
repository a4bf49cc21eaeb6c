//! The durable job of a run.

use chrono::{DateTime, Utc};
use scheduler_store::{Fence, JobId, StoreTime};

use super::handle::Run;

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
