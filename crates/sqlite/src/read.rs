//! Read-only queries.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rusqlite::{Row, params};
use scheduler_store::{
    Failing, JobFilter, JobId, JobState, QueueDepth, RunEnd, StoreTime, StoredJob, StoredSchedule,
};

use crate::done::page_end;
use crate::fields::sql;
use crate::rows::{SqliteJob, read_schedule};
use crate::schema::damaged;
use crate::tx::Tx;

/// A walk along an index of the jobs in line costs less than one by their identities, if it has at most so many.
const FEW: u32 = 5_000;

const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM scheduler_job INDEXED BY scheduler_job_ready \
                     WHERE state = 'ready' LIMIT ?1)";
const COUNT_OF_TASK: &str = "SELECT count(*) FROM (SELECT 1 FROM scheduler_job INDEXED BY scheduler_job_ready \
                             WHERE state = 'ready' AND task = ?1 LIMIT ?2)";

macro_rules! selected {
    () => {
        " AND id < ?1 AND (?2 IS NULL OR task = ?2) AND (?3 IS NULL OR queue = ?3) AND (?4 IS NULL OR key = ?4) \
          AND (?5 IS NULL OR schedule = ?5) AND (?7 = 0 OR error IS NOT NULL) AND (?8 IS NULL OR partition = ?8) ORDER BY id DESC LIMIT ?6"
    };
}

