//! Limits of tasks: from rows, and changed under a lock.

use std::time::Duration;

use scheduler_store::{
    Command, CommandOutcome, JobId, JobPause, JobWait, LIMIT_COLUMNS, LimitDepth, PartitionDepth,
    PartitionOrder, Register, Room, Runners, SessionId, Signature, StoreError, StoreTime,
    StoredLimit, StoredLimits, WaitReason, empty_limit,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::blocking_connection::BlockingTransaction;
use crate::columns::{At, BoundValue, Params, type_of, upsert_limit, value};
use crate::connection_thread::{ConnectionThread, RetryOnDisconnect};
use crate::job::read_pause;
use crate::schedules::{keep_action, write_action};
use crate::sql::Schema;

/// The statement that reads all limits.
pub(crate) const LIMITS: &str = "select {limit_names} from {s}.list_limits()";

/// Sets a limit by hand.
pub(crate) fn set_limit(
    thread: &ConnectionThread,
    schema: &Schema,
    command: Command,
    signature: Option<Signature>,
    not_after: StoreTime,
) -> Result<CommandOutcome, StoreError> {
    let keep = schema.sql(&keep_action());
    let set = move |limits: &mut StoredLimits| {
        if let Command::SetLimit { task, scope, limit } = &command {
            limits.set(task, *scope, limit.clone());
        }
        command.clone()
    };
    let after =
        move |tx: &mut BlockingTransaction<'_>, command: &Command, limits: ChangedLimits<'_>| {
            let Some(signature) = &signature else { return Ok(()) };
            // The function `sign` gives it its time.
            let entry = signature.entry_of_limit(command, limits, StoreTime::MIN);
            write_action(tx, &keep, &entry, signature.scope.is_some())
        };
    change_limits(thread, schema, None, not_after, set, after)?;
    Ok(CommandOutcome::Done)
}

/// Registers the limits of a process, unless its session has ended.
pub(crate) fn register_limits(
    thread: &ConnectionThread,
    schema: &Schema,
    request: &Register,
) -> Result<(), StoreError> {
    let (limits, opened) = (request.limits.clone(), request.first_opened);
    let register = move |all: &mut StoredLimits| all.register(&limits, opened);
    change_limits(thread, schema, Some(request.session), request.not_after, register, |_, (), _| {
        Ok(())
    })
}

/// The limits before and after a change.
type ChangedLimits<'a> = (&'a StoredLimits, &'a StoredLimits);

/// Changes limits, and writes those that have changed, in one transaction; not for a session that has ended.
fn change_limits<R>(
    thread: &ConnectionThread,
    schema: &Schema,
    session: Option<SessionId>,
    not_after: StoreTime,
    change: impl Fn(&mut StoredLimits) -> R + Send + 'static,
    after: impl Fn(&mut BlockingTransaction<'_>, &R, ChangedLimits<'_>) -> Result<(), Error>
    + Send
    + 'static,
) -> Result<(), StoreError> {
    let read = schema.sql("select {limit_names} from {s}.limits_to_change()");
    let look = schema.sql("select is_alive from {s}.before_change('{}', $1, $2)");
    let write = schema.sql(&upsert_limit());
    thread.call(RetryOnDisconnect::Never, move |connection| {
        connection.transact(|tx| {
            let rows = tx.query_typed(&read, &[])?;
            let params: Params<'_> = &[
                (&session.map(SessionId::as_uuid), Type::UUID),
                (&At(not_after), Type::TIMESTAMPTZ),
            ];
            let is_alive: bool = tx.query_typed_one(&look, params)?.try_get(0)?;
            if session.is_some() && !is_alive {
                return Ok(());
            }
            let before = StoredLimits::of_rows(read_limits(&rows)?);
            let mut limits = before.clone();
            let changed = change(&mut limits);
            for row in limits.changed_since(&before) {
                let values = LIMIT_COLUMNS
                    .each_ref()
                    .map(|column| BoundValue(column.kind, (column.get)(row)));
                let params = values
                    .each_ref()
                    .map(|bound| (bound as &(dyn ToSql + Sync), type_of(bound.0).0));
                let params: Params<'_> = &params;
                tx.query_typed(&write, params)?;
            }
            after(tx, &changed, (&before, &limits))
        })
    })
}

