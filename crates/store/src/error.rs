//! Why a store did not answer, or a payload was not decoded.

use std::fmt;

use serde_json::error::Category;

/// Why a store did not answer a request.
///
/// After [`Unavailable`](Self::Unavailable) the request may have been executed, or may be executed later, until its `not_after`.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store did not answer. It may later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The store could not be asked, and has not changed. It may answer later.
    #[error("the store is unavailable: {0}")]
    NotExecuted(String),
    /// The store has answered with an error, such as a missing right or a full disk, and has not changed.
    #[error("the store has answered with an error: {0}")]
    Failed(String),
    /// The store has refused the request, and has not changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Why a store has refused a request.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A text or a payload cannot be stored: the field, and why.
    #[error("{field}: {reason}")]
    Unstorable {
        /// The name of the field.
        field: &'static str,
        /// The fault.
        reason: String,
    },
    /// As many jobs wait as the limit of their task or partition allows, see [`Limit::waiting`](crate::Limit::waiting).
    #[error("{}", full(task, partition.as_deref(), *waiting))]
    Full {
        /// The task.
        task: String,
        /// The partition, if the limit is of each.
        partition: Option<String>,
        /// The limit.
        waiting: u32,
    },
    /// The request came after its `not_after`.
    #[error("the request reached the store too late")]
    TooLate,
    /// Another transaction has locked a schedule, and has not ended in time.
    #[error(
        "a transaction that has not ended has locked a schedule\n  help: end it, or the session that has left it open; \
         in PostgreSQL: select pid, state, query from pg_stat_activity where xact_start < now() - interval '10 s'"
    )]
    Locked,
    /// A newer version of this library has changed the tables, and this version does not understand them.
    #[error("{0}")]
    NewerSchema(String),
    /// The store cannot do that, whatever its state is.
    #[error("{0}")]
    Unsupported(String),
}

fn full(task: &str, partition: Option<&str>, waiting: u32) -> String {
    let (of, scope) = match partition {
        Some(partition) => (format!(" of partition `{partition}`"), "each"),
        None => (String::new(), "limit"),
    };
    format!(
        "it is full: {waiting} jobs{of} wait\n  help: enqueue it later, or allow `{task}` more by `{scope}(waiting = …)`"
    )
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

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
