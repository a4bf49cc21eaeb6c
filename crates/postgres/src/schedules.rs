//! Schedules: from rows, to rows, changed under locks, fired.

use std::collections::{BTreeMap, HashSet};

use scheduler_store::{
    Action, Command, CommandOutcome, Fire, Fired, Next, OnBusy, Refusal, SCHEDULE_COLUMNS,
    SessionId, Signature, StoreError, StoreTime, StoredSchedule, Uuid, damage_of, empty_schedule,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::blocking_connection::{BlockingConnection, BlockingTransaction, RunStatement};
use crate::columns::{At, BoundValue, Params, long, name, shown_value, type_of, upsert, value};
use crate::connection_thread::{ConnectionThread, RetryOnDisconnect};
use crate::error::is_locked;
use crate::job::{Signed, read_job};
use crate::sql::Schema;

/// Locks schedules, lets a step change them, and writes those that have changed, all in one transaction.
///
/// READ COMMITTED suffices: the advisory lock keeps out others that may make a schedule, and the row locks those that change
/// one; what the step needs is read after both.
pub(crate) fn change_locked<R: Send + 'static>(
    thread: &ConnectionThread,
    schema: &Schema,
    names: Vec<String>,
    session: Option<SessionId>,
    not_after: StoreTime,
    step: impl Fn(&mut LockedSchedules) -> R + Send + 'static,
) -> Result<R, StoreError> {
    // A process that starts has jobs to run, so that it does not wait for a locked schedule. A command waits.
    let wait = if session.is_some() { "set local lock_timeout = '100ms'" } else { "" };
    let rows = schema.sql("select {schedule_names} from {s}.schedules_to_change($1)");
    let look = schema.sql("select now, is_alive, busy from {s}.before_change($1, $2, $3)");
    let (write, remove) = (schema.sql(&upsert()), schema.sql("select {s}.delete_schedules($1)"));
    let keep = schema.sql(&keep_action());
    let answer = thread.call(RetryOnDisconnect::Never, move |connection| {
        let changed = connection.transact(|tx| {
            if !wait.is_empty() {
                tx.batch_execute(wait)?;
            }
            let found = tx.query_typed(&rows, &[(&names, Type::TEXT_ARRAY)])?;
            let session = session.map(SessionId::as_uuid);
            let params: Params<'_> = &[
                (&names, Type::TEXT_ARRAY),
                (&session, Type::UUID),
                (&At(not_after), Type::TIMESTAMPTZ),
            ];
            let row = tx.query_typed_one(&look, params)?;
            let found = found.iter().filter_map(|row| read_schedule(row).ok());
            let before: BTreeMap<String, StoredSchedule> =
                found.map(|row| (row.definition.name.clone(), row)).collect();
            let mut schedules = LockedSchedules {
                now: row.try_get::<_, At>(0)?.0,
                is_alive: row.try_get(1)?,
                busy: row.try_get::<_, Vec<String>>(2)?.into_iter().collect(),
                rows: before.clone(),
                action: None,
            };
            let answer = step(&mut schedules);
            for (_, row) in
                schedules.rows.iter().filter(|(name, row)| before.get(*name) != Some(row))
            {
                write_schedule(tx, &write, row)?;
            }
            let is_removed = |name: &&String| !schedules.rows.contains_key(*name);
            let removed: Vec<String> = before.keys().filter(is_removed).cloned().collect();
            if !removed.is_empty() {
                tx.query_typed(&remove, &[(&removed, Type::TEXT_ARRAY)])?;
            }
            if let Some((action, adds)) = &schedules.action {
                write_action(tx, &keep, action, *adds)?;
            }
            Ok(answer)
        });
        match changed {
            Err(error) if is_locked(&error) => Ok(None),
            changed => changed.map(Some),
        }
    })?;
    answer.ok_or_else(|| Refusal::Locked.into())
}

/// Schedules that a transaction has locked.
pub(crate) struct LockedSchedules {
    pub(crate) now: StoreTime,
    pub(crate) is_alive: bool,
    busy: HashSet<String>,
    rows: BTreeMap<String, StoredSchedule>,
    /// The action of a signed command, and whether it counts on if it is there already.
    action: Option<(Action, bool)>,
}

impl LockedSchedules {
    /// Executes a command about a schedule.
    pub(crate) fn command(
        &mut self,
        name: &str,
        command: &Command,
        signature: Option<&Signature>,
    ) -> CommandOutcome {
        let before = self.rows.get(name).cloned();
        let by = signature.map_or("", |signature| &signature.by);
        let outcome = self.on_row(name, |row, now, is_busy| {
            StoredSchedule::execute(row, (command, by), now, is_busy)
        });
        if let Some(signature) = signature.filter(|_| outcome == CommandOutcome::Done) {
            let (before, after) = (before.as_ref(), self.rows.get(name));
            let entry = signature.entry_of_schedule(command, before, after, self.now);
            self.action = Some((entry, signature.scope.is_some()));
        }
        outcome
    }

    /// Changes the row of a schedule, which may be none, at the store's time. The flag is true if the schedule is busy.
    pub(crate) fn on_row<R>(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut Option<StoredSchedule>, StoreTime, bool) -> R,
    ) -> R {
        let mut row = self.rows.remove(name);
        let answer = change(&mut row, self.now, self.busy.contains(name));
        self.rows.extend(row.map(|row| (name.to_owned(), row)));
        answer
    }
}

