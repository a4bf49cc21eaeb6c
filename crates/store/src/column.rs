//! Columns of a table, those of jobs, and new jobs as JSON.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use scheduler_expr::Overlap;
use serde::ser::{Serialize, Serializer};
use serde_json::Value as Json;
use uuid::Uuid;

use crate::error::{Refusal, StoreError};
use crate::id::{Fence, JobId, SessionId, StoreTime, micros};
use crate::job::{
    Expiry, JobAttempt, JobState, KeyUntil, NewJob, OnConflict, OnLost, Origin, Priority,
    StoredJob, When, attempts_of_text, attempts_to_text,
};
use crate::progress::JobProgress;

/// The value of a column. A flag is 0 or 1, a choice the place of its word, and an instant its microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ColumnValue<'a> {
    Null,
    Int(i64),
    Uuid(Uuid),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl ColumnValue<'_> {
    /// The number; 0 of another value.
    #[must_use]
    pub fn int(&self) -> i64 {
        if let Self::Int(number) = self { *number } else { 0 }
    }

    /// The text; empty for another value.
    #[must_use]
    pub fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// The same, which borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> ColumnValue<'static> {
        match self {
            Self::Null => ColumnValue::Null,
            Self::Int(number) => ColumnValue::Int(number),
            Self::Uuid(id) => ColumnValue::Uuid(id),
            Self::Text(text) => ColumnValue::Text(text.into_owned().into()),
            Self::Bytes(bytes) => ColumnValue::Bytes(bytes.into_owned().into()),
        }
    }

    fn unsigned(&self) -> u64 {
        u64::try_from(self.int()).unwrap_or(0)
    }
}

/// The values that a column may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// An identity.
    Uuid,
    /// A text.
    Text,
    /// A text, one of a few. The first stands for those that are unknown.
    Words(&'static [&'static str]),
    /// A payload.
    Bytes,
    /// True or false.
    Flag,
    /// One of two words; in a store with flags, whether it is the second.
    Choice([&'static str; 2]),
    /// An instant.
    Time,
    /// The number of a priority.
    Rank,
    /// A number of 31 bits.
    Count,
    /// A number of 32 bits.
    Number,
    /// The same, at least 1.
    AtLeastOne,
    /// A number of 63 bits.
    Long,
    /// Microseconds, perhaps before 1970.
    Micros,
}

impl ColumnKind {
    /// The numbers that are possible.
    #[must_use]
    pub const fn range(self) -> RangeInclusive<i64> {
        match self {
            Self::Flag | Self::Choice(_) => 0..=1,
            Self::Rank => 0..=3,
            Self::Count => 0..=0x7FFF_FFFF,
            Self::Number => 0..=0xFFFF_FFFF,
            Self::AtLeastOne => 1..=0xFFFF_FFFF,
            Self::Time => StoreTime::MIN.as_micros()..=StoreTime::MAX.as_micros(),
            Self::Micros => i64::MIN..=i64::MAX,
            Self::Long | Self::Uuid | Self::Text | Self::Words(_) | Self::Bytes => 0..=i64::MAX,
        }
    }
}

/// The way in which a store keeps a column of jobs that have ended, where it keeps them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedColumn {
    /// It follows from the place of the job.
    Apart,
    /// For each job.
    Each,
    /// Once if it is the same in all jobs. For columns without nulls; others are `Blank`.
    Same,
    /// Once if it is zero, false, empty or null in all jobs.
    Blank,
}

/// A column of a table whose rows are `R`.
#[derive(Debug)]
pub struct Column<R: 'static> {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub kind: ColumnKind,
    /// True if it may be null.
    pub is_nullable: bool,
    /// The way in which it is kept of jobs that have ended.
    pub ended: EndedColumn,
    /// True if it changes after the row was made, without a command about it.
    pub changes: bool,
    /// True if only stores know of it.
    pub is_hidden: bool,
    /// Its value in a row.
    pub get: for<'a> fn(&'a R) -> ColumnValue<'a>,
    /// Sets it. A value of another kind becomes an empty one.
    pub set: fn(&mut R, ColumnValue<'_>),
}

