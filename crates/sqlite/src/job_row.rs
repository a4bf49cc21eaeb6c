//! Rows of the table of jobs.

use rusqlite::Row;
use scheduler_store::{
    JobId, JobState, KeyUntil, OnLost, Origin, Payload, Priority, SessionId, StoreTime, StoredJob,
    Uuid, attempts_of_text,
};

use crate::fields::{COUNT, Fields, NUMBER};

/// The columns in the order in which [`JobRow::read`] takes them.
macro_rules! job_columns {
    () => {
        "seq, id, task, payload_version, payload, queue, priority, key, key_until, state, run_at, attempt, lost, \
         undecoded, max_attempts, on_lost, fence, session, schedule, tick, missed, is_exclusive, is_cancel_requested, \
         created_at, started_at, finished_at, error, traceparent, attempts"
    };
}
pub(crate) use job_columns;

pub(crate) const ON_LOST: &[(&str, OnLost)] =
    &[(OnLost::Rerun.name(), OnLost::Rerun), (OnLost::Abandon.name(), OnLost::Abandon)];
pub(crate) const KEY_UNTIL: &[(&str, KeyUntil)] =
    &[("end", KeyUntil::End), ("start", KeyUntil::Start)];

/// The first word stands for those that are unknown.
const STATES: &[(&str, JobState)] = &[
    (JobState::Parked.word(), JobState::Parked),
    (JobState::Ready.word(), JobState::Ready),
    (JobState::Running.word(), JobState::Running),
];

/// A job with what only the store needs to know of it.
#[derive(Clone, Debug)]
pub(crate) struct JobRow {
    /// The number of the row; 0 before it is inserted.
    pub(crate) seq: i64,
    pub(crate) job: StoredJob,
    pub(crate) key_until: KeyUntil,
    /// The earliest instant at which an inserted job may lose its key.
    pub(crate) key_kept_until: Option<StoreTime>,
    /// True if no other job of its schedule may be unfinished beside it (R11).
    pub(crate) is_exclusive: bool,
    /// True if only requests that are sent again find it.
    pub(crate) is_gone: bool,
    /// The faults of the row: the job has possible values in their place.
    pub(crate) faults: Vec<String>,
}

impl JobRow {
    /// Reads a row of the columns of `job_columns`.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut fields = Fields::new(row);
        let seq = row.get(0)?;
        let id = fields.opt_uuid(1)?.unwrap_or_else(|| Uuid::from_u128(seq_as_uuid(seq)));
        let mut job = StoredJob::empty(JobId::from_uuid(id));
        job.task = fields.text(2)?;
        job.payload = Payload { version: fields.number(3, NUMBER)?, bytes: fields.bytes(4)? };
        job.queue = fields.text(5)?;
        job.priority = Priority::from_rank(fields.int(6, 0..=3)?);
        job.key = fields.opt_text(7)?;
        job.state = fields.word(9, STATES)?;
        job.run_at = fields.time(10)?;
        job.attempt = fields.number(11, COUNT)?;
        job.lost = fields.number(12, COUNT)?;
        job.undecoded = fields.number(13, COUNT)?;
        job.max_attempts = fields.number(14, 1..=0xFFFF_FFFF)?;
        job.on_lost = fields.word(15, ON_LOST)?;
        job.fence = fields.fence(16)?;
        job.session = fields.opt_uuid(17)?.map(SessionId::from_uuid);
        job.origin = match fields.opt_text(18)? {
            Some(schedule) => Some(Origin::new(schedule, fields.opt_time(19)?, fields.count(20)?)),
            None => None,
        };
        job.is_cancel_requested = fields.bool(22)?;
        job.created_at = fields.time(23)?;
        job.started_at = fields.opt_time(24)?;
        job.finished_at = fields.opt_time(25)?;
        job.error = fields.opt_text(26)?;
        job.traceparent = fields.opt_text(27)?;
        job.attempts = fields.opt_text(28)?.map_or(Vec::new(), |text| attempts_of_text(&text));

        let (key_until, is_exclusive) = (fields.word(8, KEY_UNTIL)?, fields.bool(21)?);
        let (key_kept_until, is_gone, faults) = (None, false, fields.faults);
        Ok(Self { seq, job, key_until, key_kept_until, is_exclusive, is_gone, faults })
    }

    /// Reads a row for people: what is wrong with it is its error.
    pub(crate) fn read_job(row: &Row<'_>) -> rusqlite::Result<StoredJob> {
        let mut row = Self::read(row)?;
        if let Some(reason) = row.damage() {
            row.job.error = Some(reason);
        }
        Ok(row.job)
    }

    /// The faults of the row as one text.
    pub(crate) fn damage(&self) -> Option<String> {
        (!self.faults.is_empty()).then(|| format!("damaged: {}", self.faults.join(", ")))
    }
}

/// An identity in place of one that is damaged.
fn seq_as_uuid(seq: i64) -> u128 {
    0xDA3A_6ED0_0000_8000_8000_0000_0000_0000 | u128::from(seq.unsigned_abs())
}

pub(crate) fn micros_of(time: Option<StoreTime>) -> Option<i64> {
    time.map(StoreTime::as_micros)
}

/// A number of ticks as SQLite keeps it.
pub(crate) fn capped(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// An identity that is read alone; a damaged one is one that no job has.
pub(crate) fn id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<JobId> {
    Ok(JobId::from_uuid(Fields::new(row).opt_uuid(column)?.unwrap_or_default()))
}
