//! Rows of the tables of jobs and schedules: read, inserted, changed.

use std::ops::{Deref, DerefMut};

use rusqlite::types::ToSqlOutput;
use rusqlite::{Row, params, params_from_iter};
use scheduler_store::{
    Column, JOB_COLUMNS, JobId, JobRow, JobState, KeyUntil, NewJob, Next, Origin, SCHEDULE_COLUMNS,
    StoreTime, StoredJob, StoredSchedule, TickJob, Uuid, damage_of, empty_schedule,
};

use crate::fields::{FieldReader, bound_all, instant, is_changing, is_repaired, shown_value, sql};
use crate::tx::Tx;

/// A job with what only the store needs to know of it.
#[derive(Clone, Debug)]
pub(crate) struct SqliteJob {
    /// The number of the row; 0 before it is inserted.
    pub(crate) seq: i64,
    pub(crate) kept: JobRow,
    /// The earliest instant at which an inserted job may lose its key.
    pub(crate) key_kept_until: Option<StoreTime>,
    /// The faults of the row: the job has possible values in their place.
    pub(crate) faults: Vec<String>,
}

impl From<JobRow> for SqliteJob {
    fn from(kept: JobRow) -> Self {
        Self { seq: 0, kept, key_kept_until: None, faults: Vec::new() }
    }
}

impl Deref for SqliteJob {
    type Target = JobRow;

    fn deref(&self) -> &JobRow {
        &self.kept
    }
}

impl DerefMut for SqliteJob {
    fn deref_mut(&mut self) -> &mut JobRow {
        &mut self.kept
    }
}

impl SqliteJob {
    /// Reads a row of `seq, {job}`.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut fields = FieldReader::new(row);
        let seq = row.get(0)?;
        let mut kept = JobRow::from(StoredJob::empty(damaged_id(seq)));
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
    Ok(JobId::from_uuid(FieldReader::new(row).opt_uuid(column)?.unwrap_or_default()))
}

