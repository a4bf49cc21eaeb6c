//! The scheduled thread pool: a queue, workers and policies, and everything one can ask of them.
//!
//! [`ScheduledThreadPool`] is the JDK's `ScheduledThreadPoolExecutor`, row by row, with its defects
//! mended.
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
// # Where it is
//
// The pool has three layers, and a line belongs to exactly one:
//
// | layer | files | knows | never |
// |---|---|---|---|
// | core | `core`, `intake`, `removal`, `arming`, `ending`, `renewal`, `looks`, `ease`, `staffing`, `agenda`, `entry`, `ready`, `roster`, `turn`, `shutdown`, `step` | what is queued, who works, what may run | a clock, a lock, a thread, user code |
// | shell | `shell`, `locked`, `wake`, `errands`, `farewells`, `staging`, `post`, `item` | the locks; performs the core's effects after unlocking | decides anything |
// | edge | `worker`, `witness`, `crew`, `virtual_crew`, `hooks`, `inside` | threads, user code | looks into the core |
//
// # Workers
//
// Of those that wait, one leads: see `roster`. Those that work go from one task to the next without the lock of
// the pool: see `ready`.
//
// # What it must never do
//
// Run user code under its lock; lose an accepted task (it is run, cancelled or handed out); wait
// with anything but the clock.

mod agenda;
mod alarm;
mod arming;
mod builder;
mod control;
mod core;
mod crew;
mod ease;
mod ending;
mod entry;
mod errands;
mod farewells;
mod hooks;
mod inside;
mod intake;
mod invoke;
mod item;
mod launch;
mod locked;
mod looks;
mod post;
mod ready;
mod rejection;
mod removal;
mod renewal;
mod roster;
mod shell;
mod shutdown;
mod staffing;
mod staging;
mod step;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod time_limit;
mod timer;
mod turn;
mod unstarted;
mod virtual_crew;
mod wake;
mod witness;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use alarm::Alarm;
pub use alarm::Sleep;
pub use builder::PoolBuilder;
pub use control::QueuedTask;
pub use crew::ThreadFactory;
pub use crew::WorkerThread;
pub use rejection::RejectionHandler;
pub use rejection::RejectionPolicy;
pub use shutdown::RunState;
pub use shutdown::ShutdownPolicy;
pub use unstarted::UnstartedTask;
pub use virtual_crew::Begun;
pub use virtual_crew::Stepped;
pub use virtual_crew::VirtualCrew;
pub use virtual_crew::VirtualRun;
pub use wake::Wake;

use crate::error::Error;
use crate::sync::Mutex;
use crate::task::Body;
use crate::task::OnceBody;
use crate::task::OnceFutureBody;
use crate::task::Task;
use crate::task::TaskHandle;
use crate::task::TaskReturn;
use crate::task::Traits;
use crate::task::steps::Once;
use crate::time::Due;
use crate::time::Now;
use crate::trigger::Trigger;
use crate::unwind::drop_contained;
use launch::Launch;
use launch::first_due;
use shell::Shell;
use shutdown::Kind;

/// A pool of threads that runs tasks at their time.
///
/// Tasks run in the exact order of (due time, order of submission). Runs of one task never overlap,
/// and one run happens before the next, on whichever worker. Clones are ends of the same pool.
///
/// # Dropping
///
/// Each clone keeps the pool, also one that a task has captured: a recurring task that keeps a clone of its own pool
/// keeps it running after all others are dropped, until it is shut down. [`Run::pool`](crate::Run::pool) reaches the pool without.
///
/// When the last end of a pool is dropped without having been [closed](Self::close), the pool stops
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
    owner: Arc<Owner>,
}

/// The ends of a pool that its user holds; workers hold the shell only.
struct Owner {
    shell: Arc<Shell>,
    rejection: Mutex<RejectionPolicy>,
}

impl ScheduledThreadPool {
    /// A pool of `core_size` workers, with the default settings; no thread is started yet.
    #[must_use]
    pub fn new(core_size: usize) -> Self {
        PoolBuilder::new().core_size(core_size).assemble()
    }

    /// A builder, for everything else.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }

    /// Runs a task as soon as possible, in one order with all other tasks.
    ///
    /// # Errors
    ///
    /// [`Error::is_rejected`] when the pool is shut down, unless its [`RejectionPolicy`] says
    /// otherwise; [`Error::is_no_thread`] when it has no worker, and no thread can be started. (In the JDK the
    /// latter is the `OutOfMemoryError` of the thread's start, or a task that waits where a factory gave no thread.)
    pub fn execute(&self, body: impl FnOnce() + Send + 'static) -> Result<TaskHandle<()>, Error> {
        self.submit(body)
    }

