//! The connections of a process: one that writes, others that read.
//!
//! A call becomes one transaction here. It waits for other threads and other processes until its deadline, so that no caller
//! ever gets the error that the database is locked while there is time. After an error that may have left a connection
//! in doubt, it is dropped, and the next call opens another.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use scheduler_store::{Refusal, StoreError, StoreTime, Turns, Watch, is_dry_run};

use crate::error::{OpenError, failed, is_broken, is_busy, newer_schema, unavailable};
use crate::host::{Backoff, Deadline, FileId, SqliteClock, file_of, sleep};
use crate::schema::{self, MIGRATIONS};
use crate::tx::{Tables, Tx};

/// The options of a program.
#[derive(Clone, Debug)]
pub(crate) struct SqliteSettings {
    pub(crate) path: PathBuf,
    pub(crate) tables: Tables,
    pub(crate) synchronous: &'static str,
    pub(crate) busy_timeout: Duration,
    pub(crate) max_pages: Option<u32>,
    pub(crate) clock: Arc<dyn SqliteClock>,
}

/// The number of statements that a connection keeps prepared: all that there are.
const STATEMENTS: usize = 128;

/// The number of connections for reading that are kept.
const READERS: usize = 4;

/// The number of damaged rows that cannot be put right and are remembered, so that each is reported once.
const REPORTED_MAX: usize = 10_000;

#[derive(Debug)]
pub(crate) struct ConnectionPool {
    pub(crate) settings: SqliteSettings,
    boot_id: String,
    writer: Mutex<WriteSlot>,
    /// The connection that writes was put back.
    is_free: Condvar,
    readers: Mutex<Vec<Connection>>,
    reported: Mutex<HashSet<String>>,
    /// The lanes after which the claims of this process go on.
    turns: Mutex<Turns>,
    /// The file that was opened, and when it was last seen behind its name.
    file: Mutex<Option<(FileId, Duration)>>,
}

/// The time between two looks whether the file is still the one that was opened.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct WriteSlot {
    is_taken: bool,
    connection: Option<Connection>,
}

impl ConnectionPool {
    /// Opens the file, and makes or changes the tables.
    pub(crate) fn open(settings: SqliteSettings) -> Result<Self, OpenError> {
        // A dry run makes no file.
        let connection = if is_dry_run() {
            None
        } else {
            Some(connect(&settings, Deadline::after(settings.busy_timeout))?)
        };
        if let Some(db) = &connection {
            check_writable(db, &settings)?;
        }
        let boot_id = settings.clock.boot_id();
        let file = file_of(&settings.path).map(|(id, _)| (id, settings.clock.since_boot()));
        Ok(Self {
            file: Mutex::new(file),
            settings,
            boot_id,
            writer: Mutex::new(WriteSlot { is_taken: false, connection }),
            is_free: Condvar::new(),
            readers: Mutex::default(),
            reported: Mutex::default(),
            turns: Mutex::default(),
        })
    }

