//! Spring's `@Scheduled` for Rust.

mod entry;
mod error;
mod registrar;
mod runner;
mod speech;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use entry::{Body, BoxFuture, Entry, Location, Rule, TaskError, TaskResult, entries};
pub use error::{StartError, StopError};
pub use runner::{Builder, Scheduler, start, start_async};
pub use scheduler_expr::DurationUnit;
pub use scheduler_macros::scheduled;
