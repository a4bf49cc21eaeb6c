//! The columns of a schedule.

use std::borrow::Cow;
use std::time::Duration;

use crate::column::{Column, Field, Kind, Value, column, text};
use crate::id::JobId;
use crate::job::{OnLost, Payload, Priority};
use crate::pause::Pause;
use crate::schedule::{Next, Overlap, Rule, ScheduleSpec, StoredSchedule, TickJob, Timing};
use crate::time::{StoreTime, micros};

type Row = StoredSchedule;

/// All columns of a schedule, those first that others of the same value depend on. A new one is a line here, one in the table of each
/// store, and a field of [`StoredSchedule`].
pub const SCHEDULE_COLUMNS: [Column<Row>; 37] = [
    column!("name", String, row.definition.name),
    column!("task", String, row.definition.task),
    column!("payload_version", u32, row.definition.payload.version),
    column!("payload", Vec<u8>, row.definition.payload.bytes),
    column!("queue", String, row.definition.queue),
    column!("priority", Priority, row.definition.priority),
    column!("rule", String, row.definition.rule.text),
    column!("timing", Timing, row.definition.rule.timing),
    micros_of(
        "timing_first",
        |row| int(row.definition.rule.timing.first()),
        |row, value| {
            row.definition.rule.timing.set_first(value.int());
        },
    ),
    micros_of(
        "timing_every",
        |row| int(row.definition.rule.timing.every()),
        |row, value| {
            row.definition.rule.timing.set_every(value.int());
        },
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
            row.override_rule = text(value).map(|text| Rule { text, timing: Timing::Computed });
        }
    ),
    nullable(
        "override_timing",
        Timing::KIND,
        |row| of(&row.override_rule, |rule| rule.timing.value()),
        |row, value| {
            row.override_rule.iter_mut().for_each(|rule| rule.timing.put(value.clone()));
        },
    ),
    nullable(
        "override_first",
        Kind::Micros,
        |row| of(&row.override_rule, |rule| int(rule.timing.first())),
        |row, value| {
            row.override_rule.iter_mut().for_each(|rule| rule.timing.set_first(value.int()));
        },
    ),
    nullable(
        "override_every",
        Kind::Micros,
        |row| of(&row.override_rule, |rule| int(rule.timing.every())),
        |row, value| {
            row.override_rule.iter_mut().for_each(|rule| rule.timing.set_every(value.int()));
        },
    ),
    column!("cursor", StoreTime, row.cursor),
    column!("anchor", Option<StoreTime>, row.anchor),
    column!("next", Next, row.next),
    nullable(
        "next_tick",
        Kind::Time,
        |row| row.next_tick().map_or(Value::Null, |tick| int(tick.as_micros())),
        |row, value| {
            if let (Next::At(tick), Value::Int(_)) = (&mut row.next, &value) {
                tick.put(value);
            }
        },
    ),
    column!("fired", u64, row.fired),
    column!("last_fired", Option<StoreTime>, row.last_fired),
    column!("skipped_overlap", u64, row.skips.overlap),
    column!("skipped_missed", u64, row.skips.missed),
    column!("skipped_paused", u64, row.skips.paused),
    column!(
        "pause_since",
        Option<StoreTime>,
        |row| of(&row.pause, |pause| pause.since.value()),
        |row, value| {
            let since = (value != Value::Null).then(|| StoreTime::from_micros(value.int()));
            row.pause = since.map(|since| Pause::new(since, None, "", ""));
        }
    ),
    nullable(
        "pause_until",
        Kind::Time,
        |row| of(&row.pause, |pause| pause.until.value()),
        |row, value| {
            row.pause.iter_mut().for_each(|pause| pause.until.put(value.clone()));
        },
    ),
    nullable(
        "pause_by",
        Kind::Text,
        |row| of(&row.pause, |pause| pause.by.value()),
        |row, value| {
            row.pause.iter_mut().for_each(|pause| pause.by.put(value.clone()));
        },
    ),
    nullable(
        "pause_reason",
        Kind::Text,
        |row| of(&row.pause, |pause| pause.reason.value()),
        |row, value| {
            row.pause.iter_mut().for_each(|pause| pause.reason.put(value.clone()));
        },
    ),
    nullable(
        "waiting_id",
        Kind::Uuid,
        |row| of(&row.waiting, |tick| tick.id.value()),
        |row, value| {
            let (tick, missed, run_at) = (StoreTime::MIN, 0, StoreTime::MIN);
            row.waiting = match value {
                Value::Uuid(id) => Some(TickJob { id: JobId::from_uuid(id), tick, missed, run_at }),
                _ => None,
            };
        },
    ),
    nullable(
        "waiting_tick",
        Kind::Time,
        |row| of(&row.waiting, |tick| tick.tick.value()),
        |row, value| {
            row.waiting.iter_mut().for_each(|tick| tick.tick.put(value.clone()));
        },
    ),
    nullable(
        "waiting_missed",
        Kind::Long,
        |row| of(&row.waiting, |tick| tick.missed.value()),
        |row, value| {
            row.waiting.iter_mut().for_each(|tick| tick.missed.put(value.clone()));
        },
    ),
    nullable(
        "waiting_run_at",
        Kind::Time,
        |row| of(&row.waiting, |tick| tick.run_at.value()),
        |row, value| {
            row.waiting.iter_mut().for_each(|tick| tick.run_at.put(value.clone()));
        },
    ),
    column!("registrant_opened", StoreTime, row.registrant_opened),
];

