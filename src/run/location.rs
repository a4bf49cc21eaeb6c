//! A place in the source.

use std::fmt;

/// A place in the source, shown as `src/jobs.rs:12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Location {
    /// The source file, as the compiler names it.
    pub file: &'static str,
    /// The line of the annotation, from 1.
    pub line: u32,
}

impl Location {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(file: &'static str, line: u32) -> Self {
        Self { file, line }
    }

    /// The place of the caller of a `track_caller` function.
    #[track_caller]
    pub(crate) fn caller() -> Self {
        let caller = std::panic::Location::caller();
        Self { file: caller.file(), line: caller.line() }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
