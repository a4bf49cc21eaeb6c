//! The settings of a pool before it exists.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::control::check_keep_alive;
use super::core::PoolCore;
use super::pool_state::PoolState;
use super::shutdown::ShutdownPolicy;
use super::task_pool::Hooks;
use super::virtual_workers::VirtualWorkers;
use super::worker::{Starter, StdThreads, ThreadFactory};
use super::workers::{TimerSlack, Workers};
use super::{PoolOwner, RejectionPolicy, ScheduledThreadPool};
use crate::error::{Error, Failure};
use crate::observe::{Announcer, Listener};
use crate::sync::Mutex;
use crate::task::{Run, TaskId};
use crate::time::{Clock, SystemClock};

/// Builds a [`ScheduledThreadPool`].
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::builder()
///     .core_size(4)
///     .thread_name_prefix("reports-")
///     .keep_alive(Duration::from_secs(30))
///     .core_may_time_out(true)
///     .build()?;
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct PoolBuilder {
    /// None for the default, which takes some looking up.
    core_size: Option<usize>,
    keep_alive: Duration,
    core_may_time_out: bool,
    remove_on_cancel: bool,
    policy: ShutdownPolicy,
    rejection: RejectionPolicy,
    prefix: Option<String>,
    stack_size: Option<usize>,
    slack: Duration,
    is_precise: bool,
    starter: Option<Starter>,
    clock: Option<Arc<dyn Clock>>,
    listener: Option<Arc<dyn Listener>>,
    hooks: Hooks,
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
}

impl PoolBuilder {
    pub(super) fn new() -> Self {
        Self {
            core_size: None,
            keep_alive: Duration::from_millis(10),
            core_may_time_out: false,
            remove_on_cancel: true,
            policy: ShutdownPolicy::default(),
            rejection: RejectionPolicy::default(),
            prefix: None,
            stack_size: None,
            slack: Duration::ZERO,
            is_precise: false,
            starter: None,
            clock: None,
            listener: None,
            hooks: Hooks::default(),
        }
    }

    /// Sets the number of workers that the pool keeps; by default one per processor, at least 2 and at most 8.
    ///
    /// Threads are started on demand. With zero, one is started while tasks wait.
    pub fn core_size(mut self, core_size: usize) -> Self {
        self.core_size = Some(core_size);
        self
    }

    /// Sets the time that a worker beyond the core size stays idle before it leaves; 10 ms by default.
    pub fn keep_alive(mut self, keep_alive: Duration) -> Self {
        self.keep_alive = keep_alive;
        self
    }

    /// Sets whether core workers, too, leave when they are idle; `false` by default.
    #[doc(alias = "allowCoreThreadTimeOut")]
    pub fn core_may_time_out(mut self, may: bool) -> Self {
        self.core_may_time_out = may;
        self
    }

    /// Sets whether a cancelled task stops counting and drops its body at once; `true` by default (in the JDK `false`).
    #[doc(alias = "setRemoveOnCancelPolicy")]
    pub fn remove_on_cancel(mut self, remove: bool) -> Self {
        self.remove_on_cancel = remove;
        self
    }

