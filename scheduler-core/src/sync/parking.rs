//! The locks of parking_lot in the shape of `std`'s, for the thread sanitizer.
//!
//! It sees only code that is compiled with it, as parking_lot is and the standard library is not.
//!
//! The test kit uses this file, too: the sanitizer does not see the standard library's locks there either.

#![allow(dead_code, reason = "the kit of the tests uses another part than the engine")]

use std::sync::{LockResult, TryLockError, TryLockResult};
use std::time::Duration;

pub(crate) use parking_lot::MutexGuard;
use parking_lot::WaitTimeoutResult;

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    pub(crate) fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.0.get_mut())
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Ok(self.0.lock())
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.0.try_lock().ok_or(TryLockError::WouldBlock)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Condvar(parking_lot::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    pub(crate) fn wait<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
    ) -> LockResult<MutexGuard<'a, T>> {
        self.0.wait(&mut guard);
        Ok(guard)
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let result = self.0.wait_for(&mut guard, timeout);
        Ok((guard, result))
    }

    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let result = self.0.wait_while_for(&mut guard, condition, timeout);
        Ok((guard, result))
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
