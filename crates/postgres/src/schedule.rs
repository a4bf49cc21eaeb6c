//! Schedules: from rows, and to rows.

use scheduler_store::{SCHEDULE_COLUMNS, StoredSchedule, damage_of, empty_schedule};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::blocking_connection::Tx;
use crate::columns::{Bound, name, told, type_of, value};

/// Reads the columns `{schedule_names}`, which begin at index 0; a text says what is wrong with them.
pub(crate) fn read(row: &Row) -> Result<StoredSchedule, String> {
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
    let wrong = wrong.map(|(column, value)| format!("`{}` is `{}`", name(column), told(value)));
    wrong.map_or(Ok(()), Err)?;
    Ok(schedule)
}

/// Writes a schedule.
pub(crate) fn write(tx: &mut Tx<'_>, sql: &str, row: &StoredSchedule) -> Result<(), Error> {
    let values = SCHEDULE_COLUMNS.each_ref().map(|column| Bound(column.kind, (column.get)(row)));
    let params = values.each_ref().map(|bound| (bound as &(dyn ToSql + Sync), type_of(bound.0).0));
    let params: &[(&(dyn ToSql + Sync), Type)] = &params;
    tx.query_typed(sql, params).map(drop)
}
