//! Jobs: from rows, and to the arrays of a batch.

use scheduler_store::{
    ClaimRef, CommandOutcome, Enqueued, Fence, JobId, JobRow, JobState, NewJob, Payload,
    StoreError, StoreTime, StoredJob, Uuid, Value,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::blocking_connection::Run;
use crate::columns::{self, Bound};
use crate::connection_thread::{ConnectionThread, RetryOnDisconnect};
use crate::sql::Schema;
use crate::value::{At, Params, count, long};

/// Reads a job whose columns begin at an index.
///
/// A check of the table allows only values that can be read. Others come from people who have removed the checks: numbers
/// are moved into their range, and an unknown state is `Parked`, which no process claims.
pub(crate) fn read(row: &Row, first: usize) -> Result<StoredJob, Error> {
    let mut job = JobRow::from(StoredJob::empty(JobId::from_uuid(Uuid::nil())));
    for (at, column) in (first..).zip(columns::shown()) {
        (column.set)(&mut job, columns::value(row, at, column)?.unwrap_or(Value::Null));
    }
    Ok(job.job)
}

pub(crate) fn state(word: &str) -> JobState {
    let known = JobState::ALL.into_iter().find(|state| state.word() == word);
    known.unwrap_or(JobState::Parked)
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

/// New jobs, column by column.
#[derive(Debug)]
pub(crate) struct Batch {
    ids: Vec<JobId>,
    columns: Vec<Vec<Bound<'static>>>,
}

impl Batch {
    /// Batches in which no identity stands twice: what an identity means follows from what is stored before it.
    pub(crate) fn split(jobs: &[NewJob]) -> Vec<Self> {
        // One at least: it finds out whether the request came too late.
        let mut batches: Vec<Self> = vec![Self::new()];
        let mut seen = std::collections::HashSet::new();
        for job in jobs {
            if !seen.insert(job.id) {
                batches.push(Self::new());
                seen = [job.id].into();
            }
            if let Some(batch) = batches.last_mut() {
                batch.push(job);
            }
        }
        batches
    }

    fn new() -> Self {
        Self { ids: Vec::new(), columns: columns::new().map(|_| Vec::new()).collect() }
    }

    fn push(&mut self, job: &NewJob) {
        self.ids.push(job.id);
        for (values, column) in self.columns.iter_mut().zip(columns::new()) {
            values.push(Bound(column.kind, (column.get)(job).into_owned()));
        }
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
        let not_after = At(not_after);
        let own: [(&(dyn ToSql + Sync), Type); 2] =
            [(&not_after, Type::TIMESTAMPTZ), (&nudge, Type::BOOL)];
        let columns = self.columns.iter().zip(columns::new());
        let params = columns.map(|(values, column)| {
            (values as &(dyn ToSql + Sync), columns::type_of(column.kind).2)
        });
        let params: Vec<_> = params.chain(own).collect();
        for (row, id) in client.rows(sql, &params)?.iter().zip(&self.ids) {
            let other: Option<Uuid> = row.try_get(1)?;
            answers.push(match (row.try_get(0)?, other.map(JobId::from_uuid)) {
                ("kept", Some(other)) => Enqueued::Kept(other),
                ("replaced", Some(other)) => Enqueued::Replaced(other),
                _ => Enqueued::Accepted(*id),
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
