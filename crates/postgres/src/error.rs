//! Why a store was not connected, or did not answer.

use std::fmt;

use scheduler_store::{Refusal, StoreError};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

/// Why a store could not be connected.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address cannot be read: why. The text does not have the address, which may have a password.
    #[error(
        "the address of the PostgreSQL server: {0}\n\
         help: postgres://user:password@host:5432/database, or host=… user=… dbname=…"
    )]
    Address(String),
    /// The name is no identifier for a schema.
    #[error(
        "`{}` cannot be the name of a schema\n\
         help: use up to 50 lower-case letters, digits and `_`",
        .0.escape_debug()
    )]
    Schema(String),
    /// The connection cannot be encrypted as the address asks, or the certificate of the server is not trusted: why.
    #[error("{0}")]
    Encryption(String),
    /// The server answers, and refuses the connection or the tables: what it says.
    #[error("PostgreSQL refuses the connection: {0}")]
    Refused(String),
    /// The server does not answer. It may later.
    #[error("PostgreSQL does not answer: {0}")]
    Unavailable(String),
    /// The tables are not there or too old, and [`migrate`](crate::Builder::migrate) is switched off.
    #[error("{0}")]
    NotMigrated(String),
    /// A newer version of this library has changed the tables, and this version does not understand them.
    #[error("{0}")]
    NewerSchema(String),
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

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

/// The connection is of no more use: it has ended, or its server cannot write and another one may be behind the same name by
/// now.
pub(crate) fn is_fatal(error: &Error) -> bool {
    is_about_connection(error)
        || error.code().is_some_and(|code| {
            *code == SqlState::READ_ONLY_SQL_TRANSACTION
                // A statement was prepared before a migration changed what it returns.
                || *code == SqlState::FEATURE_NOT_SUPPORTED
        })
}

/// The connection has ended, perhaps after a commit.
fn is_about_connection(error: &Error) -> bool {
    error.code().is_none_or(|code| code.code().starts_with("57P") || code.code().starts_with("08"))
}

/// The transaction was rolled back because of another one, and would succeed by now.
pub(crate) fn is_rolled_back(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::UNIQUE_VIOLATION,
        ]
        .contains(code)
    })
}

/// Another transaction has locked a row for longer than the statement waits.
pub(crate) fn is_locked(error: &Error) -> bool {
    error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// The server refuses a value: its encoding, its range, or a constraint of the table.
pub(crate) fn is_about_data(error: &Error) -> bool {
    let is_data = |code: &SqlState| code.code().starts_with("22") || code.code().starts_with("23");
    error.code().is_some_and(is_data) && !is_rolled_back(error)
}

/// The error codes that the functions of the schema raise for a request that came too late, and for jobs of what is full.
const TOO_LATE: &str = "SCH01";
const FULL: &str = "SCH02";

/// The refusal that the functions of the schema have raised.
fn refusal(db: &DbError) -> Option<Refusal> {
    match db.code().code() {
        TOO_LATE => Some(Refusal::TooLate),
        FULL => full(db),
        _ => None,
    }
}

/// The refusal of jobs, from the details of the error.
fn full(db: &DbError) -> Option<Refusal> {
    let mut parts = db.detail()?.split('\u{1F}').map(str::to_owned);
    let (waiting, task, partition) = (parts.next()?.parse().ok()?, parts.next()?, parts.next());
    Some(Refusal::Full { task, partition, waiting })
}

pub(crate) fn store_error(error: &Error) -> StoreError {
    if let Some(refusal) = error.as_db_error().and_then(refusal) {
        return refusal.into();
    }
    match error.as_db_error() {
        Some(db) if !is_about_connection(error) => {
            StoreError::Failed(answer(db).replace('\n', "; "))
        }
        Some(db) => unavailable(&answer(db).replace('\n', "; ")),
        None => unavailable(&with_causes(error)),
    }
}

/// Why a connection could not be made.
pub(crate) fn connect_error(error: &Error) -> ConnectError {
    match error.as_db_error() {
        // The server starts, stops, or has no room.
        Some(db) if db.code().code().starts_with("57P") || db.code().code().starts_with("53") => {
            ConnectError::Unavailable(answer(db))
        }
        Some(db) => ConnectError::Refused(answer(db)),
        None => ConnectError::Unavailable(with_causes(error)),
    }
}

/// The error of a server, with help.
fn answer(db: &DbError) -> String {
    let help = match db.code().code() {
        _ if db.message().contains("startup parameter") => {
            "\nhelp: behind a pool of connections write .wakeup(Wakeup::Poll)"
        }
        "28P01" | "28000" => "\nhelp: user and password stand in the address, before the host",
        "3D000" => "\nhelp: create the database, or name another one in the address",
        "42501" if db.message().contains("for database") => {
            "\nhelp: create schema NAME authorization ROLE; or execute `Postgres::migrations` as another role"
        }
        "42501" => {
            "\nhelp: grant the rights that docs/cluster.md lists, or execute `Postgres::migrations` as another role"
        }
        "25006" => {
            "\nhelp: connect to the primary server, and without `default_transaction_read_only`"
        }
        "26000" | "42P05" => "\nhelp: behind a pool of connections write .wakeup(Wakeup::Poll)",
        _ => "",
    };
    format!("{} ({}){help}", db.message(), db.code().code())
}

/// The text of an error and of its causes.
pub(crate) fn with_causes(error: &Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
    let texts = causes.map(|cause| format!(": {cause}"));
    format!("{error}{}", texts.collect::<String>())
}

pub(crate) fn unavailable(reason: &str) -> StoreError {
    StoreError::Unavailable(reason.to_owned())
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
