//! Which job is claimed next.
//!
//! # What this file is for
//!
//! Jobs are taken in the order of priority, due time and identity over all tasks. A sort of everything that is due would
//! read everything that is due. Here each *line* — the jobs of one task, queue, priority and kind of care — is a
//! range of one index, already in order, and the first of all lines is taken again and again. Lines of unknown tasks are
//! never looked at, jobs that are due later are behind the end of their line, and a line whose task has no more room, or
//! whose kind may not be claimed, is left as a whole. So about as many rows are read as are claimed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rusqlite::{Row, params};
use scheduler_store::{OnLost, Poll, SessionId, StoreTime};

use crate::job_row::{JobRow, job_columns};
use crate::tx::Tx;

/// The bits of `care`.
const ABANDON: i64 = 1;
const LOST: i64 = 2;

/// The jobs of one task, queue, priority and kind of care, by due time and identity.
#[derive(Debug)]
struct Line {
    task: String,
    queue: String,
    /// The place of the priority: 0 for the highest.
    band: i64,
    care: i64,
    /// Rows that were read and not taken.
    read: VecDeque<JobRow>,
    /// The due time and identity of the last row that was read.
    last: (i64, Vec<u8>),
    /// True if there may be more rows.
    has_more: bool,
}

/// All lines of the known tasks, and what may be taken from them.
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    rooms: BTreeMap<String, u32>,
    limit: u32,
    abandon_limit: u32,
    lost_limit: u32,
}

const BANDS: std::ops::RangeInclusive<i64> = 0..=3;

impl Lines {
    /// Finds the lines that are not empty: a step from line to line in the index.
    pub(crate) fn find(
        tx: &Tx<'_>,
        request: &Poll,
        rooms: &BTreeMap<&str, u32>,
    ) -> rusqlite::Result<Self> {
        let mut lines = Vec::new();
        for task in rooms.keys() {
            match &request.queues {
                None => add_all(tx, task, &mut lines)?,
                Some(queues) => {
                    let mut queues: Vec<&Arc<str>> = queues.iter().collect();
                    queues.sort_unstable();
                    queues.dedup();
                    for queue in queues {
                        add_of_queue(tx, task, queue, &mut lines)?;
                    }
                }
            }
        }
        // Those of rows that are damaged.
        lines.retain(|line| BANDS.contains(&line.band));
        lines.sort_by_key(|line| line.band);
        Ok(Self {
            lines,
            rooms: rooms.iter().map(|(task, room)| ((*task).to_owned(), *room)).collect(),
            limit: request.limit,
            abandon_limit: request.abandon_limit,
            lost_limit: request.lost_limit,
        })
    }

    /// When the next job becomes due that is not now.
    pub(crate) fn next_job(&self, tx: &Tx<'_>) -> rusqlite::Result<Option<StoreTime>> {
        let mut next = None;
        for line in &self.lines {
            let first = tx.first(
                FIRST_LATER,
                params![line.task, line.queue, line.band, line.care, tx.now.as_micros()],
                |row| Ok(StoreTime::from_micros(row.get(0)?)),
            )?;
            next = [next, first].into_iter().flatten().min();
        }
        Ok(next)
    }

    /// The next job that may be taken; none if there is none, or enough are taken.
    pub(crate) fn next(&mut self, tx: &Tx<'_>) -> rusqlite::Result<Option<JobRow>> {
        if self.limit == 0 {
            return Ok(None);
        }
        self.drop_closed();
        while let Some(band) = self.lines.first().map(|line| line.band) {
            let count = self.lines.iter().take_while(|line| line.band == band).count();
            let chunk = self.limit / u32::try_from(count).unwrap_or(u32::MAX) + 1;
            for line in &mut self.lines[..count] {
                let room = self.rooms.get(&line.task).copied().unwrap_or(0);
                line.fill(tx, chunk.min(room).min(self.limit))?;
            }
            let of_band = self.lines[..count].iter_mut();
            let first =
                of_band.filter(|line| !line.read.is_empty()).min_by_key(|line| line.place());
            if let Some(line) = first {
                return Ok(line.read.pop_front());
            }
            self.lines.drain(..count);
        }
        Ok(None)
    }

    /// Lines from which nothing may be taken any more.
    fn drop_closed(&mut self) {
        let (abandon, lost) = (self.abandon_limit, self.lost_limit);
        self.lines.retain(|line| {
            let is_open =
                (line.care & ABANDON == 0 || abandon > 0) && (line.care & LOST == 0 || lost > 0);
            is_open && self.rooms.get(&line.task).is_some_and(|room| *room > 0)
        });
    }

    /// Counts a job that is claimed.
    pub(crate) fn has_taken(&mut self, row: &JobRow) {
        self.limit = self.limit.saturating_sub(1);
        if let Some(room) = self.rooms.get_mut(&row.job.task) {
            *room = room.saturating_sub(1);
        }
        let is_abandon = row.job.on_lost == OnLost::Abandon;
        self.abandon_limit = self.abandon_limit.saturating_sub(u32::from(is_abandon));
        self.lost_limit = self.lost_limit.saturating_sub(u32::from(row.job.lost > 0));
    }
}

