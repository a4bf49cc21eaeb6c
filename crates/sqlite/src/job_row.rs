//! Rows of the table of jobs.

use rusqlite::{Row, params};
use scheduler_store::{
    Fence, JobId, JobState, KeyUntil, OnLost, Origin, Payload, Priority, SessionId, StoreTime,
    StoredJob, Uuid,
};

use crate::fields::{COUNT, Fields, NUMBER, word_of};
use crate::tx::Tx;

/// The columns in the order in which [`JobRow::read`] takes them.
macro_rules! job_columns {
    () => {
        "seq, id, task, payload_version, payload, queue, priority, key, key_until, state, run_at, attempt, lost, \
         undecoded, max_attempts, on_lost, fence, session, schedule, tick, missed, is_exclusive, is_cancel_requested, \
         created_at, started_at, finished_at, error"
    };
}
pub(crate) use job_columns;

pub(crate) const ON_LOST: &[(&str, OnLost)] =
    &[("rerun", OnLost::Rerun), ("abandon", OnLost::Abandon)];
const KEY_UNTIL: &[(&str, KeyUntil)] = &[("end", KeyUntil::End), ("start", KeyUntil::Start)];

/// The first word stands for those that are unknown.
const STATES: &[(&str, JobState)] = &[
    (JobState::Parked.word(), JobState::Parked),
    (JobState::Ready.word(), JobState::Ready),
    (JobState::Running.word(), JobState::Running),
    (JobState::Done.word(), JobState::Done),
    (JobState::Cancelled.word(), JobState::Cancelled),
];

/// A job with what only the store needs to know of it.
#[derive(Clone, Debug)]
pub(crate) struct JobRow {
    /// The number of the row; 0 before it is inserted.
    pub(crate) seq: i64,
    pub(crate) job: StoredJob,
    pub(crate) key_until: KeyUntil,
    /// True if no other job of its schedule may be unfinished beside it (R11).
    pub(crate) is_exclusive: bool,
    /// What was wrong with it: the job has values in their place that can be.
    pub(crate) faults: Vec<String>,
}

impl JobRow {
    /// Reads a row of the columns of `job_columns`.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut fields = Fields::new(row);
        let seq = row.get(0)?;
        let id = fields.opt_uuid(1)?.unwrap_or_else(|| Uuid::from_u128(seq_as_uuid(seq)));
        let job = StoredJob {
            id: JobId::from_uuid(id),
            task: fields.text(2)?,
            payload: Payload { version: fields.number(3, NUMBER)?, bytes: fields.bytes(4)? },
            queue: fields.text(5)?,
            priority: priority(fields.int(6, 0..=3)?),
            key: fields.opt_text(7)?,
            state: fields.word(9, STATES)?,
            run_at: fields.time(10)?,
            attempt: fields.number(11, COUNT)?,
            lost: fields.number(12, COUNT)?,
            undecoded: fields.number(13, COUNT)?,
            max_attempts: fields.number(14, 1..=0xFFFF_FFFF)?,
            on_lost: fields.word(15, ON_LOST)?,
            fence: fields.fence(16)?,
            session: fields.opt_uuid(17)?.map(SessionId::from_uuid),
            origin: match fields.opt_text(18)? {
                Some(schedule) => {
                    Some(Origin { schedule, tick: fields.opt_time(19)?, missed: fields.count(20)? })
                }
                None => None,
            },
            is_cancel_requested: fields.bool(22)?,
            created_at: fields.time(23)?,
            started_at: fields.opt_time(24)?,
            finished_at: fields.opt_time(25)?,
            error: fields.opt_text(26)?,
        };
        let (key_until, is_exclusive) = (fields.word(8, KEY_UNTIL)?, fields.bool(21)?);
        Ok(Self { seq, job, key_until, is_exclusive, faults: fields.faults })
    }

    /// Reads a row for people: what is wrong with it is its error.
    pub(crate) fn read_job(row: &Row<'_>) -> rusqlite::Result<StoredJob> {
        let mut row = Self::read(row)?;
        if let Some(reason) = row.damage() {
            row.job.error = Some(reason);
        }
        Ok(row.job)
    }

    /// What is wrong with the row.
    pub(crate) fn damage(&self) -> Option<String> {
        (!self.faults.is_empty()).then(|| format!("damaged: {}", self.faults.join(", ")))
    }
}

/// An identity in place of one that is damaged.
fn seq_as_uuid(seq: i64) -> u128 {
    0xDA3A_6ED0_0000_8000_8000_0000_0000_0000 | u128::from(seq.unsigned_abs())
}

pub(crate) fn priority(number: i64) -> Priority {
    match number {
        0 => Priority::Low,
        1 => Priority::Normal,
        2 => Priority::High,
        _ => Priority::Urgent,
    }
}

pub(crate) fn number_of(priority: Priority) -> i64 {
    match priority {
        Priority::Low => 0,
        Priority::Normal => 1,
        Priority::High => 2,
        Priority::Urgent => 3,
    }
}

pub(crate) fn micros_of(time: Option<StoreTime>) -> Option<i64> {
    time.map(StoreTime::as_micros)
}

/// A number of ticks as SQLite keeps it.
pub(crate) fn capped(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Tx<'_> {
    /// Inserts a job. Returns false if there is one of this identity (R3).
    pub(crate) fn insert(&self, row: &JobRow) -> rusqlite::Result<bool> {
        let job = &row.job;
        let origin = job.origin.as_ref();
        let inserted = self.execute(
            "INSERT INTO scheduler_job (id, task, payload_version, payload, queue, priority, key, key_until, state, \
             run_at, attempt, lost, undecoded, max_attempts, on_lost, fence, schedule, tick, missed, is_exclusive, \
             is_cancel_requested, created_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'ready', ?9, 0, 0, 0, ?10, ?11, 0, ?12, ?13, ?14, ?15, 0, ?16) \
             ON CONFLICT (id) DO NOTHING",
            params![
                job.id.as_uuid().into_bytes(),
                job.task,
                job.payload.version,
                job.payload.bytes,
                job.queue,
                number_of(job.priority),
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
             finished_at = ?13, error = ?14 WHERE seq = ?1",
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
                number_of(job.priority),
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

    /// The unfinished job of a task that has the key.
    pub(crate) fn with_key(&self, task: &str, key: &str) -> rusqlite::Result<Option<JobId>> {
        let sql = "SELECT id FROM scheduler_job INDEXED BY scheduler_job_key \
                   WHERE task = ?1 AND key = ?2 AND key IS NOT NULL AND state IN ('ready', 'running')";
        self.first(sql, params![task, key], |row| id_at(row, 0))
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

/// An identity that is read alone; a damaged one is one that no job has.
pub(crate) fn id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<JobId> {
    Ok(JobId::from_uuid(Fields::new(row).opt_uuid(column)?.unwrap_or_default()))
}

impl JobRow {
    /// The job belongs to a session from now on.
    pub(crate) fn claim(&mut self, session: SessionId, fence: Fence, now: StoreTime) {
        let job = &mut self.job;
        (job.state, job.session, job.fence) = (JobState::Running, Some(session), fence);
        job.attempt += 1;
        job.started_at = Some(now);
        if self.key_until == KeyUntil::Start {
            job.key = None;
        }
    }
}