type Get = for<'a> fn(&'a Row) -> Value<'a>;
type Set = fn(&mut Row, Value<'_>);

const fn nullable(name: &'static str, kind: Kind, get: Get, set: Set) -> Column<Row> {
    Column { name, kind, is_nullable: true, get, set, ..column!("", u64, row.fired) }
}

const fn micros_of(name: &'static str, get: Get, set: Set) -> Column<Row> {
    Column { is_nullable: false, ..nullable(name, Kind::Micros, get, set) }
}

fn of<'a, T>(part: &'a Option<T>, value: impl FnOnce(&'a T) -> Value<'a>) -> Value<'a> {
    part.as_ref().map_or(Value::Null, value)
}

fn int(number: i64) -> Value<'static> {
    Value::Int(number)
}

impl Field for Timing {
    const KIND: Kind = Kind::Words(&["computed", "rate", "delay", "once", "once_after"]);

    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(match self {
            Self::Computed => "computed",
            Self::Rate { .. } => "rate",
            Self::Delay { .. } => "delay",
            Self::Once(_) => "once",
            Self::OnceAfter(_) => "once_after",
        }))
    }

    fn put(&mut self, value: Value<'_>) {
        let none = Duration::ZERO;
        *self = match value.text() {
            "rate" => Self::Rate { first: none, period: none },
            "delay" => Self::Delay { first: none, delay: none },
            "once" => Self::Once(StoreTime::MIN),
            "once_after" => Self::OnceAfter(none),
            _ => Self::Computed,
        };
    }
}

impl Timing {
    /// The time to the first tick, or the instant of the only one.
    fn first(self) -> i64 {
        match self {
            Self::Rate { first, .. } | Self::Delay { first, .. } | Self::OnceAfter(first) => {
                micros(first)
            }
            Self::Once(at) => at.as_micros(),
            Self::Computed => 0,
        }
    }

    fn set_first(&mut self, number: i64) {
        match self {
            Self::Rate { first, .. } | Self::Delay { first, .. } | Self::OnceAfter(first) => {
                *first = length(number)
            }
            Self::Once(at) => *at = StoreTime::from_micros(number),
            Self::Computed => {}
        }
    }

    /// The time from tick to tick.
    fn every(self) -> i64 {
        match self {
            Self::Rate { period: every, .. } | Self::Delay { delay: every, .. } => micros(every),
            Self::Computed | Self::Once(_) | Self::OnceAfter(_) => 0,
        }
    }

    fn set_every(&mut self, number: i64) {
        if let Self::Rate { period: every, .. } | Self::Delay { delay: every, .. } = self {
            *every = length(number);
        }
    }
}

fn length(number: i64) -> Duration {
    Duration::from_micros(u64::try_from(number).unwrap_or(0))
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

impl Field for Next {
    const KIND: Kind = Kind::Words(&["unknown", "at", "job", "never"]);

    fn value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self.word()))
    }

    fn put(&mut self, value: Value<'_>) {
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
    let (timing, payload) = (Timing::Computed, Payload::default());
    let definition = ScheduleSpec {
        name: String::new(),
        task: String::new(),
        payload,
        queue: String::new(),
        priority: Priority::default(),
        rule: Rule { text: String::new(), timing },
        calculator: String::new(),
        overlap: Overlap::default(),
        max_attempts: 1,
        on_lost: OnLost::default(),
        is_dynamic: false,
    };
    StoredSchedule::new(definition, StoreTime::MIN, StoreTime::MIN)
}

/// The columns whose values a schedule cannot have beside the others: it has another one in their place.
pub fn damage_of<'a>(
    schedule: &'a StoredSchedule,
    read: &'a [Value<'_>],
) -> impl Iterator<Item = (&'static str, &'a Value<'a>)> {
    let columns = SCHEDULE_COLUMNS.iter().zip(read);
    columns.filter_map(|(column, read)| {
        let kept = (column.get)(schedule);
        let is_kept = kept == *read
            || kept == Value::Null
            || column.kind == Kind::Micros && kept == int(0) && read.int() >= 0;
        (!is_kept).then_some((column.name, read))
    })
}
