//! Control of a running pool: its end, its size, its queue.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::core::PoolCore;
use super::pool_state::PoolState;
use super::shutdown::{RunState, ShutdownPolicy};
use super::worker::{Starter, ThreadFactory};
use super::{RejectionPolicy, ScheduledThreadPool, worker};
use crate::error::Error;
use crate::observe::PoolStats;
use crate::task::run::InterruptibleWait;
use crate::task::{AnyTask, Run, TaskHandle, TaskId, TaskPool, TaskState};
use crate::time::Now;

/// A task that waits in the queue, as a [snapshot](ScheduledThreadPool::queue) shows it.
///
/// ```
/// use scheduler_core::{ScheduledThreadPool, Task};
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let report = Task::once(|| ()).name("report").initial_delay(Duration::from_secs(3_600));
/// pool.submit_task(report)?;
/// assert_eq!(pool.queue()[0].name.as_deref(), Some("report"));
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedTask {
    /// The number of the task.
    pub id: TaskId,
    /// The name of the task, where it has one.
    pub name: Option<String>,
    /// The time left until it is due; zero once it is.
    pub delay: Duration,
}

/// The end of a pool.
impl ScheduledThreadPool {
    /// Takes no more tasks; those that wait run as far as the [`ShutdownPolicy`] lets them.
    ///
    /// By default recurring tasks are cancelled, and one-shot tasks still run at their time. Runs in progress are not
    /// disturbed. An armed [`Timer`](crate::Timer) still fires, and the pool does not end before all are disarmed. Does
    /// not wait; a second call has no effect.
    pub fn shutdown(&self) {
        self.state().shutdown();
    }

    /// Takes no more tasks, starts no more runs, asks those in progress to stop, and hands out the
    /// tasks that wait, the next first.
    ///
    /// A run that does not heed the request goes on to its end and delivers. Timers are not handed out, but
    /// [dropped](crate::Fire::dropped). Does not wait.
    #[doc(alias = "shutdownNow")]
    pub fn shutdown_now(&self) -> Vec<UnstartedTask> {
        let drained = self.state().shutdown_now().into_iter();
        drained.map(|task| UnstartedTask::new(task, Arc::clone(self.state()))).collect()
    }

    /// Waits until the pool has terminated, at most for `limit`; zero asks without waiting.
    ///
    /// Returns whether it has. Returns `false` at once inside a task of this pool, wherever else its workers call
    /// what is yours, and in destructors of tasks that a shutdown cancels, because it cannot terminate before that
    /// has ended; and early inside a task that is asked to stop.
    #[doc(alias = "awaitTermination")]
    #[must_use]
    pub fn await_termination(&self, limit: Duration) -> bool {
        let run = Run::current();
        if self.state().would_deadlock(run.as_ref()) {
            return self.is_terminated();
        }
        let _interruptible = InterruptibleWait::new(run.as_ref(), &self.state().termination);
        self.state().await_termination(Some(limit), run.as_ref())
    }

    /// Shuts down and waits, without limit, until the pool has terminated.
    ///
    /// Inside a task of another pool that is asked to stop meanwhile, stops this pool as by
    /// [`shutdown_now`](Self::shutdown_now), and goes on waiting.
    ///
    /// # Errors
    ///
    /// [`Error::is_deadlock`], at once, inside a task of this pool, and wherever else its workers call what is yours,
    /// such as callbacks, listeners and triggers; the pool is not shut down then. So also in destructors of tasks that
    /// a shutdown cancels.
    pub fn close(&self) -> Result<(), Error> {
        let run = Run::current();
        if self.state().would_deadlock(run.as_ref()) {
            return Err(Error::would_deadlock("close"));
        }
        self.shutdown();
        let interruptible = InterruptibleWait::new(run.as_ref(), &self.state().termination);
        if !self.state().await_termination(None, run.as_ref()) {
            drop(interruptible);
            drop(self.shutdown_now());
            self.state().await_termination(None, None);
        }
        Ok(())
    }

    /// Returns the state of the pool.
    #[must_use]
    pub fn run_state(&self) -> RunState {
        self.state().state()
    }

    /// Returns true if the pool takes no more tasks.
    #[must_use]
    pub fn is_shutdown(&self) -> bool {
        self.run_state() != RunState::Running
    }

