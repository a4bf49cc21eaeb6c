//! Contains unreported panics: of wakers, and of destructors of panic payloads.
//!
//! `observe/failure.rs` calls user code whose panics are reported as failures.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Wakes all. A panic has been printed by the panic hook already.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            drop_payload(payload);
        }
    }
}

/// Drops the payload of a panic, which may run user code.
pub(crate) fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
        && !payload.is::<&str>()
        && !payload.is::<String>()
    {
        // Its destructor may panic too, so leak it.
        mem::forget(payload);
    }
}