    /// Executes a step in a transaction that may write, unless the time is up when it begins.
    pub(crate) fn write<R>(
        &self,
        not_after: Option<StoreTime>,
        step: impl FnOnce(&Tx<'_>) -> rusqlite::Result<R>,
    ) -> Result<R, StoreError> {
        if self.is_over(not_after) {
            return Err(Refusal::TooLate.into());
        }
        self.check_file()?;
        let deadline = self.deadline(not_after);
        let mut turn = self.take(deadline).ok_or_else(locked)?;
        let db = turn.connection(&self.settings, deadline).map_err(unopened)?;
        let step = self.transaction(db, deadline, not_after, step);
        let (error, is_certain) = match step.map(|answer| (answer, commit(db))) {
            Ok((answer, Ok(()))) => return answer,
            // Its frames may be in the log all the same, where the next start finds them.
            Ok((_, Err(error))) => (error, false),
            Err(error) => (error, true),
        };
        let is_over = db.is_autocommit() || db.execute_batch("ROLLBACK").is_ok();
        if is_broken(&error) || !is_over {
            turn.connection = None;
        }
        Err(match error.sqlite_error_code() {
            _ if is_busy(&error) => locked(),
            Some(ErrorCode::DiskFull) => failed(&error),
            _ if is_certain => failed(&error),
            _ => unavailable(&error),
        })
    }

    /// Refuses to go on in a file that was removed, or replaced by another one of its name: no process would find what is written.
    fn check_file(&self) -> Result<(), StoreError> {
        let (mut file, now) = (lock(&self.file), self.settings.clock.since_boot());
        let Some((id, seen)) = &mut *file else { return Ok(()) };
        if now.abs_diff(*seen) < LOOK {
            return Ok(());
        }
        let path = &self.settings.path;
        if file_of(path).is_some_and(|(found, _)| found == *id) {
            *seen = now;
            return Ok(());
        }
        Err(StoreError::NotExecuted(format!(
            "{} was removed or replaced while it was open; help: put the file back, or restart the program",
            path.display()
        )))
    }

    /// All of a transaction but its commit. An error of SQLite is outside, a refusal inside, which ends the transaction.
    fn transaction<R>(
        &self,
        db: &Connection,
        deadline: Deadline,
        not_after: Option<StoreTime>,
        step: impl FnOnce(&Tx<'_>) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<Result<R, StoreError>> {
        retry(deadline, || db.prepare_cached("BEGIN IMMEDIATE")?.execute([]))?;
        // RACE: the clock is read under the lock of the file. Read before, a statement that waited for it could take
        // effect after its `not_after` (R2).
        let now = self.settings.clock.now();
        if not_after.is_some_and(|not_after| now > not_after) {
            db.execute_batch("ROLLBACK")?;
            return Ok(Err(locked()));
        }
        let tx = self.begin(db, now)?;
        if let Some(refusal) = tx.refusal() {
            db.execute_batch("ROLLBACK")?;
            return Ok(Err(refusal.into()));
        }
        let answer = step(&tx)?;
        tx.write_done()?;
        tx.write_fence()?;
        Ok(Ok(answer))
    }

    /// Executes a step that only reads, on one snapshot.
    pub(crate) fn read<R>(
        &self,
        step: impl Fn(&Tx<'_>) -> rusqlite::Result<R>,
    ) -> Result<R, StoreError> {
        self.check_file()?;
        let deadline = self.deadline(None);
        let kept = lock(&self.readers).pop();
        let db = match kept {
            Some(db) => db,
            None => open_reader(&self.settings).map_err(|error| failed(&error))?,
        };
        let answer = retry(deadline, || {
            let answer = self.snapshot(&db, &step);
            if !db.is_autocommit() {
                db.execute_batch("ROLLBACK")?;
            }
            answer
        });
        let is_usable = answer.as_ref().err().is_none_or(|error| !is_broken(error));
        let mut readers = lock(&self.readers);
        if is_usable && readers.len() < READERS {
            readers.push(db);
        }
        drop(readers);
        answer.map_err(|error| if is_busy(&error) { locked() } else { failed(&error) })?
    }

    fn snapshot<R>(
        &self,
        db: &Connection,
        step: impl Fn(&Tx<'_>) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<Result<R, StoreError>> {
        db.prepare_cached("BEGIN")?.execute([])?;
        let tx = self.begin(db, self.settings.clock.now())?;
        match tx.refusal() {
            Some(refusal) => Ok(Err(refusal.into())),
            None => step(&tx).map(Ok),
        }
    }

    fn begin<'a>(&'a self, db: &'a Connection, now: StoreTime) -> rusqlite::Result<Tx<'a>> {
        let since_boot = self.settings.clock.since_boot();
        Tx::new(db, &self.settings.tables, now, &self.boot_id, since_boot)
    }

    /// The number that changes when another connection has written; none if the connection is busy.
    fn data_version(&self) -> Result<Option<i64>, StoreError> {
        let at_once = Deadline::after(Duration::ZERO);
        let Some(mut turn) = self.take(at_once) else { return Ok(None) };
        let db = match turn.connection(&self.settings, at_once) {
            Err(OpenError::Sqlite(_, error)) if is_busy(&error) => return Ok(None),
            opened => opened.map_err(unopened)?,
        };
        let version = db
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        match version {
            Ok(version) => Ok(Some(version)),
            Err(error) if is_busy(&error) => Ok(None),
            Err(error) => {
                turn.connection = None;
                Err(failed(&error))
            }
        }
    }

    /// The lanes after which the claims of this process go on.
    pub(crate) fn turns(&self) -> MutexGuard<'_, Turns> {
        lock(&self.turns)
    }

    /// Returns true the first time that this row is reported.
    pub(crate) fn is_news(&self, row: &str) -> bool {
        let mut reported = lock(&self.reported);
        reported.len() < REPORTED_MAX && reported.insert(row.to_owned())
    }

    fn deadline(&self, not_after: Option<StoreTime>) -> Deadline {
        let busy_timeout = self.settings.busy_timeout;
        let left = not_after.map_or(busy_timeout, |end| end.since(self.settings.clock.now()));
        Deadline::after(left.min(busy_timeout))
    }

    /// Returns true if the time of a request is up.
    fn is_over(&self, not_after: Option<StoreTime>) -> bool {
        not_after.is_some_and(|not_after| self.settings.clock.now() > not_after)
    }

    fn take(&self, deadline: Deadline) -> Option<Turn<'_>> {
        let mut writer = lock(&self.writer);
        while writer.is_taken {
            let left = deadline.left();
            if left.is_zero() {
                return None;
            }
            let waited = self.is_free.wait_timeout(writer, left.min(Duration::from_secs(60)));
            writer = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        writer.is_taken = true;
        Some(Turn { pool: self, connection: writer.connection.take() })
    }
}

/// The right to write: the connection belongs to one thread until this is dropped.
struct Turn<'a> {
    pool: &'a ConnectionPool,
    connection: Option<Connection>,
}

impl Turn<'_> {
    fn connection(
        &mut self,
        settings: &SqliteSettings,
        deadline: Deadline,
    ) -> Result<&Connection, OpenError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(settings, deadline)?,
        };
        Ok(self.connection.insert(connection))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut writer = lock(&self.pool.writer);
        // After a panic a transaction may be open; the next one begins on a new connection.
        writer.connection = self.connection.take().filter(Connection::is_autocommit);
        writer.is_taken = false;
        drop(writer);
        self.pool.is_free.notify_one();
    }
}

