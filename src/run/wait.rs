//! Waits of a run on the clock of the scheduler.

use std::future::Future;
use std::time::Duration;

use super::handle::Run;
use super::stop::Stopped;

/// A wait in a durable job looks so often whether the run has lost a session that it may outlive: nothing wakes it then.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Run {
    /// Blocks the calling thread for this long on the scheduler's clock, or until the run is asked to
    /// stop. In a simulation virtual time goes on for this run alone, which lasts longer by that.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{Run, Stopped, scheduled};
    /// use std::time::Duration;
    ///
    /// #[scheduled(fixed_delay = "1h")]
    /// fn poll(run: Run) -> Result<(), Stopped> {
    ///     while !std::path::Path::new("ready").exists() {
    ///         run.sleep(Duration::from_secs(5))?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Stopped`] when the run was asked to stop, before or during the wait. The run of a job with `on_lost = "abandon"` that has lost
    /// its session may go on all the same.
    pub fn sleep(&self, duration: Duration) -> Result<(), Stopped> {
        if self.stop_requested() {
            return Err(Stopped);
        }
        match &self.attempt.execution {
            Some(execution) => {
                let (limit, end) = (execution.left(), duration.min(execution.left()));
                let look = self.claimed().map_or(Duration::MAX, |_| LOOK_EVERY);
                let mut slept = Duration::ZERO;
                while slept < end {
                    let step = look.min(end - slept);
                    execution.engine().sleep(step).map_err(|_| Stopped)?;
                    slept += step;
                    if slept < end && self.stop_requested() {
                        return Err(Stopped);
                    }
                }
                if duration < limit { Ok(()) } else { Err(Stopped) }
            }
            // Outside of any scheduler there is no clock to wait on.
            None => Ok(()),
        }
    }

    /// Waits for this long on the scheduler's clock, and holds no thread meanwhile.
    ///
    /// The future needs no runtime. (When the run is asked to stop, the future of its task is dropped
    /// where it awaits, and this one with it. A job with `on_lost = "abandon"` that has lost its session keeps both.)
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::{Run, scheduled};
    /// use std::time::Duration;
    ///
    /// #[scheduled(fixed_delay = "1h")]
    /// async fn poll(run: Run) {
    ///     while !std::path::Path::new("ready").exists() {
    ///         run.sleep_async(Duration::from_secs(5)).await;
    ///     }
    /// }
    /// ```
    pub fn sleep_async(
        &self,
        duration: Duration,
    ) -> impl Future<Output = ()> + Send + 'static + use<> {
        let execution = self.attempt.execution.as_ref();
        let sleep = execution
            .and_then(|execution| execution.pool.upgrade())
            .map(|pool| pool.sleep(duration));
        async move {
            if let Some(sleep) = sleep {
                sleep.await;
            }
        }
    }
}