    /// Returns true if the pool takes no more tasks, but has not terminated.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        matches!(self.run_state(), RunState::ShuttingDown | RunState::Stopping)
    }

    /// Returns true if nothing runs any more, nor ever will.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.run_state() == RunState::Terminated
    }

    /// The waiting tasks that still run after [`shutdown`](Self::shutdown).
    #[must_use]
    pub fn shutdown_policy(&self) -> ShutdownPolicy {
        self.state().step(|core, _| core.policy)
    }

    /// Changes which waiting tasks still run; after a shutdown, those that no longer may are cancelled
    /// at once.
    pub fn set_shutdown_policy(&self, policy: ShutdownPolicy) {
        let now = Now::read(&*self.state().clock);
        self.state().step(|core, effects| core.set_policy(policy, now, effects));
    }

    /// Returns the policy for tasks that are submitted after a shutdown.
    #[must_use]
    pub fn rejection_policy(&self) -> RejectionPolicy {
        self.owner.rejection.lock().clone()
    }

    /// Changes what happens to tasks that are submitted after a shutdown.
    pub fn set_rejection_policy(&self, policy: RejectionPolicy) {
        let old = std::mem::replace(&mut *self.owner.rejection.lock(), policy);
        drop(old);
    }
}

/// Workers.
impl ScheduledThreadPool {
    /// Returns the number of workers that the pool keeps.
    #[must_use]
    #[doc(alias = "getCorePoolSize")]
    pub fn core_size(&self) -> usize {
        self.stats().core_size
    }

    /// Changes how many workers the pool keeps.
    ///
    /// When it grows, workers are started at once for tasks that wait, and others as they are needed.
    /// When it shrinks, as many workers leave, each when it has been idle for the keep-alive time.
    /// With zero, a worker is started for waiting tasks all the same.
    #[doc(alias = "setCorePoolSize")]
    pub fn set_core_size(&self, core_size: usize) {
        self.state().step(|core, effects| core.set_core_size(core_size, effects));
    }

    /// The time that a worker beyond the core size stays idle before it leaves; 10 ms by default.
    #[must_use]
    #[doc(alias = "getKeepAliveTime")]
    pub fn keep_alive(&self) -> Duration {
        self.state().step(|core, _| core.workers.keep_alive)
    }

    /// Changes how long a worker stays idle before it leaves.
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when it is zero while core workers may time out.
    #[doc(alias = "setKeepAliveTime")]
    pub fn set_keep_alive(&self, keep_alive: Duration) -> Result<(), Error> {
        self.state().step(|core, effects| {
            check_keep_alive(keep_alive, core.workers.core_may_time_out)?;
            core.workers.keep_alive = keep_alive;
            core.reconsider_idle(effects);
            Ok(())
        })
    }

    /// Returns true if core workers, too, leave when they are idle; `false` by default.
    #[must_use]
    #[doc(alias = "allowsCoreThreadTimeOut")]
    pub fn core_may_time_out(&self) -> bool {
        self.state().step(|core, _| core.workers.core_may_time_out)
    }

    /// Lets core workers, too, leave when they are idle, or not. One stays while tasks wait.
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when the keep-alive time is zero.
    #[doc(alias = "allowCoreThreadTimeOut")]
    pub fn set_core_may_time_out(&self, may: bool) -> Result<(), Error> {
        self.state().step(|core, effects| {
            check_keep_alive(core.workers.keep_alive, may)?;
            core.workers.core_may_time_out = may;
            core.reconsider_idle(effects);
            Ok(())
        })
    }

    /// Starts a worker if there are fewer than the core size; returns true if it did.
    ///
    /// It did not if the thread factory refused, or if the pool is shut down and nothing waits.
    #[doc(alias = "prestartCoreThread")]
    pub fn prestart(&self) -> bool {
        self.state().prestart()
    }

    /// Starts workers up to the core size or until one is refused, and returns how many.
    ///
    /// Otherwise as [`prestart`](Self::prestart).
    #[doc(alias = "prestartAllCoreThreads")]
    pub fn prestart_all(&self) -> usize {
        let mut started = 0;
        while self.prestart() {
            started += 1;
        }
        started
    }

    /// Returns the factory of the workers' threads; none for virtual workers.
    #[must_use]
    pub fn thread_factory(&self) -> Option<Arc<dyn ThreadFactory>> {
        match self.state().starter() {
            Starter::Threads(factory) => Some(factory),
            Starter::Virtual(_) => None,
        }
    }

    /// Changes what starts the threads of workers from now on. No effect on virtual workers.
    pub fn set_thread_factory(&self, factory: impl ThreadFactory + 'static) {
        if self.thread_factory().is_some() {
            self.state().replace_starter(Starter::Threads(Arc::new(factory)));
        }
    }

    /// All counters at one moment.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.state().step(|core, _| core.stats())
    }
}

