//! The engine of `scheduler`: a scheduled thread pool with the JDK's contract.
//!
//! The contract is the one of `ScheduledThreadPoolExecutor`.
//!
//! ```
//! use scheduler_core::ScheduledThreadPool;
//! use std::time::Duration;
//!
//! let pool = ScheduledThreadPool::new(2);
//! let answer = pool.schedule(Duration::from_millis(5), || 6 * 7)?;
//! let ticker = pool.schedule_at_fixed_rate(Duration::ZERO, Duration::from_secs(1), || {
//!     // once a second
//! })?;
//! assert_eq!(answer.wait()?, 42);
//! assert!(ticker.cancel());
//! pool.close()?;
//! # Ok::<(), scheduler_core::Error>(())
//! ```
//!
//! | module | what is there |
//! |---|---|
//! | [`pool`] | the pool and its builder, workers and policies |
//! | [`task`] | what is to be run, its states and its handle |
//! | [`trigger`] | when a task fires next: cron expressions, and rules of your own |
//! | [`time`] | the clock, also one that a test moves by hand |
//! | [`observe`] | what happened, for listeners, and counters |
//! | [`error`] | what can go wrong |
//!
//! # Panics, and `panic = "abort"`
//!
//! A panic of a body, a hook, a listener or a trigger is caught, and fails that task at most. In a build with
//! `panic = "abort"` nothing can be caught: the first panic ends the process, right after its panic hook. The hook is
//! called inside the run, on its thread, and can say which task it was:
//!
//! ```
//! use scheduler_core::Run;
//!
//! let before = std::panic::take_hook();
//! std::panic::set_hook(Box::new(move |panic| {
//!     if let Some(run) = Run::current() {
//!         eprintln!("task {} panics", run.task_name().unwrap_or("without a name"));
//!     }
//!     before(panic);
//! }));
//! ```
//!
//! # After `fork`
//!
//! A child process that `fork` has made, and that has not called `exec` yet, has none of the threads of a pool, and a lock
//! that one of them held stays locked. A pool of the parent runs no task in the child: a task that is submitted there waits
//! for ever, and so may any call of the pool, of its handles and of its clock, and the end of its scope. The child may call
//! `exec` or `_exit`, and nothing else. The parent notices nothing. `std::process::Command` calls `exec`; a program that
//! puts itself into the background by `fork` does so before it makes a pool.
//
// The modules, each using only those before it: `error`; `sync`, locks and atomics; `unwind`, how user
// code is entered, and what happens to its panics; `time`; `trigger`, the meaning of a cron expression; `queue`, what is first; `task`;
// `observe`; `pool`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod error;
pub mod observe;
pub mod pool;
#[doc(hidden)]
pub mod queue;
mod sync;
pub mod task;
pub mod time;
pub mod trigger;
mod unwind;

pub use error::{Error, Failure};
pub use observe::{Event, Listener, PoolStats};
pub use pool::{
    Alarm, Begun, PoolBuilder, QueuedTask, RejectionHandler, RejectionPolicy, RunState,
    ScheduledThreadPool, ShutdownPolicy, Sleep, Stepped, ThreadFactory, UnstartedTask, VirtualRun,
    VirtualWorkers, Wake, WorkerThread,
};
pub use task::{
    Body, Fallible, Fire, Fired, OnError, OnceBody, OnceFutureBody, Run, Task, TaskFuture,
    TaskHandle, TaskId, TaskReturn, TaskState, TaskValue, Timer, fallible,
};
pub use time::{Clock, Due, ManualClock, Now, SystemClock, Tick, WallTime};
pub use trigger::{NextFireTime, Trigger, TriggerContext};
