//! Access to the pool from inside a run.

use super::executor::ScheduledThreadPool;
use super::pool_state::state_of;
use crate::task::Run;

impl Run {
    /// The pool of this run, to submit to from inside; none when its last handle has been dropped.
    ///
    /// A body that asks for it in each run does not keep the pool, as one does that has captured a clone: see
    /// "Dropping" at [`ScheduledThreadPool`].
    ///
    /// ```
    /// use scheduler_core::{Run, ScheduledThreadPool};
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let (sender, receiver) = mpsc::channel();
    /// pool.schedule_at_fixed_rate(Duration::ZERO, Duration::from_secs(60), move || {
    ///     let sender = sender.clone();
    ///     if let Some(pool) = Run::current().and_then(|run| run.pool()) {
    ///         pool.execute(move || sender.send("a follow-up").unwrap())?;
    ///     }
    ///     Ok::<(), scheduler_core::Error>(())
    /// })?;
    /// assert_eq!(receiver.recv(), Ok("a follow-up"));
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    #[must_use]
    pub fn pool(&self) -> Option<ScheduledThreadPool> {
        let owner = state_of(&self.task().header().link)?.owner.upgrade()?.downcast().ok()?;
        Some(ScheduledThreadPool { owner })
    }
}