    /// Chooses the waiting tasks that still run after a shutdown.
    pub fn shutdown_policy(mut self, policy: ShutdownPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the policy for tasks that are submitted after a shutdown; an error by default.
    pub fn rejection_policy(mut self, policy: RejectionPolicy) -> Self {
        self.rejection = policy;
        self
    }

    /// Sets the beginning of thread names, before the worker's number; `pool-1-worker-` for the
    /// first pool by default.
    ///
    /// Linux shows the first 15 bytes of a thread's name.
    pub fn thread_name_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// The stack size of workers' threads in bytes, at least 64 KiB; the standard library's default if not
    /// set.
    ///
    /// A task that overflows its stack ends the process: Rust cannot contain that. No effect together
    /// with [`thread_factory`](Self::thread_factory).
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets by how much tasks may start late, so that several share one wake-up; zero by default.
    ///
    /// A waiting worker lets this much pass beyond a due time, and then runs all due tasks, in their exact order. Nothing runs
    /// early. Many tasks cost far less CPU time this way, and each is late by up to this much. If a longer task keeps the worker that
    /// looked for it, a task may be late by this much once more, or by some [`Clock::wake_latency`]s. Slack also holds for time limits and
    /// cron tasks, but the wall clock is still compared twice a second.
    ///
    /// Without slack, too, tasks that are due within some 50 µs of each other by the system's clock share a wake-up,
    /// and one that is due while another is long may start that much later: see [`Clock::wake_latency`] and
    /// [`precise`](Self::precise).
    ///
    /// ```
    /// use scheduler_core::ScheduledThreadPool;
    /// use std::time::Duration;
    ///
    /// let pool = ScheduledThreadPool::builder().slack(Duration::from_millis(1)).build()?;
    /// let handle = pool.schedule(Duration::from_millis(5), || "within a millisecond")?;
    /// assert_eq!(handle.wait()?, "within a millisecond");
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    pub fn slack(mut self, slack: Duration) -> Self {
        self.slack = slack;
        self
    }

    /// Lets workers spin for the last stretch of each wait, so that tasks start within about a
    /// microsecond of their due time.
    ///
    /// The price is up to 200 µs of CPU time for each due time, and a processor that is free when it
    /// comes. Only the system's clock knows how; see
    /// [`Clock::wait_precisely`]. With any clock, no task waits for others to share a wake-up then.
    pub fn precise(mut self) -> Self {
        self.is_precise = true;
        self
    }

    /// Sets the factory of the workers' threads; threads of the standard library by default.
    pub fn thread_factory(mut self, factory: impl ThreadFactory + 'static) -> Self {
        self.starter = Some(Starter::Threads(Arc::new(factory)));
        self
    }

    /// Lets a test take the steps of the workers by hand instead of starting threads.
    #[doc(hidden)]
    pub fn virtual_workers(mut self, workers: &VirtualWorkers) -> Self {
        self.starter = Some(Starter::Virtual(workers.clone()));
        self
    }

    /// The pool's clock; the operating system's by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the listener of the pool's events; none by default.
    pub fn listener(mut self, listener: impl Listener + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// Calls `hook` on the worker's thread before each run.
    ///
    /// If it panics, the run does not start and counts as failed with that panic. (In the JDK the
    /// worker dies, and the future stays pending for ever.)
    #[doc(alias = "beforeExecute")]
    pub fn before_run(mut self, hook: impl Fn(&Run) + Send + Sync + 'static) -> Self {
        self.hooks.before = Some(Arc::new(hook));
        self
    }

    /// Calls `hook` on the worker's thread after each run, with the run's outcome, before waiters are
    /// notified; not after one that the before-run hook has refused, as in the JDK.
    #[doc(alias = "afterExecute")]
    pub fn after_run(
        mut self,
        hook: impl Fn(&Run, &Result<(), Failure>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.after = Some(Arc::new(hook));
        self
    }

    /// Calls `hook` once, when nothing is left to run and before those that await the termination are
    /// woken.
    #[doc(alias = "terminated")]
    pub fn on_terminated(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.terminated = Some(Arc::new(hook));
        self
    }

    /// Calls `decorate` once per submission or timer, and runs each step of the task inside what it returns.
    ///
    /// The decorator gets the step as a closure and has to call it once. For a task that is a
    /// future a step is one poll, for a [`Timer`](crate::Timer) one call of [`Fire::fire`](crate::Fire::fire); several
    /// of these may be made at the same time.
    ///
    /// ```
    /// use scheduler_core::ScheduledThreadPool;
    ///
    /// let pool = ScheduledThreadPool::builder()
    ///     .decorate_task(|id, _name| {
    ///         Box::new(move |step: &mut dyn FnMut()| {
    ///             let _span = format!("task {id}");
    ///             step();
    ///         })
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.submit(|| 7)?.wait()?, 7);
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    #[doc(alias = "decorateTask")]
    pub fn decorate_task(
        mut self,
        decorate: impl Fn(TaskId, Option<&str>) -> Box<dyn Fn(&mut dyn FnMut()) + Send + Sync>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.hooks.decorate = Some(Arc::new(decorate));
        self
    }

    /// Builds the pool; no thread is started yet.
    ///
    /// # Errors
    ///
    /// [`Error::is_argument`] when the thread-name prefix contains control characters, or when core
    /// workers may time out with a keep-alive of zero.
    pub fn build(self) -> Result<ScheduledThreadPool, Error> {
        check_keep_alive(self.keep_alive, self.core_may_time_out)?;
        if let Some(bad) = self.prefix.as_deref().and_then(|name| name.find(char::is_control)) {
            return Err(Error::argument(
                "thread-name prefix",
                format!("it contains a control character at byte {bad}"),
            ));
        }
        Ok(self.assemble())
    }

    fn assemble(self) -> ScheduledThreadPool {
        let core_size = self.core_size.unwrap_or_else(default_core_size);
        let workers = Workers::new(core_size, self.keep_alive, self.core_may_time_out);
        let threads = StdThreads { stack_size: self.stack_size };
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let wake_latency = if self.is_precise { Duration::ZERO } else { clock.wake_latency() };
        let timer_slack = TimerSlack { slack: self.slack, wake_latency };
        let make = |owner: &Weak<PoolOwner>| {
            let weak: Weak<dyn Any + Send + Sync> = Weak::<PoolOwner>::clone(owner);
            let state = PoolState::new(
                clock,
                self.hooks,
                Announcer::new(self.listener),
                self.prefix.unwrap_or_else(default_prefix),
                self.is_precise,
                self.starter.unwrap_or_else(|| Starter::Threads(Arc::new(threads))),
                PoolCore::new(workers, self.policy, timer_slack),
                !self.remove_on_cancel,
                weak,
            );
            PoolOwner { state, rejection: Mutex::new(self.rejection) }
        };
        ScheduledThreadPool { owner: Arc::new_cyclic(make) }
    }
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("core_size", &self.core_size)
            .field("keep_alive", &self.keep_alive)
            .field("core_may_time_out", &self.core_may_time_out)
            .field("shutdown_policy", &self.policy)
            .finish_non_exhaustive()
    }
}

fn default_core_size() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}

fn default_prefix() -> String {
    // The system's: it lives longer than one execution of a model checker.
    static POOLS: AtomicU64 = AtomicU64::new(1);
    // ORDERING: relaxed, the number only has to be unique.
    let number = POOLS.fetch_add(1, Ordering::Relaxed);
    format!("pool-{number}-worker-")
}
