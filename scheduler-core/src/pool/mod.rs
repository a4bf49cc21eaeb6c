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
mod ease;
mod effects;
mod ending;
mod entry;
mod executor;
mod hooks;
mod inside;
mod intake;
mod invoke;
mod item;
mod locked;
mod looks;
mod post;
mod ready;
mod removal;
mod renewal;
mod roster;
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
mod turn;
mod unstarted;
mod virtual_crew;
mod wake;
mod witness;
mod worker;

pub use alarm::Alarm;
pub use alarm::Sleep;
pub use builder::PoolBuilder;
pub use control::QueuedTask;
pub use executor::RejectionHandler;
pub use executor::RejectionPolicy;
pub use executor::ScheduledThreadPool;
pub use shutdown::RunState;
pub use shutdown::ShutdownPolicy;
pub use threads::ThreadFactory;
pub use threads::WorkerThread;
pub use unstarted::UnstartedTask;
pub use virtual_crew::Begun;
pub use virtual_crew::Stepped;
pub use virtual_crew::VirtualCrew;
pub use virtual_crew::VirtualRun;
pub use wake::Wake;