/// The statement that reads jobs that are ready, and what may stand in their way: first the columns of a pause.
pub(crate) const WAITS: &str = "select * from {s}.waits($1)";

/// The pause at the beginning of a row; none if it has none.
fn pause_beside(row: &Row) -> Result<Option<JobPause>, Error> {
    match row.try_get::<_, Option<String>>("scope")? {
        Some(_) => read_pause(row),
        None => Ok(None),
    }
}

pub(crate) fn read_wait(row: &Row) -> Result<JobWait, Error> {
    let pause = pause_beside(row)?;
    let at = |name: &str| Ok::<_, Error>(row.try_get::<_, Option<At>>(name)?.map(|at| at.0));
    let room = |limit: &str, running: &str, opens_at: &str| {
        let limit = row.try_get::<_, Option<i64>>(limit)?.map(saturated);
        Ok::<_, Error>(Room::new(limit, saturated(row.try_get(running)?), at(opens_at)?))
    };
    let count = |name: &str| Ok::<_, Error>(saturated(row.try_get(name)?) as usize);
    let runners = Runners { alive: count("alive")?, open: count("open")? };
    let job = |name: &str| Ok::<_, Error>(row.try_get::<_, Option<_>>(name)?.map(JobId::from_uuid));
    let all = room("all_limit", "all_running", "all_opens_at")?;
    let mut each = room("each_limit", "each_running", "each_opens_at")?;
    let (head, parked) = (job("each_head")?, job("each_parked")?);
    each.order = Some(PartitionOrder { head, parked, held_until: None });
    let (run_at, now): (At, At) = (row.try_get("run_at")?, row.try_get("now")?);
    let id = JobId::from_uuid(row.try_get("id")?);
    let reason = WaitReason::of((id, run_at.0), now.0, pause, runners, [all, each]);
    Ok(JobWait::new(id, reason))
}

/// The statement that reads partitions: first the columns of a pause.
pub(crate) const PARTITIONS: &str = "select * from {s}.partitions($1, $2)";

pub(crate) fn read_partition(row: &Row) -> Result<PartitionDepth, Error> {
    let count = |name: &str| Ok::<_, Error>(row.try_get::<_, i64>(name)?.max(0).cast_unsigned());
    let opens_at = row.try_get::<_, Option<At>>("opens_at")?.map(|at| at.0);
    let (due, running) = (count("due")?, count("running")?);
    let mut depth = PartitionDepth::new(row.try_get("partition")?, due, running, opens_at);
    depth.pause = pause_beside(row)?.map(|paused| paused.pause);
    Ok(depth)
}

/// The statement that counts the due jobs of tasks that have a limit.
pub(crate) const LIMIT_DEPTHS: &str = "select * from {s}.limit_depths()";

pub(crate) fn read_limit_depth(row: &Row) -> Result<LimitDepth, Error> {
    let count = |name: &str| Ok::<_, Error>(row.try_get::<_, i64>(name)?.max(0).cast_unsigned());
    let mut depth = LimitDepth::empty(row.try_get("queue")?, row.try_get("task")?);
    (depth.open, depth.held) = (count("open")?, count("held")?);
    depth.open_partitions = count("open_partitions")?;
    depth.held_partitions = count("held_partitions")?;
    let oldest: Option<i64> = row.try_get("oldest_open")?;
    depth.oldest_open = oldest.map(|micros| Duration::from_micros(micros.max(0).cast_unsigned()));
    Ok(depth)
}

fn saturated(count: i64) -> u32 {
    u32::try_from(count.max(0)).unwrap_or(u32::MAX)
}

/// Reads the columns `{limit_names}`.
pub(crate) fn read_limits(rows: &[Row]) -> Result<Vec<StoredLimit>, Error> {
    let limit = |row: &Row| {
        let mut limit = empty_limit();
        for (at, column) in LIMIT_COLUMNS.iter().enumerate() {
            if let Some(value) = value(row, at, column)? {
                (column.set)(&mut limit, value);
            }
        }
        Ok(limit)
    };
    rows.iter().map(limit).collect()
}