impl<R> Column<R> {
    pub(crate) const fn ended(self, ended: EndedColumn) -> Self {
        Self { ended, ..self }
    }

    pub(crate) const fn kind(self, kind: ColumnKind) -> Self {
        Self { kind, ..self }
    }

    pub(crate) const fn changes(self) -> Self {
        Self { changes: true, ..self }
    }

    const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }
}

/// A field that a column has.
pub(crate) trait ColumnField {
    const KIND: ColumnKind;
    const IS_NULLABLE: bool = false;
    fn value(&self) -> ColumnValue<'_>;
    fn put(&mut self, value: ColumnValue<'_>);
}

/// The column of a field of `Row`, or one whose value is read and set by other expressions.
macro_rules! column {
    ($name:literal, $type:ty, $row:ident.$($place:ident).+) => {
        $crate::column::column!(
            $name,
            $type,
            |$row| $crate::column::ColumnField::value(&$row.$($place).+),
            |$row, value| $crate::column::ColumnField::put(&mut $row.$($place).+, value)
        )
    };
    ($name:literal, $type:ty, $get:expr, $set:expr) => {
        $crate::column::Column::<Row> {
            name: $name,
            kind: <$type as $crate::column::ColumnField>::KIND,
            is_nullable: <$type as $crate::column::ColumnField>::IS_NULLABLE,
            ended: $crate::column::EndedColumn::Each,
            changes: false,
            is_hidden: false,
            get: $get,
            set: $set,
        }
    };
}
pub(crate) use column;

/// Fields that a column has: the type, its kind, its value, and the field from a value.
macro_rules! fields {
    ($($type:ty = $kind:expr, |$this:ident| $get:expr, |$value:ident| $set:expr;)*) => {$(
        impl ColumnField for $type {
            const KIND: ColumnKind = $kind;

            fn value(&self) -> ColumnValue<'_> {
                let $this = self;
                $get
            }

            fn put(&mut self, $value: ColumnValue<'_>) {
                *self = $set;
            }
        }
    )*};
}

fields! {
    String = ColumnKind::Text, |this| ColumnValue::Text(Cow::Borrowed(this)), |value| text(value).unwrap_or_default();
    bool = ColumnKind::Flag, |this| ColumnValue::Int(i64::from(*this)), |value| value.int() != 0;
    u32 = ColumnKind::Number, |this| ColumnValue::Int(i64::from(*this)), |value| u32::try_from(value.int()).unwrap_or(0);
    u64 = ColumnKind::Long, |this| long(*this), |value| value.unsigned();
    Fence = ColumnKind::Long, |this| long(this.0), |value| Self(value.unsigned());
    StoreTime = ColumnKind::Time, |this| ColumnValue::Int(this.as_micros()), |value| Self::from_micros(value.int());
    Priority = ColumnKind::Rank, |this| ColumnValue::Int(this.rank().into()), |value| Self::from_rank(value.int());
    Vec<u8> = ColumnKind::Bytes, |this| ColumnValue::Bytes(Cow::Borrowed(this)), |value| bytes(value);
    OnLost = ColumnKind::Choice([OnLost::Rerun.name(), OnLost::Abandon.name()]),
        |this| ColumnValue::Int((*this == Self::Abandon).into()),
        |value| if value.int() == 0 { Self::Rerun } else { Self::Abandon };
    KeyUntil = ColumnKind::Choice(["end", "start"]),
        |this| ColumnValue::Int((*this == Self::Start).into()),
        |value| if value.int() == 0 { Self::End } else { Self::Start };
    JobState = ColumnKind::Words(&["parked", "ready", "running", "done", "cancelled"]),
        |this| ColumnValue::Text(Cow::Borrowed(this.word())),
        |value| Self::ALL.into_iter().find(|each| each.word() == value.text()).unwrap_or(Self::Parked);
    Overlap = ColumnKind::Words(&["skip", "queue_one", "allow"]),
        |this| ColumnValue::Text(Cow::Borrowed(this.name())),
        |value| value.text().parse().unwrap_or(Self::Skip);
    JobId = ColumnKind::Uuid,
        |this| ColumnValue::Uuid(this.as_uuid()),
        |value| if let ColumnValue::Uuid(id) = value { Self::from_uuid(id) } else { return };
}

