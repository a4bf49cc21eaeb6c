//! Rows of the table of schedules.

use std::time::Duration;

use rusqlite::{Row, params};
use scheduler_store::{
    JobId, KeyUntil, NewJob, Next, Origin, Overlap, Pause, Payload, Priority, Rule, ScheduleSpec,
    Skips, StoreTime, StoredJob, StoredSchedule, TickJob, Timing, micros,
};

use crate::fields::{Fields, NUMBER, word_of};
use crate::job_row::{JobRow, ON_LOST, capped, micros_of};
use crate::tx::Tx;

/// The columns in the order in which [`read`] takes them.
macro_rules! schedule_columns {
    () => {
        "name, task, payload_version, payload, queue, priority, rule, timing, timing_first, timing_every, calculator, \
         overlap, max_attempts, on_lost, is_dynamic, override_rule, override_timing, override_first, override_every, \
         cursor, anchor, next, next_tick, fired, last_fired, skipped_overlap, skipped_missed, skipped_paused, \
         pause_since, pause_until, pause_by, pause_reason, waiting_id, waiting_tick, waiting_missed, waiting_run_at, \
         registrant_opened"
    };
}
pub(crate) use schedule_columns;

const OVERLAP: &[(&str, Overlap)] = &[
    (Overlap::Skip.name(), Overlap::Skip),
    (Overlap::QueueOne.name(), Overlap::QueueOne),
    (Overlap::Allow.name(), Overlap::Allow),
];

/// The kinds of a timing.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Computed,
    Rate,
    Delay,
    Once,
    OnceAfter,
}

const KINDS: &[(&str, Kind)] = &[
    ("computed", Kind::Computed),
    ("rate", Kind::Rate),
    ("delay", Kind::Delay),
    ("once", Kind::Once),
    ("once_after", Kind::OnceAfter),
];

/// The kinds of a next tick.
#[derive(Clone, Copy, PartialEq)]
enum NextKind {
    Unknown,
    At,
    AfterJob,
    Never,
}

const NEXT: &[(&str, NextKind)] = &[
    ("unknown", NextKind::Unknown),
    ("at", NextKind::At),
    ("after_job", NextKind::AfterJob),
    ("never", NextKind::Never),
];

/// A schedule, or what is wrong with its row.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Result<StoredSchedule, String>> {
    let mut fields = Fields::new(row);
    let definition = ScheduleSpec {
        name: fields.text(0)?,
        task: fields.text(1)?,
        payload: Payload { version: fields.number(2, NUMBER)?, bytes: fields.bytes(3)? },
        queue: fields.text(4)?,
        priority: Priority::from_rank(fields.int(5, 0..=3)?),
        rule: Rule { text: fields.text(6)?, timing: timing(&mut fields, 7)? },
        calculator: fields.text(10)?,
        overlap: fields.word(11, OVERLAP)?,
        max_attempts: fields.number(12, NUMBER)?,
        on_lost: fields.word(13, ON_LOST)?,
        is_dynamic: fields.bool(14)?,
    };
    let opened = fields.time(36)?;
    let mut schedule = StoredSchedule::new(definition, opened, opened);
    schedule.override_rule = match fields.opt_text(15)? {
        Some(text) => Some(Rule { text, timing: timing(&mut fields, 16)? }),
        None => None,
    };
    schedule.cursor = fields.time(19)?;
    schedule.anchor = fields.opt_time(20)?;
    schedule.next = next(&mut fields)?;
    schedule.fired = fields.count(23)?;
    schedule.last_fired = fields.opt_time(24)?;
    schedule.skips =
        Skips { overlap: fields.count(25)?, missed: fields.count(26)?, paused: fields.count(27)? };
    schedule.pause = pause(&mut fields)?;
    schedule.waiting = waiting(&mut fields)?;

    Ok(match fields.faults.is_empty() {
        true => Ok(schedule),
        false => Err(format!("it is left alone: {}", fields.faults.join(", "))),
    })
}

fn timing(fields: &mut Fields<'_>, column: usize) -> rusqlite::Result<Timing> {
    let (first, every) = (column + 1, column + 2);

    Ok(match fields.word(column, KINDS)? {
        Kind::Computed => Timing::Computed,
        Kind::Rate => {
            Timing::Rate { first: length(fields, first)?, period: length(fields, every)? }
        }
        Kind::Delay => {
            Timing::Delay { first: length(fields, first)?, delay: length(fields, every)? }
        }
        Kind::Once => Timing::Once(fields.time(first)?),
        Kind::OnceAfter => Timing::OnceAfter(length(fields, first)?),
    })
}

fn length(fields: &mut Fields<'_>, column: usize) -> rusqlite::Result<Duration> {
    let micros = fields.int(column, 0..=i64::MAX)?;
    Ok(Duration::from_micros(micros.unsigned_abs()))
}

fn next(fields: &mut Fields<'_>) -> rusqlite::Result<Next> {
    Ok(match fields.word(21, NEXT)? {
        NextKind::Unknown => Next::Unknown,
        NextKind::At => Next::At(fields.time(22)?),
        NextKind::AfterJob => Next::AfterJob,
        NextKind::Never => Next::Never,
    })
}

