//! The table of unfinished and parked jobs.

use rusqlite::types::ToSqlOutput;
use rusqlite::{params, params_from_iter};
use scheduler_store::{Column, JOB_COLUMNS, JobId, JobRow as Kept, StoreTime};

use crate::fields::{bound_all, instant, is_changing, is_repaired, sql};
use crate::job_row::{JobRow, id_at};
use crate::tx::Tx;

impl Tx<'_> {
    /// Inserts a job. Returns false if there is one of this identity (R3).
    pub(crate) fn insert(&self, row: &JobRow) -> rusqlite::Result<bool> {
        let sql = sql!(
            "INSERT INTO scheduler_job (key_kept_until, {job}) VALUES (?1, {job_values}) ON CONFLICT (id) DO NOTHING"
        );
        let values = bound_all(&JOB_COLUMNS, &row.kept);
        let values = [instant(row.key_kept_until)].into_iter().chain(values);
        Ok(self.execute(sql, params_from_iter(values))? > 0)
    }

    /// Writes everything of a job that may change.
    pub(crate) fn update(&self, row: &JobRow) -> rusqlite::Result<()> {
        let sql = sql!("UPDATE scheduler_job SET {job_changes} WHERE seq = ?1");
        self.write(row, sql, is_changing)
    }

    /// Writes the rest of a damaged row, too, so that it can be read from now on. The payload stays as it is.
    pub(crate) fn put_right(&self, row: &JobRow) -> rusqlite::Result<()> {
        let sql = sql!("UPDATE scheduler_job SET {job_repair} WHERE seq = ?1");
        self.write(row, sql, is_repaired)
    }

    /// Writes all of a job.
    pub(crate) fn rewrite(&self, row: &JobRow) -> rusqlite::Result<()> {
        self.write(row, sql!("UPDATE scheduler_job SET {job_all} WHERE seq = ?1"), |_| true)
    }

    fn write(
        &self,
        row: &JobRow,
        sql: &'static str,
        is_written: fn(&&Column<Kept>) -> bool,
    ) -> rusqlite::Result<()> {
        let values = bound_all(JOB_COLUMNS.iter().filter(is_written), &row.kept);
        let values = [ToSqlOutput::from(row.seq)].into_iter().chain(values);
        self.execute(sql, params_from_iter(values)).map(drop)
    }

    pub(crate) fn find(&self, id: JobId) -> rusqlite::Result<Option<JobRow>> {
        let sql = sql!("SELECT seq, {job} FROM scheduler_job WHERE id = ?1");
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
