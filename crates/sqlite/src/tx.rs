//! A transaction: the connection, its instant, and its fences.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::time::Duration;

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Params, Row, params};
use scheduler_store::{Fence, Refusal, StoreTime, micros};

use crate::error::newer_schema;
use crate::job_row::JobRow;
use crate::schema::{self, MIGRATIONS};
use crate::tables::Tables;

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
    pub(crate) ended: RefCell<Vec<JobRow>>,
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
