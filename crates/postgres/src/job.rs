//! Jobs and their pauses: from rows, to parameters, in transactions.

use scheduler_store::{
    ACTION_COLUMNS, Action, BulkOutcome, ClaimRef, ColumnValue, CommandAll, CommandOutcome,
    Enqueued, Fence, JobAction, JobFilter, JobId, JobPause, JobRow, JobState, NewJob, Pause,
    PauseScope, Payload, Signature, Store as _, StoreError, StoreTime, StoredJob, Uuid, storable,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::blocking_connection::{BlockingConnection, RunStatement};
use crate::columns::{self, At, BoundValue, Param, Params, count, long};
use crate::connection_thread::{ConnectionThread, RetryOnDisconnect};
use crate::error::{store_error, unavailable};
use crate::sql::Schema;
use crate::store::Postgres;

/// Reads a job whose columns begin at an index.
///
/// A check of the table allows only values that can be read. Others come from people who have removed the checks: numbers
/// are moved into their range, and an unknown state is `Parked`, which no process claims.
pub(crate) fn read_job(row: &Row, first: usize) -> Result<StoredJob, Error> {
    let mut job = JobRow::from(StoredJob::empty(JobId::from_uuid(Uuid::nil())));
    for (at, column) in (first..).zip(columns::shown()) {
        (column.set)(&mut job, columns::value(row, at, column)?.unwrap_or(ColumnValue::Null));
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
pub(crate) struct EnqueueBatch {
    ids: Vec<JobId>,
    columns: Vec<Vec<BoundValue<'static>>>,
}

impl EnqueueBatch {
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
            values.push(BoundValue(column.kind, (column.get)(job).into_owned()));
        }
    }

    /// Enqueues the batch, and adds one answer for each job.
    pub(crate) fn send(
        &self,
        client: &mut impl RunStatement,
        sql: &str,
        not_after: StoreTime,
        nudge: bool,
        answers: &mut Vec<Enqueued>,
    ) -> Result<(), Error> {
        let not_after = At(not_after);
        let own: [Param<'_>; 2] = [(&not_after, Type::TIMESTAMPTZ), (&nudge, Type::BOOL)];
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

/// A signature as parameters of a statement.
pub(crate) struct Signed(Option<Signature>);

impl Signed {
    pub(crate) fn new(signature: Option<&Signature>) -> Self {
        Self(signature.cloned())
    }

    /// The value, whose parameters begin with this number.
    pub(crate) fn sql(first: usize) -> String {
        let numbers: Vec<String> = (first..first + 7).map(|number| format!("${number}")).collect();
        format!("row({})::{{s}}.signature", numbers.join(", "))
    }

    /// Asks with these parameters, and those of the signature after them.
    pub(crate) fn with<R>(&self, own: Params<'_>, ask: impl FnOnce(Params<'_>) -> R) -> R {
        let of = |text: fn(&Signature) -> &str| self.0.as_ref().map(text);
        let action = self.0.as_ref().and_then(|signature| Some(signature.action?.as_uuid()));
        let scope = self.0.as_ref().and_then(|signature| signature.scope.as_ref());
        let texts = [
            of(|signature| &signature.by),
            of(|signature| &signature.address),
            of(|signature| &signature.node),
            of(|signature| &signature.reason),
            scope.map(|scope| &*scope.words),
            scope.and_then(|scope| scope.task.as_deref()),
        ];
        let texts = texts.iter().map(|text| (text as &(dyn ToSql + Sync), Type::TEXT));
        let params = own.iter().cloned().chain([(&action as _, Type::UUID)]).chain(texts);
        ask(&params.collect::<Vec<_>>())
    }

    /// Several commands that are one action count on, so that one which is sent twice would count twice.
    pub(crate) fn retry(&self) -> RetryOnDisconnect {
        let is_one = self.0.as_ref().is_none_or(|signature| signature.scope.is_none());
        if is_one { RetryOnDisconnect::Once } else { RetryOnDisconnect::Never }
    }
}

/// Gives a job another payload.
pub(crate) fn edit_job(
    thread: &ConnectionThread,
    schema: &Schema,
    (job, fence): (JobId, Option<Fence>),
    (payload, signed): (Payload, Signed),
    not_after: StoreTime,
) -> Result<CommandOutcome, StoreError> {
    let sql = schema.sql(&format!("select {{s}}.edit_job($1, $2, $3, $4, $5, {})", Signed::sql(6)));
    // The second time it finds what the first has written, or the state of the job.
    thread.call(signed.retry(), move |connection| {
        let params: Params<'_> = &[
            (&job.as_uuid(), Type::UUID),
            (&payload.bytes, Type::BYTEA),
            (&i64::from(payload.version), Type::INT8),
            (&fence.map(|Fence(fence)| long(fence)), Type::INT8),
            (&At(not_after), Type::TIMESTAMPTZ),
        ];
        let row = signed.with(params, |params| connection.query_typed_one(&sql, params))?;
        Ok(commanded(row.try_get(0)?))
    })
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

/// Jobs that a filter selects.
pub(crate) struct Selected(pub(crate) JobFilter);

impl Selected {
    pub(crate) const JOBS: &'static str =
        "select {job_names} from {s}.list($1, $2, $3, $4, $5, $6, $7, $8, $9)";

    pub(crate) fn command_sql() -> String {
        let signed = Signed::sql(12);
        format!(
            "select done, last from {{s}}.command_jobs($10, $1, $2, $3, $4, $5, $6, $7, $11, {signed}, $8, $9)"
        )
    }

    pub(crate) fn jobs(
        &self,
        connection: &mut BlockingConnection,
        sql: &str,
        limit: u32,
    ) -> Result<Vec<StoredJob>, Error> {
        let rows = self.with(limit, |params| connection.query_typed(sql, params))?;
        rows.iter().map(|row| read_job(row, 0)).collect()
    }

    pub(crate) fn command(
        &self,
        connection: &mut BlockingConnection,
        sql: &str,
        request: &CommandAll,
    ) -> Result<BulkOutcome, Error> {
        let action = match request.action {
            JobAction::Cancel => "cancel",
            JobAction::Retry => "retry",
            JobAction::Delete => "remove",
        };
        let row = self.with(request.limit, |params| {
            let not_after = At(request.not_after);
            let own: [Param<'_>; 2] = [(&action, Type::TEXT), (&not_after, Type::TIMESTAMPTZ)];
            Signed::new(request.signature.as_ref())
                .with(&[params, &own].concat(), |params| connection.query_typed_one(sql, params))
        })?;
        let last: Option<Uuid> = row.try_get(1)?;
        Ok(BulkOutcome { done: count(row.try_get(0)?), last: last.map(JobId::from_uuid) })
    }

    fn with<R>(&self, limit: u32, ask: impl FnOnce(&[Param<'_>]) -> R) -> R {
        let JobFilter { task, queue, partition, state, key, schedule, has_error, after } = &self.0;
        ask(&[
            (task, Type::TEXT),
            (queue, Type::TEXT),
            (&state.map(JobState::word), Type::TEXT),
            (key, Type::TEXT),
            (schedule, Type::TEXT),
            (&after.map(JobId::as_uuid), Type::UUID),
            (&i64::from(limit), Type::INT8),
            (has_error, Type::BOOL),
            (partition, Type::TEXT),
        ])
    }
}

/// The pauses that hold: those of tasks, of queues, and of partitions.
pub(crate) const PAUSES: &str =
    "select scope, name, since, until, paused_by, reason from {s}.list_pauses()";

/// Reads a pause; none if its scope is of a later version.
pub(crate) fn read_pause(row: &Row) -> Result<Option<JobPause>, Error> {
    let until = row.try_get::<_, Option<At>>(3)?.map(|at| at.0);
    let pause = Pause::new(row.try_get::<_, At>(2)?.0, until, row.try_get(4)?, row.try_get(5)?);
    let scope = PauseScope::of(row.try_get(0)?, row.try_get(1)?);
    Ok(scope.map(|scope| JobPause::new(scope, pause)))
}

/// Reads an action, whose columns are those of [`ACTION_COLUMNS`].
pub(crate) fn read_action(row: &Row) -> Result<Action, Error> {
    let mut action = Action::empty();
    for (at, column) in ACTION_COLUMNS.iter().enumerate() {
        (column.set)(&mut action, columns::value(row, at, column)?.unwrap_or(ColumnValue::Null));
    }
    Ok(action)
}

/// The scopes that a poll names: tasks in this column, queues in the next.
pub(crate) fn scopes(row: &Row, first: usize) -> Result<Vec<PauseScope>, Error> {
    let tasks: Option<Vec<String>> = row.try_get(first)?;
    let queues: Option<Vec<String>> = row.try_get(first + 1)?;
    let tasks = tasks.into_iter().flatten().map(PauseScope::Task);
    Ok(tasks.chain(queues.into_iter().flatten().map(PauseScope::Queue)).collect())
}

/// Pauses jobs.
pub(crate) fn pause_jobs(
    thread: &ConnectionThread,
    schema: &Schema,
    scope: &PauseScope,
    until: Option<StoreTime>,
    (by, reason, signed): (&str, &str, Signed),
    not_after: StoreTime,
) -> Result<CommandOutcome, StoreError> {
    let signature = Signed::sql(7);
    let sql = schema.sql(&format!("select {{s}}.pause_jobs($1, $2, $3, $4, $5, $6, {signature})"));
    let (scope, until, not_after) = (scope.clone(), until.map(At), At(not_after));
    let (by, reason) = (storable(by), storable(reason));
    thread.call(signed.retry(), move |connection| {
        let params: Params<'_> = &[
            (&scope.word(), Type::TEXT),
            (&scope.name(), Type::TEXT),
            (&by, Type::TEXT),
            (&reason, Type::TEXT),
            (&until, Type::TIMESTAMPTZ),
            (&not_after, Type::TIMESTAMPTZ),
        ];
        let done = signed.with(params, |params| connection.query_typed(&sql, params));
        done.map(|_| CommandOutcome::Done)
    })
}

/// Ends a pause of jobs.
pub(crate) fn resume_jobs(
    thread: &ConnectionThread,
    schema: &Schema,
    scope: &PauseScope,
    signed: Signed,
    not_after: StoreTime,
) -> Result<CommandOutcome, StoreError> {
    let sql = schema.sql(&format!("select {{s}}.resume_jobs($1, $2, $3, {})", Signed::sql(4)));
    let (scope, not_after) = (scope.clone(), At(not_after));
    thread.call(signed.retry(), move |connection| {
        let params: Params<'_> = &[
            (&scope.word(), Type::TEXT),
            (&scope.name(), Type::TEXT),
            (&not_after, Type::TIMESTAMPTZ),
        ];
        let done = signed.with(params, |params| connection.query_typed(&sql, params));
        done.map(|_| CommandOutcome::Done)
    })
}

impl Postgres {
    /// Enqueues jobs in a transaction of the caller: they exist if and when it is committed.
    ///
    /// ```no_run
    /// use scheduler_postgres::{Postgres, postgres};
    /// use scheduler_store::{JobId, NewJob, Uuid};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut client = postgres::Client::connect("postgres://localhost/app", postgres::NoTls)?;
    /// let store = Postgres::connect("postgres://localhost/app")?;
    /// let mut transaction = client.transaction()?;
    /// transaction.execute("update invoice set paid = true where id = 17", &[])?;
    /// let job = NewJob::new(JobId::from_uuid(Uuid::from_u128(17)), "send_receipt");
    /// store.enqueue_in(&mut transaction, &[job])?;
    /// transaction.commit()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The server does not answer, or a text or payload cannot be stored.
    pub fn enqueue_in(
        &self,
        transaction: &mut postgres::Transaction<'_>,
        jobs: &[NewJob],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let (sql, json) = self.statement(jobs)?;
        answers(transaction.query_typed(&sql, &[(&json, Type::TEXT)]))
    }

    /// As [`enqueue_in`](Self::enqueue_in), for a client that does not block its thread.
    ///
    /// # Errors
    ///
    /// As [`enqueue_in`](Self::enqueue_in).
    pub async fn enqueue_in_async(
        &self,
        transaction: &tokio_postgres::Transaction<'_>,
        jobs: &[NewJob],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let (sql, json) = self.statement(jobs)?;
        answers(transaction.query_typed(&sql, &[(&json, Type::TEXT)]).await)
    }
}

fn answers(rows: Result<Vec<Row>, Error>) -> Result<Vec<Enqueued>, StoreError> {
    let failed = |error: Error| store_error(&error);
    let unknown = || unavailable("`enqueue_json` has returned something else than jobs");
    let answer = |row: &Row| {
        let (id, outcome) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
        Enqueued::from_row(id, outcome).ok_or_else(unknown)
    };
    rows.map_err(failed)?.iter().map(answer).collect()
}
