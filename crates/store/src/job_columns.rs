//! The columns of a job, and those of a new one.

use std::borrow::Cow;

use crate::attempt::JobAttempt;
use crate::column::{Column, Ended, Field, Kind, Value, column, long, text};
use crate::id::{Fence, JobId, SessionId};
use crate::job::{
    JobState, KeyUntil, NewJob, OnConflict, OnLost, Origin, Priority, StoredJob, When,
};
use crate::time::{StoreTime, micros};

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
}

impl JobRow {
    /// A job that waits becomes another one with the same identity, place and key.
    pub fn replace(&mut self, new: &NewJob, run_at: StoreTime) {
        for column in NEW_JOB_COLUMNS.iter().filter(|column| column.replaces) {
            let same = JOB_COLUMNS.iter().find(|each| Some(each.name) == column.same);
            same.iter().for_each(|same| (same.set)(self, (column.get)(new)));
        }
        let job = &mut self.job;
        (job.run_at, job.attempt, job.lost, job.undecoded) = (run_at, 0, 0, 0);
        job.error = None;
        job.attempts.clear();
    }
}

impl From<StoredJob> for JobRow {
    fn from(job: StoredJob) -> Self {
        Self { job, key_until: KeyUntil::End, is_exclusive: false, is_gone: false }
    }
}

type Row = JobRow;

/// All columns of a job. A new one is a line here, one in the table of each store, and a field of [`StoredJob`].
pub const JOB_COLUMNS: [Column<JobRow>; 28] = [
    column!("id", JobId, row.job.id).ended(Ended::Apart),
    column!("task", String, row.job.task).ended(Ended::Same),
    column!("payload", Vec<u8>, row.job.payload.bytes).ended(Ended::Blank),
    column!("payload_version", u32, row.job.payload.version).ended(Ended::Same),
    column!("queue", String, row.job.queue).ended(Ended::Same),
    column!("priority", Priority, row.job.priority).ended(Ended::Same),
    column!("key", Option<String>, row.job.key).ended(Ended::Blank).changes(),
    column!("state", JobState, row.job.state).ended(Ended::Same).changes(),
    column!("run_at", StoreTime, row.job.run_at).changes(),
    column!("attempt", u32, row.job.attempt).kind(Kind::Count).ended(Ended::Same).changes(),
    column!("lost", u32, row.job.lost).kind(Kind::Count).ended(Ended::Blank).changes(),
    column!("undecoded", u32, row.job.undecoded).kind(Kind::Count).ended(Ended::Blank).changes(),
    column!("max_attempts", u32, row.job.max_attempts)
        .kind(Kind::AtLeastOne)
        .ended(Ended::Same)
        .changes(),
    column!("on_lost", OnLost, row.job.on_lost).ended(Ended::Blank),
    column!("fence", Fence, row.job.fence).changes(),
    column!("session", Option<SessionId>, row.job.session).ended(Ended::Same).changes(),
    column!("schedule", Option<String>, schedule, |row, value| {
        row.job.origin = text(value).map(|schedule| Origin::new(schedule, None, 0));
    })
    .ended(Ended::Blank),
    column!("tick", Option<StoreTime>, tick, |row, value| {
        row.job.origin.iter_mut().for_each(|origin| origin.tick.put(value.clone()));
    })
    .ended(Ended::Blank),
    column!("missed", u64, missed, |row, value| {
        row.job.origin.iter_mut().for_each(|origin| origin.missed.put(value.clone()));
    })
    .ended(Ended::Blank),
    column!("is_cancel_requested", bool, row.job.is_cancel_requested).ended(Ended::Apart).changes(),
    column!("created_at", StoreTime, row.job.created_at),
    column!("started_at", Option<StoreTime>, row.job.started_at).changes(),
    column!("finished_at", Option<StoreTime>, row.job.finished_at).ended(Ended::Apart).changes(),
    column!("error", Option<String>, row.job.error).ended(Ended::Blank).changes(),
    column!("traceparent", Option<String>, row.job.traceparent).ended(Ended::Blank),
    column!("attempts", Vec<JobAttempt>, row.job.attempts).ended(Ended::Blank).changes(),
    column!("key_until", KeyUntil, row.key_until).ended(Ended::Blank),
    column!("is_exclusive", bool, row.is_exclusive).ended(Ended::Blank),
];

