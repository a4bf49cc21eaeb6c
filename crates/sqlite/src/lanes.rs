//! Limits, and the lanes of jobs that they hold back.

use std::collections::BTreeMap;

use rusqlite::{Row, params, params_from_iter};
use scheduler_store::{
    Arrival, JobId, JobState, JobWait, LIMIT_COLUMNS, LaneGroup, Lanes, LimitDepth, LimitScope,
    NewJob, PartitionDepth, Pause, PauseScope, Prune, Register, StoreTime, StoredJob, StoredLimits,
    TaskLimits, Uuid, WaitReason, empty_limit, limit_depths, partition_depth,
};

use crate::commands::pause_at;
use crate::fields::{FieldReader, bound_all, sql};
use crate::read::number;
use crate::rows::SqliteJob;
use crate::tx::Tx;

const FIRST_LANE: &str = "SELECT lane FROM scheduler_job INDEXED BY scheduler_job_lane WHERE lane IS NOT NULL \
     AND task = ?1 AND queue = ?2 AND payload_version = ?3 ORDER BY lane LIMIT 1";

const NEXT_LANE: &str = "SELECT lane FROM scheduler_job INDEXED BY scheduler_job_lane WHERE lane IS NOT NULL \
     AND task = ?1 AND queue = ?2 AND payload_version = ?3 AND lane > ?4 ORDER BY lane LIMIT 1";

const RUNNING: &str = "SELECT count(*) FROM scheduler_job INDEXED BY scheduler_job_partition \
     WHERE state = 'running' AND partition IS NOT NULL AND task = ?1";

const RUNNING_OF_PARTITION: &str = "SELECT count(*) FROM scheduler_job INDEXED BY scheduler_job_partition \
     WHERE state = 'running' AND partition IS NOT NULL AND task = ?1 AND partition = ?2";

const PARKED_OF_PARTITION: &str = "SELECT id FROM scheduler_job INDEXED BY scheduler_job_parked_partition \
     WHERE state = 'parked' AND partition IS NOT NULL AND task = ?1 AND partition = ?2 ORDER BY id LIMIT 1";

/// The first queue and version of a task that has lanes, from a place on.
const NEXT_GROUP: &str = "SELECT queue, payload_version FROM scheduler_job INDEXED BY scheduler_job_lane WHERE lane IS NOT NULL \
     AND task = ?1 AND (queue, payload_version) >= (?2, ?3) ORDER BY queue, payload_version LIMIT 1";

const PAUSE: &str = "SELECT scope, name, since, until, paused_by, reason FROM scheduler_pause \
     WHERE scope = ?1 AND name = ?2 AND (until IS NULL OR until > ?3)";

const DUE_BY_PARTITION: &str = "SELECT lane, count(*) FROM scheduler_job INDEXED BY scheduler_job_lane \
     WHERE lane IS NOT NULL AND task = ?1 GROUP BY lane";

const RUNNING_BY_PARTITION: &str = "SELECT partition, count(*) FROM scheduler_job INDEXED BY scheduler_job_partition \
     WHERE state = 'running' AND partition IS NOT NULL AND task = ?1 GROUP BY partition";

const DUE_BY_QUEUE: &str = "SELECT queue, lane, count(*), min(run_at) FROM scheduler_job INDEXED BY scheduler_job_lane \
     WHERE lane IS NOT NULL AND task = ?1 GROUP BY queue, payload_version, lane";

const WAITING: &str = "SELECT count(*) FROM (SELECT 1 FROM scheduler_job INDEXED BY scheduler_job_lane \
     WHERE lane IS NOT NULL AND task = ?1 AND queue = ?2 LIMIT ?3)";

const WAITING_IN_LANE: &str = "SELECT count(*) FROM (SELECT 1 FROM scheduler_job INDEXED BY scheduler_job_lane \
     WHERE lane IS NOT NULL AND task = ?1 AND queue = ?2 AND payload_version = ?4 AND lane = ?5 LIMIT ?3)";

/// The first job of a partition that has begun.
fn held_sql() -> &'static str {
    sql!(
        "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_held WHERE state = 'ready' AND held_until IS NOT NULL \
         AND task = ?1 AND partition = ?2 ORDER BY band, run_at, id LIMIT 1"
    )
}

