//! Starts, controls and stops a scheduler.
//!
//! [`Builder`] collects the configuration of a program. A start checks all of it (`prepare`, `registrar`), then makes the
//! pools and the tasks, prints the start message (`report`), and starts the tasks (`launch`). `TaskTable` has all tasks of a
//! scheduler, and `TaskFactory` makes them, at the start and later.
//!
//! All tasks are checked before one starts. A program that called `spawn`, and a start that fails, install no signal
//! handler. A stop starts no new runs and waits for those in progress; after the limit it asks them to stop and waits once
//! more, for `scheduler::GRACE`. The process ends here only after a second Ctrl-C (`signals`).

mod builder;
mod builder_store;
mod context;
#[cfg(feature = "durable")]
mod durable;
mod entry_points;
mod error;
mod launch;
mod pools;
mod prepare;
pub(crate) mod registrar;
pub(crate) mod report;
mod scheduler;
mod signals;
mod task_control;
mod task_table;
mod tasks;

pub use builder::Builder;
pub use entry_points::{start, start_async};
pub use error::{AddError, StartError, StopError};
#[cfg(feature = "testing")]
pub(crate) use launch::{SimulatedNode, Simulation};
pub use pools::Pool;
pub use prepare::DryRun;
pub use scheduler::Scheduler;
pub use task_control::{Preview, Tagged, TaskControl};
pub use tasks::Tasks;
