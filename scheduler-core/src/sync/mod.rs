//! The locks and atomics of the engine: `std`'s, or a model checker's.
//!
//! Nothing else in the engine names `std::sync::Mutex`, `Condvar` or an atomic, so the same code can
//! be explored by a model checker. A lock is never poisoned for us: user code does not run under
//! one, so an unwinding lock holder can only be a bug of ours that a test has to find.
//!
//! | build | locks, atomics, thread-locals | explored by |
//! |---|---|---|
//! | any that is used | `std` | |
//! | `--cfg loom` | loom | `tests/loom/`: every interleaving of small models |
//! | `--cfg shuttle` | shuttle | `tests/shuttle.rs`: random interleavings of a whole pool |
//! | `--cfg tsan` | parking_lot, `std`, `std` | the thread sanitizer, under the tests of all other builds |
//!
//! The sanitizer sees only what is compiled with it. The standard library comes compiled; the crate
//! parking_lot does not.
//!
//! No user code runs while a lock is held. In debug builds every lock is counted per thread, and each call of user code
//! begins with [`assert_unlocked`].

#[cfg(tsan)]
mod parking;

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::time::Duration;

#[cfg(any(loom, shuttle))]
use checker::sync as platform;
#[cfg(loom)]
pub(crate) use loom as checker;
#[cfg(shuttle)]
pub(crate) use shuttle as checker;
#[cfg(tsan)]
mod platform {
    pub(super) use super::parking::*;
    pub(super) use std::sync::atomic;
}
#[cfg(not(any(loom, shuttle, tsan)))]
use std::sync as platform;

pub(crate) use platform::atomic::{AtomicBool, AtomicU64, Ordering};

/// A thread-local of the thread that the model checker runs, which is not one of the system's.
#[cfg(any(loom, shuttle))]
macro_rules! local {
    ($(#[$attribute:meta])* static $name:ident: $type:ty = const { $first:expr };) => {
        $crate::sync::checker::thread_local! {
            $(#[$attribute])* static $name: $type = $first;
        }
    };
    ($(#[$attribute:meta])* static $name:ident: $type:ty = $first:expr;) => {
        $crate::sync::checker::thread_local! {
            $(#[$attribute])* static $name: $type = $first;
        }
    };
}
#[cfg(not(any(loom, shuttle)))]
macro_rules! local {
    ($($declaration:tt)*) => { std::thread_local! { $($declaration)* } };
}
pub(crate) use local;

/// Something that threads contend for, in cache lines of its own, so that nothing else is slowed down.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A mutual exclusion lock without poisoning.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(platform::Mutex<T>);

/// Proof that the lock is held; released on drop.
pub(crate) struct MutexGuard<'a, T> {
    guard: platform::MutexGuard<'a, T>,
    _held: LockCount,
}

/// A condition variable for [`Mutex`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(platform::Condvar);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(platform::Mutex::new(value))
    }

    /// The value, without locking: there is no other user.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { guard, _held: LockCount::new() }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(platform::Condvar::new())
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let MutexGuard { guard, _held } = guard;
        let guard = self.0.wait(guard).unwrap_or_else(PoisonError::into_inner);
        MutexGuard { guard, _held }
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> MutexGuard<'a, T> {
        let MutexGuard { guard, _held } = guard;
        let (guard, _) =
            self.0.wait_timeout(guard, timeout).unwrap_or_else(PoisonError::into_inner);
        MutexGuard { guard, _held }
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Panics in debug builds when the calling thread holds a lock of the engine.
#[inline]
pub(crate) fn assert_unlocked() {
    #[cfg(debug_assertions)]
    HELD.with(|held| {
        assert_eq!(held.get(), 0, "user code must never run while a lock of the engine is held");
    });
}

#[cfg(debug_assertions)]
local! {
    static HELD: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts the locks that this thread holds, in debug builds.
struct LockCount {
    #[cfg(debug_assertions)]
    _private: (),
}

impl LockCount {
    #[inline]
    fn new() -> Self {
        #[cfg(debug_assertions)]
        {
            HELD.with(|held| held.set(held.get() + 1));
            Self { _private: () }
        }
        #[cfg(not(debug_assertions))]
        Self {}
    }
}

#[cfg(debug_assertions)]
impl Drop for LockCount {
    fn drop(&mut self) {
        // A thread-local may be gone already while its thread is being torn down.
        let _ = HELD.try_with(|held| held.set(held.get() - 1));
    }
}

#[cfg(all(test, debug_assertions, not(any(loom, shuttle))))]
mod tests {
    use super::{Mutex, assert_unlocked};

    #[test]
    fn a_held_lock_is_noticed_at_the_door() {
        let lock = Mutex::new(1);
        assert_unlocked();
        let guard = lock.lock();
        let caught = std::panic::catch_unwind(assert_unlocked);
        drop(guard);
        assert!(caught.is_err());
        assert_unlocked();
    }
}
