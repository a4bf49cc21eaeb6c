//! Why a store could not be connected.

use std::error::Error;
use std::fmt;

use scheduler_store::{Refusal, StoreError};

/// Why a store could not be connected.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address cannot be read: why. The text does not have the address, which may have a password.
    Address(String),
    /// The name is no identifier for a schema.
    Schema(String),
    /// The connection cannot be encrypted as the address asks, or the certificate of the server is not trusted: why.
    Encryption(String),
    /// The server answers, and refuses the connection or the tables: what it says.
    Refused(String),
    /// The server does not answer. It may later.
    Unavailable(String),
    /// The tables are not there or too old, and [`migrate`](crate::Builder::migrate) is switched off.
    NotMigrated(String),
    /// A newer version of this library has changed the tables, and this version does not understand them.
    NewerSchema(String),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(reason) => write!(
                f,
                "the address of the PostgreSQL server: {reason}\n\
                 help: postgres://user:password@host:5432/database, or host=… user=… dbname=…"
            ),
            Self::Schema(name) => write!(
                f,
                "`{}` cannot be the name of a schema\n\
                 help: use up to 50 lower-case letters, digits and `_`",
                name.escape_debug()
            ),
            Self::Refused(answer) => write!(f, "PostgreSQL refuses the connection: {answer}"),
            Self::Unavailable(reason) => write!(f, "PostgreSQL does not answer: {reason}"),
            Self::Encryption(reason) | Self::NotMigrated(reason) | Self::NewerSchema(reason) => {
                f.write_str(reason)
            }
        }
    }
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for ConnectError {}

/// Of a store that is open, and connects again: a reason in one line, for a log.
impl From<ConnectError> for StoreError {
    fn from(error: ConnectError) -> Self {
        let in_one_line = |reason: String| reason.replace('\n', "; ");
        match error {
            ConnectError::Refused(reason) => Self::Failed(in_one_line(reason)),
            ConnectError::Unavailable(reason) => Self::NotExecuted(in_one_line(reason)),
            ConnectError::NewerSchema(reason) => Refusal::NewerSchema(reason).into(),
            error => Self::NotExecuted(in_one_line(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_connects_again_says_why_not_in_one_line() {
        let refused = ConnectError::Refused("no such role (28000)\nhelp: name another".to_owned());
        let expected =
            "the store has answered with an error: no such role (28000); help: name another";
        assert_eq!(StoreError::from(refused).to_string(), expected);
    }
}