/// The same for fields that may have no value.
macro_rules! nullable {
    ($($type:ty = $kind:expr, |$this:ident| $get:expr, |$value:ident| $set:expr;)*) => {$(
        impl ColumnField for $type {
            const KIND: ColumnKind = $kind;
            const IS_NULLABLE: bool = true;

            fn value(&self) -> ColumnValue<'_> {
                let $this = self;
                Option::unwrap_or($get, ColumnValue::Null)
            }

            fn put(&mut self, $value: ColumnValue<'_>) {
                *self = $set;
            }
        }
    )*};
}

nullable! {
    Option<String> = ColumnKind::Text, |this| this.as_deref().map(|text| ColumnValue::Text(Cow::Borrowed(text))), |value| text(value);
    Option<u32> = ColumnKind::Number, |this| this.map(|number| ColumnValue::Int(number.into())),
        |value| u32::try_from(value.int()).ok().filter(|_| value != ColumnValue::Null);
    Option<StoreTime> = ColumnKind::Time, |this| this.map(|at| ColumnValue::Int(at.as_micros())),
        |value| (value != ColumnValue::Null).then(|| StoreTime::from_micros(value.int()));
    Option<JobId> = ColumnKind::Uuid, |this| this.map(|id| ColumnValue::Uuid(id.as_uuid())),
        |value| if let ColumnValue::Uuid(id) = value { Some(JobId::from_uuid(id)) } else { None };
    Option<SessionId> = ColumnKind::Uuid, |this| this.map(|id| ColumnValue::Uuid(id.as_uuid())),
        |value| if let ColumnValue::Uuid(id) = value { Some(SessionId::from_uuid(id)) } else { None };
    Vec<JobAttempt> = ColumnKind::Text, |this| attempts_to_text(this).map(|text| ColumnValue::Text(Cow::Owned(text))),
        |value| if value == ColumnValue::Null { Self::new() } else { attempts_of_text(value.text()) };
    Option<JobProgress> = ColumnKind::Text, |this| this.as_ref().map(|progress| ColumnValue::Text(Cow::Owned(progress.to_column()))),
        |value| JobProgress::of_column(value.text());
}

pub(crate) fn long(number: u64) -> ColumnValue<'static> {
    ColumnValue::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

pub(crate) fn text(value: ColumnValue<'_>) -> Option<String> {
    if let ColumnValue::Text(text) = value { Some(text.into_owned()) } else { None }
}

fn bytes(value: ColumnValue<'_>) -> Vec<u8> {
    if let ColumnValue::Bytes(bytes) = value { bytes.into_owned() } else { Vec::new() }
}

/// A job, and what only stores need to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// The job.
    pub job: StoredJob,
    /// The end of its key.
    pub key_until: KeyUntil,
    /// True if no other job of its schedule may be unfinished beside it (R11).
    pub is_exclusive: bool,
    /// True if only requests that are sent again find it.
    pub is_gone: bool,
    /// When a poll has last seen that it is due.
    pub seen_due_at: Option<StoreTime>,
}

impl JobRow {
    /// Its lane: the partition of a ready job that was due when it was accepted, or when a poll saw it.
    #[must_use]
    pub fn lane(&self) -> Option<&str> {
        let job = &self.job;
        let due = Some(job.created_at).max(self.seen_due_at);
        let is_in = job.state == JobState::Ready && Some(job.run_at) <= due;
        job.partition.as_deref().filter(|_| is_in)
    }

