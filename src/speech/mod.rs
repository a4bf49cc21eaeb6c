//! What the scheduler says by itself: the banner at the start, failures, how it stops.
//!
//! # What this room is for
//!
//! A Rust program without a log subscriber prints nothing at all, so the scheduler speaks for itself,
//! on stderr, one line at a time. Whoever wants the lines elsewhere gives the builder a function.
//!
//! # What it must never do
//!
//! Decide anything, or fail: if stderr is closed, or the given function panics, the words are lost and
//! all goes on. Let a text of a task forge a line: control characters are shown escaped.

mod banner;
mod reporter;
mod words;

use std::fmt;
use std::io;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Arc;

pub(crate) use banner::Banner;
pub(crate) use reporter::Reporter;
pub(crate) use words::duration;

/// Where the scheduler's own words go.
#[derive(Clone)]
pub(crate) struct Voice {
    say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Voice {
    pub(crate) fn stderr() -> Self {
        Self::new(|text| drop(writeln!(io::stderr().lock(), "{text}")))
    }

    pub(crate) fn new(say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { say: Arc::new(say) }
    }

    pub(crate) fn say(&self, text: &str) {
        // The panic hook has told of it already.
        let _ = catch_unwind(AssertUnwindSafe(|| (self.say)(text)));
    }
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voice").finish_non_exhaustive()
    }
}
