//! The counters of a pool at one moment.

/// The counters of a pool, all read at one moment.
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(2);
/// let later = pool.schedule(Duration::from_secs(3_600), || ())?;
/// assert_eq!(pool.stats().queued, 1);
/// later.cancel();
/// assert_eq!(pool.stats().queued, 0);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// The number of workers that the pool keeps. (JDK: `getCorePoolSize`)
    pub core_size: usize,
    /// The number of workers. (JDK: `getPoolSize`)
    pub pool_size: usize,
    /// The most workers there have been at one time. (JDK: `getLargestPoolSize`)
    pub largest_pool_size: usize,
    /// The number of workers that are running a task. (JDK: `getActiveCount`)
    pub active: usize,
    /// The number of tasks that wait in the queue, due or not. (JDK: `getQueue().size()`)
    pub queued: usize,
    /// The number of runs whose future is pending.
    pub suspended: usize,
    /// The number of runs that have ended, each firing of a recurring task counted.
    /// (JDK: `getCompletedTaskCount`, which counts cancelled tasks that surface, too)
    pub completed: u64,
    /// All runs that have ended, are in progress, or wait. (JDK: `getTaskCount`)
    pub tasks: u64,
}
