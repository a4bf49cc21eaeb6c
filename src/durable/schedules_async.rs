//! The durable schedules for async code.

use scheduler_store::JobId;

use super::error::JobsError;
use super::job::Job;
use super::schedules::Schedules;
use super::stored::StoredSchedule;
use crate::define::schedule::Schedule;
use crate::run::Pause;

/// The same for async code: see the twins of [`Jobs`](crate::Jobs).
impl Schedules {
    /// As [`list`](Self::list).
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn list_async(&self) -> Result<Vec<StoredSchedule>, JobsError> {
        self.ask_async(Self::list).await
    }

    /// As [`pause`](Self::pause).
    ///
    /// # Errors
    ///
    /// As [`pause`](Self::pause).
    pub async fn pause_async(&self, schedule: &str, pause: &Pause) -> Result<(), JobsError> {
        let (schedule, pause) = (schedule.to_owned(), pause.clone());
        self.ask_async(move |schedules| schedules.pause(&schedule, &pause)).await
    }

    /// As [`resume`](Self::resume).
    ///
    /// # Errors
    ///
    /// As [`resume`](Self::resume).
    pub async fn resume_async(&self, schedule: &str) -> Result<(), JobsError> {
        let schedule = schedule.to_owned();
        self.ask_async(move |schedules| schedules.resume(&schedule)).await
    }

    /// As [`run_now`](Self::run_now).
    ///
    /// # Errors
    ///
    /// As [`run_now`](Self::run_now).
    pub async fn run_now_async(&self, schedule: &str) -> Result<JobId, JobsError> {
        let schedule = schedule.to_owned();
        self.ask_async(move |schedules| schedules.run_now(&schedule)).await
    }

    /// As [`reschedule`](Self::reschedule).
    ///
    /// # Errors
    ///
    /// As [`reschedule`](Self::reschedule).
    pub async fn reschedule_async(&self, schedule: &str, rule: Schedule) -> Result<(), JobsError> {
        let schedule = schedule.to_owned();
        self.ask_async(move |schedules| schedules.reschedule(&schedule, rule)).await
    }

    /// As [`reset`](Self::reset).
    ///
    /// # Errors
    ///
    /// As [`reset`](Self::reset).
    pub async fn reset_async(&self, schedule: &str) -> Result<(), JobsError> {
        let schedule = schedule.to_owned();
        self.ask_async(move |schedules| schedules.reset(&schedule)).await
    }

    /// As [`put`](Self::put).
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put).
    pub async fn put_async(
        &self,
        name: &str,
        schedule: Schedule,
        job: Job,
    ) -> Result<(), JobsError> {
        let name = name.to_owned();
        self.ask_async(move |schedules| schedules.put(&name, schedule, job)).await
    }

    /// As [`remove`](Self::remove).
    ///
    /// # Errors
    ///
    /// As [`remove`](Self::remove).
    pub async fn remove_async(&self, schedule: &str) -> Result<(), JobsError> {
        let schedule = schedule.to_owned();
        self.ask_async(move |schedules| schedules.remove(&schedule)).await
    }

    async fn ask_async<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self) -> Result<R, JobsError> + Send + 'static,
    ) -> Result<R, JobsError> {
        self.jobs.ask_async(move |jobs| ask(&Self::of(jobs))).await
    }
}
