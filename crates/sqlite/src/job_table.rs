//! The table of unfinished and parked jobs.

use std::sync::LazyLock;

use rusqlite::types::ToSqlOutput;
use rusqlite::{params, params_from_iter};
use scheduler_store::{Column, JOB_COLUMNS, JobId, JobRow as Kept, StoreTime};

use crate::fields::{bound_all, instant, parameters, sql};
use crate::job_row::{JobRow, id_at};
use crate::tx::Tx;

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let names = JOB_COLUMNS.each_ref().map(|column| column.name).join(", ");
    let values = parameters(JOB_COLUMNS.len() + 1);
    format!(
        "INSERT INTO scheduler_job ({names}, key_kept_until) VALUES ({values}) ON CONFLICT (id) DO NOTHING"
    )
});

/// A statement that writes some of the columns, from the second parameter on.
struct Update {
    is_written: fn(&Column<Kept>) -> bool,
    sql: LazyLock<String>,
}

impl Update {
    const fn new(is_written: fn(&Column<Kept>) -> bool, sql: fn() -> String) -> Self {
        Self { is_written, sql: LazyLock::new(sql) }
    }

    fn columns(&self) -> impl Iterator<Item = &'static Column<Kept>> {
        JOB_COLUMNS.iter().filter(|column| (self.is_written)(column))
    }

    fn text(&self) -> String {
        let sets = (2..).zip(self.columns()).map(|(at, column)| format!("{} = ?{at}", column.name));
        let sets = sets.collect::<Vec<_>>().join(", ");
        format!("UPDATE scheduler_job SET {sets} WHERE seq = ?1")
    }
}

static CHANGED: Update = Update::new(|column| column.changes, || CHANGED.text());
static RIGHT: Update = Update::new(|column| column.name != "payload", || RIGHT.text());
static ALL: Update = Update::new(|_| true, || ALL.text());

impl Tx<'_> {
    /// Inserts a job. Returns false if there is one of this identity (R3).
    pub(crate) fn insert(&self, row: &JobRow) -> rusqlite::Result<bool> {
        let kept_until = instant(row.key_kept_until);
        let values = bound_all(&JOB_COLUMNS, &row.kept).chain([kept_until]);
        Ok(self.execute(&INSERT, params_from_iter(values))? > 0)
    }

    /// Writes everything of a job that may change.
    pub(crate) fn update(&self, row: &JobRow) -> rusqlite::Result<()> {
        self.write(row, &CHANGED)
    }

    /// Writes the rest of a damaged row, too, so that it can be read from now on. The payload stays as it is.
    pub(crate) fn put_right(&self, row: &JobRow) -> rusqlite::Result<()> {
        self.write(row, &RIGHT)
    }

    /// Writes all of a job.
    pub(crate) fn rewrite(&self, row: &JobRow) -> rusqlite::Result<()> {
        self.write(row, &ALL)
    }

    fn write(&self, row: &JobRow, update: &'static Update) -> rusqlite::Result<()> {
        let values = bound_all(update.columns(), &row.kept);
        let values = [ToSqlOutput::from(row.seq)].into_iter().chain(values);
        self.execute(&update.sql, params_from_iter(values)).map(drop)
    }

    pub(crate) fn find(&self, id: JobId) -> rusqlite::Result<Option<JobRow>> {
        let sql = sql!("SELECT {job} FROM scheduler_job WHERE id = ?1");
        self.first(sql, params![id.as_uuid().into_bytes()], JobRow::read)
    }

    /// Returns true if there is a job of this identity.
    pub(crate) fn has(&self, id: JobId) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM scheduler_job WHERE id = ?1";
        Ok(self.first(sql, params![id.as_uuid().into_bytes()], |_| Ok(()))?.is_some())
    }

    /// The job of a task that has the key.
    pub(crate) fn with_key(&self, task: &str, key: &str) -> rusqlite::Result<Option<JobId>> {
        let sql = "SELECT id FROM scheduler_job INDEXED BY scheduler_job_key \
                   WHERE task = ?1 AND key = ?2 AND key IS NOT NULL AND state IN ('ready', 'running')";
        let unfinished = self.first(sql, params![task, key], |row| id_at(row, 0))?;
        if unfinished.is_some() {
            return Ok(unfinished);
        }
        let sql = "SELECT job FROM scheduler_key WHERE task = ?1 AND key = ?2 AND until > ?3";
        self.first(sql, params![task, key, self.now.as_micros()], |row| id_at(row, 0))
    }

    /// The unfinished job that keeps others of its schedule out, and when it was accepted.
    pub(crate) fn busy(&self, schedule: &str) -> rusqlite::Result<Option<(JobId, StoreTime)>> {
        let sql = "SELECT id, created_at FROM scheduler_job INDEXED BY scheduler_job_exclusive \
                   WHERE schedule = ?1 AND is_exclusive <> 0 AND state IN ('ready', 'running')";
        self.first(sql, params![schedule], |row| {
            Ok((id_at(row, 0)?, StoreTime::from_micros(row.get(1)?)))
        })
    }
}
