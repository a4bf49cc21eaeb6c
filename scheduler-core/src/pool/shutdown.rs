//! The shutdown policy: small pure functions.

/// The state of a pool; it only moves forward.
///
/// ```
/// use scheduler_core::{RunState, ScheduledThreadPool};
///
/// let pool = ScheduledThreadPool::new(1);
/// assert_eq!(pool.run_state(), RunState::Running);
/// pool.close()?;
/// assert_eq!(pool.run_state(), RunState::Terminated);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunState {
    /// Takes tasks and runs them.
    Running,
    /// Takes no tasks; runs those that the [`ShutdownPolicy`] lets run.
    ShuttingDown,
    /// Takes no tasks and starts no runs; waits for those in progress.
    Stopping,
    /// Nothing runs any more.
    Terminated,
}

impl RunState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::ShuttingDown => "shutting down",
            Self::Stopping => "stopping",
            Self::Terminated => "terminated",
        }
    }
}

/// The waiting tasks that still run after [`shutdown`](crate::ScheduledThreadPool::shutdown).
///
/// A one-shot that is due already runs in any case, a recurring task only where recurring ones go on; and a run in
/// progress goes on to its end.
///
/// ```
/// use scheduler_core::{ScheduledThreadPool, ShutdownPolicy};
/// use std::time::Duration;
///
/// let policy = ShutdownPolicy { execute_delayed: false, ..ShutdownPolicy::default() };
/// let pool = ScheduledThreadPool::builder().shutdown_policy(policy).build()?;
/// let later = pool.schedule(Duration::from_secs(3_600), || ())?;
/// pool.shutdown();
/// assert!(later.is_cancelled());
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownPolicy {
    /// True if recurring tasks go on; `false` by default.
    ///
    /// As in the JDK.
    #[doc(alias = "setContinueExistingPeriodicTasksAfterShutdownPolicy")]
    pub continue_recurring: bool,
    /// True if one-shot tasks that are not due yet still run at their time; `true` by default.
    #[doc(alias = "setExecuteExistingDelayedTasksAfterShutdownPolicy")]
    pub execute_delayed: bool,
}

impl Default for ShutdownPolicy {
    fn default() -> Self {
        Self { continue_recurring: false, execute_delayed: true }
    }
}

/// The kind of an entry of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A one-shot without options: nothing but its closure.
    Plain,
    /// Any other one-shot.
    OneShot,
    Recurring,
    /// A run in progress that wants to be polled on, or that goes on as a future.
    Resumed,
    /// A call of an [`Alarm`](super::Alarm). The pool does not wait for it when it ends.
    Alarm,
    /// A timer that is armed. The pool waits for it when it ends.
    Timer,
    /// A timer that is armed for a time on the wall clock.
    WallTimer,
}

impl Kind {
    /// Returns true if the pool made the item, so that it never is in the hands of a user.
    pub(crate) fn is_internal(self) -> bool {
        self.is_timer() || matches!(self, Self::Resumed | Self::Alarm)
    }

    pub(crate) fn is_timer(self) -> bool {
        matches!(self, Self::Timer | Self::WallTimer)
    }
}

/// Returns true if an item may stay in the queue, or enter it, or leave it to be run.
pub(crate) fn may_run(state: RunState, kind: Kind, is_due: bool, policy: ShutdownPolicy) -> bool {
    match (state, kind) {
        (RunState::Running, _) => true,
        (RunState::ShuttingDown, kind) if kind.is_internal() => true,
        (RunState::ShuttingDown, Kind::Recurring) => policy.continue_recurring,
        (RunState::ShuttingDown, _) => is_due || policy.execute_delayed,
        (RunState::Stopping | RunState::Terminated, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Kind::{Alarm, OneShot, Plain, Recurring, Resumed, Timer, WallTimer};
    use super::RunState::{Running, ShuttingDown, Stopping, Terminated};
    use super::*;

    /// Every row: state, kind, due, continue_recurring, execute_delayed, and what follows.
    #[test]
    fn the_table_of_what_may_run() {
        for bits in 0..8u8 {
            let (is_due, continue_recurring, execute_delayed) =
                (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
            let policy = ShutdownPolicy { continue_recurring, execute_delayed };
            for kind in [Plain, OneShot, Recurring, Resumed, Alarm, Timer, WallTimer] {
                assert!(may_run(Running, kind, is_due, policy));
                assert!(!may_run(Stopping, kind, is_due, policy));
                assert!(!may_run(Terminated, kind, is_due, policy));
            }
            for kind in [Plain, OneShot] {
                assert_eq!(may_run(ShuttingDown, kind, is_due, policy), is_due || execute_delayed);
            }
            assert_eq!(may_run(ShuttingDown, Recurring, is_due, policy), continue_recurring);
            for kind in [Resumed, Alarm, Timer, WallTimer] {
                assert!(may_run(ShuttingDown, kind, is_due, policy));
            }
        }
    }
}