    /// A job that waits becomes another one with the same identity, place and key.
    pub fn replace(&mut self, new: &NewJob, run_at: StoreTime) {
        for column in NEW_JOB_COLUMNS.iter().filter(|column| column.replaces) {
            let same = JOB_COLUMNS.iter().find(|each| Some(each.name) == column.same);
            same.iter().for_each(|same| (same.set)(self, (column.get)(new)));
        }
        let job = &mut self.job;
        job.run_at = match new.key.as_ref().map(|key| key.on_conflict) {
            Some(OnConflict::Debounce(most)) => run_at.min(job.created_at.after(most)),
            _ => run_at,
        };
        job.expires_at = new.expires_at(run_at);
        (job.attempt, job.lost, job.undecoded) = (0, 0, 0);
        (job.error, job.progress, job.held_until) = (None, None, None);
        job.attempts.clear();
    }
}

impl From<StoredJob> for JobRow {
    fn from(job: StoredJob) -> Self {
        Self {
            job,
            key_until: KeyUntil::End,
            is_exclusive: false,
            is_gone: false,
            seen_due_at: None,
        }
    }
}

type Row = JobRow;

/// All columns of a job. The list in CONTRIBUTING.md says what a new one needs.
pub const JOB_COLUMNS: [Column<JobRow>; 33] = [
    column!("id", JobId, row.job.id).ended(EndedColumn::Apart),
    column!("task", String, row.job.task).ended(EndedColumn::Same),
    column!("payload", Vec<u8>, row.job.payload.bytes).ended(EndedColumn::Blank),
    column!("payload_version", u32, row.job.payload.version).ended(EndedColumn::Same),
    column!("queue", String, row.job.queue).ended(EndedColumn::Same),
    column!("priority", Priority, row.job.priority).ended(EndedColumn::Same),
    column!("partition", Option<String>, row.job.partition).ended(EndedColumn::Blank),
    column!("key", Option<String>, row.job.key).ended(EndedColumn::Blank).changes(),
    column!("state", JobState, row.job.state).ended(EndedColumn::Same).changes(),
    column!("run_at", StoreTime, row.job.run_at).changes(),
    column!("held_until", Option<StoreTime>, row.job.held_until)
        .ended(EndedColumn::Apart)
        .changes(),
    column!("expires_at", Option<StoreTime>, row.job.expires_at).ended(EndedColumn::Blank),
    column!("attempt", u32, row.job.attempt)
        .kind(ColumnKind::Count)
        .ended(EndedColumn::Same)
        .changes(),
    column!("lost", u32, row.job.lost).kind(ColumnKind::Count).ended(EndedColumn::Blank).changes(),
    column!("undecoded", u32, row.job.undecoded)
        .kind(ColumnKind::Count)
        .ended(EndedColumn::Blank)
        .changes(),
    column!("max_attempts", u32, row.job.max_attempts)
        .kind(ColumnKind::AtLeastOne)
        .ended(EndedColumn::Same)
        .changes(),
    column!("on_lost", OnLost, row.job.on_lost).ended(EndedColumn::Blank),
    column!("fence", Fence, row.job.fence).changes(),
    column!("session", Option<SessionId>, row.job.session).ended(EndedColumn::Same).changes(),
    column!("schedule", Option<String>, schedule, |row, value| {
        row.job.origin = text(value).map(|schedule| Origin::new(schedule, None, 0));
    })
    .ended(EndedColumn::Blank),
    column!("tick", Option<StoreTime>, tick, |row, value| {
        row.job.origin.iter_mut().for_each(|origin| origin.tick.put(value.clone()));
    })
    .ended(EndedColumn::Blank),
    column!("missed", u64, missed, |row, value| {
        row.job.origin.iter_mut().for_each(|origin| origin.missed.put(value.clone()));
    })
    .ended(EndedColumn::Blank),
    column!("is_cancel_requested", bool, row.job.is_cancel_requested)
        .ended(EndedColumn::Apart)
        .changes(),
    column!("created_at", StoreTime, row.job.created_at),
    column!("started_at", Option<StoreTime>, row.job.started_at).changes(),
    column!("finished_at", Option<StoreTime>, row.job.finished_at)
        .ended(EndedColumn::Apart)
        .changes(),
    column!("error", Option<String>, row.job.error).ended(EndedColumn::Blank).changes(),
    column!("traceparent", Option<String>, row.job.traceparent).ended(EndedColumn::Blank),
    column!("attempts", Vec<JobAttempt>, row.job.attempts).ended(EndedColumn::Blank).changes(),
    column!("progress", Option<JobProgress>, row.job.progress).ended(EndedColumn::Blank).changes(),
    column!("key_until", KeyUntil, row.key_until).ended(EndedColumn::Blank).hidden(),
    column!("is_exclusive", bool, row.is_exclusive).ended(EndedColumn::Blank).hidden(),
    column!("seen_due_at", Option<StoreTime>, row.seen_due_at).ended(EndedColumn::Apart).hidden(),
];

