//! The handle of durable jobs for async code.

use std::time::Duration;

use scheduler_store::{Enqueued, JobFilter, JobId, QueueDepth, StoreError};

use super::error::{EnqueueError, JobsError};
use super::job::Job;
use super::jobs::{Asking, Jobs, sole};
use super::stored::{SessionInfo, StoredJob, StoredPayload};

/// The same for async code: each asks the store on one thread that all of them share, and needs no runtime.
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

    /// As [`get`](Self::get).
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub async fn get_async(&self, id: JobId) -> Result<Option<StoredJob>, JobsError> {
        self.ask_async(move |jobs| jobs.get(id)).await
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

    /// As [`list`](Self::list).
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn list_async(
        &self,
        filter: &JobFilter,
        limit: u32,
    ) -> Result<Vec<StoredJob>, JobsError> {
        let filter = filter.clone();
        self.ask_async(move |jobs| jobs.list(&filter, limit)).await
    }

    /// As [`cancel`](Self::cancel).
    ///
    /// # Errors
    ///
    /// As [`cancel`](Self::cancel).
    pub async fn cancel_async(&self, id: JobId) -> Result<(), JobsError> {
        self.ask_async(move |jobs| jobs.cancel(id)).await
    }

    /// As [`retry`](Self::retry).
    ///
    /// # Errors
    ///
    /// As [`retry`](Self::retry).
    pub async fn retry_async(&self, id: JobId) -> Result<(), JobsError> {
        self.ask_async(move |jobs| jobs.retry(id)).await
    }

    /// As [`edit`](Self::edit).
    ///
    /// # Errors
    ///
    /// As [`edit`](Self::edit).
    pub async fn edit_async(
        &self,
        job: &StoredJob,
        payload: &StoredPayload,
    ) -> Result<(), JobsError> {
        let (job, payload) = (job.clone(), payload.clone());
        self.ask_async(move |jobs| jobs.edit(&job, &payload)).await
    }

    /// As [`delete`](Self::delete).
    ///
    /// # Errors
    ///
    /// As [`delete`](Self::delete).
    pub async fn delete_async(&self, id: JobId) -> Result<(), JobsError> {
        self.ask_async(move |jobs| jobs.delete(id)).await
    }

    /// As [`cancel_all`](Self::cancel_all).
    ///
    /// # Errors
    ///
    /// As [`cancel_all`](Self::cancel_all).
    pub async fn cancel_all_async(&self, filter: &JobFilter) -> Result<u64, JobsError> {
        let filter = filter.clone();
        self.ask_async(move |jobs| jobs.cancel_all(&filter)).await
    }

    /// As [`retry_all`](Self::retry_all).
    ///
    /// # Errors
    ///
    /// As [`cancel_all`](Self::cancel_all).
    pub async fn retry_all_async(&self, filter: &JobFilter) -> Result<u64, JobsError> {
        let filter = filter.clone();
        self.ask_async(move |jobs| jobs.retry_all(&filter)).await
    }

    /// As [`delete_all`](Self::delete_all).
    ///
    /// # Errors
    ///
    /// As [`cancel_all`](Self::cancel_all).
    pub async fn delete_all_async(&self, filter: &JobFilter) -> Result<u64, JobsError> {
        let filter = filter.clone();
        self.ask_async(move |jobs| jobs.delete_all(&filter)).await
    }

    /// As [`is_up`](Self::is_up).
    pub async fn is_up_async(&self) -> bool {
        self.ask_async(|jobs| Ok(jobs.is_up())).await.unwrap_or(false)
    }

    /// As [`depths`](Self::depths).
    ///
    /// # Errors
    ///
    /// As [`depths`](Self::depths).
    pub async fn depths_async(&self) -> Result<Vec<QueueDepth>, JobsError> {
        self.ask_async(Self::depths).await
    }

    /// As [`sessions`](Self::sessions).
    ///
    /// # Errors
    ///
    /// As [`sessions`](Self::sessions).
    pub async fn sessions_async(&self) -> Result<Vec<SessionInfo>, JobsError> {
        self.ask_async(Self::sessions).await
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
