//! The answer to a poll: from rows.

use scheduler_store::{Lease, Polled, SessionId, Uuid};
use tokio_postgres::{Error, Row};

use crate::job::{self, held};
use crate::value::At;

/// Reads the rows of the function `poll`: the claimed jobs, then the rest. Also returns the names of schedules that are due.
pub(crate) fn read_poll(rows: &[Row]) -> Result<(Polled, Vec<String>), Error> {
    let (mut polled, mut due) = (Polled::default(), Vec::new());
    for row in rows {
        if !row.try_get::<_, bool>(0)? {
            polled.jobs.push(job::read(row, 11)?);
            continue;
        }
        polled.now = row.try_get::<_, At>(1)?.0;
        polled.is_alive = row.try_get(2)?;
        due = row.try_get::<_, Option<_>>(3)?.unwrap_or_default();
        polled.next_job = row.try_get::<_, Option<At>>(4)?.map(|at| at.0);
        polled.next_tick = row.try_get::<_, Option<At>>(5)?.map(|at| at.0);
        polled.cancels = held(row, 6, 7)?;
        polled.leases = leases(row, 8)?;
    }
    Ok((polled, due))
}

/// The leases in three columns: sessions, marks, and whether each has run out.
fn leases(row: &Row, first: usize) -> Result<Vec<Lease>, Error> {
    let sessions: Option<Vec<Uuid>> = row.try_get(first)?;
    let marks: Option<Vec<i64>> = row.try_get(first + 1)?;
    let ends: Option<Vec<bool>> = row.try_get(first + 2)?;
    let all = sessions.into_iter().flatten().zip(marks.into_iter().flatten());
    let lease = |((session, mark), has_run_out)| {
        let session = SessionId::from_uuid(session);
        Lease { session, mark, has_run_out }
    };
    Ok(all.zip(ends.into_iter().flatten()).map(lease).collect())
}