/// The number of the first columns, which [`StoredJob`] has.
pub const JOB_COLUMNS_SHOWN: usize = JOB_COLUMNS.len() - 2;

fn schedule(row: &JobRow) -> Value<'_> {
    row.job
        .origin
        .as_ref()
        .map_or(Value::Null, |origin| Value::Text(Cow::Borrowed(&origin.schedule)))
}

fn tick(row: &JobRow) -> Value<'_> {
    row.job.origin.as_ref().map_or(Value::Null, |origin| origin.tick.value())
}

fn missed(row: &JobRow) -> Value<'_> {
    row.job.origin.as_ref().map_or(Value::Int(0), |origin| long(origin.missed))
}

/// A column of a request for a new job.
#[derive(Debug)]
pub struct NewColumn {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub kind: Kind,
    /// The column of the job that has the same value, if one has.
    pub same: Option<&'static str>,
    /// True if a waiting job that has its key gets the value.
    pub replaces: bool,
    /// Its value.
    pub get: for<'a> fn(&'a NewJob) -> Value<'a>,
}

const fn new(
    name: &'static str,
    kind: Kind,
    get: for<'a> fn(&'a NewJob) -> Value<'a>,
) -> NewColumn {
    NewColumn { name, kind, same: None, replaces: false, get }
}

impl NewColumn {
    const fn same(self, column: &'static str) -> Self {
        Self { same: Some(column), ..self }
    }

    const fn replaces(self) -> Self {
        Self { replaces: true, ..self }
    }
}

/// The longest wait: longer than any instant of a store, and short enough to be added to one.
const WAIT_MAX: i64 = 300_000_000_000_000_000;

/// All columns of a request for a new job. Instants and waits are microseconds.
pub const NEW_JOB_COLUMNS: [NewColumn; 16] = [
    new("id", Kind::Uuid, |new| new.id.value()).same("id"),
    new("task", Kind::Text, |new| new.task.value()).same("task"),
    new("payload", Kind::Bytes, |new| new.payload.bytes.value()).same("payload").replaces(),
    new("version", Kind::Number, |new| new.payload.version.value())
        .same("payload_version")
        .replaces(),
    new("queue", Kind::Text, |new| new.queue.value()).same("queue"),
    new("priority", Kind::Rank, |new| new.priority.value()).same("priority").replaces(),
    new("at", Kind::Time, |new| match new.when {
        When::At(at) => Value::Int(at.as_micros()),
        When::Now | When::After(_) => Value::Null,
    }),
    new("wait", Kind::Long, |new| match new.when {
        When::After(wait) => Value::Int(micros(wait).min(WAIT_MAX)),
        When::Now | When::At(_) => Value::Int(0),
    }),
    new("key", Kind::Text, |new| match &new.key {
        Some(key) => key.text.value(),
        None => Value::Null,
    }),
    new("until_start", Kind::Flag, |new| {
        flag(new.key.as_ref().is_some_and(|key| key.until == KeyUntil::Start))
    }),
    new("replace", Kind::Flag, |new| {
        flag(new.key.as_ref().is_some_and(|key| key.on_conflict == OnConflict::Replace))
    }),
    new("max_attempts", Kind::AtLeastOne, |new| Value::Int(i64::from(new.max_attempts.max(1))))
        .same("max_attempts")
        .replaces(),
    new("abandon", OnLost::KIND, |new| new.on_lost.value()).same("on_lost"),
    new("traceparent", Kind::Text, |new| new.traceparent.value()).same("traceparent").replaces(),
    new("resent", Kind::Flag, |new| new.is_resent.value()),
    new("key_for", Kind::Long, |new| match new.key.as_ref().map(|key| key.until) {
        Some(KeyUntil::For(time)) => Value::Int(micros(time).min(WAIT_MAX)),
        _ => Value::Null,
    }),
];

fn flag(is_set: bool) -> Value<'static> {
    Value::Int(i64::from(is_set))
}
