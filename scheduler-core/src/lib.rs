//! The engine of `scheduler`: a scheduled thread pool with the contract of the JDK's
//! `ScheduledThreadPoolExecutor`.
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
//
// The rooms, each using only those before it: `error`; `sync`, locks and atomics; `unwind`, how user
// code is entered, and what happens to its panics; `time`; `trigger`, *when* next; `task`;
// `observe`; `pool`. *What is first* is the crate `scheduler-queue`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod error;
pub mod observe;
pub mod pool;
mod sync;
pub mod task;
pub mod time;
pub mod trigger;
mod unwind;

pub use error::Error;
pub use error::Failure;
pub use observe::Event;
pub use observe::Listener;
pub use observe::PoolStats;
pub use pool::Alarm;
pub use pool::Begun;
pub use pool::PoolBuilder;
pub use pool::QueuedTask;
pub use pool::RejectionHandler;
pub use pool::RejectionPolicy;
pub use pool::RunState;
pub use pool::ScheduledThreadPool;
pub use pool::ShutdownPolicy;
pub use pool::Sleep;
pub use pool::Stepped;
pub use pool::ThreadFactory;
pub use pool::UnstartedTask;
pub use pool::VirtualRun;
pub use pool::VirtualWorkers;
pub use pool::Wake;
pub use pool::WorkerThread;
pub use task::Body;
pub use task::Fallible;
pub use task::Fire;
pub use task::Fired;
pub use task::OnError;
pub use task::OnceBody;
pub use task::OnceFutureBody;
pub use task::Run;
pub use task::Task;
pub use task::TaskHandle;
pub use task::TaskId;
pub use task::TaskReturn;
pub use task::TaskState;
pub use task::Timer;
pub use task::fallible;
pub use time::Clock;
pub use time::Due;
pub use time::ManualClock;
pub use time::Now;
pub use time::SystemClock;
pub use time::Tick;
pub use time::WallTime;
pub use trigger::MisfirePolicy;
pub use trigger::NextFireTime;
pub use trigger::Trigger;
pub use trigger::TriggerContext;