fn pause(fields: &mut Fields<'_>) -> rusqlite::Result<Option<Pause>> {
    let Some(since) = fields.opt_time(28)? else { return Ok(None) };
    let (until, by, reason) = (fields.opt_time(29)?, fields.text(30)?, fields.text(31)?);
    Ok(Some(Pause::new(since, until, &by, &reason)))
}

fn waiting(fields: &mut Fields<'_>) -> rusqlite::Result<Option<TickJob>> {
    let Some(id) = fields.opt_uuid(32)? else { return Ok(None) };
    let (tick, missed, run_at) = (fields.time(33)?, fields.count(34)?, fields.time(35)?);
    Ok(Some(TickJob { id: JobId::from_uuid(id), tick, missed, run_at }))
}

/// The columns of a timing.
fn columns_of(timing: Timing) -> (&'static str, Option<i64>, Option<i64>) {
    let (kind, first, every) = match timing {
        Timing::Computed => (Kind::Computed, None, None),
        Timing::Rate { first, period } => (Kind::Rate, Some(micros(first)), Some(micros(period))),
        Timing::Delay { first, delay } => (Kind::Delay, Some(micros(first)), Some(micros(delay))),
        Timing::Once(at) => (Kind::Once, Some(at.as_micros()), None),
        Timing::OnceAfter(first) => (Kind::OnceAfter, Some(micros(first)), None),
    };
    (word_of(KINDS, kind), first, every)
}

fn columns_of_next(next: Next) -> (&'static str, Option<i64>) {
    let (kind, tick) = match next {
        Next::Unknown => (NextKind::Unknown, None),
        Next::At(tick) => (NextKind::At, Some(tick.as_micros())),
        Next::AfterJob => (NextKind::AfterJob, None),
        Next::Never => (NextKind::Never, None),
    };
    (word_of(NEXT, kind), tick)
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
        let sql =
            concat!("SELECT ", schedule_columns!(), " FROM scheduler_schedule WHERE name = ?1");
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
        let definition = &schedule.definition;
        let (timing, timing_first, timing_every) = columns_of(definition.rule.timing);
        let other = schedule.override_rule.as_ref();
        let (other_timing, other_first, other_every) = match other {
            Some(rule) => {
                let (timing, first, every) = columns_of(rule.timing);
                (Some(timing), first, every)
            }
            None => (None, None, None),
        };
        let (next, next_tick) = columns_of_next(schedule.next);
        let (pause, waiting) = (schedule.pause.as_ref(), schedule.waiting.as_ref());
        self.execute(
            concat!(
                "REPLACE INTO scheduler_schedule (",
                schedule_columns!(),
                ", decide_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
                 ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38)"
            ),
            params![
                definition.name,
                definition.task,
                definition.payload.version,
                definition.payload.bytes,
                definition.queue,
                definition.priority.rank(),
                definition.rule.text,
                timing,
                timing_first,
                timing_every,
                definition.calculator,
                word_of(OVERLAP, definition.overlap),
                definition.max_attempts,
                word_of(ON_LOST, definition.on_lost),
                definition.is_dynamic,
                other.map(|rule| &rule.text),
                other_timing,
                other_first,
                other_every,
                schedule.cursor.as_micros(),
                micros_of(schedule.anchor),
                next,
                next_tick,
                capped(schedule.fired),
                micros_of(schedule.last_fired),
                capped(schedule.skips.overlap),
                capped(schedule.skips.missed),
                capped(schedule.skips.paused),
                pause.map(|pause| pause.since.as_micros()),
                pause.and_then(|pause| micros_of(pause.until)),
                pause.map(|pause| &pause.by),
                pause.map(|pause| &pause.reason),
                waiting.map(|tick| tick.id.as_uuid().into_bytes()),
                waiting.map(|tick| tick.tick.as_micros()),
                waiting.map(|tick| capped(tick.missed)),
                waiting.map(|tick| tick.run_at.as_micros()),
                schedule.registrant_opened.as_micros(),
                micros_of(decide_at(schedule)),
            ],
        )?;
        Ok(())
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
        let new = NewJob {
            payload: definition.payload.clone(),
            queue: definition.queue.clone(),
            priority: definition.priority,
            max_attempts: definition.max_attempts,
            on_lost: definition.on_lost,
            ..NewJob::new(tick.id, definition.task.clone())
        };
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
        let (is_exclusive, is_gone, faults) = (false, false, Vec::new());
        JobRow { seq: 0, job, key_until, key_kept_until, is_exclusive, is_gone, faults }
    }

    /// A job of a schedule has ended or is gone: the tick that waits becomes a job (R12), or the next delay begins (R19).
    pub(crate) fn after_job(&self, name: &str) -> rusqlite::Result<()> {
        let sql = concat!(
            "SELECT ",
            schedule_columns!(),
            " FROM scheduler_schedule WHERE name = ?1 AND (waiting_id IS NOT NULL OR next = 'after_job')"
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
