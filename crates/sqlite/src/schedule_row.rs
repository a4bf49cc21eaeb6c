//! Rows of the table of schedules.

use rusqlite::{Row, params, params_from_iter};
use scheduler_store::{
    KeyUntil, NewJob, Next, Origin, SCHEDULE_COLUMNS, StoreTime, StoredJob, StoredSchedule,
    TickJob, damage_of, empty_schedule,
};

use crate::fields::{Fields, bound_all, instant, sql, told};
use crate::job_row::JobRow;
use crate::tx::Tx;

/// Reads the columns `{schedule}`: a schedule, or what is wrong with its row.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Result<StoredSchedule, String>> {
    let (mut fields, mut schedule, mut values) = (Fields::new(row), empty_schedule(), Vec::new());
    for (at, column) in SCHEDULE_COLUMNS.iter().enumerate() {
        let value = fields.value(at, column)?;
        (column.set)(&mut schedule, value.clone());
        values.push(value);
    }
    let mut faults = fields.faults;
    let damage = damage_of(&schedule, &values);
    faults.extend(damage.map(|(name, value)| format!("{name} is {}", told(value))));

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
        Ok(self.first(sql, params![name], read)?.and_then(Result::ok))
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
    pub(crate) fn row_of(&self, new: &NewJob, run_at: StoreTime) -> JobRow {
        let job = StoredJob::new(new, run_at, self.now);
        let (key_until, key_kept_until) = match new.key.as_ref().map(|key| key.until) {
            Some(KeyUntil::For(time)) => (KeyUntil::End, Some(self.now.after(time))),
            until => (until.unwrap_or_default(), None),
        };
        let kept = scheduler_store::JobRow { key_until, ..job.into() };
        JobRow { key_kept_until, ..kept.into() }
    }

    /// A job of a schedule has ended or is gone: the tick that waits becomes a job (R12), or the next delay begins (R19).
    pub(crate) fn after_job(&self, name: &str) -> rusqlite::Result<()> {
        let sql = sql!(
            "SELECT {schedule} FROM scheduler_schedule WHERE name = ?1 AND (waiting_id IS NOT NULL OR next = 'job')"
        );
        let Some(Ok(mut schedule)) = self.first(sql, params![name], read)? else { return Ok(()) };
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
