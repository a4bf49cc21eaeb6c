//! The scheduled thread pool: its queue, its workers, its policies.
//!
//! [`ScheduledThreadPool`] is the JDK's `ScheduledThreadPoolExecutor`, row by row, with its defects
//! fixed.
//!
//! # The life of a pool
//!
//! `Running` → `ShuttingDown` → `Terminated`, or → `Stopping` → `Terminated`; never back. While it
//! runs it takes tasks. Shutting down, it takes none and finishes what its [`ShutdownPolicy`] lets
//! run. Stopping, it only waits for the runs in progress. It is terminated when nothing is queued and
//! no worker is left.
//!
//! # Workers
//!
//! Each submission starts a worker while there are fewer than the core size, as in the JDK.
//
// # Layers
//
// The pool has three layers:
//
// | layer | files | knows | never |
// |---|---|---|---|
// | `PoolCore` | `core`, `entry`, `shutdown`, `workers` | the queue, the workers, the tasks that may run | has a clock, a thread, user code; it takes no lock but those of tasks |
// | `PoolState` | `pool_state`, `inbox` | the locks; performs the core's effects after unlocking | runs a task |
// | edge | `worker`, `task_pool`, `virtual_workers`, and the public methods: here, `builder`, `control`, `submit`, `invoke`, `timer` | threads, user code | locks the core: it passes closures to `PoolState::step` |
//
// # Locks
//
// A thread takes them in this order: the core, the inbox, a task (its `Slot`, or the `Ticket` of a timer). `Timer::arm` takes
// the last two only, and may be called under a lock of the scheduler above the engine. The other locks of the pool are taken alone.
//
// # The way of a task
//
// `submit` makes a task and puts it into the `inbox`. The next thread that takes a step of the core collects the submissions
// into the queue. A worker takes the first entry that is due (`core`), runs its task in one call (`task::block`), and returns a
// recurring one with its next step (`worker`).
//
// # Sleeping and waking
//
// A worker reads the epoch of its gate, then takes a step of the core. If nothing is due, the core puts it among the sleepers
// with a time to look at the queue, and publishes the earliest of these times in the inbox: `wake_before`. Then it sleeps at its gate. A
// submitter whose task is to be looked at before that time makes the core wake a sleeper. The core has another worker
// woken for the next entry, when a worker takes one, unless a sleeper looks in time.
//
// No user code runs under the lock of the pool. An accepted task is run, cancelled or handed out. All waits use the clock.

mod builder;
mod control;
mod core;
mod entry;
mod inbox;
mod invoke;
mod pool_state;
mod shutdown;
mod submit;
mod task_pool;
mod timer;
mod virtual_workers;
mod worker;
mod workers;

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::sync::Mutex;
use crate::task::{AnyTask, Run, TaskPool};
use crate::unwind::{catch, drop_contained};
use pool_state::{PoolState, state_of};

pub use builder::PoolBuilder;
pub use control::{QueuedTask, UnstartedTask};
pub use inbox::Wake;
pub use shutdown::{RunState, ShutdownPolicy};
pub use timer::{Alarm, Sleep};
pub use virtual_workers::{Begun, Stepped, VirtualRun, VirtualWorkers};
pub use worker::{ThreadFactory, WorkerThread};

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
    owner: Arc<PoolOwner>,
}

/// The part of a pool that its handles share; workers hold the state only.
struct PoolOwner {
    state: Arc<PoolState>,
    rejection: Mutex<RejectionPolicy>,
}

impl ScheduledThreadPool {
    fn state(&self) -> &Arc<PoolState> {
        &self.owner.state
    }
}

/// See "Dropping" at [`ScheduledThreadPool`].
impl Drop for PoolOwner {
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
