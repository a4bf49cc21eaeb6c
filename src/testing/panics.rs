//! Makes a contained panic of a task fail the test.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::sync::Mutex;

/// Keeps the first unexpected panic until it is rethrown.
#[derive(Debug, Default)]
pub(super) struct Panics {
    is_ignored: AtomicBool,
    first: Mutex<Option<String>>,
}

impl Panics {
    /// Ignores panics, as in production.
    pub(super) fn ignore(&self) {
        // ORDERING: relaxed, because it orders nothing else.
        self.is_ignored.store(true, Ordering::Relaxed);
    }

    /// Calls code of the test. A panic is recorded and continues.
    pub(super) fn watch<R>(&self, who: impl FnOnce() -> String, call: impl FnOnce() -> R) -> R {
        // Unwind safety: the panic continues.
        catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
            self.record(&who(), text(payload.as_ref()));
            resume_unwind(payload)
        })
    }

    /// Records a panic, if it is the first one.
    pub(super) fn record(&self, who: &str, message: &str) {
        // ORDERING: as above.
        if !self.is_ignored.load(Ordering::Relaxed) {
            self.first.lock().get_or_insert_with(|| format!("{who} panicked: {message}"));
        }
    }

    /// Panics if a panic was recorded.
    #[track_caller]
    pub(super) fn rethrow(&self) {
        let first = self.first.lock().take();
        if let Some(first) = first {
            panic!(
                "{first}\n\
                 help: where the test is about panics: Sim::at(…).allow_panics(), or sim.panic_next(…)"
            );
        }
    }
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    let text = literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no text")
}
