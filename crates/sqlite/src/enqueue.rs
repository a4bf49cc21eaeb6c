//! New jobs: of programs, in their transactions, and of ticks.

use rusqlite::{Transaction, params};
use scheduler_store::{
    Enqueued, Fire, FireStep, Fired, JobBefore, JobState, Lanes as _, NewJob, OnConflict, Refusal,
    StoreError, When, refuse_full,
};

use crate::error::{self, is_busy};
use crate::fields::with_columns;
use crate::schema::{self, MIGRATIONS};
use crate::store::Sqlite;
use crate::tx::Tx;

impl Tx<'_> {
    /// Enqueues all jobs, or none if a task or a partition is full.
    pub(crate) fn enqueue(
        &self,
        jobs: &[NewJob],
    ) -> rusqlite::Result<Result<Vec<Enqueued>, Refusal>> {
        let is_known = |new: &NewJob| {
            Ok(self.has(new.id)? || (new.is_resent && self.find_ended(new.id)?.is_some()))
        };
        let count = |new: &NewJob, scope, most| self.count_waiting(new, scope, most);
        match refuse_full(jobs, is_known, |task| self.limits(task), count)? {
            Some(refusal) => Ok(Err(refusal)),
            None => jobs.iter().map(|job| self.enqueue_one(job)).collect::<Result<_, _>>().map(Ok),
        }
    }

    fn enqueue_one(&self, new: &NewJob) -> rusqlite::Result<Enqueued> {
        let run_at = match new.when {
            When::Now => self.now,
            When::After(wait) => self.now.after(wait),
            When::At(at) => at,
        };
        if new.is_resent && self.find_ended(new.id)?.is_some() {
            return Ok(Enqueued::Accepted(new.id));
        }
        if let Some(key) = &new.key {
            // The identity comes before the key (R3).
            if self.has(new.id)? {
                return Ok(Enqueued::Accepted(new.id));
            }
            let other = self.with_key(&new.task, &key.text)?;
            // Its own key may outlive a job that was sent before.
            if other == Some(new.id) {
                return Ok(Enqueued::Accepted(new.id));
            }
            if let Some(other) = other {
                let row =
                    if key.on_conflict == OnConflict::Keep { None } else { self.find(other)? };
                // A damaged job stays as it is until a poll parks it: people are to see it.
                let row =
                    row.filter(|row| row.job.state == JobState::Ready && row.faults.is_empty());
                let Some(mut row) = row else { return Ok(Enqueued::Kept(other)) };
                row.replace(new, run_at);
                self.rewrite(&row)?;
                return Ok(Enqueued::Replaced(other));
            }
        }
        self.insert(&self.row_of(new, run_at))?;
        Ok(Enqueued::Accepted(new.id))
    }
}

impl Tx<'_> {
    pub(crate) fn fire(&self, request: &Fire) -> rusqlite::Result<Fired> {
        if !self.is_alive(request.session)? {
            return Ok(Fired::Ended);
        }
        let Some(mut schedule) = self.schedule(&request.schedule)? else {
            return Ok(Fired::Refused(None));
        };
        let before = self.job_before(&request.schedule)?;
        let fired = match schedule.fire(request, self.now, before) {
            FireStep::Answer(unchanged @ (Fired::Refused(_) | Fired::TooEarly | Fired::Busy)) => {
                return Ok(unchanged);
            }
            FireStep::Answer(fired) => fired,
            FireStep::Insert(tick) => {
                let is_new = self.insert_of(&schedule, &tick, false)?;
                if is_new {
                    schedule.has_fired(tick.tick);
                }
                let of = &schedule.definition;
                let is_paused = || -> rusqlite::Result<bool> {
                    Ok(self.pauses()?.iter().any(|pause| pause.scope.has(&of.task, &of.queue)))
                };
                let is_known = request.claim.is_some_and(|known| of.payload.version <= known);
                // A job with a partition, or of a task with limits, is claimed from its lane.
                let has_lane =
                    of.partition.is_some() || self.all_limits()?.of(&of.task).is_limited();
                let is_claimed =
                    is_new && is_known && tick.run_at <= self.now && !is_paused()? && !has_lane;
                let row = if is_claimed { self.find(tick.id)? } else { None };
                let job = row.map(|row| self.claim(row, request.session, false)).transpose()?;
                Fired::Moved(job.map(Box::new))
            }
        };
        self.write_schedule(&schedule)?;
        Ok(fired)
    }

    /// The job before a tick. Limits are read only if it is in a lane.
    fn job_before(&self, schedule: &str) -> rusqlite::Result<JobBefore> {
        let sql = "SELECT task, lane IS NOT NULL AND started_at IS NULL FROM scheduler_job \
                   INDEXED BY scheduler_job_exclusive \
                   WHERE schedule = ?1 AND is_exclusive <> 0 AND state IN ('ready', 'running')";
        let job = self.first(sql, params![schedule], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?))
        })?;
        Ok(match job {
            None => JobBefore::Ended,
            Some((task, true)) if self.all_limits()?.of(&task).is_limited() => JobBefore::Limited,
            Some(_) => JobBefore::Unfinished,
        })
    }
}

