//! Spring's `@Scheduled` for Rust.

mod entry;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use entry::{Body, BoxFuture, Entry, Location, Rule, TaskError, TaskResult, entries};
pub use scheduler_expr::DurationUnit;
pub use scheduler_macros::scheduled;
