//! The names that a person gives: of tasks and of pools.

use std::error::Error;
use std::fmt;

use crate::excerpt::{is_quotable, quoted};

/// Why a text is not a name.
///
/// ```
/// use scheduler_expr::check_name;
///
/// let error = check_name(" report").unwrap_err();
/// assert_eq!(error.to_string(), "has blanks around it");
/// assert_eq!(error.help(), Some("write `report`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseNameError {
    reason: &'static str,
    help: Option<String>,
}

/// Longer names fit into no line.
const BYTES_MAX: usize = 200;

/// Checks that a name can be found again in settings and messages: it has no blanks around it and
/// no control character in it, and is neither empty nor longer than 200 bytes.
///
/// ```
/// use scheduler_expr::check_name;
///
/// assert!(check_name("daily-report").is_ok());
/// let error = check_name(" daily-report").unwrap_err();
/// assert_eq!(error.to_string(), "has blanks around it");
/// assert_eq!(error.help(), Some("write `daily-report`"));
/// ```
///
/// # Errors
///
/// When it cannot. The error reads as the end of a sentence that begins with what is named.
pub fn check_name(name: &str) -> Result<(), ParseNameError> {
    let trimmed = name.trim();
    let reason = if trimmed.is_empty() {
        "is empty"
    } else if trimmed != name {
        "has blanks around it"
    } else if name.contains(is_control) {
        "has a control character in it"
    } else if name.len() > BYTES_MAX {
        "is longer than 200 bytes"
    } else {
        return Ok(());
    };
    let is_shown = trimmed != name && !trimmed.is_empty() && is_quotable(trimmed);
    Err(ParseNameError { reason, help: is_shown.then(|| format!("write {}", quoted(trimmed))) })
}

/// Also those that turn the direction of writing: what is read is then not what is there.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}')
        || matches!(c, '\u{2066}'..='\u{2069}')
}

impl ParseNameError {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for ParseNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.reason)
    }
}

impl Error for ParseNameError {}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn a_name_is_one_line_without_blanks_around_it() {
        for name in ["report", "nightly report", "shop::jobs::report-2", "straße"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        assert_eq!(check_name(&"x".repeat(200)), Ok(()));
        for (name, reason, help) in [
            ("", "is empty", None),
            (" \t", "is empty", None),
            ("report ", "has blanks around it", Some("write `report`")),
            ("a\nb", "has a control character in it", None),
            ("a\u{202E}b", "has a control character in it", None),
            (&"x".repeat(201), "is longer than 200 bytes", None),
        ] {
            let error = check_name(name).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.help()), (reason, help), "{name:?}");
        }
    }
}
