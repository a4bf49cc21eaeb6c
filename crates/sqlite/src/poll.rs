//! Polls: repairs, claims, and what is due.
//!
//! A *line* is the ready jobs of one task, queue, priority and kind: a range of one index, in the order in which they are claimed.
//! No more is read of a line than may be claimed of it. Jobs of unknown tasks are never read, of a line with payloads of an unknown
//! version no more than the first (R24), and jobs that are due later are behind the end of their line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::{Row, params};
use scheduler_store::{
    CLAIM_BYTES_MAX, DueSchedule, EXPIRED_MAX, JobState, LaneGroup, LimitsUsed, LineKind,
    PauseScope, Poll, Polled, SessionId, StoreTime, StoredJob, StoredLimits, UnreadableRow,
};

use crate::connection::ConnectionPool;
use crate::fields::sql;
use crate::rows::{SqliteJob, capped, read_schedule};
use crate::schema::damaged;
use crate::sessions::held_at;
use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn poll(&self, request: &Poll, pool: &ConnectionPool) -> rusqlite::Result<Polled> {
        let mut polled = Polled { now: self.now, ..Polled::default() };
        if request.with_leases {
            polled.leases = self.leases(request.session)?;
        }
        polled.is_alive = self.is_alive(request.session)?;
        if !polled.is_alive {
            return Ok(polled);
        }
        self.park_damaged(&mut polled.damaged)?;
        self.repair()?;
        polled.expired = self.expire(&mut polled.is_partial)?;
        let paused = self.pauses()?;
        let mut lines = self.lines(request)?;
        lines.retain(|line| !paused.iter().any(|paused| line.is_in(&paused.scope)));
        let resumed = paused.iter().filter_map(|paused| paused.pause.until);
        polled.next_job = resumed.chain(self.next_job(&lines)?).min();
        polled.paused = paused.into_iter().map(|paused| paused.scope).collect();
        polled.is_paused = self.is_node_paused(request.session)?;
        // No job is claimed while one is left that has expired.
        let limit = if polled.is_paused || polled.is_partial { 0 } else { request.limit };
        self.claim_due(lines, &Poll { limit, ..request.clone() }, pool, &mut polled)?;
        let tasks: BTreeSet<&Arc<str>> = request.tasks.iter().map(|room| &room.task).collect();
        for task in tasks {
            self.due(task, pool, &mut polled)?;
        }
        polled.due.sort_by(|a, b| a.schedule.definition.name.cmp(&b.schedule.definition.name));
        polled.cancels = self.all(
            "SELECT id, fence FROM scheduler_job INDEXED BY scheduler_job_cancel \
             WHERE state = 'running' AND is_cancel_requested <> 0 AND session = ?1 ORDER BY id",
            params![request.session.as_uuid().into_bytes()],
            held_at,
        )?;
        Ok(polled)
    }

    /// Repairs the schedules that lost statements may have left (R12, R19).
    fn repair(&self) -> rusqlite::Result<()> {
        let names = self.all(
            "SELECT name FROM scheduler_schedule INDEXED BY scheduler_schedule_repair \
             WHERE waiting_id IS NOT NULL OR next = 'job' ORDER BY name",
            [],
            |row| row.get::<_, String>(0),
        )?;
        names.iter().try_for_each(|name| self.after_job(name))
    }

    /// Cancels jobs that no process has taken by their time, the earliest first, within the bytes of a claim. Returns the number of each
    /// task.
    fn expire(&self, is_partial: &mut bool) -> rusqlite::Result<BTreeMap<String, u64>> {
        let mut over = self.all(
            expired_sql(),
            params![self.now.as_micros(), EXPIRED_MAX + 1],
            SqliteJob::read,
        )?;
        *is_partial = over.len() > EXPIRED_MAX as usize;
        over.truncate(EXPIRED_MAX as usize);
        let (mut bytes, mut expired) = (0, BTreeMap::new());
        for (before, mut row) in over.into_iter().enumerate() {
            bytes += row.job.payload.bytes.len();
            if before > 0 && bytes > CLAIM_BYTES_MAX {
                *is_partial = true;
                break;
            }
            row.job.expire(self.now);
            *expired.entry(row.job.task.clone()).or_default() += 1;
            self.store(row)?;
        }
        Ok(expired)
    }

    /// The schedules of a task that have something to decide, and when the next one has.
    fn due(&self, task: &str, pool: &ConnectionPool, polled: &mut Polled) -> rusqlite::Result<()> {
        let rows = self.all(
            sql!(
                "SELECT {schedule} FROM scheduler_schedule INDEXED BY scheduler_schedule_due WHERE task = ?1 AND decide_at <= ?2"
            ),
            params![task, self.now.as_micros()],
            |row| Ok((row.get::<_, String>(0)?, read_schedule(row)?)),
        )?;
        for (name, schedule) in rows {
            match schedule {
                Ok(schedule) => {
                    let busy_since = self.busy(&name)?.map(|(_, since)| since);
                    polled.due.push(DueSchedule { schedule, busy_since });
                }
                Err(reason) => {
                    let row = format!("schedule {name}");
                    if pool.is_news(&row) {
                        polled.damaged.push(UnreadableRow { row, reason });
                    }
                }
            }
        }
        let next = self.first(
            "SELECT decide_at FROM scheduler_schedule INDEXED BY scheduler_schedule_due \
             WHERE task = ?1 AND decide_at > ?2 ORDER BY decide_at LIMIT 1",
            params![task, self.now.as_micros()],
            |row| Ok(StoreTime::from_micros(row.get(0)?)),
        )?;
        polled.next_tick = [polled.next_tick, next].into_iter().flatten().min();
        Ok(())
    }

    /// Parks rows that cannot be right, so that people see them and no poll reads them again.
    fn park_damaged(&self, damaged: &mut Vec<UnreadableRow>) -> rusqlite::Result<()> {
        let rows = self.all(
            sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_damaged WHERE ",
                damaged!(),
                " LIMIT 16"
            ),
            [],
            SqliteJob::read,
        )?;
        for row in rows {
            damaged.push(self.park(row)?);
        }
        Ok(())
    }

    /// Puts a damaged row right; one that waits, or whose state is unknown, is parked. Its payload stays as it is.
    fn park(&self, mut row: SqliteJob) -> rusqlite::Result<UnreadableRow> {
        let reason = row.damage().unwrap_or_default();
        let job = &mut row.job;
        let is_parked = matches!(job.state, JobState::Ready | JobState::Parked);
        if is_parked {
            (job.state, job.error) = (JobState::Parked, Some(reason.clone()));
            job.finished_at = Some(job.finished_at.unwrap_or(self.now));
        }
        let done = if is_parked { "the job is parked" } else { "it was put right" };
        self.put_right(&row)?;
        if let Some(origin) = row.job.origin.as_ref().filter(|_| is_parked) {
            self.after_job(&origin.schedule)?;
        }
        Ok(UnreadableRow {
            row: format!("job {}", row.job.id),
            reason: format!("{reason}; {done}"),
        })
    }
}

