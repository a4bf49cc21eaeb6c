//! Tasks that are cancelled when they take too long.

use std::time::Duration;

use super::executor::ScheduledThreadPool;
use crate::error::Error;
use crate::task::{OnceBody, Task, TaskHandle};

impl ScheduledThreadPool {
    /// Runs a task as soon as possible, and cancels it if it has not ended within `timeout`.
    ///
    /// The timeout counts from the submission. A run in progress is asked to stop, as by
    /// [`TaskHandle::cancel_now`]; a task that has not begun by then, never does; a value that comes
    /// later is dropped. As `submitWithTimeout` of the JDK's `ForkJoinPool`.
    ///
    /// The body and blocked waits see the timeout at once. Callbacks and futures that await the handle are notified by an
    /// [`Alarm`](crate::Alarm): while all workers are busy, by the first that is free.
    ///
    /// ```
    /// use scheduler_core::{Run, ScheduledThreadPool};
    /// use std::time::Duration;
    ///
    /// let pool = ScheduledThreadPool::new(2);
    /// let handle = pool.submit_with_timeout(Duration::from_millis(5), || {
    ///     Run::current().expect("this is a task").sleep(Duration::from_secs(3600))
    /// })?;
    /// assert!(handle.wait().unwrap_err().is_cancelled());
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    #[doc(alias = "submitWithTimeout")]
    pub fn submit_with_timeout<T: Send + Sync + 'static>(
        &self,
        timeout: Duration,
        body: impl OnceBody<T>,
    ) -> Result<TaskHandle<T>, Error> {
        let deadline = self.state().clock.now() + timeout;
        let handle = self.submit_task(Task::once(body).deadline(deadline))?;
        if !handle.is_done() {
            let limited = handle.clone();
            let alarm = self.call_at(deadline, move || _ = limited.cancel_now());
            handle.on_done(move |_| drop(alarm));
        }
        Ok(handle)
    }
}
