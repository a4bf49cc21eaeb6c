//! Schedules: from rows, and to rows.

use std::time::Duration;

use scheduler_store::{
    JobId, Next, OnLost, Overlap, Pause, Payload, Rule, ScheduleSpec, Skips, StoreTime,
    StoredSchedule, TickJob, Timing, Uuid, micros,
};
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::blocking_connection::Tx;
use crate::job::priority;
use crate::value::{At, count, long, small};

/// The columns of a schedule, in the order in which `read` and `write` take them.
pub(crate) const COLUMNS: &str = "name, task, payload, payload_version, queue, priority, rule, timing, timing_first, \
     timing_every, calculator, overlap, max_attempts, is_abandoned, is_dynamic, override_rule, override_timing, \
     override_first, override_every, cursor_at, anchor, next_kind, next_at, fired, last_fired, skipped_overlap, \
     skipped_missed, skipped_paused, pause_since, pause_until, paused_by, pause_reason, waiting_id, waiting_tick, \
     waiting_missed, waiting_run_at, registrant_opened";

/// Reads a schedule whose columns begin at index 0; a text says what is wrong with it.
pub(crate) fn read(row: &Row) -> Result<StoredSchedule, String> {
    let pause: Option<StoreTime> = at(row, "pause_since")?;
    let pause = pause.map(|since| -> Result<_, String> {
        let by = get::<Option<&str>>(row, "paused_by")?.unwrap_or_default();
        let reason = get::<Option<&str>>(row, "pause_reason")?.unwrap_or_default();
        Ok(Pause::new(since, at(row, "pause_until")?, by, reason))
    });
    let waiting: Option<Uuid> = get(row, "waiting_id")?;
    let waiting = waiting.map(|id| -> Result<_, String> {
        Ok(TickJob {
            id: JobId::from_uuid(id),
            tick: at(row, "waiting_tick")?.unwrap_or_default(),
            missed: count(get::<Option<i64>>(row, "waiting_missed")?.unwrap_or(0)),
            run_at: at(row, "waiting_run_at")?.unwrap_or_default(),
        })
    });
    let over: Option<String> = get(row, "override_rule")?;
    let over = over.map(|text| -> Result<_, String> {
        let (word, first, every) = (
            get(row, "override_timing")?,
            get(row, "override_first")?,
            get(row, "override_every")?,
        );
        Ok(Rule { text, timing: timing(word, first, every)? })
    });
    let next_at = at(row, "next_at")?;
    let opened = get::<At>(row, "registrant_opened")?.0;
    let mut schedule = StoredSchedule::new(definition(row)?, opened, opened);
    schedule.override_rule = over.transpose()?;
    schedule.cursor = get::<At>(row, "cursor_at")?.0;
    schedule.anchor = at(row, "anchor")?;
    schedule.next = match (get(row, "next_kind")?, next_at) {
        ("at", Some(at)) => Next::At(at),
        ("unknown", _) => Next::Unknown,
        ("job", _) => Next::AfterJob,
        ("never", _) => Next::Never,
        (other, _) => return Err(format!("`next_kind` is `{other}`")),
    };
    schedule.fired = count(get(row, "fired")?);
    schedule.last_fired = at(row, "last_fired")?;
    schedule.skips = Skips {
        overlap: count(get(row, "skipped_overlap")?),
        missed: count(get(row, "skipped_missed")?),
        paused: count(get(row, "skipped_paused")?),
    };
    schedule.pause = pause.transpose()?;
    schedule.waiting = waiting.transpose()?;
    Ok(schedule)
}

fn definition(row: &Row) -> Result<ScheduleSpec, String> {
    Ok(ScheduleSpec {
        name: get(row, "name")?,
        task: get(row, "task")?,
        payload: Payload {
            version: small(get(row, "payload_version")?),
            bytes: get(row, "payload")?,
        },
        queue: get(row, "queue")?,
        priority: priority(get(row, "priority")?),
        rule: Rule {
            text: get(row, "rule")?,
            timing: timing(
                get(row, "timing")?,
                get(row, "timing_first")?,
                get(row, "timing_every")?,
            )?,
        },
        calculator: get(row, "calculator")?,
        overlap: overlap(get(row, "overlap")?)?,
        max_attempts: small(get(row, "max_attempts")?),
        on_lost: if get(row, "is_abandoned")? { OnLost::Abandon } else { OnLost::Rerun },
        is_dynamic: get(row, "is_dynamic")?,
    })
}

fn timing(word: &str, first: i64, every: i64) -> Result<Timing, String> {
    let length = |micros: i64| Duration::from_micros(count(micros));
    Ok(match word {
        "computed" => Timing::Computed,
        "rate" => Timing::Rate { first: length(first), period: length(every) },
        "delay" => Timing::Delay { first: length(first), delay: length(every) },
        "once" => Timing::Once(StoreTime::from_micros(first)),
        "once_after" => Timing::OnceAfter(length(first)),
        other => return Err(format!("the timing is `{other}`")),
    })
}

