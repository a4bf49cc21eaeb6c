//! The levels of messages, and the log of the program that takes them.

use super::fields::Fields;
use super::{log, tracing};

/// How urgent a message is.
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
    /// The one that is installed now; `tracing` before `log`.
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

    /// Logs one line with fields.
    pub(crate) fn write(self, level: Level, text: &str, fields: &Fields) {
        match self {
            Self::Tracing => tracing::write(level, text, fields),
            Self::Log => log::write(level, text, fields),
        }
    }
}
