//! Locks, `SetOnce`, contained panics, opaque `Debug`, a task's facts.
//!
//! These modules know nothing of schedules and runs.

pub(crate) mod metadata;
pub(crate) mod set_once;
pub(crate) mod sync;

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// `Debug` of types that show few of their fields, or none.
macro_rules! opaque {
    ($name:ident $({ $($field:ident),* })?) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$($(.field(stringify!($field), &self.$field))*)?.finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use opaque;

// Panics of wakers and of destructors of panic payloads are contained unreported; `observe/failure.rs` reports those of other
// user code.

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
