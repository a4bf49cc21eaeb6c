//! Limits of tasks: from rows, and changed under a lock.

use scheduler_store::{
    LIMIT_COLUMNS, SessionId, StoreError, StoreTime, StoredLimit, StoredLimits, empty_limit,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::columns::{At, BoundValue, Params, type_of, upsert_limit, value};
use crate::connection_thread::{ConnectionThread, RetryOnDisconnect};
use crate::sql::Schema;

/// The statement that reads all limits.
pub(crate) const LIMITS: &str = "select {limit_names} from {s}.list_limits()";

/// Changes limits, and writes those that have changed, in one transaction; not for a session that has ended.
pub(crate) fn change_limits(
    thread: &ConnectionThread,
    schema: &Schema,
    session: Option<SessionId>,
    not_after: StoreTime,
    change: impl Fn(&mut StoredLimits) + Send + 'static,
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
            change(&mut limits);
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
            Ok(())
        })
    })
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
