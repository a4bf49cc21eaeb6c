//! Waits of a run on the clock of the scheduler.

use std::future::Future;
use std::time::Duration;

use super::handle::Run;
use super::stop::Stopped;

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
    /// [`Stopped`] when the run was asked to stop, before or during the wait.
    pub fn sleep(&self, duration: Duration) -> Result<(), Stopped> {
        if self.stop_requested() {
            return Err(Stopped);
        }
        match &self.attempt.execution {
            Some(execution) => {
                let left = execution.left();
                execution.engine().sleep(duration.min(left)).map_err(|_| Stopped)?;
                if duration < left { Ok(()) } else { Err(Stopped) }
            }
            // Outside of any scheduler there is no clock to wait on.
            None => Ok(()),
        }
    }

    /// Waits for this long on the scheduler's clock, and holds no thread meanwhile.
    ///
    /// The future needs no runtime. (When the run is asked to stop, the future of its task is dropped
    /// where it awaits, and this one with it.)
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
