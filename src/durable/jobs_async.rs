//! The handle of durable jobs for async code.

use std::time::Duration;

use scheduler_store::{
    Enqueued, JobFilter, JobId, JobPause, Payload, QueueDepth, SessionInfo, StoreError, StoredJob,
};

use super::error::{EnqueueError, JobsError};
use super::job::Job;
use super::jobs::{Asking, Jobs, sole};
use super::twins::twins;
use super::unknown::UnknownTask;
use crate::run::Pause;

/// The same for async code: each asks the store on up to eight threads that all of them share, and needs no runtime.
///
/// A request is sent when its future is first polled, and is not taken back when that is dropped.
impl Jobs {
    /// As [`enqueue`](Self::enqueue).
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Self::enqueue).
    pub async fn enqueue_async(&self, job: Job) -> Result<Enqueued, EnqueueError> {
        Ok(sole(&self.enqueue_all_async(vec![job]).await?))
    }

    /// As [`enqueue_all`](Self::enqueue_all).
    ///
    /// # Errors
    ///
    /// As [`enqueue_all`](Self::enqueue_all).
    pub async fn enqueue_all_async(&self, jobs: Vec<Job>) -> Result<Vec<Enqueued>, EnqueueError> {
        let (jobs, new) = self.checked(jobs)?;
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.inner.client.call_async(move |client| client.enqueue(new)).await;
        self.accepted(jobs, answer.unwrap_or_else(|| Err(unasked())))
    }

    /// As [`wait`](Self::wait), for any number of futures at once.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub async fn wait_async(&self, id: JobId, limit: Duration) -> Result<StoredJob, JobsError> {
        let client = &self.inner.client;
        if client.is_inline() {
            return self.wait(id, limit);
        }
        let mut asking = Asking::new(client, limit);
        loop {
            let jobs = self.clone();
            let answer = client.call_async_at(asking.at(), move |_| jobs.get(id)).await;
            if let Some(end) = asking.end(answer.unwrap_or_else(|| Err(unasked().into()))) {
                return end;
            }
        }
    }

    /// As [`is_up`](Self::is_up).
    pub async fn is_up_async(&self) -> bool {
        self.ask_async(|jobs| Ok(jobs.is_up())).await.unwrap_or(false)
    }

    twins! {
        get_async = get(id: JobId) -> Option<StoredJob>;
        list_async = list(filter: &JobFilter, limit: u32) -> Vec<StoredJob>;
        cancel_async = cancel(id: JobId) -> ();
        retry_async = retry(id: JobId) -> ();
        edit_async = edit(job: &StoredJob, payload: &Payload) -> ();
        delete_async = delete(id: JobId) -> ();
        cancel_all_async = cancel_all(filter: &JobFilter) -> u64;
        retry_all_async = retry_all(filter: &JobFilter) -> u64;
        delete_all_async = delete_all(filter: &JobFilter) -> u64;
        depths_async = depths() -> Vec<QueueDepth>;
        sessions_async = sessions() -> Vec<SessionInfo>;
        pause_task_async = pause_task(task: &str, pause: &Pause) -> ();
        resume_task_async = resume_task(task: &str) -> ();
        pause_queue_async = pause_queue(queue: &str, pause: &Pause) -> ();
        resume_queue_async = resume_queue(queue: &str) -> ();
        pauses_async = pauses() -> Vec<JobPause>;
        unknown_tasks_async = unknown_tasks(depths: &[QueueDepth]) -> Vec<UnknownTask>;
    }

    /// Asks the store on the thread for async code.
    pub(super) async fn ask_async<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self) -> Result<R, JobsError> + Send + 'static,
    ) -> Result<R, JobsError> {
        let jobs = self.clone();
        let answer = self.inner.client.call_async(move |_| ask(&jobs)).await;
        answer.unwrap_or_else(|| Err(unasked().into()))
    }
}

/// The thread could not be started, or the store has panicked.
fn unasked() -> StoreError {
    StoreError::Unavailable("no thread could ask it".to_owned())
}