impl Line {
    fn new(task: &str, queue: String, band: i64, care: i64) -> Self {
        let task = task.to_owned();
        Self {
            task,
            queue,
            band,
            care,
            read: VecDeque::new(),
            last: (i64::MIN, Vec::new()),
            has_more: true,
        }
    }

    /// Reads rows if there are none.
    fn fill(&mut self, tx: &Tx<'_>, chunk: u32) -> rusqlite::Result<()> {
        if !self.read.is_empty() || !self.has_more {
            return Ok(());
        }
        let rows = tx.all(
            DUE,
            params![
                self.task,
                self.queue,
                self.band,
                self.care,
                tx.now.as_micros(),
                self.last.0,
                self.last.1,
                chunk,
            ],
            JobRow::read,
        )?;
        self.has_more = rows.len() == chunk as usize;
        if let Some(row) = rows.last() {
            self.last = row.place();
        }
        self.read = rows.into();
        Ok(())
    }

    fn place(&self) -> Option<(i64, Vec<u8>)> {
        self.read.front().map(JobRow::place)
    }
}

impl JobRow {
    fn place(&self) -> (i64, Vec<u8>) {
        (self.job.run_at.as_micros(), self.job.id.as_uuid().as_bytes().to_vec())
    }
}

/// Queue, priority and care of a line.
type Place = (String, i64, i64);

/// The first line of a task from a place on. It is `>=` and not `>`: SQLite looks for the first row that is not smaller in both
/// cases, and with `>` would walk over all rows of the line that was named.
const NEXT: &str = "SELECT queue, band, care FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' \
                    AND task = ?1 AND (queue, band, care) >= (?2, ?3, ?4) ORDER BY queue, band, care LIMIT 1";

/// The same in one queue.
const NEXT_OF_QUEUE: &str = "SELECT queue, band, care FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' \
     AND task = ?1 AND queue = ?2 AND (band, care) >= (?3, ?4) ORDER BY band, care LIMIT 1";

const FIRST_LATER: &str = "SELECT run_at FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' \
     AND task = ?1 AND queue = ?2 AND band = ?3 AND care = ?4 AND run_at > ?5 ORDER BY run_at LIMIT 1";

const DUE: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' AND task = ?1 AND queue = ?2 \
     AND band = ?3 AND care = ?4 AND run_at <= ?5 AND (run_at, id) > (?6, ?7) ORDER BY run_at, id LIMIT ?8"
);

fn add_all(tx: &Tx<'_>, task: &str, lines: &mut Vec<Line>) -> rusqlite::Result<()> {
    let (mut queue, mut from) = (String::new(), (i64::MIN, 0));
    while let Some(place) = tx.first(NEXT, params![task, queue, from.0, from.1], place_at)? {
        lines.push(Line::new(task, place.0.clone(), place.1, place.2));
        (queue, from) = (place.0, (place.1, place.2 + 1));
    }
    Ok(())
}

fn add_of_queue(
    tx: &Tx<'_>,
    task: &str,
    queue: &str,
    lines: &mut Vec<Line>,
) -> rusqlite::Result<()> {
    let mut from = (i64::MIN, 0);
    while let Some((_, band, care)) =
        tx.first(NEXT_OF_QUEUE, params![task, queue, from.0, from.1], place_at)?
    {
        lines.push(Line::new(task, queue.to_owned(), band, care));
        from = (band, care + 1);
    }
    Ok(())
}

fn place_at(row: &Row<'_>) -> rusqlite::Result<Place> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

impl Tx<'_> {
    /// Gives a job to a session.
    pub(crate) fn claim(
        &self,
        mut row: JobRow,
        session: SessionId,
    ) -> rusqlite::Result<scheduler_store::StoredJob> {
        row.claim(session, self.next_fence(), self.now);
        let job = row.job;
        self.execute(
            "UPDATE scheduler_job SET state = 'running', session = ?2, fence = ?3, attempt = ?4, started_at = ?5, \
             key = ?6 WHERE seq = ?1",
            params![
                row.seq,
                session.as_uuid().into_bytes(),
                crate::job_row::capped(job.fence.0),
                job.attempt,
                self.now.as_micros(),
                job.key,
            ],
        )?;
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{self, MIGRATIONS};
    use crate::tables::Tables;

    /// What costs nothing by these plans: jobs of other tasks, and those that are due later.
    #[test]
    fn each_statement_is_a_range_of_one_index() {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        assert!(schema::migrate(&db, &Tables::DEFAULT, MIGRATIONS).is_ok());
        let line = "task=? AND queue=? AND band=? AND care=?";
        for (sql, range) in [
            (NEXT, "task=? AND (queue,band,care)>(?,?,?)".to_owned()),
            (NEXT_OF_QUEUE, "task=? AND queue=? AND (band,care)>(?,?)".to_owned()),
            (FIRST_LATER, format!("{line} AND run_at>?")),
            (DUE, format!("{line} AND (run_at,id)>(?,?) AND run_at<?")),
        ] {
            let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            for number in 1..=plan.parameter_count() {
                plan.raw_bind_parameter(number, 1).unwrap();
            }
            let mut rows = plan.raw_query();
            let text: String = rows.next().unwrap().expect("a plan").get(3).unwrap();
            assert!(text.ends_with(&format!("INDEX scheduler_job_ready ({range})")), "{text}");
            assert!(rows.next().unwrap().is_none(), "a second step: {sql}");
        }
    }
}
