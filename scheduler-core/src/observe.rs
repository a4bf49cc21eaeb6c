//! Events for a listener, and counters to read.
//!
//! The pool reports each of these [`Event`]s to its [`Listener`], on the thread on which it happens
//! and with no lock held:
//!
//! | event | when | data |
//! |---|---|---|
//! | `RunStarted` | a worker is about to run a task | the run |
//! | `RunFinished` | a run is over, whatever its outcome | the run, outcome, duration, next fire time |
//! | `TaskEnded` | a task will not run again | identity, final state |
//! | `WorkerStarted`, `WorkerStopped` | a worker's thread begins or ends | its number |
//! | `WorkerRefused` | a thread could not be started | the reason |
//! | `DropPanicked` | the destructor of a task's body or value panicked | identity, the panic |
//! | `TimerPanicked` | a call of a timer panicked | identity, which call, the panic |
//! | `WaitStarved` | a task waits for one of its pool that finds no worker | the run, identity |
//! | `HookPanicked` | a hook, decorator or handler of the pool's owner panicked | which one, the panic |
//!
//! A run that is cancelled while its future is pending is over without a `RunFinished`: it has no
//! outcome, and the `TaskEnded` of its task reports it. The calls of [`Alarm`](crate::Alarm)s have no events, and of
//! those of [`Timer`](crate::Timer)s only a panic is reported.
//!
//! [`PoolStats`] are the pool's counters at one moment.
//
// A listener cannot hurt a run: its panics are contained, and it is called outside every lock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::error::Failure;
use crate::task::{Run, TaskId, TaskState};
use crate::unwind::catch;

/// Something that happened in a pool.
///
/// ```
/// use scheduler_core::{Event, ScheduledThreadPool};
///
/// let pool = ScheduledThreadPool::builder()
///     .listener(|event: &Event<'_>| {
///         if let Event::RunFinished { run, duration, .. } = event {
///             println!("{:?} took {duration:?}", run.task_name());
///         }
///     })
///     .build()?;
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A worker is about to run a task.
    RunStarted {
        /// The run.
        run: &'a Run,
    },
    /// A run is over, other than by a cancellation while its future is pending.
    RunFinished {
        /// The run.
        run: &'a Run,
        /// Its outcome; a failure is here whether or not the task goes on.
        outcome: &'a Result<(), Failure>,
        /// The time that it took, by the monotonic clock.
        duration: Duration,
        /// When the task fires next; none when it has ended, or will never be due.
        next: Option<DateTime<Utc>>,
    },
    /// A task will not run again: it completed, failed or was cancelled.
    TaskEnded {
        /// The number of the task.
        id: TaskId,
        /// The name of the task, where it has one.
        name: Option<&'a str>,
        /// Its final state.
        state: TaskState,
    },
    /// A worker's thread has begun.
    WorkerStarted {
        /// The worker's number in its pool, from 1.
        worker: u64,
    },
    /// A worker's thread is ending.
    WorkerStopped {
        /// The worker's number in its pool, from 1.
        worker: u64,
    },
    /// A worker's thread could not be started; the pool goes on with those it has. Where it has none, the submission
    /// that wanted the thread fails, too ([`Error::is_no_thread`](crate::Error::is_no_thread)).
    WorkerRefused {
        /// The worker's number in its pool, from 1.
        worker: u64,
        /// The message of the thread factory or the system.
        reason: &'a str,
    },
    /// The destructor of something that belonged to a task panicked; the pool goes on.
    DropPanicked {
        /// The number of the task.
        id: TaskId,
        /// The name of the task, where it has one.
        name: Option<&'a str>,
        /// The panic.
        failure: &'a Failure,
    },
    /// A call of a [`Timer`](crate::Timer) panicked, or its decorator did; the timer and the pool go on.
    TimerPanicked {
        /// The number of the timer.
        id: TaskId,
        /// The name of the timer.
        name: Option<&'a str>,
        /// The name of the function of [`Fire`](crate::Fire).
        call: &'static str,
        /// The panic.
        failure: &'a Failure,
    },
    /// A run has waited for a task of its own pool that has been due for a second and finds no worker.
    ///
    /// If all workers wait like this one, the pool stands still until one of them gives up.
    WaitStarved {
        /// The run that waits.
        run: &'a Run,
        /// The number of the task it waits for.
        id: TaskId,
        /// The name of the task it waits for, where it has one.
        name: Option<&'a str>,
    },
    /// A hook of the pool's owner panicked; the pool goes on.
    HookPanicked {
        /// The name of the hook.
        hook: &'static str,
        /// The panic.
        failure: &'a Failure,
    },
}

/// Receives the events of a pool.
///
/// Called on the thread on which it happens, which waits until the listener returns.
///
/// ```
/// use scheduler_core::{Event, Listener};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Runs(AtomicU64);
///
/// impl Listener for Runs {
///     fn on_event(&self, event: &Event<'_>) {
///         if let Event::RunFinished { .. } = event {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
/// ```
pub trait Listener: Send + Sync {
    /// Handles an event. A panic is contained and not reported.
    fn on_event(&self, event: &Event<'_>);
}

impl<F: Fn(&Event<'_>) + Send + Sync> Listener for F {
    fn on_event(&self, event: &Event<'_>) {
        self(event);
    }
}

impl<L: Listener + ?Sized> Listener for Arc<L> {
    fn on_event(&self, event: &Event<'_>) {
        (**self).on_event(event);
    }
}

/// Passes each event to the listener, where there is one.
pub(crate) struct Announcer {
    listener: Option<Arc<dyn Listener>>,
}

impl Announcer {
    pub(crate) fn new(listener: Option<Arc<dyn Listener>>) -> Self {
        Self { listener }
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.listener.is_some()
    }

    pub(crate) fn announce(&self, event: &Event<'_>) {
        if let Some(listener) = &self.listener {
            drop(catch(|| listener.on_event(event)));
        }
    }
}

impl fmt::Debug for Announcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Announcer").field("is_heard", &self.is_heard()).finish()
    }
}

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
