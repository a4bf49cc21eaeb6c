//! Runs the planned tasks: the start, the signals, the stop.
//!
//! # What this room is for
//!
//! [`Builder`] collects what the program configures. A start checks all of it (`prepare`), then makes the pools and the
//! tasks, prints the start message, and submits the tasks (`launch`). [`Scheduler`] is the running scheduler, which is shut
//! down, or stops when it is dropped. `registry` finds tasks by name, `adding` adds them, `removed` counts the removed ones.
//!
//! # What it must never do
//!
//! Start a task before all are checked. Install a signal handler for a program that called `spawn`, or whose start fails.
//! Wait without a limit for a task that does not end. End the process, except after a second Ctrl-C (`signals`).
//!
//! # States
//!
//! A scheduler runs from `spawn` until it is stopped. A stop starts no new runs and waits for those in progress; after the
//! limit it asks them to stop and waits once more, for `running::GRACE`.

mod adding;
mod all_tasks;
mod annotated;
mod builder;
mod context;
#[cfg(feature = "durable")]
mod durable;
#[cfg(not(feature = "durable"))]
#[path = "durable_off.rs"]
mod durable;
mod fallbacks;
mod launch;
mod launcher;
mod pools;
mod prepare;
mod registry;
mod removed;
mod repeated_signal;
mod running;
mod scheduler;
#[cfg(unix)]
mod signal_state;
mod signals;
mod simulation;
mod start;
mod task_control;
mod tasks;
mod zone;

pub use builder::Builder;
pub use pools::Pool;
pub use prepare::DryRun;
pub use scheduler::Scheduler;
#[cfg(feature = "testing")]
pub(crate) use simulation::{SimulatedNode, Simulation};
pub use start::{start, start_async};
pub use task_control::{Pause, Preview, Tagged, TaskControl};
pub use tasks::Tasks;
