//! How user code is entered of whose panics nobody is told: they go no further, and hurt nobody else.
//!
//! The door for code whose panics are failures to be told of is `observe/contain.rs`, which leaves here what
//! becomes of them.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Wakes all of them. What one that panics has to say the panic hook of the process has said already.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            drop_payload(payload);
        }
    }
}

/// Drops the payload of a panic, which is user code again.
pub(crate) fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
        && !payload.is::<&str>()
        && !payload.is::<String>()
    {
        // This one could panic when it is dropped, and so on: it is leaked.
        mem::forget(payload);
    }
}