/// Reads the columns `{schedule_names}`, which begin at index 0; a text says what is wrong with them.
pub(crate) fn read_schedule(row: &Row) -> Result<StoredSchedule, String> {
    let (mut schedule, mut values) = (empty_schedule(), Vec::new());
    for (at, column) in SCHEDULE_COLUMNS.iter().enumerate() {
        let name = name(column.name);
        let read = value(row, at, column).map_err(|error| format!("`{name}`: {error}"))?;
        let unknown = || row.try_get::<_, &str>(at).unwrap_or_default();
        let read = read.ok_or_else(|| format!("`{name}` is `{}`", unknown()))?;
        (column.set)(&mut schedule, read.clone());
        values.push(read);
    }
    let wrong = damage_of(&schedule, &values).next();
    let wrong =
        wrong.map(|(column, value)| format!("`{}` is `{}`", name(column), shown_value(value)));
    wrong.map_or(Ok(()), Err)?;
    Ok(schedule)
}

/// Writes a schedule.
fn write_schedule(
    tx: &mut BlockingTransaction<'_>,
    sql: &str,
    row: &StoredSchedule,
) -> Result<(), Error> {
    let values =
        SCHEDULE_COLUMNS.each_ref().map(|column| BoundValue(column.kind, (column.get)(row)));
    let params = values.each_ref().map(|bound| (bound as &(dyn ToSql + Sync), type_of(bound.0).0));
    let params: Params<'_> = &params;
    tx.query_typed(sql, params).map(drop)
}

/// The statement that keeps an action.
pub(crate) fn keep_action() -> String {
    format!("select {{s}}.sign({}, $1, $2, $3, $4, $5, $6, $7, $8)", Signed::sql(9))
}

/// Keeps an action.
pub(crate) fn write_action(
    client: &mut impl RunStatement,
    sql: &str,
    action: &Action,
    adds: bool,
) -> Result<(), Error> {
    let params: Params<'_> = &[
        (&action.verb, Type::TEXT),
        (&action.kind.word(), Type::TEXT),
        (&action.name, Type::TEXT),
        (&action.task, Type::TEXT),
        (&long(action.count), Type::INT8),
        (&adds, Type::BOOL),
        (&action.before, Type::TEXT),
        (&action.after, Type::TEXT),
    ];
    let signed = Signed::new(Some(&action.signature()));
    signed.with(params, |params| client.rows(sql, params)).map(drop)
}

/// The statement that fires a tick.
pub(crate) const FIRE: &str = "select * from {s}.fire(row($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)::{s}.firing)";

/// The statement that reads a schedule by name.
pub(crate) const SCHEDULE: &str = "select {schedule_names} from {s}.schedules(array[$1])";

/// Fires a tick. A refusal is answered with the schedule as it is.
pub(crate) fn fire(
    connection: &mut BlockingConnection,
    sql: &str,
    schedule_sql: &str,
    request: &Fire,
) -> Result<Fired, Error> {
    let next_at = if let Next::At(tick) = request.next { Some(At(tick)) } else { None };
    let tick = request.job.as_ref();
    let on_busy = match request.on_busy {
        OnBusy::Skip => "skip",
        OnBusy::Queue => "queue",
        OnBusy::Wait => "wait",
    };
    let params: Params<'_> = &[
        (&request.session.as_uuid(), Type::UUID),
        (&request.schedule, Type::TEXT),
        (&request.rule, Type::TEXT),
        (&At(request.seen), Type::TIMESTAMPTZ),
        (&request.pause.map(|pause| At(pause.since)), Type::TIMESTAMPTZ),
        (&request.pause.and_then(|pause| pause.until).map(At), Type::TIMESTAMPTZ),
        (&At(request.cursor), Type::TIMESTAMPTZ),
        (&request.next.word(), Type::TEXT),
        (&next_at, Type::TIMESTAMPTZ),
        (&tick.map(|tick| tick.id.as_uuid()), Type::UUID),
        (&tick.map(|tick| At(tick.tick)), Type::TIMESTAMPTZ),
        (&tick.map(|tick| long(tick.missed)), Type::INT8),
        (&tick.map(|tick| At(tick.run_at)), Type::TIMESTAMPTZ),
        (&on_busy, Type::TEXT),
        (&long(request.skips.overlap), Type::INT8),
        (&long(request.skips.missed), Type::INT8),
        (&long(request.skips.paused), Type::INT8),
        (&request.claim.map(i64::from), Type::INT8),
        (&At(request.not_after), Type::TIMESTAMPTZ),
    ];
    let rows = connection.rows(sql, params)?;
    let Some(row) = rows.first() else { return Ok(Fired::Ended) };
    Ok(match row.try_get(0)? {
        "moved" => {
            let is_claimed = row.try_get::<_, Option<Uuid>>(2)?.is_some();
            let job = is_claimed.then(|| read_job(row, 2)).transpose()?;
            Fired::Moved(job.map(Box::new))
        }
        "skipped" => Fired::Skipped,
        "queued" => Fired::Queued,
        "limited" => Fired::Limited(row.try_get::<_, i64>(1)?.unsigned_abs()),
        "busy" => Fired::Busy,
        "too_early" => Fired::TooEarly,
        "ended" => Fired::Ended,
        "locked" => Fired::Locked,
        _ => {
            let params: Params<'_> = &[(&request.schedule, Type::TEXT)];
            let row = connection.query_typed_opt(schedule_sql, params)?;
            let schedule = row.and_then(|row| read_schedule(&row).ok());
            Fired::Refused(schedule.map(Box::new))
        }
    })
}
