//! The durable schedules for async code.

use scheduler_store::{JobId, StoredSchedule};

use super::error::JobsError;
use super::job::Job;
use super::schedules::Schedules;
use super::twins::twins;
use crate::define::schedule::Schedule;
use crate::run::Pause;

/// The same for async code: see the twins of [`Jobs`](crate::Jobs).
impl Schedules {
    twins! {
        list_async = list() -> Vec<StoredSchedule>;
        pause_async = pause(schedule: &str, pause: &Pause) -> ();
        resume_async = resume(schedule: &str) -> ();
        run_now_async = run_now(schedule: &str) -> JobId;
        reschedule_async = reschedule(schedule: &str, rule: Schedule) -> ();
        reset_async = reset(schedule: &str) -> ();
        put_async = put(name: &str, schedule: Schedule, job: Job) -> ();
        remove_async = remove(schedule: &str) -> ();
    }

    async fn ask_async<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self) -> Result<R, JobsError> + Send + 'static,
    ) -> Result<R, JobsError> {
        self.jobs.ask_async(move |jobs| ask(&Self::of(jobs))).await
    }
}
