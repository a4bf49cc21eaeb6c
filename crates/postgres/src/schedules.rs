//! Schedules that a transaction has locked, changed as the model changes them.

use std::collections::{BTreeMap, HashSet};

use scheduler_store::{Refusal, SessionId, StoreError, StoreTime, StoredSchedule};
use tokio_postgres::types::Type;

use crate::columns::upsert;
use crate::connection_thread::{ConnectionThread, RetryOnDisconnect};
use crate::fault::is_locked;
use crate::schedule::{read, write as write_row};
use crate::sql::Schema;
use crate::value::{At, Params};

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
    step: impl Fn(&mut Schedules) -> R + Send + 'static,
) -> Result<R, StoreError> {
    // A process that starts has jobs to run, so that it does not wait for a locked schedule. A command waits.
    let wait = if session.is_some() { "set local lock_timeout = '100ms'" } else { "" };
    let rows = schema.sql("select {schedule_names} from {s}.schedules_to_change($1)");
    let look = schema.sql("select now, is_alive, busy from {s}.before_change($1, $2, $3)");
    let (write, remove) = (schema.sql(&upsert()), schema.sql("select {s}.delete_schedules($1)"));
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
            let found = found.iter().filter_map(|row| read(row).ok());
            let before: BTreeMap<String, StoredSchedule> =
                found.map(|row| (row.definition.name.clone(), row)).collect();
            let mut schedules = Schedules {
                now: row.try_get::<_, At>(0)?.0,
                is_alive: row.try_get(1)?,
                busy: row.try_get::<_, Vec<String>>(2)?.into_iter().collect(),
                rows: before.clone(),
            };
            let answer = step(&mut schedules);
            for (_, row) in
                schedules.rows.iter().filter(|(name, row)| before.get(*name) != Some(row))
            {
                write_row(tx, &write, row)?;
            }
            let is_removed = |name: &&String| !schedules.rows.contains_key(*name);
            let removed: Vec<String> = before.keys().filter(is_removed).cloned().collect();
            if !removed.is_empty() {
                tx.query_typed(&remove, &[(&removed, Type::TEXT_ARRAY)])?;
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
pub(crate) struct Schedules {
    pub(crate) now: StoreTime,
    pub(crate) is_alive: bool,
    busy: HashSet<String>,
    rows: BTreeMap<String, StoredSchedule>,
}

impl Schedules {
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