impl Tx<'_> {
    /// Inserts a job. Returns false if there is one of this identity (R3).
    pub(crate) fn insert(&self, row: &SqliteJob) -> rusqlite::Result<bool> {
        let sql = sql!(
            "INSERT INTO scheduler_job (key_kept_until, {job}) VALUES (?1, {job_values}) ON CONFLICT (id) DO NOTHING"
        );
        let values = bound_all(&JOB_COLUMNS, &row.kept);
        let values = [instant(row.key_kept_until)].into_iter().chain(values);
        Ok(self.execute(sql, params_from_iter(values))? > 0)
    }

    /// Writes everything of a job that may change.
    pub(crate) fn update(&self, row: &SqliteJob) -> rusqlite::Result<()> {
        let sql = sql!("UPDATE scheduler_job SET {job_changes} WHERE seq = ?1");
        self.write(row, sql, is_changing)
    }

    /// Writes the rest of a damaged row, too, so that it can be read from now on. The payload stays as it is.
    pub(crate) fn put_right(&self, row: &SqliteJob) -> rusqlite::Result<()> {
        let sql = sql!("UPDATE scheduler_job SET {job_repair} WHERE seq = ?1");
        self.write(row, sql, is_repaired)
    }

    /// Writes all of a job.
    pub(crate) fn rewrite(&self, row: &SqliteJob) -> rusqlite::Result<()> {
        self.write(row, sql!("UPDATE scheduler_job SET {job_all} WHERE seq = ?1"), |_| true)
    }

    fn write(
        &self,
        row: &SqliteJob,
        sql: &'static str,
        is_written: fn(&&Column<JobRow>) -> bool,
    ) -> rusqlite::Result<()> {
        let values = bound_all(JOB_COLUMNS.iter().filter(is_written), &row.kept);
        let values = [ToSqlOutput::from(row.seq)].into_iter().chain(values);
        self.execute(sql, params_from_iter(values)).map(drop)
    }

    pub(crate) fn find(&self, id: JobId) -> rusqlite::Result<Option<SqliteJob>> {
        let sql = sql!("SELECT seq, {job} FROM scheduler_job WHERE id = ?1");
        self.first(sql, params![id.as_uuid().into_bytes()], SqliteJob::read)
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

/// Reads the columns `{schedule}`: a schedule, or what is wrong with its row.
pub(crate) fn read_schedule(row: &Row<'_>) -> rusqlite::Result<Result<StoredSchedule, String>> {
    let (mut fields, mut schedule, mut values) =
        (FieldReader::new(row), empty_schedule(), Vec::new());
    for (at, column) in SCHEDULE_COLUMNS.iter().enumerate() {
        let value = fields.value(at, column)?;
        (column.set)(&mut schedule, value.clone());
        values.push(value);
    }
    let mut faults = fields.faults;
    let damage = damage_of(&schedule, &values);
    faults.extend(damage.map(|(name, value)| format!("{name} is {}", shown_value(value))));

    Ok(match faults.is_empty() {
        true => Ok(schedule),
        false => Err(format!("it is left alone: {}", faults.join(", "))),
    })
}

/// From when on a process has something to decide: the value of an index, so that those that have not are not read.
///
/// INVARIANT: `is_due(now)` is `decide_at <= now`, and `decides_after(now)` is `decide_at` if it is later than `now`. A pause
/// puts it off until its end.
fn decide_at(schedule: &StoredSchedule) -> Option<StoreTime> {
    let tick = match schedule.next {
        Next::At(tick) => tick,
        Next::Unknown => StoreTime::MIN,
        Next::AfterJob | Next::Never => return None,
    };
    match &schedule.pause {
        Some(pause) => Some(pause.until?.max(tick)),
        None => Some(tick),
    }
}

impl Tx<'_> {
    /// The schedule; none if there is none, or if its row is damaged.
    pub(crate) fn schedule(&self, name: &str) -> rusqlite::Result<Option<StoredSchedule>> {
        let sql = sql!("SELECT {schedule} FROM scheduler_schedule WHERE name = ?1");
        Ok(self.first(sql, params![name], read_schedule)?.and_then(Result::ok))
    }

    /// Changes the row of a schedule, which may be none. The flag is true if the schedule is busy. A damaged row is
    /// replaced by a new one.
    pub(crate) fn on_row<R>(
        &self,
        name: &str,
        change: impl FnOnce(&mut Option<StoredSchedule>, bool) -> R,
    ) -> rusqlite::Result<R> {
        let is_busy = self.busy(name)?.is_some();
        let mut row = self.schedule(name)?;
        let answer = change(&mut row, is_busy);
        row.map_or(Ok(()), |row| self.write_schedule(&row))?;
        Ok(answer)
    }

    /// Writes all of a schedule.
    pub(crate) fn write_schedule(&self, schedule: &StoredSchedule) -> rusqlite::Result<()> {
        let sql = sql!(
            "REPLACE INTO scheduler_schedule (decide_at, {schedule}) VALUES (?1, {schedule_values})"
        );
        let values = bound_all(&SCHEDULE_COLUMNS, schedule);
        let values = [instant(decide_at(schedule))].into_iter().chain(values);
        self.execute(sql, params_from_iter(values)).map(drop)
    }

    /// Makes a job of a schedule: for a tick, or by hand. Returns false if there is a job of this identity (R3).
    pub(crate) fn insert_of(
        &self,
        schedule: &StoredSchedule,
        tick: &TickJob,
        is_by_hand: bool,
    ) -> rusqlite::Result<bool> {
        if self.find_ended(tick.id)?.is_some() {
            return Ok(false);
        }
        let definition = &schedule.definition;
        let new = definition.job(tick.id);
        let mut row = self.row_of(&new, tick.run_at);
        let tick_of = (!is_by_hand).then_some(tick.tick);
        let schedule_name = definition.name.clone();
        row.job.origin = Some(Origin::new(schedule_name, tick_of, tick.missed));
        row.is_exclusive = schedule.is_exclusive();
        self.insert(&row)
    }

    /// A row for a job that was never claimed.
    pub(crate) fn row_of(&self, new: &NewJob, run_at: StoreTime) -> SqliteJob {
        let job = StoredJob::new(new, run_at, self.now);
        let (key_until, key_kept_until) = match new.key.as_ref().map(|key| key.until) {
            Some(KeyUntil::For(time)) => (KeyUntil::End, Some(self.now.after(time))),
            until => (until.unwrap_or_default(), None),
        };
        let kept = JobRow { key_until, ..job.into() };
        SqliteJob { key_kept_until, ..kept.into() }
    }

    /// A job of a schedule has ended or is gone: the tick that waits becomes a job (R12), or the next delay begins (R19).
    pub(crate) fn after_job(&self, name: &str) -> rusqlite::Result<()> {
        let sql = sql!(
            "SELECT {schedule} FROM scheduler_schedule WHERE name = ?1 AND (waiting_id IS NOT NULL OR next = 'job')"
        );
        let Some(Ok(mut schedule)) = self.first(sql, params![name], read_schedule)? else {
            return Ok(());
        };
        if self.busy(name)?.is_some() {
            return Ok(());
        }
        let before = schedule.clone();
        match schedule.waiting.take() {
            // A delay counts from the end of the tick that waits, if there is one.
            None => schedule.job_ended(self.now),
            Some(waiting) => {
                if self.insert_of(&schedule, &waiting, false)? {
                    schedule.has_fired(waiting.tick);
                }
            }
        }
        // A poll repairs again and again what cannot be repaired, and must not write each time.
        if schedule != before { self.write_schedule(&schedule) } else { Ok(()) }
    }
}
