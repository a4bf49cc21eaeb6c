//! The answer to a poll, and what it leaves for the next one.

use scheduler_store::{Lease, Polled, SessionId, Uuid};
use tokio_postgres::{Error, Row};

use crate::job::{self, held};
use crate::pause::scopes;
use crate::value::At;

/// The lines of jobs that the last poll has left for the next one of the same tasks and queues.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    tasks: Vec<String>,
    queues: Option<Vec<String>>,
    /// A text that only the database reads.
    lines: Option<String>,
    /// The number of polls that do with these lines.
    rest: u32,
}

/// After a poll that was not answered, so many do with the lines that are known: it may have been the walk over the index of
/// ready jobs that took too long.
const REST: u32 = 20;

impl Walk {
    /// The lines that the last poll has left, and false if they have to do.
    pub(crate) fn next(
        &mut self,
        tasks: &[String],
        queues: Option<&[String]>,
    ) -> (Option<String>, bool) {
        if self.tasks != tasks || self.queues.as_deref() != queues {
            let (tasks, queues) = (tasks.to_vec(), queues.map(<[_]>::to_vec));
            *self = Self { tasks, queues, ..Self::default() };
        }
        let may_walk = self.rest == 0;
        self.rest = self.rest.saturating_sub(1);
        (self.lines.clone(), may_walk)
    }

    pub(crate) fn answered(&mut self, lines: Option<String>) {
        self.lines = lines;
    }

    pub(crate) fn failed(&mut self) {
        self.rest = REST;
    }
}

/// The rows of the function `poll`.
#[derive(Default)]
pub(crate) struct PollRows {
    pub(crate) polled: Polled,
    /// The names of schedules that are due.
    pub(crate) due: Vec<String>,
    /// The lines for the next poll.
    pub(crate) lines: Option<String>,
}

/// Reads the rows of the function `poll`: the claimed jobs, then the rest.
pub(crate) fn read_poll(rows: &[Row]) -> Result<PollRows, Error> {
    let mut answer = PollRows::default();
    let polled = &mut answer.polled;
    for row in rows {
        if !row.try_get::<_, bool>(0)? {
            polled.jobs.push(job::read(row, 14)?);
            continue;
        }
        polled.now = row.try_get::<_, At>(1)?.0;
        polled.is_alive = row.try_get(2)?;
        answer.due = row.try_get::<_, Option<_>>(3)?.unwrap_or_default();
        polled.next_job = row.try_get::<_, Option<At>>(4)?.map(|at| at.0);
        polled.next_tick = row.try_get::<_, Option<At>>(5)?.map(|at| at.0);
        polled.cancels = held(row, 6, 7)?;
        polled.leases = leases(row, 8)?;
        answer.lines = row.try_get(11)?;
        polled.paused = scopes(row, 12)?;
    }
    Ok(answer)
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