impl Tx<'_> {
    pub(crate) fn job(&self, id: JobId) -> rusqlite::Result<Option<StoredJob>> {
        let sql = sql!("SELECT seq, {job} FROM scheduler_job WHERE id = ?1");
        match self.first(sql, params![id.as_uuid().into_bytes()], SqliteJob::read_job)? {
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

    /// Jobs that are not in the table of those that have ended, the newest of each state.
    fn unfinished_jobs(&self, filter: &JobFilter, limit: u32) -> rusqlite::Result<Vec<StoredJob>> {
        let mut lists = Vec::new();
        if filter.state.is_none_or(|wanted| wanted == JobState::Parked) {
            lists.push(sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_parked_id WHERE state = 'parked'",
                selected!()
            ));
        }
        if filter.state.is_none_or(|wanted| wanted == JobState::Running) {
            lists.push(sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_running WHERE state = 'running'",
                selected!()
            ));
        }
        if filter.state.is_none_or(|wanted| wanted == JobState::Ready) {
            lists.push(self.ready_sql(filter)?);
        }
        if filter.state.is_none() {
            // People see jobs in unknown states also before a poll parks them.
            lists.push(sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_damaged \
                 WHERE state NOT IN ('ready', 'running', 'parked') AND ",
                damaged!(),
                selected!()
            ));
        }
        let JobFilter { task, queue, partition, key, schedule, has_error, .. } = filter;
        let end = page_end(filter);
        let mut jobs = Vec::new();
        for sql in lists {
            let selected = params![end, task, queue, key, schedule, limit, has_error, partition];
            jobs.extend(self.all(sql, selected, SqliteJob::read_job)?);
        }
        Ok(jobs)
    }

    /// The statement that reads the fewest jobs of those in line.
    ///
    /// They are found by their key, their schedule, their partition, their error, or their task if it has few. In all other cases they are walked by
    /// their identities: where many are in line, a page of them is soon full.
    fn ready_sql(&self, filter: &JobFilter) -> rusqlite::Result<&'static str> {
        if filter.key.is_some() {
            // One job of each task may have the key.
            return Ok(sql!(
                "WITH RECURSIVE kind(name) AS (\
                   SELECT min(task) FROM scheduler_job INDEXED BY scheduler_job_key \
                   WHERE key IS NOT NULL AND state IN ('ready', 'running') \
                   UNION ALL SELECT (SELECT min(task) FROM scheduler_job INDEXED BY scheduler_job_key \
                     WHERE task > name AND key IS NOT NULL AND state IN ('ready', 'running')) FROM kind WHERE name IS NOT NULL) \
                 SELECT seq, {job} FROM kind CROSS JOIN scheduler_job INDEXED BY scheduler_job_key \
                 WHERE task = kind.name AND key = ?4 AND key IS NOT NULL AND state IN ('ready', 'running') AND state = 'ready'",
                selected!()
            ));
        }
        if filter.schedule.is_some() {
            return Ok(sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_schedule \
                 WHERE schedule = ?5 AND state IN ('ready', 'running') AND state = 'ready'",
                selected!()
            ));
        }
        if filter.partition.is_some() {
            return Ok(sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_of_partition \
                 WHERE state = 'ready' AND partition IS NOT NULL AND partition = ?8",
                selected!()
            ));
        }
        if filter.has_error {
            return Ok(sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_retrying \
                 WHERE state = 'ready' AND error IS NOT NULL",
                selected!()
            ));
        }
        Ok(match (&filter.task, self.is_short(filter.task.as_deref())?) {
            (Some(_), true) => sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' AND task = ?2",
                selected!()
            ),
            (None, true) => sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready'",
                selected!()
            ),
            (_, false) => {
                sql!("SELECT seq, {job} FROM scheduler_job WHERE state = 'ready'", selected!())
            }
        })
    }

    /// Returns true if few jobs of a task are in line, or of all tasks.
    fn is_short(&self, task: Option<&str>) -> rusqlite::Result<bool> {
        let counted = |row: &Row<'_>| Ok(number(row, 0)? < u64::from(FEW));
        let is_short = match task {
            Some(task) => self.first(COUNT_OF_TASK, params![task, FEW], counted),
            None => self.first(COUNT, params![FEW], counted),
        };
        is_short.map(|is_short| is_short == Some(true))
    }

    /// Damaged rows are left out; a poll reports them.
    pub(crate) fn schedules(&self) -> rusqlite::Result<Vec<StoredSchedule>> {
        let sql = sql!("SELECT {schedule} FROM scheduler_schedule ORDER BY name");
        let rows = self.all(sql, [], read_schedule)?;
        Ok(rows.into_iter().filter_map(Result::ok).collect())
    }

    pub(crate) fn depths(&self) -> rusqlite::Result<Vec<QueueDepth>> {
        let mut depths = BTreeMap::<(String, String), QueueDepth>::new();
        let mut add = |row: &Row<'_>, count: &dyn Fn(&mut QueueDepth) -> rusqlite::Result<()>| {
            let (queue, task): (String, String) = (row.get(0)?, row.get(1)?);
            let depth = depths.entry((queue.clone(), task.clone()));
            count(depth.or_insert(QueueDepth::empty(queue, task)))
        };
        let ready = "SELECT queue, task, count(*), count(*) FILTER (WHERE run_at <= ?1), min(run_at), kind >> 5 \
                     FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' \
                     GROUP BY task, queue, band, kind";
        self.all(ready, params![self.now.as_micros()], |row| {
            add(row, &|depth| {
                let due = number(row, 3)?;
                depth.later += number(row, 2)? - due;
                if due > 0 {
                    let oldest = StoreTime::from_micros(row.get(4)?);
                    let version = u32::try_from(number(row, 5)?).unwrap_or(u32::MAX);
                    depth.add_due(version, due, self.now.since(oldest));
                }
                Ok(())
            })
        })?;
        let retrying = "SELECT queue, task, count(*) FROM scheduler_job INDEXED BY scheduler_job_retrying \
                        WHERE state = 'ready' AND error IS NOT NULL GROUP BY task, queue";
        self.all(retrying, [], |row| {
            add(row, &|depth| number(row, 2).map(|count| depth.retrying = count))
        })?;
        let running = "SELECT queue, task, count(*), min(started_at) FROM scheduler_job INDEXED BY scheduler_job_running \
                       WHERE state = 'running' GROUP BY task, queue";
        self.all(running, [], |row| {
            add(row, &|depth| {
                depth.running = number(row, 2)?;
                let oldest: Option<i64> = row.get(3)?;
                let oldest = oldest.map(StoreTime::from_micros);
                depth.oldest_running = oldest.map(|oldest| self.now.since(oldest));
                Ok(())
            })
        })?;
        let parked = "SELECT queue, task, count(*) FROM scheduler_job INDEXED BY scheduler_job_parked \
                      WHERE state = 'parked' GROUP BY task, queue";
        self.all(parked, [], |row| {
            add(row, &|depth| number(row, 2).map(|count| depth.parked = count))
        })?;
        let failing =
            "SELECT task, failures, since, end_at, end_started, end_error FROM scheduler_failing";
        let at = |row: &Row<'_>, column| {
            Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(StoreTime::from_micros))
        };
        self.all(failing, [], |row| {
            let (task, since): (String, _) = (row.get(0)?, at(row, 2)?.unwrap_or_default());
            let last = RunEnd::parked(at(row, 3)?.unwrap_or_default(), at(row, 4)?, row.get(5)?);
            let failing = Failing::new(number(row, 1)?, since, last);
            let of_task = depths.values_mut().filter(|depth| depth.task == task);
            of_task.for_each(|depth| depth.failing = Some(failing.clone()));
            Ok(())
        })?;
        Ok(depths.into_values().collect())
    }
}

pub(crate) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}
