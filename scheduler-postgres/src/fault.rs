//! Errors: what they mean, and what is reported of them.

use scheduler_store::{Refusal, StoreError};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// The server ends the connection, or is one that cannot write: another one may be behind the same name by now.
pub(crate) fn is_fatal(error: &Error) -> bool {
    error.code().is_none_or(|code| {
        let text = code.code();
        text.starts_with("57P")
            || text.starts_with("08")
            || *code == SqlState::READ_ONLY_SQL_TRANSACTION
            // A statement was prepared before a migration changed what it returns.
            || *code == SqlState::FEATURE_NOT_SUPPORTED
    })
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

/// The error code that the functions of the schema raise for a request that came too late.
const TOO_LATE: &str = "SCH01";

pub(crate) fn store_error(error: &Error) -> StoreError {
    match error.as_db_error() {
        Some(db) if db.code().code() == TOO_LATE => Refusal::TooLate.into(),
        Some(db) if db.message().contains("startup parameter") => unavailable(&format!(
            "{} ({})\nhelp: behind a pool of connections write .wakeup(Wakeup::Poll)",
            db.message(),
            db.code().code()
        )),
        Some(db) => unavailable(&format!("{} ({})", db.message(), db.code().code())),
        None => unavailable(&with_causes(error)),
    }
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
