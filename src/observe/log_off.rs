//! In place of the bridge to `log` where that feature is off: nobody to talk to.

use super::Level;

pub(crate) fn is_installed() -> bool {
    false
}

pub(crate) fn is_enabled(_level: Level) -> bool {
    false
}

pub(crate) fn say(_level: Level, _text: &str) {}