/// The bits of the column `kind`.
const AT_MOST_ONCE: i64 = 1;
const QUARANTINED: i64 = 2;
const LONG: i64 = 4;
/// It has a partition and no lane; it has a lane.
const WITHOUT_LANE: i64 = 8;
const IN_LANE: i64 = 16;
/// The number of those bits. The version of the payload stands above them.
const VERSION_SHIFT: u32 = 5;

/// The jobs of one task, queue, priority and kind.
#[derive(Debug)]
struct JobLine {
    task: String,
    queue: String,
    /// The rank of the priority: 0 for the highest.
    band: i64,
    kind: i64,
}

impl JobLine {
    /// Returns true if the process of a poll knows the payloads of its jobs (R24).
    fn is_known(&self, request: &Poll) -> bool {
        let version = u32::try_from(self.kind >> VERSION_SHIFT);
        version.is_ok_and(|version| request.knows(&self.task, version))
    }

    /// Returns true if its jobs are paused together with others.
    fn is_in(&self, scope: &PauseScope) -> bool {
        scope.has(&self.task, &self.queue)
    }
}

/// Queue, band and kind of a line.
type Place = (String, i64, i64);

/// The first line of a task from a place on. It is `>=` and not `>`: SQLite looks for the first row that is not smaller in both
/// cases, and with `>` would walk over all rows of the line that was named.
const NEXT: &str = "SELECT queue, band, kind FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' \
                    AND task = ?1 AND (queue, band, kind) >= (?2, ?3, ?4) ORDER BY queue, band, kind LIMIT 1";

/// The same in one queue.
const NEXT_OF_QUEUE: &str = "SELECT queue, band, kind FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' \
     AND task = ?1 AND queue = ?2 AND (band, kind) >= (?3, ?4) ORDER BY band, kind LIMIT 1";

const FIRST_LATER: &str = "SELECT run_at FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' \
     AND task = ?1 AND queue = ?2 AND band = ?3 AND kind = ?4 AND run_at > ?5 ORDER BY run_at LIMIT 1";

/// The greatest number of jobs of a line that get their lane in one poll.
const BROUGHT_MAX: u32 = 500;

