//! Rows of the table of jobs.

use std::ops::{Deref, DerefMut};

use rusqlite::Row;
use scheduler_store::{JOB_COLUMNS, JobId, JobRow as Kept, JobState, StoreTime, StoredJob, Uuid};

use crate::fields::Fields;

/// A job with what only the store needs to know of it.
#[derive(Clone, Debug)]
pub(crate) struct JobRow {
    /// The number of the row; 0 before it is inserted.
    pub(crate) seq: i64,
    pub(crate) kept: Kept,
    /// The earliest instant at which an inserted job may lose its key.
    pub(crate) key_kept_until: Option<StoreTime>,
    /// The faults of the row: the job has possible values in their place.
    pub(crate) faults: Vec<String>,
}

impl From<Kept> for JobRow {
    fn from(kept: Kept) -> Self {
        Self { seq: 0, kept, key_kept_until: None, faults: Vec::new() }
    }
}

impl Deref for JobRow {
    type Target = Kept;

    fn deref(&self) -> &Kept {
        &self.kept
    }
}

impl DerefMut for JobRow {
    fn deref_mut(&mut self) -> &mut Kept {
        &mut self.kept
    }
}

impl JobRow {
    /// Reads a row of `seq, {job}`.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut fields = Fields::new(row);
        let seq = row.get(0)?;
        let mut kept = Kept::from(StoredJob::empty(damaged_id(seq)));
        for (at, column) in (1..).zip(&JOB_COLUMNS) {
            (column.set)(&mut kept, fields.value(at, column)?);
        }
        // Jobs that have ended are in another table.
        if matches!(kept.job.state, JobState::Done | JobState::Cancelled) {
            fields.faults.push(format!("state is {:?}", kept.job.state.word()));
            kept.job.state = JobState::Parked;
        }
        Ok(Self { seq, faults: fields.faults, ..Self::from(kept) })
    }

    /// Reads a row for people: what is wrong with it is its error.
    pub(crate) fn read_job(row: &Row<'_>) -> rusqlite::Result<StoredJob> {
        let mut row = Self::read(row)?;
        if let Some(reason) = row.damage() {
            row.job.error = Some(reason);
        }
        Ok(row.kept.job)
    }

    /// The faults of the row as one text.
    pub(crate) fn damage(&self) -> Option<String> {
        (!self.faults.is_empty()).then(|| format!("damaged: {}", self.faults.join(", ")))
    }
}

/// An identity in place of one that is damaged.
fn damaged_id(seq: i64) -> JobId {
    let number = 0xDA3A_6ED0_0000_8000_8000_0000_0000_0000 | u128::from(seq.unsigned_abs());
    JobId::from_uuid(Uuid::from_u128(number))
}

/// A number of ticks as SQLite keeps it.
pub(crate) fn capped(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// An identity that is read alone; a damaged one is one that no job has.
pub(crate) fn id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<JobId> {
    Ok(JobId::from_uuid(Fields::new(row).opt_uuid(column)?.unwrap_or_default()))
}
