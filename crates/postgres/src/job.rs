//! Jobs: from rows, and to the arrays of a batch.

use scheduler_store::{
    ClaimRef, CommandOutcome, Enqueued, Fence, JobId, JobState, KeyUntil, NewJob, OnConflict,
    OnLost, Origin, Payload, Priority, SessionId, StoreError, StoreTime, StoredJob, Uuid, When,
    attempts_of_text, micros,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::blocking_connection::Run;
use crate::connection_thread::{ConnectionThread, RetryOnDisconnect};
use crate::sql::Schema;
use crate::value::{At, Params, count, long, small};

/// Reads a job whose columns begin at an index.
///
/// A check of the table allows only values that can be read. Others come from people who have removed the checks: numbers
/// are moved into their range, and an unknown state is `Parked`, which no process claims.
pub(crate) fn read(row: &Row, first: usize) -> Result<StoredJob, Error> {
    let mut at = Columns { row, next: first };
    let id = JobId::from_uuid(at.get()?);
    let task = at.get()?;
    let bytes = at.get()?;
    let version = small(at.get()?);
    let (queue, priority, key) = (at.get()?, priority(at.get()?), at.get()?);
    let state = state(at.get()?);
    let run_at = at.get::<At>()?.0;
    let (attempt, lost, undecoded) = (at.get_small()?, at.get_small()?, at.get_small()?);
    let max_attempts = small(at.get()?);
    let on_lost = if at.get()? { OnLost::Abandon } else { OnLost::Rerun };
    let fence = Fence(count(at.get()?));
    let session = at.get::<Option<Uuid>>()?.map(SessionId::from_uuid);
    let (schedule, tick, missed): (Option<String>, Option<At>, i64) =
        (at.get()?, at.get()?, at.get()?);
    let tick = tick.map(|tick| tick.0);
    let origin = schedule.map(|schedule| Origin::new(schedule, tick, count(missed)));
    let mut job = StoredJob::empty(id);
    job.task = task;
    job.payload = Payload { version, bytes };
    job.queue = queue;
    job.priority = priority;
    job.key = key;
    job.state = state;
    job.run_at = run_at;
    job.attempt = attempt;
    job.lost = lost;
    job.undecoded = undecoded;
    job.max_attempts = max_attempts;
    job.on_lost = on_lost;
    job.fence = fence;
    job.session = session;
    job.origin = origin;
    job.is_cancel_requested = at.get()?;
    job.created_at = at.get::<At>()?.0;
    job.started_at = at.get_at()?;
    job.finished_at = at.get_at()?;
    job.error = at.get()?;
    job.traceparent = at.get()?;
    job.attempts = at.get::<Option<&str>>()?.map_or(Vec::new(), attempts_of_text);
    Ok(job)
}

pub(crate) fn state(word: &str) -> JobState {
    let known = JobState::ALL.into_iter().find(|state| state.word() == word);
    known.unwrap_or(JobState::Parked)
}

pub(crate) fn priority(number: i16) -> Priority {
    Priority::from_rank(number.into())
}

/// Pairs of identities and fences from two columns of arrays.
pub(crate) fn held(row: &Row, ids: usize, fences: usize) -> Result<Vec<ClaimRef>, Error> {
    let ids: Option<Vec<Uuid>> = row.try_get(ids)?;
    let fences: Option<Vec<i64>> = row.try_get(fences)?;
    let pairs = ids.unwrap_or_default().into_iter().zip(fences.unwrap_or_default());
    let held =
        pairs.map(|(id, fence)| ClaimRef { job: JobId::from_uuid(id), fence: Fence(count(fence)) });
    Ok(held.collect())
}

struct Columns<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> Columns<'a> {
    fn get<T: tokio_postgres::types::FromSql<'a>>(&mut self) -> Result<T, Error> {
        self.next += 1;
        self.row.try_get(self.next - 1)
    }

    fn get_at(&mut self) -> Result<Option<StoreTime>, Error> {
        Ok(self.get::<Option<At>>()?.map(|at| at.0))
    }

    fn get_small(&mut self) -> Result<u32, Error> {
        Ok(small(i64::from(self.get::<i32>()?)))
    }
}

/// New jobs, column by column.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    ids: Vec<Uuid>,
    tasks: Vec<String>,
    payloads: Vec<Vec<u8>>,
    versions: Vec<i64>,
    queues: Vec<String>,
    priorities: Vec<i16>,
    waits: Vec<i64>,
    ats: Vec<Option<At>>,
    keys: Vec<Option<String>>,
    until_start: Vec<bool>,
    replaces: Vec<bool>,
    max_attempts: Vec<i64>,
    abandoned: Vec<bool>,
    traceparents: Vec<Option<String>>,
    /// Microseconds.
    key_for: Vec<Option<i64>>,
}

