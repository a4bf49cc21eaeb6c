//! The columns of a schedule.

use std::borrow::Cow;
use std::time::Duration;

use crate::column::{Column, ColumnField, ColumnKind, ColumnValue, column, text};
use crate::command::Pause;
use crate::id::{JobId, StoreTime, micros};
use crate::job::{JobState, OnLost, Priority};
use crate::schedule::{
    Next, Overlap, Override, Rule, RunEnd, ScheduleSpec, StoredSchedule, TickJob, Timing,
};

type Row = StoredSchedule;

/// The column of a field in a part that a row may have. A part begins with the column that makes it.
macro_rules! part {
    ($name:literal, $type:ty, $part:ident.$field:ident) => {
        Column {
            is_nullable: true,
            ..column!(
                $name,
                $type,
                |row| of(&row.$part, |part| part.$field.value()),
                |row, value| {
                    row.$part.iter_mut().for_each(|part| part.$field.put(value.clone()));
                }
            )
        }
    };
}

/// One of the parts of a timing.
macro_rules! micros_of {
    ($name:literal, $part:literal, $is_nullable:literal, $row:ident, $rule:expr, $rule_mut:expr) => {
        Column {
            kind: ColumnKind::Micros,
            is_nullable: $is_nullable,
            ..column!(
                $name,
                u64,
                |$row| $rule.map_or(ColumnValue::Null, |rule| ColumnValue::Int(
                    rule.timing.parts().1[$part]
                )),
                |$row, value| if let Some(rule) = $rule_mut {
                    let (word, mut parts) = rule.timing.parts();
                    parts[$part] = value.int();
                    rule.timing = Timing::of(word, parts);
                }
            )
        }
    };
}

/// All columns of a schedule. A new one is a line here, one in the table of each store, and a field of [`StoredSchedule`].
pub const SCHEDULE_COLUMNS: [Column<Row>; 48] = [
    column!("name", String, row.definition.name),
    column!("task", String, row.definition.task),
    column!("payload_version", u32, row.definition.payload.version),
    column!("payload", Vec<u8>, row.definition.payload.bytes),
    column!("queue", String, row.definition.queue),
    column!("priority", Priority, row.definition.priority),
    column!("partition", Option<String>, row.definition.partition),
    column!("rule", String, row.definition.rule.text),
    column!("timing", Timing, row.definition.rule.timing),
    micros_of!(
        "timing_first",
        0,
        false,
        row,
        Some(&row.definition.rule),
        Some(&mut row.definition.rule)
    ),
    micros_of!(
        "timing_every",
        1,
        false,
        row,
        Some(&row.definition.rule),
        Some(&mut row.definition.rule)
    ),
    column!("calculator", String, row.definition.calculator),
    column!("overlap", Overlap, row.definition.overlap),
    column!("max_attempts", u32, row.definition.max_attempts),
    column!("on_lost", OnLost, row.definition.on_lost),
    column!("is_dynamic", bool, row.definition.is_dynamic),
    column!(
        "override_rule",
        Option<String>,
        |row| of(&row.override_rule, |rule| rule.text.value()),
        |row, value| {
            row.override_rule = text(value).map(|text| Rule { text, ..Rule::default() });
        }
    ),
    part!("override_timing", Timing, override_rule.timing),
    micros_of!(
        "override_first",
        0,
        true,
        row,
        row.override_rule.as_ref(),
        row.override_rule.as_mut()
    ),
    micros_of!(
        "override_every",
        1,
        true,
        row,
        row.override_rule.as_ref(),
        row.override_rule.as_mut()
    ),
    column!(
        "override_since",
        Option<StoreTime>,
        |row| of(&row.overridden, |overridden| overridden.since.value()),
        |row, value| {
            let since = (value != ColumnValue::Null).then(|| StoreTime::from_micros(value.int()));
            row.overridden = since.map(|since| Override { since, ..Override::default() });
        }
    ),
    part!("override_by", String, overridden.by),
    part!("override_before", String, overridden.before),
    column!("cursor", StoreTime, row.cursor),
    column!("anchor", Option<StoreTime>, row.anchor),
    column!("next", Next, row.next),
    column!("next_tick", Option<StoreTime>, next_tick, |row, value| {
        if let (Next::At(tick), ColumnValue::Int(_)) = (&mut row.next, &value) {
            tick.put(value);
        }
    }),
    column!("fired", u64, row.fired),
    column!("last_fired", Option<StoreTime>, row.last_fired),
    column!("skipped_overlap", u64, row.skips.overlap),
    column!("skipped_limit", u64, row.skips.limit),
    column!("skipped_missed", u64, row.skips.missed),
    column!("skipped_paused", u64, row.skips.paused),
    column!(
        "pause_since",
        Option<StoreTime>,
        |row| of(&row.pause, |pause| pause.since.value()),
        |row, value| {
            let since = (value != ColumnValue::Null).then(|| StoreTime::from_micros(value.int()));
            row.pause = since.map(|since| Pause::new(since, None, "", ""));
        }
    ),
    part!("pause_until", Option<StoreTime>, pause.until),
    part!("pause_by", String, pause.by),
    part!("pause_reason", String, pause.reason),
    column!(
        "waiting_id",
        Option<JobId>,
        |row| of(&row.waiting, |tick| tick.id.value()),
        |row, value| {
            let (tick, missed, run_at) = (StoreTime::MIN, 0, StoreTime::MIN);
            let id =
                if let ColumnValue::Uuid(id) = value { Some(JobId::from_uuid(id)) } else { None };
            row.waiting = id.map(|id| TickJob { id, tick, missed, run_at });
        }
    ),
    part!("waiting_tick", StoreTime, waiting.tick),
    part!("waiting_missed", u64, waiting.missed),
    part!("waiting_run_at", StoreTime, waiting.run_at),
    column!("registrant_opened", StoreTime, row.registrant_opened),
    column!(
        "end_at",
        Option<StoreTime>,
        |row| of(&row.last_end, |end| end.at.value()),
        |row, value| {
            let at = (value != ColumnValue::Null).then(|| StoreTime::from_micros(value.int()));
            row.last_end = at.map(RunEnd::new);
        }
    ),
    part!("end_state", JobState, last_end.state),
    part!("end_started", Option<StoreTime>, last_end.started_at),
    part!("end_error", Option<String>, last_end.error),
    column!("last_success", Option<StoreTime>, row.last_success),
    column!("failures", u64, row.failures),
];

