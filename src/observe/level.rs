//! How urgent the scheduler's own words are, and which of the program's logs takes them.

use super::log;
use super::tracing;

/// How urgent something is that the scheduler says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

/// A log of the program, where the feature for it is on and a subscriber or logger is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Log {
    Tracing,
    Log,
}

impl Log {
    /// The one that is installed at the moment; `tracing` before `log`.
    pub(crate) fn installed() -> Option<Self> {
        if tracing::is_installed() {
            Some(Self::Tracing)
        } else if log::is_installed() {
            Some(Self::Log)
        } else {
            None
        }
    }

    pub(crate) fn is_enabled(self, level: Level) -> bool {
        match self {
            Self::Tracing => tracing::is_enabled(level),
            Self::Log => log::is_enabled(level),
        }
    }

    pub(crate) fn say(self, level: Level, text: &str) {
        match self {
            Self::Tracing => tracing::say(level, text),
            Self::Log => log::say(level, text),
        }
    }
}
