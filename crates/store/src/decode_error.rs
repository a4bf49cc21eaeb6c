//! Why a payload does not fit its type.

use std::fmt;

use serde_json::error::Category;

/// Why a payload cannot be decoded: the kind of fault, the type, and the place. It has no part of the payload, which may be
/// secret: the texts of `serde_json` have values, and names that stand in the payload.
///
/// ```
/// use scheduler_store::Payload;
///
/// let payload = Payload { version: 1, bytes: b"\"secret\"".to_vec() };
/// let error = payload.decode::<u32>().unwrap_err();
/// assert_eq!(error.to_string(), "it does not fit `u32` at line 1 column 8");
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(String);

impl DecodeError {
    /// The error of a value that should have been a `T`, without the text of `serde_json`.
    #[must_use]
    pub fn of<T>(error: &serde_json::Error) -> Self {
        let of_type = std::any::type_name::<T>();
        let what = match error.classify() {
            Category::Data => format!("it does not fit `{of_type}`"),
            Category::Eof => "its JSON ends too soon".to_owned(),
            Category::Syntax | Category::Io => "it is no JSON".to_owned(),
        };
        // A value that was decoded before has no lines.
        Self(match (error.line(), error.column()) {
            (0, _) => what,
            (line, column) => format!("{what} at line {line} column {column}"),
        })
    }
}

impl fmt::Debug for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
