//! Locks, a value that is set once, contained panics, and the facts of a task.
//!
//! These modules know nothing of schedules and runs.

pub(crate) mod metadata;
pub(crate) mod opaque;
pub(crate) mod set_once;
pub(crate) mod sync;
pub(crate) mod unwind;
