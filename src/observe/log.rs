//! The bridge to `log`: the scheduler's own words as records.
//!
//! The only file that knows that crate; `log_off` stands in its place without the feature.

use log::LevelFilter;

use super::Level;

/// Whether a logger is installed that lets anything through: one that is off cannot be told from none.
pub(crate) fn is_installed() -> bool {
    log::max_level() != LevelFilter::Off
}

/// Whether the logger takes words of this level.
pub(crate) fn is_enabled(level: Level) -> bool {
    log::log_enabled!(target: "scheduler", level.into())
}

/// Says it as a record.
pub(crate) fn say(level: Level, text: &str) {
    log::log!(target: "scheduler", level.into(), "{text}");
}

impl From<Level> for log::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => Self::Error,
            Level::Warn => Self::Warn,
            Level::Info => Self::Info,
            Level::Debug => Self::Debug,
        }
    }
}
