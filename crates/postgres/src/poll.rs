//! Polls, and the notifications that ask for one.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scheduler_store::{
    DueSchedule, Lease, Poll, Polled, SessionId, StoreError, UnreadableRow, Uuid, Watch,
};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::blocking_connection::{BlockingConnection, RunStatement as _};
use crate::columns::{At, Params};
use crate::connect::Connect;
use crate::connection_thread::{ConnectionThread, RetryOnDisconnect};
use crate::error::store_error;
use crate::job::{held, read_job, scopes};
use crate::schedules::read_schedule;
use crate::sql::Schema;

/// Polls, and remembers what the last one has found.
#[derive(Debug)]
pub(crate) struct Poller {
    sql: Arc<str>,
    due_sql: Arc<str>,
    is_relaxed: bool,
    /// The greatest number of jobs that a poll claims: half as many after each poll that failed.
    claim_limit: AtomicU32,
    walk: Mutex<LineWalk>,
    /// The lanes after which the claims of this process go on, as a text that only the database reads.
    turns: Mutex<Option<String>>,
    /// Damaged rows that were reported.
    reported: Mutex<HashSet<String>>,
}

impl Poller {
    pub(crate) fn new(schema: &Schema, is_relaxed: bool) -> Self {
        let sql =
            "select * from {s}.poll($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
        let due = "select {schedule_names_of_d}, d.busy_since from {s}.due($1) d";
        Self {
            sql: schema.sql(sql).into(),
            due_sql: schema.sql(due).into(),
            is_relaxed,
            claim_limit: AtomicU32::new(u32::MAX),
            walk: Mutex::default(),
            turns: Mutex::default(),
            reported: Mutex::default(),
        }
    }

