//! The locks of this crate: `std`'s, or in the build for the thread sanitizer those that it sees.
//!
//! `scheduler-core/src/sync/` is the same room of the engine, and says more.

#[cfg(tsan)]
#[path = "../scheduler-core/src/sync/parking.rs"]
mod parking;

#[cfg(tsan)]
pub(crate) use parking::{Condvar, Mutex, MutexGuard};
#[cfg(not(tsan))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
