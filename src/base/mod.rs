//! Locks, `SetOnce`, contained panics, opaque `Debug`, a task's facts.
//!
//! These modules know nothing of schedules and runs.

pub(crate) mod metadata;
pub(crate) mod opaque;
pub(crate) mod set_once;
pub(crate) mod sync;
pub(crate) mod unwind;