fn of<'a, T>(part: &'a Option<T>, value: impl FnOnce(&'a T) -> ColumnValue<'a>) -> ColumnValue<'a> {
    part.as_ref().map_or(ColumnValue::Null, value)
}

fn next_tick(row: &Row) -> ColumnValue<'_> {
    row.next_tick().map_or(ColumnValue::Null, |tick| ColumnValue::Int(tick.as_micros()))
}

impl Timing {
    /// The word; the time to the first tick, or the instant of the only one; and the time from tick to tick.
    fn parts(self) -> (&'static str, [i64; 2]) {
        match self {
            Self::Computed => ("computed", [0, 0]),
            Self::Rate { first, period } => ("rate", [micros(first), micros(period)]),
            Self::Delay { first, delay } => ("delay", [micros(first), micros(delay)]),
            Self::Once(at) => ("once", [at.as_micros(), 0]),
            Self::OnceAfter(first) => ("once_after", [micros(first), 0]),
        }
    }

    fn of(word: &str, parts: [i64; 2]) -> Self {
        let [first, every] =
            parts.map(|part| Duration::from_micros(u64::try_from(part).unwrap_or(0)));
        match word {
            "rate" => Self::Rate { first, period: every },
            "delay" => Self::Delay { first, delay: every },
            "once" => Self::Once(StoreTime::from_micros(parts[0])),
            "once_after" => Self::OnceAfter(first),
            _ => Self::Computed,
        }
    }
}

impl ColumnField for Timing {
    const KIND: ColumnKind =
        ColumnKind::Words(&["computed", "rate", "delay", "once", "once_after"]);

    fn value(&self) -> ColumnValue<'_> {
        ColumnValue::Text(Cow::Borrowed(self.parts().0))
    }

    fn put(&mut self, value: ColumnValue<'_>) {
        *self = Self::of(value.text(), [0, 0]);
    }
}

impl Next {
    /// The word that stores keep.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::At(_) => "at",
            Self::AfterJob => "job",
            Self::Never => "never",
        }
    }
}

impl ColumnField for Next {
    const KIND: ColumnKind = ColumnKind::Words(&["unknown", "at", "job", "never"]);

    fn value(&self) -> ColumnValue<'_> {
        ColumnValue::Text(Cow::Borrowed(self.word()))
    }

    fn put(&mut self, value: ColumnValue<'_>) {
        *self = match value.text() {
            "at" => Self::At(StoreTime::MIN),
            "job" => Self::AfterJob,
            "never" => Self::Never,
            _ => Self::Unknown,
        };
    }
}

/// A schedule without contents, for a store that reads one.
#[must_use]
pub fn empty_schedule() -> StoredSchedule {
    StoredSchedule::new(ScheduleSpec::default(), StoreTime::MIN, StoreTime::MIN)
}

/// The columns whose values a schedule cannot have beside the others: it has another one in their place.
pub fn damage_of<'a>(
    schedule: &'a StoredSchedule,
    read: &'a [ColumnValue<'_>],
) -> impl Iterator<Item = (&'static str, &'a ColumnValue<'a>)> {
    let columns = SCHEDULE_COLUMNS.iter().zip(read);
    columns.filter_map(|(column, read)| {
        let kept = (column.get)(schedule);
        let is_kept = kept == *read
            || kept == ColumnValue::Null
            || column.kind == ColumnKind::Micros && kept == ColumnValue::Int(0) && read.int() >= 0;
        (!is_kept).then_some((column.name, read))
    })
}