impl Batch {
    /// Batches in which no identity stands twice: what an identity means follows from what is stored before it.
    pub(crate) fn split(jobs: &[NewJob]) -> Vec<Self> {
        // One at least: it finds out whether the request came too late.
        let mut batches: Vec<Self> = vec![Self::default()];
        let mut seen = std::collections::HashSet::new();
        for job in jobs {
            if !seen.insert(job.id) {
                batches.push(Self::default());
                seen = [job.id].into();
            }
            if let Some(batch) = batches.last_mut() {
                batch.push(job);
            }
        }
        batches
    }

    fn push(&mut self, job: &NewJob) {
        let key = job.key.as_ref();
        self.ids.push(job.id.as_uuid());
        self.tasks.push(job.task.clone());
        self.payloads.push(job.payload.bytes.clone());
        self.versions.push(i64::from(job.payload.version));
        self.queues.push(job.queue.clone());
        self.priorities.push(job.priority.rank().into());
        self.waits.push(match job.when {
            When::After(after) => micros(after),
            When::Now | When::At(_) => 0,
        });
        self.ats.push(match job.when {
            When::At(at) => Some(At(at)),
            When::Now | When::After(_) => None,
        });
        self.keys.push(key.map(|key| key.text.clone()));
        self.until_start.push(key.is_some_and(|key| key.until == KeyUntil::Start));
        self.replaces.push(key.is_some_and(|key| key.on_conflict == OnConflict::Replace));
        self.max_attempts.push(i64::from(job.max_attempts));
        self.abandoned.push(job.on_lost == OnLost::Abandon);
        self.traceparents.push(job.traceparent.clone());
        self.key_for.push(match key.map(|key| key.until) {
            Some(KeyUntil::For(time)) => Some(micros(time)),
            _ => None,
        });
    }

    /// Enqueues the batch, and adds one answer for each job.
    pub(crate) fn send(
        &self,
        client: &mut impl Run,
        sql: &str,
        not_after: StoreTime,
        nudge: bool,
        answers: &mut Vec<Enqueued>,
    ) -> Result<(), Error> {
        let params: [(&(dyn ToSql + Sync), Type); 17] = [
            (&self.ids, Type::UUID_ARRAY),
            (&self.tasks, Type::TEXT_ARRAY),
            (&self.payloads, Type::BYTEA_ARRAY),
            (&self.versions, Type::INT8_ARRAY),
            (&self.queues, Type::TEXT_ARRAY),
            (&self.priorities, Type::INT2_ARRAY),
            (&self.waits, Type::INT8_ARRAY),
            (&self.ats, Type::TIMESTAMPTZ_ARRAY),
            (&self.keys, Type::TEXT_ARRAY),
            (&self.until_start, Type::BOOL_ARRAY),
            (&self.replaces, Type::BOOL_ARRAY),
            (&self.max_attempts, Type::INT8_ARRAY),
            (&self.abandoned, Type::BOOL_ARRAY),
            (&self.traceparents, Type::TEXT_ARRAY),
            (&self.key_for, Type::INT8_ARRAY),
            (&At(not_after), Type::TIMESTAMPTZ),
            (&nudge, Type::BOOL),
        ];
        for (row, id) in client.rows(sql, &params)?.iter().zip(&self.ids) {
            let other: Option<Uuid> = row.try_get(1)?;
            answers.push(match (row.try_get(0)?, other.map(JobId::from_uuid)) {
                ("kept", Some(other)) => Enqueued::Kept(other),
                ("replaced", Some(other)) => Enqueued::Replaced(other),
                _ => Enqueued::Accepted(JobId::from_uuid(*id)),
            });
        }
        Ok(())
    }
}

/// Another payload of a job.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) job: JobId,
    pub(crate) fence: Option<Fence>,
    pub(crate) payload: Payload,
}

impl Edit {
    pub(crate) fn send(
        self,
        thread: &ConnectionThread,
        schema: &Schema,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError> {
        let sql = schema.sql("select {s}.edit_job($1, $2, $3, $4, $5)");
        // The second time it finds what the first has written, or the state of the job.
        thread.call(RetryOnDisconnect::Once, move |connection| {
            let params: Params<'_> = &[
                (&self.job.as_uuid(), Type::UUID),
                (&self.payload.bytes, Type::BYTEA),
                (&i64::from(self.payload.version), Type::INT8),
                (&self.fence.map(|Fence(fence)| long(fence)), Type::INT8),
                (&At(not_after), Type::TIMESTAMPTZ),
            ];
            let row = connection.query_typed_one(&sql, params)?;
            Ok(commanded(row.try_get(0)?))
        })
    }
}

/// The answer of a function to a command.
pub(crate) fn commanded(word: &str) -> CommandOutcome {
    match (word, word.parse::<JobId>()) {
        ("ok", _) => CommandOutcome::Done,
        ("not_found", _) => CommandOutcome::NotFound,
        ("changed", _) => CommandOutcome::Changed,
        (_, Ok(other)) => CommandOutcome::Conflict(other),
        (word, Err(_)) => CommandOutcome::NotInState(state(word)),
    }
}

/// The statement that [`Batch::send`] sends.
pub(crate) const ENQUEUE: &str = "select outcome, other from {s}.enqueue_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
     $12, $13, $14, $15, $16, $17)";
