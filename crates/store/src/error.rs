//! Why a store did not answer.

use std::error::Error;
use std::fmt;

/// Why a store did not answer a request.
///
/// After [`Unavailable`](Self::Unavailable) the request may have been executed, or may be executed later, until its `not_after`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be reached, or has failed. It may answer later.
    Unavailable(String),
    /// The store has answered with an error, or could not be asked, and has not changed. It may answer later.
    NotExecuted(String),
    /// The store has refused the request, and has not changed.
    Refused(Refusal),
}

/// Why a store has refused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A text or a payload cannot be stored: the field, and why.
    Unstorable {
        /// The name of the field.
        field: &'static str,
        /// The fault.
        reason: String,
    },
    /// The request came after its `not_after`.
    TooLate,
    /// Another transaction has locked a schedule, and has not ended in time.
    Locked,
    /// A newer version of this library has changed the tables, and this version does not understand them.
    NewerSchema(String),
    /// The store cannot do that, whatever its state is.
    Unsupported(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) | Self::NotExecuted(reason) => {
                write!(f, "the store is unavailable: {reason}")
            }
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unstorable { field, reason } => write!(f, "{field}: {reason}"),
            Self::TooLate => f.write_str("the request reached the store too late"),
            Self::Locked => f.write_str(
                "a transaction that has not ended has locked a schedule\n  help: end it, or the session that has left it open; \
                 in PostgreSQL: select pid, state, query from pg_stat_activity where xact_start < now() - interval '10 s'",
            ),
            Self::NewerSchema(reason) | Self::Unsupported(reason) => f.write_str(reason),
        }
    }
}

impl Error for StoreError {}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
