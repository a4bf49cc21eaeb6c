//! A transaction: its connection, its instant, the names of its tables.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::time::Duration;

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Params, Row, params};
use scheduler_store::{Fence, Refusal, StoreTime, micros};

use crate::error::{OpenError, newer_schema};
use crate::rows::SqliteJob;
use crate::schema::{self, MIGRATIONS};

/// One transaction at one instant. The methods of the contract are in the files beside this one.
#[derive(Debug)]
pub(crate) struct Tx<'a> {
    db: &'a Connection,
    tables: &'a Tables,
    pub(crate) now: StoreTime,
    pub(crate) boot_id: &'a str,
    /// Microseconds since the start of the machine.
    pub(crate) since_boot: i64,
    /// The version of the tables, and the oldest version that understands them.
    versions: (i64, i64),
    /// The last fence given out, as it was when the transaction began, and as it is.
    fence_before: i64,
    fence: Cell<i64>,
    /// Jobs that ended in this transaction, and are not in the table of finished jobs yet.
    pub(crate) ended: RefCell<Vec<SqliteJob>>,
}

impl<'a> Tx<'a> {
    /// Reads what the tables say of themselves.
    pub(crate) fn new(
        db: &'a Connection,
        tables: &'a Tables,
        now: StoreTime,
        boot_id: &'a str,
        since_boot: Duration,
    ) -> rusqlite::Result<Self> {
        let sql = tables.sql("SELECT version, min_reader, fence FROM scheduler_meta");
        let (versions, fence) = db
            .prepare_cached(&sql)?
            .query_row([], |row| Ok(((row.get(0)?, row.get(1)?), row.get::<_, i64>(2)?)))?;
        let (fence_before, fence) = (fence, Cell::new(fence));
        let since_boot = micros(since_boot);
        let ended = RefCell::default();
        Ok(Self { db, tables, now, boot_id, since_boot, versions, fence_before, fence, ended })
    }

    /// Why this program must not use the tables.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        let own = schema::own_version(MIGRATIONS);
        let (version, min_reader) = self.versions;
        (min_reader > own).then(|| Refusal::NewerSchema(newer_schema(version, min_reader, own)))
    }

    pub(crate) fn next_fence(&self) -> Fence {
        self.fence.set(self.fence.get().saturating_add(1));
        Fence(self.fence.get().unsigned_abs())
    }

    /// Keeps the last fence, in the transaction of the claims.
    pub(crate) fn write_fence(&self) -> rusqlite::Result<()> {
        if self.fence.get() != self.fence_before {
            self.execute("UPDATE scheduler_meta SET fence = ?1", params![self.fence.get()])?;
        }
        Ok(())
    }

    fn sql(&self, statement: &'static str) -> Cow<'static, str> {
        self.tables.sql(statement)
    }

    pub(crate) fn statement(&self, sql: &'static str) -> rusqlite::Result<CachedStatement<'a>> {
        self.db.prepare_cached(&self.sql(sql))
    }

    /// Executes a statement, and returns how many rows it has changed.
    pub(crate) fn execute(
        &self,
        sql: &'static str,
        params: impl Params,
    ) -> rusqlite::Result<usize> {
        self.statement(sql)?.execute(params)
    }

    /// The first row, if there is one.
    pub(crate) fn first<R>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<Option<R>> {
        self.statement(sql)?.query_row(params, read).optional()
    }

    /// All rows.
    pub(crate) fn all<R>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<Vec<R>> {
        self.statement(sql)?.query_map(params, read)?.collect()
    }
}

/// The prefix of all names, unless the program chooses another.
const PREFIX: &str = "scheduler_";

const PREFIX_MAX: usize = 32;

/// The prefix of the names of tables and indexes.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    prefix: Cow<'static, str>,
}

impl Tables {
    pub(crate) const DEFAULT: Self = Self { prefix: Cow::Borrowed(PREFIX) };

    /// Checks the prefix: ASCII letters, digits and underscores, not a digit first, and nothing that SQLite keeps for itself.
    pub(crate) fn new(prefix: &str) -> Result<Self, OpenError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_identifier = prefix.bytes().all(is_word)
            && prefix.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        if !is_identifier || prefix.len() > PREFIX_MAX || is_reserved(prefix) {
            return Err(OpenError::Prefix(prefix.to_owned()));
        }
        Ok(Self { prefix: Cow::Owned(prefix.to_owned()) })
    }

    /// A statement with the names of these tables.
    pub(crate) fn sql<'a>(&self, statement: &'a str) -> Cow<'a, str> {
        match &*self.prefix == PREFIX {
            true => Cow::Borrowed(statement),
            false => Cow::Owned(statement.replace(PREFIX, &self.prefix)),
        }
    }
}

fn is_reserved(prefix: &str) -> bool {
    prefix.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"))
}