    /// Runs a task as soon as possible, and delivers its value through the handle.
    ///
    /// A `Result` is a value like any other, unless the body is [`fallible`](crate::fallible).
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    pub fn submit<T: Send + Sync + 'static>(
        &self,
        body: impl OnceBody<T>,
    ) -> Result<TaskHandle<T>, Error> {
        self.schedule(Duration::ZERO, body)
    }

    /// Runs a task once, `delay` from now and never earlier.
    ///
    /// A delay that is too long for the clock means never: the task waits until it is cancelled.
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    pub fn schedule<T: Send + Sync + 'static>(
        &self,
        delay: Duration,
        body: impl OnceBody<T>,
    ) -> Result<TaskHandle<T>, Error> {
        self.schedule_watched(delay, body, |_| ())
    }

    /// As [`schedule`](Self::schedule); `watch` is given the handle before the task can run.
    fn schedule_watched<T: Send + Sync + 'static>(
        &self,
        delay: Duration,
        body: impl OnceBody<T>,
        watch: impl FnOnce(&TaskHandle<T>),
    ) -> Result<TaskHandle<T>, Error> {
        let now = Now::read(&*self.shell().clock);
        let due = Due::Tick(now.tick + delay);
        let launch = Launch { traits: None, kind: Kind::OneShot, due, now };
        self.launch(launch, Once(Some(body)), watch)
    }

    /// Runs a future once, `delay` from now; while it is pending it holds no worker.
    ///
    /// ```
    /// use scheduler_core::ScheduledThreadPool;
    /// use std::time::Duration;
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let answer = pool.schedule_async(Duration::ZERO, async { 6 * 7 })?;
    /// assert_eq!(answer.wait()?, 42);
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    pub fn schedule_async<T: Send + Sync + 'static>(
        &self,
        delay: Duration,
        body: impl OnceFutureBody<T>,
    ) -> Result<TaskHandle<T>, Error> {
        self.submit_task(Task::once_async(body).initial_delay(delay))
    }

    /// Runs a task again and again, at fire times that lie `period` apart.
    ///
    /// The first is `initial_delay` from now. Runs never overlap; fire times that are missed because a
    /// run took longer follow back to back, as in the JDK ([`Task::misfire`] has other choices). A
    /// run that panics or returns an error ends the task.
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when `period` is zero; otherwise as [`execute`](Self::execute).
    #[doc(alias = "scheduleAtFixedRate")]
    pub fn schedule_at_fixed_rate<R: TaskReturn>(
        &self,
        initial_delay: Duration,
        period: Duration,
        body: impl FnMut() -> R + Send + 'static,
    ) -> Result<TaskHandle<()>, Error> {
        let task = Task::at_fixed_rate(period, Body::new(body));
        self.submit_task(task.initial_delay(initial_delay))
    }

    /// Runs a task again and again, each time `delay` after the end of the run before.
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when `delay` is zero; otherwise as [`execute`](Self::execute).
    #[doc(alias = "scheduleWithFixedDelay")]
    pub fn schedule_with_fixed_delay<R: TaskReturn>(
        &self,
        initial_delay: Duration,
        delay: Duration,
        body: impl FnMut() -> R + Send + 'static,
    ) -> Result<TaskHandle<()>, Error> {
        let task = Task::with_fixed_delay(delay, Body::new(body));
        self.submit_task(task.initial_delay(initial_delay))
    }

    /// Runs a task whenever its trigger says: a one-shot that schedules itself anew after each run.
    ///
    /// ```
    /// use scheduler_core::{ScheduledThreadPool, trigger::CronTrigger, trigger::Zone};
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let daily = CronTrigger::new("@daily".parse()?, Zone::UTC);
    /// let handle = pool.schedule_with_trigger(daily, || println!("a new day"))?;
    /// assert!(handle.cancel());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when the trigger gives no fire time at all; [`Error::is_failed`] when it
    /// panics at the first question; otherwise as [`execute`](Self::execute).
    pub fn schedule_with_trigger<R: TaskReturn>(
        &self,
        trigger: impl Trigger + 'static,
        body: impl FnMut() -> R + Send + 'static,
    ) -> Result<TaskHandle<()>, Error> {
        self.submit_task(Task::on_trigger(trigger, Body::new(body)))
    }

    /// Submits a task with all its options.
    ///
    /// # Errors
    ///
    /// As the short form that fits its rhythm.
    pub fn submit_task<T: Send + Sync + 'static>(
        &self,
        task: Task<T>,
    ) -> Result<TaskHandle<T>, Error> {
        task.check()?;
        let now = Now::read(&*self.shell().clock);
        let due = first_due(&task, now)?;
        let kind = if task.rhythm.is_recurring() { Kind::Recurring } else { Kind::OneShot };
        let Task { name, rhythm, on_error, deadline, body, .. } = task;
        let traits = Traits::if_special(name, rhythm, on_error, deadline, false);
        self.launch(Launch { traits, kind, due, now }, body, |_| ())
    }

    fn shell(&self) -> &Arc<Shell> {
        &self.owner.shell
    }
}

/// See "Dropping" at [`ScheduledThreadPool`].
impl Drop for Owner {
    fn drop(&mut self) {
        for task in self.shell.shutdown_now() {
            self.shell.cancel(&task);
            drop_contained(task);
        }
    }
}

impl fmt::Debug for ScheduledThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduledThreadPool")
            .field("run_state", &self.run_state())
            .field("stats", &self.stats())
            .finish()
    }
}