/// The queue.
impl ScheduledThreadPool {
    /// The tasks that wait, in no particular order: a snapshot.
    #[must_use]
    #[doc(alias = "getQueue")]
    pub fn queue(&self) -> Vec<QueuedTask> {
        let waiting = self.state().step(|core, _| core.view());
        let now = Now::read(&*self.state().clock);
        let described = waiting.iter().map(|(due, task)| QueuedTask {
            id: task.id(),
            name: task.name().map(str::to_owned),
            delay: due.left(now),
        });
        described.collect()
    }

    /// Returns true if a task of this pool waits in its queue.
    #[must_use]
    pub fn is_queued<T: Send + Sync + 'static>(&self, handle: &TaskHandle<T>) -> bool {
        let task = handle.task();
        self.holds(&*task) && task.is_queued()
    }

    /// Takes a task out of the queue, if it waits there.
    ///
    /// The task is not cancelled while the answer is held, and is when that is dropped. A task that
    /// runs, or that has ended, is not in the queue.
    #[must_use = "dropping the task cancels it"]
    pub fn remove<T: Send + Sync + 'static>(
        &self,
        handle: &TaskHandle<T>,
    ) -> Option<UnstartedTask> {
        let task = handle.task();
        // A run that is to be polled on is in progress.
        if !self.holds(&*task) || task.state() == TaskState::Running || !task.withdraw() {
            return None;
        }
        self.state().link.entry_died(task.is_call());
        Some(UnstartedTask::new(task, Arc::clone(self.state())))
    }

    /// Drops every cancelled task from the queue; useful when `remove_on_cancel` is off.
    pub fn purge(&self) {
        self.state().step(PoolCore::purge);
    }

    /// Returns true if a cancelled task stops counting and drops its body at once; `true` by default (in the JDK `false`).
    #[must_use]
    #[doc(alias = "getRemoveOnCancelPolicy")]
    pub fn removes_on_cancel(&self) -> bool {
        !self.state().link.keeps_cancelled()
    }

    /// Lets cancelled tasks leave the queue at once, or stay until they are due or purged.
    ///
    /// Either way their bodies are dropped when they are cancelled.
    #[doc(alias = "setRemoveOnCancelPolicy")]
    pub fn set_remove_on_cancel(&self, remove: bool) {
        self.state().link.keep_cancelled(!remove);
    }

    fn holds(&self, task: &dyn AnyTask) -> bool {
        task.header().link.address() == self.state().address()
    }
}

/// Refuses a combination in which idle workers would leave and come in a loop.
pub(super) fn check_keep_alive(keep_alive: Duration, core_may_time_out: bool) -> Result<(), Error> {
    if core_may_time_out && keep_alive.is_zero() {
        return Err(Error::argument(
            "keep-alive time",
            "it must be longer than zero while core workers may time out",
        ));
    }
    Ok(())
}

/// A task that left its pool before it could run: drained, removed or rejected.
///
/// While it is held, its handle is neither done nor cancelled. It can be run by hand, once. Dropping
/// it cancels the task, so that its waiters go on. (The JDK leaves such futures pending for ever.)
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let later = pool.schedule(Duration::from_secs(3_600), || 6 * 7)?;
/// let mut unstarted = pool.shutdown_now();
/// unstarted.remove(0).run();
/// assert_eq!(later.wait()?, 42);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[must_use = "dropping a task that has not been run cancels it"]
pub struct UnstartedTask {
    task: Arc<dyn AnyTask>,
    state: Arc<PoolState>,
}

impl UnstartedTask {
    pub(super) fn new(task: Arc<dyn AnyTask>, state: Arc<PoolState>) -> Self {
        Self { task, state }
    }

    /// The number of the task.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.task.id()
    }

    /// The name of the task, where it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.task.name()
    }

    /// Returns true if `handle` is a handle of this task.
    #[must_use]
    pub fn belongs_to<T: Send + Sync + 'static>(&self, handle: &TaskHandle<T>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.task), Arc::as_ptr(&handle.task()))
    }

    /// Runs the task once, here and now, on the calling thread.
    ///
    /// A one-shot delivers its value. A recurring task is run once and then cancelled, because it has
    /// no pool to come back to; so is one whose future is pending after the first poll.
    pub fn run(self) {
        worker::run_outside(&self.state, &self.task);
    }

    /// The task's name in messages.
    pub(super) fn label(&self) -> String {
        self.task.label()
    }
}

impl Drop for UnstartedTask {
    fn drop(&mut self) {
        self.state.cancel(Arc::<dyn AnyTask>::clone(&self.task));
    }
}

impl fmt::Debug for UnstartedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UnstartedTask").field(&self.label()).finish()
    }
}
