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
// | `PoolCore` | `core`, `sizes`, `ending`, `shutdown`, `entry`, `wall_queue`, `workers`, `sleepers`, `effects` | the queue, the workers, the tasks that may run | has a clock, a thread, user code; it takes no lock but those of tasks |
// | `PoolState` | `pool_state`, `inbox` | the locks; performs the core's effects after unlocking | runs a task |
// | edge | `worker`, `task_pool`, `hooks`, `threads`, `virtual_workers`, and the public methods, from `executor` on | threads, user code | locks the core: it passes closures to `PoolState::step` |
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
// A worker reads the epoch of its gate, then takes a step of the core. If nothing is due, the core puts it among the `sleepers`
// with a time to look at the queue, and publishes the earliest of these times in the inbox: `wake_before`. Then it sleeps at its gate. A
// submitter whose task is to be looked at before that time makes the core wake a sleeper. The core has another worker
// woken for the next entry, when a worker takes one, unless a sleeper looks in time.
//
// No user code runs under the lock of the pool. An accepted task is run, cancelled or handed out. All waits use the clock.

mod alarm;
mod builder;
mod control;
mod core;
mod effects;
mod ending;
mod entry;
mod executor;
mod hooks;
mod inbox;
mod inside;
mod invoke;
mod pool_state;
mod shutdown;
mod sizes;
mod sleepers;
mod submit;
mod task_pool;
mod threads;
mod time_limit;
mod timer;
mod unstarted;
mod virtual_workers;
mod wake;
mod wall_queue;
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
