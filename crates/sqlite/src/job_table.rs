//! The table of unfinished and parked jobs.

use rusqlite::params;
use scheduler_store::{JobId, StoreTime, attempts_to_text};

use crate::fields::word_of;
use crate::job_row::{JobRow, KEY_UNTIL, ON_LOST, capped, id_at, job_columns, micros_of};
use crate::tx::Tx;

impl Tx<'_> {
    /// Inserts a job. Returns false if there is one of this identity (R3).
    pub(crate) fn insert(&self, row: &JobRow) -> rusqlite::Result<bool> {
        let job = &row.job;
        let origin = job.origin.as_ref();
        let inserted = self.execute(
            "INSERT INTO scheduler_job (id, task, payload_version, payload, queue, priority, key, key_until, key_kept_until, state, \
             run_at, attempt, lost, undecoded, max_attempts, on_lost, fence, schedule, tick, missed, is_exclusive, \
             is_cancel_requested, created_at, traceparent) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?17, 'ready', ?9, 0, 0, 0, ?10, ?11, 0, ?12, ?13, ?14, ?15, 0, ?16, ?18) \
             ON CONFLICT (id) DO NOTHING",
            params![
                job.id.as_uuid().into_bytes(),
                job.task,
                job.payload.version,
                job.payload.bytes,
                job.queue,
                job.priority.rank(),
                job.key,
                word_of(KEY_UNTIL, row.key_until),
                job.run_at.as_micros(),
                job.max_attempts,
                word_of(ON_LOST, job.on_lost),
                origin.map(|origin| &origin.schedule),
                origin.and_then(|origin| micros_of(origin.tick)),
                origin.map_or(0, |origin| capped(origin.missed)),
                row.is_exclusive,
                job.created_at.as_micros(),
                micros_of(row.key_kept_until),
                job.traceparent,
            ],
        )?;
        Ok(inserted > 0)
    }

    /// Writes everything of a job that may change.
    pub(crate) fn update(&self, row: &JobRow) -> rusqlite::Result<()> {
        let job = &row.job;
        self.execute(
            "UPDATE scheduler_job SET key = ?2, state = ?3, run_at = ?4, attempt = ?5, lost = ?6, undecoded = ?7, \
             max_attempts = ?8, fence = ?9, session = ?10, is_cancel_requested = ?11, started_at = ?12, \
             finished_at = ?13, error = ?14, attempts = ?15 WHERE seq = ?1",
            params![
                row.seq,
                job.key,
                job.state.word(),
                job.run_at.as_micros(),
                job.attempt,
                job.lost,
                job.undecoded,
                job.max_attempts,
                capped(job.fence.0),
                job.session.map(|session| session.as_uuid().into_bytes()),
                job.is_cancel_requested,
                micros_of(job.started_at),
                micros_of(job.finished_at),
                job.error,
                attempts_to_text(&job.attempts),
            ],
        )?;
        Ok(())
    }

    /// Writes the rest of a damaged row, too, so that it can be read from now on. The payload stays as it is.
    pub(crate) fn put_right(&self, row: &JobRow) -> rusqlite::Result<()> {
        let job = &row.job;
        self.execute(
            "UPDATE scheduler_job SET id = ?2, task = ?3, queue = ?4, priority = ?5, payload_version = ?6, \
             key_until = ?7, on_lost = ?8, created_at = ?9, is_exclusive = ?10 WHERE seq = ?1",
            params![
                row.seq,
                job.id.as_uuid().into_bytes(),
                job.task,
                job.queue,
                job.priority.rank(),
                job.payload.version,
                word_of(KEY_UNTIL, row.key_until),
                word_of(ON_LOST, job.on_lost),
                job.created_at.as_micros(),
                row.is_exclusive,
            ],
        )?;
        self.update(row)
    }

    pub(crate) fn find(&self, id: JobId) -> rusqlite::Result<Option<JobRow>> {
        let sql = concat!("SELECT ", job_columns!(), " FROM scheduler_job WHERE id = ?1");
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
