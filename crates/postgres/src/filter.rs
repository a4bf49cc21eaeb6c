//! Jobs that a filter selects.

use scheduler_store::{
    BulkOutcome, CommandAll, JobAction, JobFilter, JobId, JobState, StoredJob, Uuid,
};
use tokio_postgres::Error;
use tokio_postgres::types::{ToSql, Type};

use crate::blocking_connection::BlockingConnection;
use crate::job;
use crate::value::{At, count};

/// Jobs that a filter selects.
pub(crate) struct Selected(pub(crate) JobFilter);

type Param<'a> = (&'a (dyn ToSql + Sync), Type);

impl Selected {
    pub(crate) const JOBS: &'static str =
        "select {job_names} from {s}.list($1, $2, $3, $4, $5, $6, $7)";
    pub(crate) const COMMAND: &'static str =
        "select done, last from {s}.command_all($8, $1, $2, $3, $4, $5, $6, $7, $9)";

    pub(crate) fn jobs(
        &self,
        connection: &mut BlockingConnection,
        sql: &str,
        limit: u32,
    ) -> Result<Vec<StoredJob>, Error> {
        let rows = self.with(limit, |params| connection.query_typed(sql, params))?;
        rows.iter().map(|row| job::read(row, 0)).collect()
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
            connection.query_typed_one(sql, &[params, &own].concat())
        })?;
        let last: Option<Uuid> = row.try_get(1)?;
        Ok(BulkOutcome { done: count(row.try_get(0)?), last: last.map(JobId::from_uuid) })
    }

    fn with<R>(&self, limit: u32, ask: impl FnOnce(&[Param<'_>]) -> R) -> R {
        let JobFilter { task, queue, state, key, schedule, after } = &self.0;
        ask(&[
            (task, Type::TEXT),
            (queue, Type::TEXT),
            (&state.map(JobState::word), Type::TEXT),
            (key, Type::TEXT),
            (schedule, Type::TEXT),
            (&after.map(JobId::as_uuid), Type::UUID),
            (&i64::from(limit), Type::INT8),
        ])
    }
}