    pub(crate) fn poll(
        &self,
        claims: &ConnectionThread,
        request: &Poll,
    ) -> Result<Polled, StoreError> {
        // ORDERING: relaxed; it is a hint.
        let claim_limit = self.claim_limit.load(Ordering::Relaxed);
        let limit = request.limit.min(claim_limit);
        let answer = self.claim(claims, request, limit);
        let next_limit = match &answer {
            Ok(_) => claim_limit.saturating_mul(2),
            Err(StoreError::Refused(_)) => claim_limit,
            Err(_) => {
                self.walk().failed();
                (limit / 2).max(1)
            }
        };
        self.claim_limit.store(next_limit, Ordering::Relaxed);
        let PollRows { mut polled, due, lines, turns } = answer?;
        self.walk().answered(lines);
        *self.turns() = turns;
        // The due schedules are read by a second statement: rare, and a tick compares again what it saw.
        if !due.is_empty() {
            match self.due(claims, due) {
                Ok(read) => (polled.due, polled.damaged) = read,
                // The claims are committed: this process has to learn them. The next poll names the schedules again.
                Err(_) if !polled.jobs.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(polled)
    }

    fn claim(
        &self,
        claims: &ConnectionThread,
        request: &Poll,
        limit: u32,
    ) -> Result<PollRows, StoreError> {
        let (mut tasks, mut rooms, mut versions) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for each in request.tasks.iter().rev().filter(|each| seen.insert(&each.task)) {
            tasks.push(each.task.to_string());
            rooms.push(i64::from(each.room));
            versions.push(i64::from(each.version));
        }
        let queues: Option<Vec<String>> = request.queues.as_ref().map(|queues| {
            let each_once: BTreeSet<&Arc<str>> = queues.iter().collect();
            each_once.into_iter().map(ToString::to_string).collect()
        });
        let Poll { session, abandon_limit, lost_limit, with_leases, not_after, .. } = *request;
        let (lines, may_walk) = self.walk().next(&tasks, &versions, queues.as_deref());
        let (sql, is_relaxed) = (Arc::clone(&self.sql), self.is_relaxed);
        let turns = self.turns().clone();
        claims.call(RetryOnDisconnect::Never, move |connection| {
            let params: Params<'_> = &[
                (&session.as_uuid(), Type::UUID),
                (&tasks, Type::TEXT_ARRAY),
                (&rooms, Type::INT8_ARRAY),
                (&versions, Type::INT8_ARRAY),
                (&queues, Type::TEXT_ARRAY),
                (&i64::from(limit), Type::INT8),
                (&i64::from(abandon_limit), Type::INT8),
                (&i64::from(lost_limit), Type::INT8),
                (&At(not_after), Type::TIMESTAMPTZ),
                (&is_relaxed, Type::BOOL),
                (&with_leases, Type::BOOL),
                (&lines, Type::TEXT),
                (&may_walk, Type::BOOL),
                (&turns, Type::TEXT),
            ];
            read_poll(&connection.rows(&sql, params)?)
        })
    }

    /// Due schedules, read by name.
    fn due(
        &self,
        claims: &ConnectionThread,
        names: Vec<String>,
    ) -> Result<(Vec<DueSchedule>, Vec<UnreadableRow>), StoreError> {
        let sql = Arc::clone(&self.due_sql);
        let rows = claims.call(RetryOnDisconnect::Once, move |connection| {
            connection.query_typed(&sql, &[(&names, Type::TEXT_ARRAY)])
        })?;
        let (mut due, mut damaged) = (Vec::new(), Vec::new());
        for row in rows {
            match read_schedule(&row) {
                Ok(schedule) => {
                    let busy_since: Option<At> = row.try_get("busy_since").unwrap_or_default();
                    due.push(DueSchedule { schedule, busy_since: busy_since.map(|at| at.0) });
                }
                Err(reason) => damaged.extend(self.damage(&row, &reason)),
            }
        }
        Ok((due, damaged))
    }

    /// A damaged row, unless it was reported before.
    fn damage(&self, row: &Row, reason: &str) -> Option<UnreadableRow> {
        let name: String = row.try_get("name").unwrap_or_default();
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let row = format!("schedule `{name}`");
        let reason = format!("{reason}; it is left alone");
        reported.insert(name).then_some(UnreadableRow { row, reason })
    }

    fn turns(&self) -> MutexGuard<'_, Option<String>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn walk(&self) -> MutexGuard<'_, LineWalk> {
        self.walk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lines of jobs that the last poll has left for the next one of the same tasks, versions and queues.
#[derive(Debug, Default)]
struct LineWalk {
    tasks: Vec<String>,
    versions: Vec<i64>,
    queues: Option<Vec<String>>,
    /// A text that only the database reads.
    lines: Option<String>,
    /// The number of polls that do with these lines.
    rest: u32,
}

/// After a poll that was not answered, so many do with the lines that are known: it may have been the walk over the index of
/// ready jobs that took too long.
const REST: u32 = 20;

impl LineWalk {
    /// The lines that the last poll has left, and false if they have to do.
    fn next(
        &mut self,
        tasks: &[String],
        versions: &[i64],
        queues: Option<&[String]>,
    ) -> (Option<String>, bool) {
        if self.tasks != tasks || self.versions != versions || self.queues.as_deref() != queues {
            let (tasks, versions) = (tasks.to_vec(), versions.to_vec());
            *self = Self { tasks, versions, queues: queues.map(<[_]>::to_vec), ..Self::default() };
        }
        let may_walk = self.rest == 0;
        self.rest = self.rest.saturating_sub(1);
        (self.lines.clone(), may_walk)
    }

    fn answered(&mut self, lines: Option<String>) {
        self.lines = lines;
    }

    fn failed(&mut self) {
        self.rest = REST;
    }
}

/// The rows of the function `poll`.
#[derive(Default)]
struct PollRows {
    polled: Polled,
    /// The names of schedules that are due.
    due: Vec<String>,
    /// The lines for the next poll.
    lines: Option<String>,
    turns: Option<String>,
}

/// Reads the rows of the function `poll`: the claimed jobs, in the order of their fences, then the rest.
fn read_poll(rows: &[Row]) -> Result<PollRows, Error> {
    let mut answer = PollRows::default();
    let polled = &mut answer.polled;
    for row in rows {
        if !row.try_get::<_, bool>(0)? {
            polled.jobs.push(read_job(row, 20)?);
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
        polled.is_paused = row.try_get::<_, Option<_>>(14)?.unwrap_or_default();
        answer.turns = row.try_get(15)?;
        (polled.is_partial, polled.is_full) = (row.try_get(16)?, row.try_get(17)?);
        let tasks = row.try_get::<_, Option<Vec<String>>>(18)?.unwrap_or_default();
        let counts = row.try_get::<_, Option<Vec<i64>>>(19)?.unwrap_or_default();
        polled.expired = tasks.into_iter().zip(counts.into_iter().map(i64::unsigned_abs)).collect();
    }
    polled.jobs.sort_by_key(|job| job.fence);
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

/// After so long without a notification the connection is probed: one that is half open says nothing.
const PROBE: Duration = Duration::from_secs(10);

/// Listens on a connection of its own, on the thread that waits.
pub(crate) struct NotificationListener {
    connect: Arc<Connect>,
    listen: String,
    connection: Option<BlockingConnection>,
    /// The time that was waited since the connection has said something.
    quiet: Duration,
}

impl NotificationListener {
    pub(crate) fn new(connect: &Arc<Connect>, schema: &Schema) -> Self {
        let listen = format!("listen \"{}\"", schema.channel());
        Self { connect: Arc::clone(connect), listen, connection: None, quiet: Duration::ZERO }
    }

    fn open(&self) -> Result<BlockingConnection, StoreError> {
        let mut connection = self.connect.open("watch")?;
        connection.batch_execute(&self.listen).map_err(|error| store_error(&error))?;
        Ok(connection)
    }

    /// Waits on a connection. None if there is none.
    fn hears(&mut self, limit: Duration) -> Option<Result<bool, Error>> {
        let connection = self.connection.as_mut()?;
        let heard = connection.hears(limit);
        self.quiet = if matches!(heard, Ok(false)) { self.quiet + limit } else { Duration::ZERO };
        if self.quiet < PROBE {
            return Some(heard);
        }
        self.quiet = Duration::ZERO;
        Some(connection.batch_execute("").and(heard))
    }
}

impl Watch for NotificationListener {
    fn wait(&mut self, limit: Duration) -> Result<bool, StoreError> {
        match self.hears(limit) {
            Some(Ok(is_heard)) => return Ok(is_heard),
            Some(Err(_)) => {
                self.connection = None;
                self.connect.pace().broke();
            }
            None => {}
        }
        self.connection = Some(self.open()?);
        // Others may have enqueued while this process did not listen.
        Ok(true)
    }
}