/// Opens a connection that writes, to tables that exist when this returns.
fn connect(settings: &SqliteSettings, deadline: Deadline) -> Result<Connection, OpenError> {
    let failed = |error| OpenError::Sqlite(settings.path.clone(), error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = retry(deadline, || open(&settings.path, flags)).map_err(failed)?;
    let (tables, own) = (&settings.tables, schema::own_version(MIGRATIONS));
    let versions = retry(deadline, || schema::versions(&db, tables)).map_err(failed)?;
    if let Some((version, min_reader)) = versions.filter(|(_, min_reader)| *min_reader > own) {
        return Err(OpenError::NewerSchema(newer_schema(version, min_reader, own)));
    }
    // RACE: SQLite does not call its busy handler while the log is made, so eight processes that start at once would fail.
    let mode = retry(deadline, || {
        db.query_row("PRAGMA journal_mode = wal", [], |row| row.get::<_, String>(0))
    });
    match mode.map_err(failed)? {
        mode if mode == "wal" => {}
        mode => return Err(OpenError::NoLog(mode)),
    }
    db.pragma_update(None, "synchronous", settings.synchronous).map_err(failed)?;
    db.pragma_update(None, "journal_size_limit", 64 << 20).map_err(failed)?;
    if let Some(pages) = settings.max_pages {
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).map_err(failed)?;
    }
    if versions.is_none_or(|(version, _)| version < own) {
        let migrated = retry(deadline, || {
            db.execute_batch("BEGIN EXCLUSIVE")?;
            let migrated = schema::migrate(&db, tables, MIGRATIONS);
            let is_done = matches!(migrated, Ok(None));
            db.execute_batch(if is_done { "COMMIT" } else { "ROLLBACK" })?;
            migrated
        });
        if let Some(error) = migrated.map_err(failed)? {
            return Err(error);
        }
    }
    Ok(db)
}

