//! The locks of this crate: `std`'s, or those that the thread sanitizer can see. See `scheduler-core/src/sync/`.

#[cfg(tsan)]
#[path = "../scheduler-core/src/sync/parking.rs"]
mod parking;

#[cfg(tsan)]
pub(crate) use parking::{Condvar, Mutex, MutexGuard};
#[cfg(not(tsan))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
