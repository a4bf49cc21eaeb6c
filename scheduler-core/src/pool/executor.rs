//! The public handle of a pool, and its rejection policy.

use std::fmt;
use std::sync::Arc;

use super::pool_state::PoolState;
use super::shutdown::RunState;
use super::unstarted::UnstartedTask;
use crate::error::Error;
use crate::sync::Mutex;
use crate::task::{AnyTask, TaskPool};
use crate::unwind::{catch, drop_contained};

/// A pool of threads that runs tasks at their time.
///
/// Tasks run in the exact order of (due time, order of submission). Runs of one task never overlap,
/// and one run happens before the next, on whichever worker. Clones are handles to the same pool.
///
/// # Dropping
///
/// Each clone keeps the pool, also one that a task has captured: a recurring task that keeps a clone of its own pool
/// keeps it running after all others are dropped, until it is shut down. [`Run::pool`](crate::Run::pool) reaches the
/// pool without.
///
/// When the last handle to a pool is dropped without having been [closed](Self::close), the pool stops
/// as by [`shutdown_now`](Self::shutdown_now), and waits for nothing: waiting tasks are cancelled,
/// running ones are asked to stop and deliver if they end. It may be dropped inside one of its tasks.
///
/// # Example
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(2);
/// let answer = pool.schedule(Duration::from_millis(5), || 6 * 7)?;
/// assert_eq!(answer.wait()?, 42);
/// pool.close()?;
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "ScheduledThreadPoolExecutor")]
#[doc(alias = "ScheduledExecutorService")]
pub struct ScheduledThreadPool {
    pub(super) owner: Arc<Owner>,
}

/// The part of a pool that its handles share; workers hold the state only.
pub(super) struct Owner {
    pub(super) state: Arc<PoolState>,
    pub(super) rejection: Mutex<RejectionPolicy>,
}

impl ScheduledThreadPool {
    pub(super) fn state(&self) -> &Arc<PoolState> {
        &self.owner.state
    }
}

/// See "Dropping" at [`ScheduledThreadPool`].
impl Drop for Owner {
    fn drop(&mut self) {
        for task in self.state.shutdown_now() {
            self.state.cancel(Arc::<dyn AnyTask>::clone(&task));
            drop_contained(task);
        }
    }
}

impl fmt::Debug for ScheduledThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduledThreadPool")
            .field("run_state", &self.state().state())
            .field("stats", &self.stats())
            .finish()
    }
}

/// Decides what happens to a task that is submitted to a pool that is shut down.
///
/// It is called once per rejected submission, on the submitting thread, before the submission
/// returns. A closure `Fn(UnstartedTask, &ScheduledThreadPool) -> Result<(), Error>` is a handler.
///
/// ```
/// use scheduler_core::{RejectionPolicy, ScheduledThreadPool, UnstartedTask};
/// use std::sync::Arc;
///
/// // The submitting thread runs the task, though the pool is shut down.
/// let run_here = |task: UnstartedTask, _: &ScheduledThreadPool| {
///     task.run();
///     Ok(())
/// };
/// let pool = ScheduledThreadPool::builder()
///     .rejection_policy(RejectionPolicy::Custom(Arc::new(run_here)))
///     .build()?;
/// pool.shutdown();
/// assert_eq!(pool.submit(|| 6 * 7)?.wait()?, 42);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[doc(alias = "RejectedExecutionHandler")]
pub trait RejectionHandler: Send + Sync {
    /// Handles the task; dropping it cancels it.
    ///
    /// # Errors
    ///
    /// An error is what the submission then returns; otherwise it returns the task's handle.
    fn reject(&self, task: UnstartedTask, pool: &ScheduledThreadPool) -> Result<(), Error>;
}

impl<F> RejectionHandler for F
where
    F: Fn(UnstartedTask, &ScheduledThreadPool) -> Result<(), Error> + Send + Sync,
{
    fn reject(&self, task: UnstartedTask, pool: &ScheduledThreadPool) -> Result<(), Error> {
        self(task, pool)
    }
}

/// The policy for a task that the pool refuses.
///
/// The JDK's fourth policy, to discard the oldest waiting task and try again, has no meaning here: the
/// queue is unbounded, so a task is only ever refused by a pool that is shut down. (A submission that fails because no
/// thread can be started, [`Error::is_no_thread`], is no rejection, in the JDK neither.)
///
/// ```
/// use scheduler_core::{RejectionPolicy, ScheduledThreadPool};
///
/// let pool = ScheduledThreadPool::builder().rejection_policy(RejectionPolicy::Discard).build()?;
/// pool.shutdown();
/// assert!(pool.execute(|| ())?.is_cancelled());
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum RejectionPolicy {
    /// The submission returns an error ([`Error::is_rejected`]).
    #[default]
    #[doc(alias = "AbortPolicy")]
    Abort,
    /// The submitting thread runs the task itself, unless the pool is shut down; then it is discarded. As in the JDK:
    /// only a pool that is shut down refuses tasks, so this differs from [`Discard`](Self::Discard) only for a handler
    /// that calls [`reject`](Self::reject).
    #[doc(alias = "CallerRunsPolicy")]
    CallerRuns,
    /// The task is cancelled; the submission returns its handle.
    #[doc(alias = "DiscardPolicy")]
    Discard,
    /// A handler decides.
    Custom(Arc<dyn RejectionHandler>),
}

impl RejectionPolicy {
    /// Applies this policy to a task, as if `pool` had rejected it.
    ///
    /// # Errors
    ///
    /// Returns the result of the submission: [`Error::is_rejected`] under [`Abort`](Self::Abort), or the
    /// error of the handler.
    pub fn reject(&self, task: UnstartedTask, pool: &ScheduledThreadPool) -> Result<(), Error> {
        match self {
            Self::Abort => Err(Error::rejected(task.label(), pool.state().state().name())),
            Self::Discard => Ok(()),
            Self::CallerRuns => {
                if pool.state().state() == RunState::Running {
                    task.run();
                }
                Ok(())
            }
            Self::Custom(handler) => {
                let label = task.label();
                catch(|| handler.reject(task, pool)).unwrap_or_else(|failure| {
                    let what = format!("{label} (whose rejection handler {failure})");
                    Err(Error::rejected(what, pool.state().state().name()))
                })
            }
        }
    }

    /// Returns true if both are the same policy; handlers are the same if they are one object.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Custom(one), Self::Custom(two)) => Arc::ptr_eq(one, two),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Debug for RejectionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Abort => "Abort",
            Self::CallerRuns => "CallerRuns",
            Self::Discard => "Discard",
            Self::Custom(_) => "Custom",
        })
    }
}