fn schedule(row: &JobRow) -> ColumnValue<'_> {
    row.job
        .origin
        .as_ref()
        .map_or(ColumnValue::Null, |origin| ColumnValue::Text(Cow::Borrowed(&origin.schedule)))
}

fn tick(row: &JobRow) -> ColumnValue<'_> {
    row.job.origin.as_ref().map_or(ColumnValue::Null, |origin| origin.tick.value())
}

fn missed(row: &JobRow) -> ColumnValue<'_> {
    row.job.origin.as_ref().map_or(ColumnValue::Int(0), |origin| long(origin.missed))
}

/// A column of a request for a new job.
#[derive(Debug)]
pub struct NewColumn {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub kind: ColumnKind,
    /// The column of the job that has the same value, if one has.
    pub same: Option<&'static str>,
    /// True if a waiting job that has its key gets the value.
    pub replaces: bool,
    /// True if it is a text that may be empty.
    pub may_be_empty: bool,
    /// Its value.
    pub get: for<'a> fn(&'a NewJob) -> ColumnValue<'a>,
}

const fn new(
    name: &'static str,
    kind: ColumnKind,
    get: for<'a> fn(&'a NewJob) -> ColumnValue<'a>,
) -> NewColumn {
    NewColumn { name, kind, same: None, replaces: false, may_be_empty: false, get }
}

impl NewColumn {
    const fn same(self, column: &'static str) -> Self {
        Self { same: Some(column), ..self }
    }

    const fn replaces(self) -> Self {
        Self { replaces: true, ..self }
    }

    const fn may_be_empty(self) -> Self {
        Self { may_be_empty: true, ..self }
    }
}

/// The longest wait: longer than any instant of a store, and short enough to be added to one.
const WAIT_MAX: i64 = 300_000_000_000_000_000;