impl Sqlite {
    /// Enqueues jobs, all or none, in a transaction of the program on the same file: they exist if and when it is committed.
    ///
    /// Of a transaction that began as [`Deferred`](rusqlite::TransactionBehavior::Deferred) and has read, SQLite may refuse the
    /// first write while another connection writes; begin it as `Immediate`.
    ///
    /// # Errors
    ///
    /// SQLite has failed, or a text or payload cannot be stored. Nothing of the jobs is in the transaction then.
    pub fn enqueue_in(
        &self,
        transaction: &Transaction<'_>,
        jobs: &[NewJob],
    ) -> Result<Vec<Enqueued>, StoreError> {
        jobs.iter().try_for_each(NewJob::check)?;
        let failed = |error: rusqlite::Error| {
            match is_busy(&error) {
            true => StoreError::Failed(
                "another connection writes to the file\n  help: begin the transaction as `Immediate`, with a busy timeout"
                    .to_owned(),
            ),
            false => error::failed(&error),
        }
        };
        transaction.execute_batch("SAVEPOINT scheduler_enqueue").map_err(failed)?;
        match self.insert_in(transaction, jobs) {
            Ok(answers) => {
                transaction.execute_batch("RELEASE scheduler_enqueue").map_err(failed)?;
                Ok(answers?)
            }
            Err(error) => {
                // After a full disk SQLite may have rolled all of it back already: then there is nothing to undo.
                if !transaction.is_autocommit() {
                    let undo = "ROLLBACK TO scheduler_enqueue; RELEASE scheduler_enqueue";
                    transaction.execute_batch(undo).map_err(failed)?;
                }
                Err(failed(error))
            }
        }
    }

    fn insert_in(
        &self,
        transaction: &Transaction<'_>,
        jobs: &[NewJob],
    ) -> rusqlite::Result<Result<Vec<Enqueued>, Refusal>> {
        let (tables, clock) = (self.tables(), self.clock());
        let tx = Tx::new(transaction, tables, clock.now(), "", clock.since_boot())?;
        match tx.refusal() {
            Some(refusal) => Ok(Err(refusal)),
            None => tx.enqueue(jobs),
        }
    }

    /// The statement for clients other than `rusqlite`, which enqueues the jobs of a JSON array. It returns a row for each job
    /// that it has written.
    pub(crate) fn enqueue_sql(&self) -> String {
        let own = schema::own_version(MIGRATIONS);
        self.tables().sql(&with_columns(ENQUEUE)).replace("OWN_VERSION", &own.to_string())
    }
}

/// The identity of a job as text.
macro_rules! uuid_text {
    ($blob:literal) => {
        concat!(
            "lower(substr(hex(",
            $blob,
            "), 1, 8) || '-' || substr(hex(",
            $blob,
            "), 9, 4) || '-' || substr(hex(",
            $blob,
            "), 13, 4) || '-' || substr(hex(",
            $blob,
            "), 17, 4) || '-' || substr(hex(",
            $blob,
            "), 21))"
        )
    };
}

/// One statement that does the same as [`Tx::enqueue`]. Tables that this version does not understand have no identity for a new job, which is an
/// error. A finished job is one whose identity stands among those of a row of `done`. INVARIANT: the encoding of these has identities as they are.
const ENQUEUE: &str = concat!(
    "WITH job AS (SELECT CASE WHEN (SELECT min_reader FROM scheduler_meta) <= OWN_VERSION THEN unhex(j.value ->> 'id', '-') END AS id, \
       j.value AS it, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000 AS now FROM json_each(?1) AS j) \
     INSERT INTO scheduler_job ({new_job}, key, key_until, key_kept_until, state, run_at, expires_at, attempt, lost, undecoded, fence, missed, \
       is_exclusive, is_cancel_requested, created_at) \
     SELECT {new_job_of_it}, it ->> 'key', CASE WHEN it ->> 'until_start' THEN 'start' ELSE 'end' END, \
       min(now + (it ->> 'key_for'), 253402300799999999), 'ready', \
       coalesce(it ->> 'at', min(now + (it ->> 'wait'), 253402300799999999)), \
       coalesce(it ->> 'expires', min(coalesce(it ->> 'at', min(now + (it ->> 'wait'), 253402300799999999)) + (it ->> 'expires_after'), 253402300799999999)), \
       0, 0, 0, 0, 0, 0, 0, now \
     FROM job WHERE NOT EXISTS (SELECT 1 FROM scheduler_job AS old WHERE old.id = job.id) \
       AND NOT (it ->> 'resent' AND EXISTS (SELECT 1 FROM scheduler_done \
         WHERE least_id <= job.id AND greatest_id >= job.id AND instr(jobs, job.id) > 0)) \
       AND NOT EXISTS (SELECT 1 FROM scheduler_key AS kept \
         WHERE kept.task = it ->> 'task' AND kept.key = it ->> 'key' AND kept.until > now \
           AND NOT EXISTS (SELECT 1 FROM scheduler_job AS holder INDEXED BY scheduler_job_key WHERE holder.task = kept.task \
             AND holder.key = kept.key AND holder.key IS NOT NULL AND holder.state IN ('ready', 'running'))) \
     ON CONFLICT (task, key) WHERE key IS NOT NULL AND state IN ('ready', 'running') DO UPDATE SET \
       {new_job_replaced}, run_at = min(excluded.run_at, coalesce(created_at + (SELECT j.value ->> 'debounce' FROM json_each(?1) AS j \
         WHERE unhex(j.value ->> 'id', '-') = excluded.id), excluded.run_at)), \
       expires_at = excluded.expires_at, attempt = 0, lost = 0, undecoded = 0, error = NULL, held_until = NULL, attempts = NULL, progress = NULL \
     WHERE state = 'ready' AND EXISTS (SELECT 1 FROM json_each(?1) AS j \
       WHERE unhex(j.value ->> 'id', '-') = excluded.id AND j.value ->> 'replace') \
     ON CONFLICT (id) DO NOTHING \
     RETURNING ",
    uuid_text!("id"),
    " AS id, CASE WHEN EXISTS (SELECT 1 FROM json_each(?1) AS j WHERE unhex(j.value ->> 'id', '-') = scheduler_job.id) \
       THEN 'accepted' ELSE 'replaced' END AS outcome"
);
