//! Pauses of jobs: commands, and from rows.

use scheduler_store::{
    Command, CommandOutcome, JobPause, Pause, PauseScope, StoreError, StoreTime, storable,
};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::connection_thread::{ConnectionThread, RetryOnDisconnect};
use crate::sql::Schema;
use crate::value::{At, Params};

/// The pauses that hold, those of queues after those of tasks.
pub(crate) const PAUSES: &str =
    "select scope, name, since, until, paused_by, reason from {s}.list_pauses()";

/// Reads a pause; none if its scope is of a later version.
pub(crate) fn read(row: &Row) -> Result<Option<JobPause>, Error> {
    let until = row.try_get::<_, Option<At>>(3)?.map(|at| at.0);
    let pause = Pause::new(row.try_get::<_, At>(2)?.0, until, row.try_get(4)?, row.try_get(5)?);
    let scope = PauseScope::of(row.try_get(0)?, row.try_get(1)?);
    Ok(scope.map(|scope| JobPause::new(scope, pause)))
}

/// The scopes that a poll names: tasks in this column, queues in the next.
pub(crate) fn scopes(row: &Row, first: usize) -> Result<Vec<PauseScope>, Error> {
    let tasks: Option<Vec<String>> = row.try_get(first)?;
    let queues: Option<Vec<String>> = row.try_get(first + 1)?;
    let tasks = tasks.into_iter().flatten().map(PauseScope::Task);
    Ok(tasks.chain(queues.into_iter().flatten().map(PauseScope::Queue)).collect())
}

/// Executes a command about pauses; none if it is about something else.
pub(crate) fn command(
    thread: &ConnectionThread,
    schema: &Schema,
    command: &Command,
    not_after: StoreTime,
) -> Option<Result<CommandOutcome, StoreError>> {
    Some(match command {
        Command::PauseJobs { scope, until, by, reason } => {
            let sql = schema.sql("select {s}.pause_jobs($1, $2, $3, $4, $5, $6)");
            let (scope, until, not_after) = (scope.clone(), until.map(At), At(not_after));
            let (by, reason) = (storable(by), storable(reason));
            thread.call(RetryOnDisconnect::Once, move |connection| {
                let params: Params<'_> = &[
                    (&scope.word(), Type::TEXT),
                    (&scope.name(), Type::TEXT),
                    (&by, Type::TEXT),
                    (&reason, Type::TEXT),
                    (&until, Type::TIMESTAMPTZ),
                    (&not_after, Type::TIMESTAMPTZ),
                ];
                connection.query_typed(&sql, params).map(|_| CommandOutcome::Done)
            })
        }
        Command::ResumeJobs { scope } => {
            let sql = schema.sql("select {s}.resume_jobs($1, $2, $3)");
            let (scope, not_after) = (scope.clone(), At(not_after));
            thread.call(RetryOnDisconnect::Once, move |connection| {
                let params: Params<'_> = &[
                    (&scope.word(), Type::TEXT),
                    (&scope.name(), Type::TEXT),
                    (&not_after, Type::TIMESTAMPTZ),
                ];
                connection.query_typed(&sql, params).map(|_| CommandOutcome::Done)
            })
        }
        _ => return None,
    })
}