/// All columns of a request for a new job. Instants and waits are microseconds.
pub const NEW_JOB_COLUMNS: [NewColumn; 21] = [
    new("id", ColumnKind::Uuid, |new| new.id.value()).same("id"),
    new("task", ColumnKind::Text, |new| new.task.value()).same("task"),
    new("payload", ColumnKind::Bytes, |new| new.payload.bytes.value()).same("payload").replaces(),
    new("version", ColumnKind::Number, |new| new.payload.version.value())
        .same("payload_version")
        .replaces(),
    new("queue", ColumnKind::Text, |new| new.queue.value()).same("queue"),
    new("priority", ColumnKind::Rank, |new| new.priority.value()).same("priority").replaces(),
    new("at", ColumnKind::Time, |new| match new.when {
        When::At(at) => ColumnValue::Int(at.as_micros()),
        When::Now | When::After(_) => ColumnValue::Null,
    }),
    new("wait", ColumnKind::Long, |new| match new.when {
        When::After(wait) => ColumnValue::Int(micros(wait).min(WAIT_MAX)),
        When::Now | When::At(_) => ColumnValue::Int(0),
    }),
    new("key", ColumnKind::Text, |new| match &new.key {
        Some(key) => key.text.value(),
        None => ColumnValue::Null,
    }),
    new("until_start", ColumnKind::Flag, |new| {
        flag(new.key.as_ref().is_some_and(|key| key.until == KeyUntil::Start))
    }),
    new("replace", ColumnKind::Flag, |new| {
        flag(new.key.as_ref().is_some_and(|key| key.on_conflict != OnConflict::Keep))
    }),
    new("debounce", ColumnKind::Long, |new| match new.key.as_ref().map(|key| key.on_conflict) {
        Some(OnConflict::Debounce(most)) => ColumnValue::Int(micros(most).min(WAIT_MAX)),
        _ => ColumnValue::Null,
    }),
    new("expires", ColumnKind::Time, |new| match new.expires {
        Some(Expiry::At(at)) => ColumnValue::Int(at.as_micros()),
        _ => ColumnValue::Null,
    }),
    new("expires_after", ColumnKind::Long, |new| match new.expires {
        Some(Expiry::After(wait)) => ColumnValue::Int(micros(wait).min(WAIT_MAX)),
        _ => ColumnValue::Null,
    }),
    new("max_attempts", ColumnKind::AtLeastOne, |new| {
        ColumnValue::Int(i64::from(new.max_attempts.max(1)))
    })
    .same("max_attempts")
    .replaces(),
    new("abandon", OnLost::KIND, |new| new.on_lost.value()).same("on_lost"),
    new("traceparent", ColumnKind::Text, |new| new.traceparent.value())
        .same("traceparent")
        .replaces(),
    new("partition", ColumnKind::Text, |new| new.partition.value())
        .same("partition")
        .replaces()
        .may_be_empty(),
    new("resent", ColumnKind::Flag, |new| new.is_resent.value()),
    new("guarded", ColumnKind::Flag, |new| new.is_guarded.value()),
    new("key_for", ColumnKind::Long, |new| match new.key.as_ref().map(|key| key.until) {
        Some(KeyUntil::For(time)) => ColumnValue::Int(micros(time).min(WAIT_MAX)),
        _ => ColumnValue::Null,
    }),
];

fn flag(is_set: bool) -> ColumnValue<'static> {
    ColumnValue::Int(i64::from(is_set))
}

/// A JSON array of the jobs, for a store whose [`statement`](crate::Store::statement) takes it.
///
/// Instants and waits are microseconds, priorities are numbers from 0, and the payload is a string that has the JSON of the
/// payload, so that no database writes it in another way.
///
/// # Errors
///
/// [`NewJob::check`] refuses a job, or a payload is no text.
pub fn statement_json(jobs: &[NewJob]) -> Result<String, StoreError> {
    for job in jobs {
        job.check()?;
        std::str::from_utf8(&job.payload.bytes).map_err(|_| Refusal::Unstorable {
            field: "payload",
            reason: "it is no text".to_owned(),
        })?;
    }
    let rows: Vec<_> = jobs.iter().map(NewJobJson).collect();
    Ok(serde_json::to_string(&rows).unwrap_or_default())
}

/// A new job as JSON.
struct NewJobJson<'a>(&'a NewJob);

impl Serialize for NewJobJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(NEW_JOB_COLUMNS.iter().map(|column| (column.name, json(column, self.0))))
    }
}