/// A store that cannot be written is an error of the start.
fn check_writable(db: &Connection, settings: &SqliteSettings) -> Result<(), OpenError> {
    let deadline = Deadline::after(settings.busy_timeout);
    let write = settings.tables.sql("UPDATE scheduler_meta SET fence = fence");
    let written = retry(deadline, || db.execute(&write, []));
    written.map(drop).map_err(|error| OpenError::Sqlite(settings.path.clone(), error))
}

fn open_reader(settings: &SqliteSettings) -> rusqlite::Result<Connection> {
    // Readers of a write-ahead log write to its shared memory.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = open(&settings.path, flags)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}

fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(Duration::ZERO)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}

/// Commits what is open, if anything is.
fn commit(db: &Connection) -> rusqlite::Result<()> {
    match db.is_autocommit() {
        true => Ok(()),
        false => db.prepare_cached("COMMIT")?.execute([]).map(drop),
    }
}

/// Tries until it is not the lock of another connection that is in the way, or the deadline has come.
fn retry<R>(
    deadline: Deadline,
    mut step: impl FnMut() -> rusqlite::Result<R>,
) -> rusqlite::Result<R> {
    let mut backoff = Backoff::new();
    loop {
        match step() {
            Err(error) if is_busy(&error) && backoff.wait(deadline) => {}
            other => return other,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request has no connection.
fn unopened(error: OpenError) -> StoreError {
    match error {
        OpenError::NewerSchema(reason) => Refusal::NewerSchema(reason).into(),
        OpenError::Sqlite(_, error) if is_busy(&error) => locked(),
        OpenError::Sqlite(_, error) => failed(&error),
        error => StoreError::NotExecuted(error.to_string()),
    }
}

/// The lock of the file was not had in time, as a server that does not answer in time.
fn locked() -> StoreError {
    let reason = "others held the write lock of the file for as long as the request could wait";
    StoreError::NotExecuted(reason.to_owned())
}

/// The time between two looks at the file: under 1 % of one core. It stays so while nothing happens: a longer wait
/// would be the latency of the first job after it.
const INTERVAL: Duration = Duration::from_millis(5);

/// Looks whether another connection has written.
///
/// SQLite gives no notice to other processes, but has a number that changes with their writes. The connection that asks is the
/// one that writes, so that the process's own writes do not count.
#[derive(Debug)]
pub(crate) struct FileWatch {
    pool: Arc<ConnectionPool>,
    seen: Option<i64>,
}

impl FileWatch {
    pub(crate) fn new(pool: Arc<ConnectionPool>) -> Self {
        let seen = pool.data_version().ok().flatten();
        Self { pool, seen }
    }
}

impl Watch for FileWatch {
    fn wait(&mut self, limit: Duration) -> Result<bool, StoreError> {
        let deadline = Deadline::after(limit);
        loop {
            if let Some(version) = self.pool.data_version()?
                && self.seen.replace(version) != Some(version)
            {
                return Ok(true);
            }
            let left = deadline.left();
            if left.is_zero() {
                return Ok(false);
            }
            sleep(INTERVAL.min(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::host::HostClock;

    #[test]
    fn a_panic_in_a_step_leaves_nothing_behind() {
        let folder = std::env::temp_dir().join(format!("scheduler-panic-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let settings = SqliteSettings {
            path: folder.join("jobs.db"),
            tables: Tables::DEFAULT,
            synchronous: "normal",
            busy_timeout: Duration::from_secs(30),
            max_pages: None,
            clock: Arc::new(HostClock),
        };
        let pool = ConnectionPool::open(settings).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pool.write(None, |tx| -> rusqlite::Result<()> {
                tx.execute("UPDATE scheduler_meta SET fence = 77", []).unwrap();
                panic!("as planned");
            })
        }));
        assert!(panicked.is_err());
        let fence = pool.write(None, |tx| Ok(tx.next_fence())).unwrap();
        assert_eq!(fence.0, 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
