//! The errors of opening a store, and those of SQLite.

use std::fmt;
use std::path::PathBuf;

use rusqlite::ErrorCode;
use scheduler_store::StoreError;

/// Why a store could not be opened.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The path stands for a database in memory, which no other process sees and no restart survives.
    #[error(
        "a SQLite database in memory is lost with its process\n  \
         help: name a file; for tests there is `scheduler::store::Model::new()`"
    )]
    InMemory,
    /// The file is on a network file system, whose locks and shared memory SQLite cannot trust: the file, and the system.
    #[error(
        "{} is on {}, a network file system, on which SQLite loses data\n  \
         help: choose a local folder, or a store for several hosts (PostgreSQL); \
         `Sqlite::builder(path).any_file_system()` opens it all the same",
        .0.display(),
        .1
    )]
    Network(PathBuf, &'static str),
    /// The file has several names (hard links), by which processes would keep several logs of it.
    #[error(
        "{} is one of several names of its file, and processes that use different names damage it\n  \
         help: use a symbolic link, or one name; `Sqlite::builder(path).any_file_system()` opens it all the same",
        .0.display()
    )]
    Linked(PathBuf),
    /// The prefix of the tables is no identifier.
    #[error(
        "the table prefix {0:?} is no identifier: at most 32 ASCII letters, digits and underscores, no digit \
         first, not `sqlite_`\n  help: table_prefix(\"scheduler_\")"
    )]
    Prefix(String),
    /// The write-ahead log is not possible for the file; SQLite has chosen this mode.
    #[error("the file has no write-ahead log: SQLite keeps its journal in the mode {0:?}")]
    NoLog(String),
    /// A newer version of this library has changed the tables, and this version does not understand them.
    #[error("{0}")]
    NewerSchema(String),
    /// The SQLite of the system is this one, older than 3.37.
    #[error(
        "the SQLite of the system is {0}, and 3.37 or newer is needed\n  \
         help: cargo add scheduler-rs --features sqlite, which builds SQLite from source"
    )]
    OldSqlite(&'static str),
    /// SQLite could not open the file or make the tables.
    #[error("{}: {}{}", .0.display(), .1, help_of(.1))]
    Sqlite(PathBuf, rusqlite::Error),
}

/// The help for an error of SQLite at the start, if there is some.
fn help_of(error: &rusqlite::Error) -> &'static str {
    match error.to_string().contains("already exists") {
        true => {
            "\n  help: another program has such a table in the file: `Sqlite::builder(path).table_prefix(\"jobs_\")`"
        }
        false => "",
    }
}

impl fmt::Debug for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Refuses a SQLite that does not know tables whose columns have types.
pub(crate) fn check_version(number: i32, text: &'static str) -> Result<(), OpenError> {
    const OLDEST: i32 = 3_037_000;
    if number < OLDEST { Err(OpenError::OldSqlite(text)) } else { Ok(()) }
}

/// An error of SQLite in a commit, which may have reached the disk all the same.
pub(crate) fn unavailable(error: &rusqlite::Error) -> StoreError {
    StoreError::Unavailable(format!("SQLite: {error}"))
}

/// An error of SQLite before a commit.
pub(crate) fn failed(error: &rusqlite::Error) -> StoreError {
    let text = format!("SQLite: {error}");
    match error.sqlite_error_code() {
        // The file cannot be read.
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure) => StoreError::NotExecuted(text),
        _ => StoreError::Failed(text),
    }
}

/// Returns true if another connection has what this one needs, and it can be tried again.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

/// Returns true if the connection may be in a state of its own making, so that a new one is better.
pub(crate) fn is_broken(error: &rusqlite::Error) -> bool {
    !matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::ConstraintViolation)
    )
}

/// The text for a schema that this version does not understand.
pub(crate) fn newer_schema(version: i64, min_reader: i64, own: i64) -> String {
    format!(
        "a newer version of this library has changed the tables to version {version}, which needs version {min_reader} or \
         later, and this is version {own}\n  help: cargo update scheduler-rs"
    )
}

#[cfg(test)]
mod tests {
    use super::check_version;

    #[test]
    fn an_old_sqlite_of_the_system_is_refused_with_the_remedy() {
        let refused = check_version(3_036_000, "3.36.0").unwrap_err().to_string();
        assert!(refused.starts_with(
            "the SQLite of the system is 3.36.0, and 3.37 or newer is needed\n  help: "
        ));
        assert!(check_version(3_037_000, "3.37.0").is_ok());
    }
}