fn json(column: &NewColumn, job: &NewJob) -> Json {
    match (column.get)(job) {
        ColumnValue::Int(flag)
            if matches!(column.kind, ColumnKind::Flag | ColumnKind::Choice(_)) =>
        {
            (flag != 0).into()
        }
        ColumnValue::Int(number) => number.into(),
        ColumnValue::Uuid(id) => id.to_string().into(),
        ColumnValue::Text(text) => text.into(),
        ColumnValue::Bytes(bytes) if !bytes.is_empty() => String::from_utf8_lossy(&bytes).into(),
        ColumnValue::Bytes(_) | ColumnValue::Null => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{JobId, Key, KeyUntil, OnConflict, Payload, StoreTime, Uuid, When};

    fn new(number: u128) -> NewJob {
        NewJob::new(JobId::from_uuid(Uuid::from_u128(number)), "a")
    }

    #[test]
    fn a_job_is_one_object_with_all_that_a_store_keeps_of_it() {
        let json = statement_json(&[new(1)]).expect("it can be stored");
        let expected = "[{\"id\":\"00000000-0000-0000-0000-000000000001\",\"task\":\"a\",\"payload\":null,\"version\":0,\
            \"queue\":\"default\",\"priority\":1,\"at\":null,\"wait\":0,\"key\":null,\"until_start\":false,\
            \"replace\":false,\"debounce\":null,\"expires\":null,\"expires_after\":null,\"max_attempts\":1,\"abandon\":false,\"traceparent\":null,\"partition\":null,\"resent\":false,\"guarded\":false,\"key_for\":null}]";
        assert_eq!(json, expected);
        assert_eq!(statement_json(&[]), Ok("[]".to_owned()));
        let at = NewJob { when: When::At(StoreTime::from_micros(-7)), ..new(1) };
        let json = statement_json(&[new(1), at]).expect("it can be stored");
        assert!(json.contains("},{") && json.contains("\"at\":-7,\"wait\":0"), "{json}");
        let late = NewJob { when: When::After(Duration::MAX), ..new(1) };
        let json = statement_json(&[late]).expect("it can be stored");
        assert!(json.contains("\"wait\":300000000000000000"), "{json}");
    }

    /// A field that has no column is forgotten by both stores.
    #[test]
    fn each_field_has_its_columns() {
        let NewJob { id: _, task: _, payload: _, queue: _, priority: _, when: _, key: _, .. } =
            new(1);
        let new = ["id", "task", "payload", "version", "queue", "priority", "at", "wait", "key"];
        let more = [
            "until_start",
            "replace",
            "debounce",
            "expires",
            "expires_after",
            "key_for",
            "max_attempts",
            "abandon",
            "traceparent",
            "partition",
            "resent",
            "guarded",
        ];
        let names: Vec<_> = NEW_JOB_COLUMNS.iter().map(|column| column.name).collect();
        assert!(new.iter().chain(&more).all(|name| names.contains(name)), "{names:?}");
        let job = StoredJob::empty(JobId::from_uuid(Uuid::nil()));
        let Json::Object(fields) = serde_json::to_value(&job).expect("JSON") else { panic!() };
        for field in fields.keys() {
            let parts: &[&str] = match &**field {
                "payload" => &["payload", "payload_version"],
                "origin" => &["schedule", "tick", "missed"],
                field => &[field],
            };
            let is_shown = |name: &&str| {
                JOB_COLUMNS.iter().any(|column| column.name == *name && !column.is_hidden)
            };
            assert!(parts.iter().all(is_shown), "no column has the field `{field}`");
        }
    }

    #[test]
    fn no_text_of_a_job_ends_its_string() {
        let payload = Payload { version: 1, bytes: br#""a\u0000""#.to_vec() };
        let (until, on_conflict) = (KeyUntil::Start, OnConflict::Replace);
        let key = Some(Key { text: "\"},{\\\n".to_owned(), until, on_conflict });
        let json = statement_json(&[NewJob { payload, key, ..new(1) }]).expect("it can be stored");
        assert!(json.contains(r#""payload":"\"a\\u0000\"""#), "{json}");
        assert!(json.contains(r#""key":"\"},{\\\n","until_start":true,"replace":true"#), "{json}");
    }

    #[test]
    fn a_job_that_no_store_keeps_is_refused() {
        let payload = Payload { version: 1, bytes: vec![255] };
        let refused = statement_json(&[NewJob { payload, ..new(1) }]).expect_err("no text");
        assert_eq!(refused.to_string(), "payload: it is no text");
        assert!(statement_json(&[NewJob { queue: String::new(), ..new(1) }]).is_err());
    }
}