fn timing_words(timing: Timing) -> (&'static str, i64, i64) {
    match timing {
        Timing::Computed => ("computed", 0, 0),
        Timing::Rate { first, period } => ("rate", micros(first), micros(period)),
        Timing::Delay { first, delay } => ("delay", micros(first), micros(delay)),
        Timing::Once(at) => ("once", at.as_micros(), 0),
        Timing::OnceAfter(first) => ("once_after", micros(first), 0),
    }
}

pub(crate) fn next_words(next: Next) -> (&'static str, Option<At>) {
    match next {
        Next::At(at) => ("at", Some(At(at))),
        Next::Unknown => ("unknown", None),
        Next::AfterJob => ("job", None),
        Next::Never => ("never", None),
    }
}

fn overlap(word: &str) -> Result<Overlap, String> {
    word.parse().map_err(|_| format!("`overlap` is `{word}`"))
}

fn get<'a, T: FromSql<'a>>(row: &'a Row, column: &str) -> Result<T, String> {
    row.try_get(column).map_err(|error| format!("`{column}`: {error}"))
}

fn at(row: &Row, column: &str) -> Result<Option<StoreTime>, String> {
    Ok(get::<Option<At>>(row, column)?.map(|at| at.0))
}

/// The statement that writes a row, whose lock or name the transaction has.
pub(crate) fn upsert() -> String {
    let names: Vec<_> = COLUMNS.split(", ").collect();
    let values: Vec<_> = (1..=names.len()).map(|n| format!("${n}")).collect();
    let sets: Vec<_> = names[1..].iter().map(|name| format!("{name} = excluded.{name}")).collect();
    let (values, sets) = (values.join(", "), sets.join(", "));
    format!(
        "insert into {{s}}.schedule ({COLUMNS}) values ({values}) on conflict (name) do update set {sets}"
    )
}

/// Writes a schedule.
pub(crate) fn write(tx: &mut Tx<'_>, sql: &str, row: &StoredSchedule) -> Result<(), Error> {
    let of = &row.definition;
    let (word, first, every) = timing_words(of.rule.timing);
    let over = row.override_rule.as_ref();
    let over_words = over.map(|rule| timing_words(rule.timing));
    let (next, next_at) = next_words(row.next);
    let (pause, waiting) = (row.pause.as_ref(), row.waiting.as_ref());
    let some = |at: Option<StoreTime>| at.map(At);
    let params: [(&(dyn ToSql + Sync), Type); 37] = [
        (&of.name, Type::TEXT),
        (&of.task, Type::TEXT),
        (&of.payload.bytes, Type::BYTEA),
        (&i64::from(of.payload.version), Type::INT8),
        (&of.queue, Type::TEXT),
        (&i16::from(of.priority.rank()), Type::INT2),
        (&of.rule.text, Type::TEXT),
        (&word, Type::TEXT),
        (&first, Type::INT8),
        (&every, Type::INT8),
        (&of.calculator, Type::TEXT),
        (&of.overlap.name(), Type::TEXT),
        (&i64::from(of.max_attempts), Type::INT8),
        (&(of.on_lost == OnLost::Abandon), Type::BOOL),
        (&of.is_dynamic, Type::BOOL),
        (&over.map(|rule| &rule.text), Type::TEXT),
        (&over_words.map(|words| words.0), Type::TEXT),
        (&over_words.map(|words| words.1), Type::INT8),
        (&over_words.map(|words| words.2), Type::INT8),
        (&At(row.cursor), Type::TIMESTAMPTZ),
        (&some(row.anchor), Type::TIMESTAMPTZ),
        (&next, Type::TEXT),
        (&next_at, Type::TIMESTAMPTZ),
        (&long(row.fired), Type::INT8),
        (&some(row.last_fired), Type::TIMESTAMPTZ),
        (&long(row.skips.overlap), Type::INT8),
        (&long(row.skips.missed), Type::INT8),
        (&long(row.skips.paused), Type::INT8),
        (&pause.map(|pause| At(pause.since)), Type::TIMESTAMPTZ),
        (&some(pause.and_then(|pause| pause.until)), Type::TIMESTAMPTZ),
        (&pause.map(|pause| &pause.by), Type::TEXT),
        (&pause.map(|pause| &pause.reason), Type::TEXT),
        (&waiting.map(|job| job.id.as_uuid()), Type::UUID),
        (&waiting.map(|job| At(job.tick)), Type::TIMESTAMPTZ),
        (&waiting.map(|job| long(job.missed)), Type::INT8),
        (&waiting.map(|job| At(job.run_at)), Type::TIMESTAMPTZ),
        (&At(row.registrant_opened), Type::TIMESTAMPTZ),
    ];
    tx.query_typed(sql, &params).map(drop)
}