impl Lanes for Tx<'_> {
    type Job = SqliteJob;
    type Error = rusqlite::Error;

    fn now(&self) -> StoreTime {
        self.now
    }

    fn job(job: &SqliteJob) -> &StoredJob {
        &job.kept.job
    }

    fn limits(&self, task: &str) -> rusqlite::Result<TaskLimits> {
        Ok(self.all_limits()?.of(task))
    }

    fn next(&self, group: &LaneGroup, after: Option<&str>) -> rusqlite::Result<Option<String>> {
        let LaneGroup { task, queue, version } = group;
        match after {
            None => self.first(FIRST_LANE, params![task, queue, version], |row| row.get(0)),
            Some(after) => {
                self.first(NEXT_LANE, params![task, queue, version, after], |row| row.get(0))
            }
        }
    }

    fn first(&self, group: &LaneGroup, lane: &str, limit: u32) -> rusqlite::Result<Vec<SqliteJob>> {
        self.first_of(group, lane, limit, self.now)
    }

    fn head(&self, names: &[String], partition: &str) -> rusqlite::Result<Option<SqliteJob>> {
        let mut heads = Vec::new();
        for task in names {
            heads.extend(self.first(held_sql(), params![task, partition], SqliteJob::read)?);
        }
        let has_begun = !heads.is_empty();
        for task in names.iter().filter(|_| !has_begun) {
            let mut from = Some((String::new(), 0));
            while let Some((queue, version)) = from.take() {
                let group = self.first(NEXT_GROUP, params![task, queue, version], |row| {
                    Ok(LaneGroup { task: task.clone(), queue: row.get(0)?, version: row.get(1)? })
                })?;
                let Some(group) = group else { break };
                heads.extend(self.first_of(&group, partition, 1, StoreTime::MAX)?);
                from = Some((group.queue, i64::from(group.version) + 1));
            }
        }
        Ok(heads.into_iter().min_by_key(|row| row.kept.job.place()))
    }

    fn parked(&self, names: &[String], partition: &str) -> rusqlite::Result<Option<JobId>> {
        let mut first = None;
        for task in names {
            let id = |row: &Row<'_>| Ok(JobId::from_uuid(Uuid::from_bytes(row.get(0)?)));
            let parked = self.first(PARKED_OF_PARTITION, params![task, partition], id)?;
            first = first.into_iter().chain(parked).min();
        }
        Ok(first)
    }

    fn running(&self, names: &[String], partition: Option<&str>) -> rusqlite::Result<u32> {
        let mut running = 0;
        for name in names {
            running += match partition {
                None => self.first(RUNNING, params![name], |row| row.get::<_, u32>(0))?,
                Some(of) => {
                    self.first(RUNNING_OF_PARTITION, params![name, of], |row| row.get(0))?
                }
            }
            .unwrap_or_default();
        }
        Ok(running)
    }

    fn pause(&self, scope: &PauseScope) -> rusqlite::Result<Option<Pause>> {
        let (word, name) = (scope.word(), scope.name());
        Ok(self
            .first(PAUSE, params![word, name, self.now.as_micros()], pause_at)?
            .map(|(_, it)| it))
    }

    fn arrival(&self, task: &str, partition: Option<&str>) -> rusqlite::Result<Option<Arrival>> {
        let sql = "SELECT arrival FROM scheduler_arrival WHERE task = ?1 AND scope = ?2 AND partition = ?3";
        self.first(sql, params![task, scope_of(partition), partition.unwrap_or_default()], |row| {
            Ok(Arrival(row.get(0)?))
        })
    }

    fn set_arrival(
        &self,
        task: &str,
        partition: Option<&str>,
        arrival: Arrival,
    ) -> rusqlite::Result<()> {
        let sql = "REPLACE INTO scheduler_arrival (task, scope, partition, arrival) VALUES (?1, ?2, ?3, ?4)";
        let (scope, partition) = (scope_of(partition), partition.unwrap_or_default());
        self.execute(sql, params![task, scope, partition, arrival.0]).map(drop)
    }
}

fn scope_of(partition: Option<&str>) -> &'static str {
    if partition.is_some() { "each" } else { "all" }
}

