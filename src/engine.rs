//! The thread pool without annotations, from the crate `scheduler-core`.
//!
//! Use it for work that has no name and no policies: delays and timeouts that a program makes by the thousand,
//! calls whose result is waited for, a `ScheduledThreadPoolExecutor` in code that comes from Java. It knows no
//! settings, no retries and no messages. For anything that people name, configure or watch, use
//! [`scheduled`](macro@crate::scheduled) or [`Builder::task`](crate::Builder::task).
//!
//! ```
//! use scheduler::engine::ScheduledThreadPool;
//! use std::time::Duration;
//!
//! let pool = ScheduledThreadPool::new(2);
//! let answer = pool.schedule(Duration::from_millis(5), || 6 * 7)?;
//! assert_eq!(answer.wait()?, 42);
//! pool.close()?;
//! # Ok::<(), scheduler::engine::Error>(())
//! ```
//!
//! A type whose name means something else in the facade is in one of the modules: [`task::Run`] is a run of the pool,
//! [`Run`](crate::Run) one of a scheduled task.

pub use scheduler_core::pool::{
    PoolBuilder, QueuedTask, RejectionHandler, RejectionPolicy, RunState, ScheduledThreadPool,
    ShutdownPolicy, Sleep, ThreadFactory, UnstartedTask, WorkerThread,
};
pub use scheduler_core::task::{
    Body, Fallible, OnceBody, OnceFutureBody, Task, TaskFuture, TaskHandle, TaskId, TaskValue,
    fallible,
};
pub use scheduler_core::time::{Clock, ManualClock, Now, SystemClock, Tick, WallTime};
pub use scheduler_core::trigger::{
    CronTrigger, DstGap, DstOverlap, NextFireTime, SystemZoneError, Trigger, TriggerContext, Zone,
    ZoneChange,
};
pub use scheduler_core::{Error, PoolStats};

/// The failures of tasks of a pool.
pub mod error {
    pub use scheduler_core::error::Failure;
}

/// Events of a pool.
pub mod observe {
    pub use scheduler_core::observe::{Event, Listener};
}

/// Runs and states of the tasks of a pool.
pub mod task {
    pub use scheduler_core::task::{Run, TaskReturn, TaskState};
}
