//! The locks of this crate: `std`'s, or those that the thread sanitizer can see. See `scheduler-core/src/sync/`.

use std::sync::PoisonError;

#[cfg(tsan)]
#[path = "../../scheduler-core/src/sync/parking.rs"]
pub(crate) mod platform;
#[cfg(not(tsan))]
pub(crate) use std::sync as platform;

pub(crate) use platform::{Condvar, MutexGuard};

/// A lock that no panic poisons: what it guards is whole whenever it is open.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(platform::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(platform::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
