//! Calls of user code, whose panics are contained.
//!
//! Every call into user code — a body, a destructor, a waker, a callback, a trigger, a hook —
//! goes through [`catch`] or [`catch_drop`]. Both first make sure that no lock is held.
//!
//! A panic goes no further, and is not printed: the panic hook of the process has done that already.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Failure;
use crate::sync::assert_unlocked;

/// Calls user code; a panic becomes a [`Failure`].
///
/// Unwind safety is asserted: what the closure touched is either dropped with the failed task or, for
/// a recurring task that carries on, the body's own state, which its author shares between runs.
pub(crate) fn catch<R>(call: impl FnOnce() -> R) -> Result<R, Failure> {
    assert_unlocked();
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let failure = Failure::from_panic(&describe(payload.as_ref()));
        drop_contained(payload);
        failure
    })
}

/// Drops a value of user code; a panic of its destructor becomes a [`Failure`].
pub(crate) fn catch_drop<V>(value: V) -> Result<(), Failure> {
    assert_unlocked();
    catch_unwind(AssertUnwindSafe(|| drop(value))).map_err(|payload| {
        let failure = Failure::from_panic(&describe(payload.as_ref()));
        if !payload.is::<&str>() && !payload.is::<String>() {
            // This payload could panic in its own destructor, and so on: it is leaked.
            mem::forget(payload);
        }
        failure
    })
}

/// Drops a value of user code; a panic of its destructor is contained and not reported.
pub(crate) fn drop_contained<V>(value: V) {
    drop(catch_drop(value));
}

/// Makes a call when it is dropped, also where the thread unwinds.
#[must_use = "the call is made when this is dropped"]
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    #[inline]
    fn drop(&mut self) {
        (self.0)();
    }
}

fn describe(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "non-text panic payload".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{catch, drop_contained};
    use std::panic::panic_any;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Bomb);
        }
    }

    #[test]
    fn a_text_payload_is_the_message_and_another_is_named_as_such() {
        assert_eq!(catch(|| panic!("plain")).unwrap_err().message(), "plain");
        assert_eq!(catch(|| panic!("with {}", 1)).unwrap_err().message(), "with 1");
        assert_eq!(catch(|| panic_any(7)).unwrap_err().message(), "non-text panic payload");
        assert_eq!(catch(|| 7), Ok(7));
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        assert!(catch(|| panic_any(Bomb)).is_err());
        drop_contained(Bomb);
    }
}