impl Tx<'_> {
    /// The first jobs of a lane that have not expired, and are held no longer than until then.
    fn first_of(
        &self,
        group: &LaneGroup,
        lane: &str,
        limit: u32,
        held_until: StoreTime,
    ) -> rusqlite::Result<Vec<SqliteJob>> {
        let sql = sql!(
            "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_lane WHERE lane IS NOT NULL AND task = ?1 \
             AND queue = ?2 AND payload_version = ?3 AND lane = ?4 AND coalesce(held_until, ?6) <= ?6 \
             AND (expires_at IS NULL OR started_at IS NOT NULL OR expires_at > ?7) \
             ORDER BY band, run_at, id LIMIT ?5"
        );
        let LaneGroup { task, queue, version } = group;
        let (until, now) = (held_until.as_micros(), self.now.as_micros());
        self.all(sql, params![task, queue, version, lane, limit, until, now], SqliteJob::read)
    }

    /// The number of due jobs that wait where a new one would, at most so many.
    pub(crate) fn count_waiting(
        &self,
        new: &NewJob,
        scope: LimitScope,
        most: u32,
    ) -> rusqlite::Result<u32> {
        let NewJob { task, queue, payload, partition, .. } = new;
        let lane = partition.as_deref().unwrap_or_default();
        let count = match scope {
            LimitScope::All => self.first(WAITING, params![task, queue, most], |row| row.get(0)),
            LimitScope::Each => {
                let params = params![task, queue, most, payload.version, lane];
                self.first(WAITING_IN_LANE, params, |row| row.get(0))
            }
        };
        Ok(count?.unwrap_or_default())
    }

    /// All limits.
    pub(crate) fn all_limits(&self) -> rusqlite::Result<StoredLimits> {
        let rows = self.all(sql!("SELECT {limit} FROM scheduler_limit"), [], |row| {
            let (mut fields, mut limit) = (FieldReader::new(row), empty_limit());
            for (at, column) in LIMIT_COLUMNS.iter().enumerate() {
                (column.set)(&mut limit, fields.value(at, column)?);
            }
            Ok(limit)
        })?;
        Ok(StoredLimits::of_rows(rows))
    }

    /// Changes limits, and writes those that have changed.
    pub(crate) fn change_limits(
        &self,
        change: impl FnOnce(&mut StoredLimits),
    ) -> rusqlite::Result<()> {
        let before = self.all_limits()?;
        let mut limits = before.clone();
        change(&mut limits);
        let sql = sql!("REPLACE INTO scheduler_limit ({limit}) VALUES ({limit_values})");
        for row in limits.changed_since(&before) {
            self.execute(sql, params_from_iter(bound_all(&LIMIT_COLUMNS, row)))?;
        }
        Ok(())
    }

    /// Those of these jobs that are ready, and why they do not run.
    pub(crate) fn waits(&self, jobs: &[JobId]) -> rusqlite::Result<Vec<JobWait>> {
        let (pauses, sessions) = (self.pauses()?, self.sessions()?);
        let mut waits = Vec::new();
        for id in jobs {
            let Some(row) = self.find(*id)?.filter(|row| row.job.state == JobState::Ready) else {
                continue;
            };
            waits.push(JobWait::new(*id, WaitReason::of_job(self, &row, &pauses, &sessions)?));
        }
        Ok(waits)
    }

    /// The partitions of a task in which jobs are due or run.
    pub(crate) fn partitions(
        &self,
        task: &str,
        limit: u32,
    ) -> rusqlite::Result<Vec<PartitionDepth>> {
        let limits = self.limits(task)?;
        let own = [task.to_owned()];
        let names = if limits.names.is_empty() { &own[..] } else { &limits.names };
        let mut counts = BTreeMap::<String, (u64, u64)>::new();
        for name in names {
            self.all(DUE_BY_PARTITION, params![name], |row| {
                counts.entry(row.get(0)?).or_default().0 += number(row, 1)?;
                Ok(())
            })?;
            self.all(RUNNING_BY_PARTITION, params![name], |row| {
                counts.entry(row.get(0)?).or_default().1 += number(row, 1)?;
                Ok(())
            })?;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|one, two| (two.1.0, &one.0).cmp(&(one.1.0, &two.0)));
        counts.truncate(limit as usize);
        let depth = |(partition, (due, running)): (String, (u64, u64))| {
            partition_depth(self, &limits, (partition, due, running))
        };
        counts.into_iter().map(depth).collect()
    }

    /// The due jobs of all tasks that have a limit.
    pub(crate) fn limit_depths(&self) -> rusqlite::Result<Vec<LimitDepth>> {
        let mut depths = Vec::new();
        for (task, limits) in self.all_limits()?.limited() {
            let mut due = BTreeMap::<(String, String), (u64, StoreTime)>::new();
            self.all(DUE_BY_QUEUE, params![task], |row| {
                let place = (row.get(0)?, row.get(1)?);
                let (jobs, oldest) = due.entry(place).or_insert((0, StoreTime::MAX));
                let run_at = StoreTime::from_micros(row.get(3)?);
                (*jobs, *oldest) = (*jobs + number(row, 2)?, (*oldest).min(run_at));
                Ok(())
            })?;
            depths.extend(limit_depths(self, (task, &limits), due)?);
        }
        Ok(depths)
    }

    pub(crate) fn register_limits(&self, request: &Register) -> rusqlite::Result<()> {
        self.change_limits(|limits| limits.register(&request.limits, request.first_opened))
    }

    /// Arrivals that say no more than none.
    pub(crate) fn prune_arrivals(&self, request: &Prune) -> rusqlite::Result<()> {
        let sql = "DELETE FROM scheduler_arrival WHERE (task, scope, partition) IN (\
                     SELECT task, scope, partition FROM scheduler_arrival WHERE arrival <= ?1 LIMIT ?2)";
        self.execute(sql, params![self.now.as_micros().saturating_mul(1_000), request.limit])
            .map(drop)
    }
}
