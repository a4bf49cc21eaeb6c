//! What tells a test that its own code panicked where the scheduler contains panics: a failed assertion
//! in the body of a task, in a listener or in a trigger fails the test, and is not lost.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::panic::resume_unwind;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

/// Keeps the first panic that nobody asked for, until it is told.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    is_off: AtomicBool,
    first: Mutex<Option<String>>,
}

impl Alarm {
    /// Lets panics be contained without a word, as they are in production.
    pub(super) fn switch_off(&self) {
        // ORDERING: relaxed, because nothing else hangs on it.
        self.is_off.store(true, Ordering::Relaxed);
    }

    /// Calls code of the test's; a panic is remembered, and goes on to whoever contains it.
    pub(super) fn watch<R>(&self, who: impl FnOnce() -> String, call: impl FnOnce() -> R) -> R {
        // Unwind safety: nothing of ours is seen after the panic, which goes on.
        catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
            self.raise(&who(), text(payload.as_ref()));
            resume_unwind(payload)
        })
    }

    /// Remembers a panic, if it is the first one.
    pub(super) fn raise(&self, who: &str, message: &str) {
        // ORDERING: as above.
        if !self.is_off.load(Ordering::Relaxed) {
            self.lock().get_or_insert_with(|| format!("{who} panicked: {message}"));
        }
    }

    /// Panics if there was a panic, of which the test has not been told.
    #[track_caller]
    pub(super) fn sound(&self) {
        let first = self.lock().take();
        if let Some(first) = first {
            panic!(
                "{first}\n\
                 help: where the test is about panics: Sim::at(…).allow_panics(), or sim.panic_next(…)"
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    let text = literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no text")
}
