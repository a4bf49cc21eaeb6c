//! Read-only queries.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rusqlite::{Row, params};
use scheduler_store::{JobFilter, JobId, QueueDepth, StoredJob, StoredSchedule};

use crate::done::page_end;
use crate::fields::sql;
use crate::job_row::JobRow;
use crate::schedule_row;
use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn job(&self, id: JobId) -> rusqlite::Result<Option<StoredJob>> {
        let sql = sql!("SELECT seq, {job} FROM scheduler_job WHERE id = ?1");
        match self.first(sql, params![id.as_uuid().into_bytes()], JobRow::read_job)? {
            Some(job) => Ok(Some(job)),
            None => Ok(self.find_done(id)?.map(|row| row.kept.job)),
        }
    }

    pub(crate) fn jobs(&self, filter: &JobFilter, limit: u32) -> rusqlite::Result<Vec<StoredJob>> {
        let mut jobs = self.unfinished_jobs(filter, limit)?;
        jobs.extend(self.done_jobs(filter, limit as usize)?);
        jobs.sort_by_key(|job| Reverse(job.id));
        jobs.truncate(limit as usize);
        Ok(jobs)
    }

    fn unfinished_jobs(&self, filter: &JobFilter, limit: u32) -> rusqlite::Result<Vec<StoredJob>> {
        self.all(
            sql!(
                "SELECT seq, {job} FROM scheduler_job WHERE id < ?1 AND (?2 IS NULL OR task = ?2) AND (?3 IS NULL OR queue = ?3) \
                 AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR key = ?5) AND (?6 IS NULL OR schedule = ?6) \
                 ORDER BY id DESC LIMIT ?7"
            ),
            params![
                page_end(filter),
                filter.task,
                filter.queue,
                filter.state.map(scheduler_store::JobState::word),
                filter.key,
                filter.schedule,
                limit,
            ],
            JobRow::read_job,
        )
    }

    /// Damaged rows are left out; a poll reports them.
    pub(crate) fn schedules(&self) -> rusqlite::Result<Vec<StoredSchedule>> {
        let sql = sql!("SELECT {schedule} FROM scheduler_schedule ORDER BY name");
        let rows = self.all(sql, [], schedule_row::read)?;
        Ok(rows.into_iter().filter_map(Result::ok).collect())
    }

    pub(crate) fn depths(&self) -> rusqlite::Result<Vec<QueueDepth>> {
        let mut depths = BTreeMap::<(String, String), QueueDepth>::new();
        let mut add = |row: &Row<'_>, count: &dyn Fn(&mut QueueDepth) -> rusqlite::Result<()>| {
            let (queue, task): (String, String) = (row.get(0)?, row.get(1)?);
            let depth = depths.entry((queue.clone(), task.clone()));
            let none = QueueDepth {
                queue,
                task,
                due: 0,
                later: 0,
                running: 0,
                parked: 0,
                oldest: None,
                versions: Vec::new(),
            };
            count(depth.or_insert(none))
        };
        let ready = "SELECT queue, task, count(*), count(*) FILTER (WHERE run_at <= ?1), min(run_at), kind >> 3 \
                     FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' \
                     GROUP BY task, queue, band, kind";
        self.all(ready, params![self.now.as_micros()], |row| {
            add(row, &|depth| {
                let due = number(row, 3)?;
                depth.later += number(row, 2)? - due;
                if due > 0 {
                    let oldest = scheduler_store::StoreTime::from_micros(row.get(4)?);
                    let version = u32::try_from(number(row, 5)?).unwrap_or(u32::MAX);
                    depth.add_due(version, due, self.now.since(oldest));
                }
                Ok(())
            })
        })?;
        let running = "SELECT queue, task, count(*) FROM scheduler_job INDEXED BY scheduler_job_running \
                       WHERE state = 'running' GROUP BY task, queue";
        self.all(running, [], |row| {
            add(row, &|depth| {
                depth.running = number(row, 2)?;
                Ok(())
            })
        })?;
        let parked = "SELECT queue, task, count(*) FROM scheduler_job INDEXED BY scheduler_job_parked \
                      WHERE state = 'parked' GROUP BY task, queue";
        self.all(parked, [], |row| {
            add(row, &|depth| {
                depth.parked = number(row, 2)?;
                Ok(())
            })
        })?;
        Ok(depths.into_values().collect())
    }
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}
