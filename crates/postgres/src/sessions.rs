//! Sessions as people see them, and their pauses.

use scheduler_store::{
    CommandOutcome, Pause, Renew, Renewed, SessionEnd, SessionId, SessionInfo, SessionTask,
    StoreError, StoreTime, micros, storable,
};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::blocking_connection::BlockingConnection;
use crate::columns::{At, Params, long, small};
use crate::connection_thread::ConnectionThread;
use crate::job::{Signed, commanded};
use crate::sql::Schema;

/// The statement that renews a lease.
pub(crate) const RENEW: &str =
    "select now, is_alive, is_complete from {s}.renew($1, $2, $3, $4, $5, $6, $7)";

/// Renews a lease.
pub(crate) fn renew(
    connection: &mut BlockingConnection,
    sql: &str,
    request: &Renew,
) -> Result<Renewed, Error> {
    let progress = || Some(request.progress.iter()).filter(|all| all.len() > 0);
    let jobs = progress().map(|all| all.map(|(held, _)| held.job.as_uuid()).collect::<Vec<_>>());
    let fences = progress().map(|all| all.map(|(held, _)| long(held.fence.0)).collect::<Vec<_>>());
    let texts = progress().map(|all| all.map(|(_, text)| text.to_column()).collect::<Vec<_>>());
    let row = connection.query_typed_one(
        sql,
        &[
            (&request.session.as_uuid(), Type::UUID),
            (&micros(request.lease), Type::INT8),
            (&request.clock_offset, Type::INT8),
            (&At(request.not_after), Type::TIMESTAMPTZ),
            (&jobs, Type::UUID_ARRAY),
            (&fences, Type::INT8_ARRAY),
            (&texts, Type::TEXT_ARRAY),
        ],
    )?;
    let (now, is_alive) = (row.try_get::<_, At>(0)?.0, row.try_get(1)?);
    Ok(Renewed { now, is_alive, is_complete: row.try_get(2)? })
}

/// The statement that lists sessions. The names of its columns are those of the function.
pub(crate) const SESSIONS: &str = "select * from {s}.list_sessions()";

/// Reads a row of that statement.
pub(crate) fn read_session(row: &Row) -> Result<SessionInfo, Error> {
    let (names, versions): (Vec<&str>, Vec<i64>) =
        (row.try_get("tasks")?, row.try_get("versions")?);
    let task =
        |(name, version): (&str, i64)| SessionTask { name: name.into(), version: small(version) };
    let id = SessionId::from_uuid(row.try_get("id")?);
    let mut session = SessionInfo::new(id, row.try_get::<_, At>("opened_at")?.0);
    session.label = row.try_get("label")?;
    session.build = row.try_get("build")?;
    session.has_run_out = row.try_get("has_run_out")?;
    session.application = row.try_get("application")?;
    session.tasks = names.into_iter().zip(versions).map(task).collect();
    session.queues = row.try_get("queues")?;
    session.concurrency = small(row.try_get("concurrency")?);
    session.clock_offset = row.try_get("clock_offset")?;
    if let Some(At(since)) = row.try_get("pause_since")? {
        let until: Option<At> = row.try_get("pause_until")?;
        let (by, reason): (Option<&str>, Option<&str>) =
            (row.try_get("paused_by")?, row.try_get("pause_reason")?);
        let texts = (by.unwrap_or_default(), reason.unwrap_or_default());
        session.pause = Some(Pause::new(since, until.map(|until| until.0), texts.0, texts.1));
    }
    if let Some(At(at)) = row.try_get("ended_at")? {
        let found_by: Option<&str> = row.try_get("found_by")?;
        session.ended = Some(SessionEnd::new(at, found_by, small(row.try_get("jobs")?)));
    }
    Ok(session)
}

pub(crate) fn pause_node(
    caller: &ConnectionThread,
    schema: &Schema,
    session: SessionId,
    until: Option<StoreTime>,
    (by, reason, signed): (&str, &str, Signed),
    not_after: StoreTime,
) -> Result<CommandOutcome, StoreError> {
    let sql =
        schema.sql(&format!("select {{s}}.pause_node($1, $2, $3, $4, $5, {})", Signed::sql(6)));
    let (by, reason) = (storable(by), storable(reason));
    let answer: String = caller.call(signed.retry(), move |connection| {
        let params: Params<'_> = &[
            (&session.as_uuid(), Type::UUID),
            (&by, Type::TEXT),
            (&reason, Type::TEXT),
            (&until.map(At), Type::TIMESTAMPTZ),
            (&At(not_after), Type::TIMESTAMPTZ),
        ];
        signed.with(params, |params| connection.query_typed_one(&sql, params))?.try_get(0)
    })?;
    Ok(commanded(&answer))
}

pub(crate) fn resume_node(
    caller: &ConnectionThread,
    schema: &Schema,
    session: SessionId,
    signed: Signed,
    not_after: StoreTime,
) -> Result<CommandOutcome, StoreError> {
    let sql = schema.sql(&format!("select {{s}}.resume_node($1, $2, {})", Signed::sql(3)));
    let answer: String = caller.call(signed.retry(), move |connection| {
        let params: Params<'_> =
            &[(&session.as_uuid(), Type::UUID), (&At(not_after), Type::TIMESTAMPTZ)];
        signed.with(params, |params| connection.query_typed_one(&sql, params))?.try_get(0)
    })?;
    Ok(commanded(&answer))
}