const BRING_IN: &str = "UPDATE scheduler_job SET seen_due_at = ?5, partition = coalesce(partition, '') WHERE seq IN (\
     SELECT seq FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' AND task = ?1 AND queue = ?2 \
       AND band = ?3 AND kind = ?4 AND run_at <= ?5 ORDER BY run_at, id LIMIT ?6)";

/// The statement that reads jobs that have expired.
fn expired_sql() -> &'static str {
    sql!(
        "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_expiring WHERE state = 'ready' AND started_at IS NULL \
         AND expires_at IS NOT NULL AND expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2"
    )
}

/// The statement that reads the first jobs of a line.
fn due_sql() -> &'static str {
    sql!(
        "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_ready WHERE state = 'ready' AND task = ?1 AND queue = ?2 \
     AND band = ?3 AND kind = ?4 AND run_at <= ?5 ORDER BY run_at, id LIMIT ?6"
    )
}

impl Tx<'_> {
    /// The lines that have jobs, of the tasks, versions and queues of a poll: a step from line to line in the index.
    fn lines(&self, request: &Poll) -> rusqlite::Result<Vec<JobLine>> {
        let tasks: BTreeSet<&Arc<str>> = request.tasks.iter().map(|room| &room.task).collect();
        let mut lines = Vec::new();
        for task in tasks {
            match &request.queues {
                None => self.add_all(task, &mut lines)?,
                Some(queues) => {
                    for queue in queues.iter().collect::<BTreeSet<_>>() {
                        self.add_of_queue(task, queue, &mut lines)?;
                    }
                }
            }
        }
        lines.retain(|line| line.is_known(request));
        Ok(lines)
    }

    fn add_all(&self, task: &str, lines: &mut Vec<JobLine>) -> rusqlite::Result<()> {
        let (mut queue, mut from) = (String::new(), (i64::MIN, 0));
        while let Some(place) = self.first(NEXT, params![task, queue, from.0, from.1], place_at)? {
            let (task, (band, kind)) = (task.to_owned(), (place.1, place.2));
            lines.push(JobLine { task, queue: place.0.clone(), band, kind });
            (queue, from) = (place.0, (band, kind + 1));
        }
        Ok(())
    }

    fn add_of_queue(
        &self,
        task: &str,
        queue: &str,
        lines: &mut Vec<JobLine>,
    ) -> rusqlite::Result<()> {
        let mut from = (i64::MIN, 0);
        while let Some((_, band, kind)) =
            self.first(NEXT_OF_QUEUE, params![task, queue, from.0, from.1], place_at)?
        {
            lines.push(JobLine { task: task.to_owned(), queue: queue.to_owned(), band, kind });
            from = (band, kind + 1);
        }
        Ok(())
    }

    /// The due time of the earliest job that is not due yet.
    fn next_job(&self, lines: &[JobLine]) -> rusqlite::Result<Option<StoreTime>> {
        let mut next = None;
        for line in lines.iter().filter(|line| line.kind & IN_LANE == 0) {
            let first = self.first(
                FIRST_LATER,
                params![line.task, line.queue, line.band, line.kind, self.now.as_micros()],
                |row| Ok(StoreTime::from_micros(row.get(0)?)),
            )?;
            next = [next, first].into_iter().flatten().min();
        }
        Ok(next)
    }

    /// Claims jobs of lanes, then of lines. Damaged ones are parked.
    fn claim_due(
        &self,
        lines: Vec<JobLine>,
        request: &Poll,
        pool: &ConnectionPool,
        polled: &mut Polled,
    ) -> rusqlite::Result<()> {
        let (mut groups, lines) = self.lanes_of(lines, polled)?;
        groups.retain(|_| request.limit > 0);
        let mut due = Vec::new();
        for line in &lines {
            self.read_due(line, request, &mut due)?;
        }
        let mut used = LimitsUsed::default();
        if !groups.is_empty() {
            let claim = request.claim_lanes(self, &groups, &mut pool.turns(), !due.is_empty())?;
            (polled.is_full, polled.is_partial) =
                (claim.is_full, polled.is_partial || claim.is_partial);
            polled.next_job = [polled.next_job, claim.opens_at].into_iter().flatten().min();
            for row in claim.jobs {
                match row.damage() {
                    None => {
                        let is_ordered = claim.ordered.contains(&row.job.id);
                        polled.jobs.push(self.claim(row, request.session, is_ordered)?);
                    }
                    Some(_) => polled.damaged.push(self.park(row)?),
                }
            }
            used = claim.used;
        }
        let (good, bad): (Vec<_>, Vec<_>) = due.into_iter().partition(|row| row.damage().is_none());
        for row in bad {
            polled.damaged.push(self.park(row)?);
        }
        for row in request.choose(good, &used, |row: &SqliteJob| &row.job) {
            polled.jobs.push(self.claim(row, request.session, false)?);
        }
        Ok(())
    }

    /// The lanes that have jobs, and the lines of jobs without one. Jobs that are due get their lane.
    fn lanes_of(
        &self,
        lines: Vec<JobLine>,
        polled: &mut Polled,
    ) -> rusqlite::Result<(BTreeSet<LaneGroup>, Vec<JobLine>)> {
        let (mut groups, mut rest) = (BTreeSet::new(), Vec::new());
        let limits = if lines.is_empty() { StoredLimits::default() } else { self.all_limits()? };
        for line in lines {
            let is_in_lane = line.kind & IN_LANE != 0;
            let needs_lane = line.kind & WITHOUT_LANE != 0 || limits.of(&line.task).is_limited();
            if !is_in_lane && !needs_lane {
                rest.push(line);
                continue;
            }
            let version = u32::try_from(line.kind >> VERSION_SHIFT).unwrap_or(u32::MAX);
            let brought = if is_in_lane { 0 } else { self.bring_in(&line)? };
            polled.is_partial |= brought == BROUGHT_MAX as usize;
            if is_in_lane || brought > 0 {
                groups.insert(LaneGroup { task: line.task, queue: line.queue, version });
            }
        }
        Ok((groups, rest))
    }

    /// The due jobs of a line get their lane. Returns how many.
    fn bring_in(&self, line: &JobLine) -> rusqlite::Result<usize> {
        let now = self.now.as_micros();
        let params = params![line.task, line.queue, line.band, line.kind, now, BROUGHT_MAX];
        self.execute(BRING_IN, params)
    }

    /// Reads of a line what may be claimed of it.
    fn read_due(
        &self,
        line: &JobLine,
        request: &Poll,
        due: &mut Vec<SqliteJob>,
    ) -> rusqlite::Result<()> {
        let is = |bit| line.kind & bit != 0;
        let kind = LineKind {
            is_abandon: is(AT_MOST_ONCE),
            is_quarantined: is(QUARANTINED),
            is_long: is(LONG),
        };
        let limit = request.line_limit(&line.task, kind);
        let now = self.now.as_micros();
        let mut statement = self.statement(due_sql())?;
        let mut rows =
            statement.query(params![line.task, line.queue, line.band, line.kind, now, limit])?;
        let mut bytes = 0;
        // The first job that goes beyond is read, too, and left by the choice.
        while bytes <= CLAIM_BYTES_MAX
            && let Some(row) = rows.next()?
        {
            let row = SqliteJob::read(row)?;
            bytes += row.job.payload.bytes.len();
            due.push(row);
        }
        Ok(())
    }

    /// Gives a job to a session. It is ready: no other connection writes during this transaction.
    pub(crate) fn claim(
        &self,
        row: SqliteJob,
        session: SessionId,
        is_ordered: bool,
    ) -> rusqlite::Result<StoredJob> {
        let (seq, key_until, mut job) = (row.seq, row.key_until, row.kept.job);
        job.claim(session, self.next_fence(), key_until, is_ordered, self.now);
        self.execute(
            "UPDATE scheduler_job SET state = 'running', session = ?2, fence = ?3, attempt = ?4, started_at = ?5, \
             key = ?6, held_until = ?7, progress = NULL WHERE seq = ?1",
            params![
                seq,
                session.as_uuid().into_bytes(),
                capped(job.fence.0),
                job.attempt,
                self.now.as_micros(),
                job.key,
                job.held_until.map(StoreTime::as_micros),
            ],
        )?;
        Ok(job)
    }
}

fn place_at(row: &Row<'_>) -> rusqlite::Result<Place> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{self, MIGRATIONS};
    use crate::tx::Tables;

    /// By these plans, jobs of other tasks and jobs that are due later cost nothing.
    #[test]
    fn each_statement_is_a_range_of_one_index() {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        assert!(schema::migrate(&db, &Tables::DEFAULT, MIGRATIONS).is_ok());
        let line = "task=? AND queue=? AND band=? AND kind=?";
        for (sql, range) in [
            (NEXT, "task=? AND (queue,band,kind)>(?,?,?)".to_owned()),
            (NEXT_OF_QUEUE, "task=? AND queue=? AND (band,kind)>(?,?)".to_owned()),
            (FIRST_LATER, format!("{line} AND run_at>?")),
            (due_sql(), format!("{line} AND run_at<?")),
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
