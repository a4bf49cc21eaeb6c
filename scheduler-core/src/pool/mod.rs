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
// # Where it is
//
// The pool has three layers, and a line belongs to exactly one:
//
// | layer | files | knows | never |
// |---|---|---|---|
// | core | `step`, `entry`, `queues`, `ready`, `staging`, `activity`, `workers`, `lateness`, `wake_ups`, `staffing`, `intake`, `removal`, `shutdown`, `ending`, `core` | what is queued, who works, what may run | a clock, a thread, user code; it takes the locks of `ready` and `staging` only |
// | shell | `shared_worker`, `locked`, `shell`, `stepping`, `effects`, `wake` | the locks; performs the core's effects after unlocking | decides anything |
// | edge | `worker`, `run_hooks`, `hooks`, `threads`, `virtual_workers`, and the public methods, from `executor` on | threads, user code | looks into the core |
//
// # The way of a task
//
// `submit` makes it (`task::arena`). What is due goes to the line if that is empty or a worker submits it (`ready`), or
// else is staged, as is what is due later (`staging`), unless a worker has to be woken for it: then a step of the core
// takes it in (`stepping`, `intake`). A worker takes the first in line, or has a step of the core find the first and
// plan which worker comes for the next (`worker`, `core`). It runs it in one call (`task::cell`), and gives a recurring
// one back with its next step.
//
// # Workers
//
// Of the workers that wait, one leads: see `workers`. A busy one goes from one task to the next without the lock of
// the pool: see `ready`.
//
// # What it must never do
//
// Run user code under its lock; lose an accepted task (it is run, cancelled or handed out); wait
// with anything but the clock.

mod activity;
mod alarm;
mod builder;
mod control;
mod core;
mod effects;
mod ending;
mod entry;
mod executor;
mod hooks;
mod inside;
mod intake;
mod invoke;
mod lateness;
mod locked;
mod queues;
mod ready;
mod removal;
mod run_hooks;
mod shared_worker;
mod shell;
mod shutdown;
mod staffing;
mod staging;
mod step;
mod stepping;
mod submit;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod threads;
mod time_limit;
mod timer;
mod unstarted;
mod virtual_workers;
mod wake;
mod wake_ups;
mod worker;
mod workers;

pub use alarm::{Alarm, Sleep};
pub use builder::PoolBuilder;
pub use control::QueuedTask;
pub use executor::{RejectionHandler, RejectionPolicy, ScheduledThreadPool};
pub use shutdown::{RunState, ShutdownPolicy};
pub use threads::{ThreadFactory, WorkerThread};
pub use unstarted::UnstartedTask;
pub use virtual_workers::{Begun, Stepped, VirtualRun, VirtualWorkers};
pub use wake::Wake;
