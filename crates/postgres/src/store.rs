//! The store: each request with its statement.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use scheduler_store::{
    BulkOutcome, ClaimRef, Close, Command, CommandAll, CommandOutcome, Enqueue, Enqueued, Finish,
    Finished, Fire, Fired, JobFilter, JobId, JobPause, NewJob, Open, Opened, OtherApplication,
    Poll, Polled, Prune, QueueDepth, Reap, Reaped, Register, Registered, Renew, Renewed,
    ScheduleSpec, SessionId, SessionInfo, SessionTask, Store, StoreError, StoreTime, StoredJob,
    StoredLimit, StoredLimits, StoredSchedule, Uuid, VersionDepth, Watch, identifier, micros,
    reap_wait, statement_json, storable,
};
use tokio_postgres::Error;
use tokio_postgres::types::Type;

use crate::blocking_connection::BlockingConnection;
use crate::builder::{StoreOptions, Wakeup};

use crate::columns::{self, At, Param, Params, count, small};
use crate::connect::CLAIMS;
use crate::connection_thread::{Callers, ConnectionThread, RetryOnDisconnect};
use crate::finish::{FINISH, Finisher};
use crate::job::{
    EnqueueBatch, PAUSES, Selected, commanded, edit_job, held, pause_jobs, read_job, read_pause,
    resume_jobs,
};
use crate::limits::{LIMITS, change_limits, read_limits};
use crate::poll::{NotificationListener, Poller};
use crate::schedules::{FIRE, SCHEDULE, change_locked, fire, read_schedule};
use crate::sql::Schema;

/// A store in PostgreSQL. Clones are the same store.
///
/// ```no_run
/// use scheduler_postgres::Postgres;
///
/// let store = Postgres::connect("postgres://user:password@localhost/app")?;
/// # Ok::<(), scheduler_store::StoreError>(())
/// ```
#[derive(Clone)]
pub struct Postgres {
    shared: Arc<StoreShared>,
}

struct StoreShared {
    options: StoreOptions,
    /// Polls, ticks, outcomes.
    claims: ConnectionThread,
    /// Leases: a slow claim must not delay a renewal.
    leases: ConnectionThread,
    /// The enqueues and questions of callers.
    callers: Callers,
    finisher: Arc<Finisher>,
    poller: Poller,
}

impl Postgres {
    /// The name of the schema.
    #[must_use]
    pub fn schema(&self) -> &str {
        self.shared.options.schema.name()
    }

    fn is_notifying(&self) -> bool {
        self.shared.options.wakeup == Wakeup::Notify
    }

    pub(crate) fn new(options: StoreOptions) -> Self {
        let thread = |name| ConnectionThread::new(name, Arc::clone(&options.connect));
        let callers = Callers::new((0..options.callers).map(|_| thread("callers")).collect());
        let (claims, leases) = (thread(CLAIMS), thread("leases"));
        let finisher = Arc::new(Finisher {
            sql: options.schema.sql(FINISH),
            is_relaxed: options.relaxed_finishes,
            careful: AtomicU32::new(0),
        });
        let poller = Poller::new(&options.schema, options.is_relaxed);
        Self {
            shared: Arc::new(StoreShared { options, claims, leases, callers, finisher, poller }),
        }
    }

    pub(crate) fn sql(&self, template: &str) -> String {
        self.shared.options.schema.sql(template)
    }

    fn schema_of(&self) -> &Schema {
        &self.shared.options.schema
    }

    fn caller(&self) -> &ConnectionThread {
        self.shared.callers.next()
    }

    /// Rows that callers ask for.
    fn ask<R: Send + 'static>(
        &self,
        template: &str,
        query: impl Fn(&mut BlockingConnection, &str) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, StoreError> {
        let sql = self.sql(template);
        self.caller().call(RetryOnDisconnect::Once, move |connection| query(connection, &sql))
    }

    fn job_command(
        &self,
        function: &str,
        first: Option<String>,
        id: JobId,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError> {
        let sql = self.sql(&match first {
            Some(_) => format!("select {{s}}.{function}($3, $1, $2)"),
            None => format!("select {{s}}.{function}($1, $2)"),
        });
        let answer: String = self.caller().call(RetryOnDisconnect::Never, move |connection| {
            let mut params: Vec<Param<'_>> = Vec::new();
            let (id, not_after) = (id.as_uuid(), At(not_after));
            params.push((&id, Type::UUID));
            params.push((&not_after, Type::TIMESTAMPTZ));
            if let Some(first) = &first {
                params.push((first, Type::TEXT));
            }
            connection.query_typed_one(&sql, &params)?.try_get(0)
        })?;
        Ok(commanded(&answer))
    }
}

impl Store for Postgres {
    fn describe(&self) -> String {
        self.shared.options.described.clone()
    }

    fn separate(&self, application: &str) -> String {
        let schema = identifier(application);
        format!("Postgres::builder(url).schema(\"{schema}\")")
    }

    /// The oldest reader is checked in the statement that writes (R20).
    fn open(&self, request: &Open) -> Result<Opened, StoreError> {
        let sql = self.sql("select * from {s}.open($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
        let request = request.clone();
        let (label, build) = (storable(&request.label), storable(&request.build));
        let application = storable(&request.application);
        let (opened, stored) =
            self.shared.leases.call(RetryOnDisconnect::Once, move |connection| {
                let row = connection.query_typed_one(
                    &sql,
                    &[
                        (&request.id.as_uuid(), Type::UUID),
                        (&request.replaces.map(SessionId::as_uuid), Type::UUID),
                        (&label, Type::TEXT),
                        (&build, Type::TEXT),
                        (&application, Type::TEXT),
                        (
                            &&*request.tasks.iter().map(|task| &*task.name).collect::<Vec<_>>(),
                            Type::TEXT_ARRAY,
                        ),
                        (
                            &&*request
                                .tasks
                                .iter()
                                .map(|task| i64::from(task.version))
                                .collect::<Vec<_>>(),
                            Type::INT8_ARRAY,
                        ),
                        (&micros(request.lease), Type::INT8),
                        (&At(request.not_after), Type::TIMESTAMPTZ),
                        (&crate::migrate::VERSION, Type::INT4),
                    ],
                )?;
                let label: Option<String> = row.try_get(4)?;
                let application: Option<String> = row.try_get(3)?;
                let other = |(application, label)| OtherApplication { application, label };
                let other_application = application.zip(label).map(other);
                let opened = Opened { now: row.try_get::<_, At>(0)?.0, other_application };
                Ok((opened, (row.try_get(1)?, row.try_get(2)?)))
            })?;
        let StoreOptions { connect, schema, .. } = &self.shared.options;
        crate::migrate::admit(connect, schema, stored)?;
        Ok(opened)
    }

    fn renew(&self, request: &Renew) -> Result<Renewed, StoreError> {
        let sql = self.sql("select now, is_alive from {s}.renew($1, $2, $3)");
        let request = request.clone();
        self.shared.leases.call(RetryOnDisconnect::Once, move |connection| {
            let row = connection.query_typed_one(
                &sql,
                &[
                    (&request.session.as_uuid(), Type::UUID),
                    (&micros(request.lease), Type::INT8),
                    (&At(request.not_after), Type::TIMESTAMPTZ),
                ],
            )?;
            Ok(Renewed { now: row.try_get::<_, At>(0)?.0, is_alive: row.try_get(1)? })
        })
    }

    fn close(&self, request: &Close) -> Result<(), StoreError> {
        let sql = self.sql("select {s}.close($1, $2)");
        let request = request.clone();
        self.shared.claims.call(RetryOnDisconnect::Once, move |connection| {
            let params: Params<'_> = &[
                (&request.session.as_uuid(), Type::UUID),
                (&At(request.not_after), Type::TIMESTAMPTZ),
            ];
            connection.query_typed(&sql, params).map(drop)
        })
    }

    fn register(&self, request: &Register) -> Result<Registered, StoreError> {
        request.definitions.iter().try_for_each(scheduler_store::ScheduleSpec::check)?;
        let names = request.definitions.iter().map(|each| each.name.clone()).collect();
        let (session, not_after) = (Some(request.session), request.not_after);
        let (limits, opened) = (request.limits.clone(), request.first_opened);
        // A task's jobs are claimed only when its limits are known, also while a schedule is locked.
        let register = move |all: &mut StoredLimits| all.register(&limits, opened);
        change_limits(&self.shared.claims, self.schema_of(), session, not_after, register)?;
        let request = request.clone();
        change_locked(
            &self.shared.claims,
            self.schema_of(),
            names,
            session,
            not_after,
            move |schedules| {
                let definitions = if schedules.is_alive { &*request.definitions } else { &[] };
                let opened = request.first_opened;
                let register = |definition: &ScheduleSpec| {
                    schedules.on_row(&definition.name, |row, now, is_busy| {
                        StoredSchedule::register_as(row, definition, opened, now, is_busy)
                    })
                };
                let registered = definitions.iter().map(register).collect();
                Registered {
                    now: schedules.now,
                    is_alive: schedules.is_alive,
                    schedules: registered,
                }
            },
        )
    }

    fn poll(&self, request: &Poll) -> Result<Polled, StoreError> {
        self.shared.poller.poll(&self.shared.claims, request)
    }

    fn fire(&self, request: &Fire) -> Result<Fired, StoreError> {
        let (sql, schedule_sql) = (self.sql(FIRE), self.sql(SCHEDULE));
        let request = request.clone();
        self.shared.claims.call(RetryOnDisconnect::Never, move |connection| {
            fire(connection, &sql, &schedule_sql, &request)
        })
    }

    fn finish(&self, requests: &[Finish]) -> Result<Vec<Finished>, StoreError> {
        let (finisher, requests) = (Arc::clone(&self.shared.finisher), requests.to_vec());
        self.shared
            .claims
            .call(RetryOnDisconnect::Once, move |connection| finisher.finish(connection, &requests))
    }

    fn held(&self, session: SessionId) -> Result<Vec<ClaimRef>, StoreError> {
        let sql = self.sql("select jobs, fences from {s}.held($1)");
        self.shared.claims.call(RetryOnDisconnect::Once, move |connection| {
            held(&connection.query_typed_one(&sql, &[(&session.as_uuid(), Type::UUID)])?, 0, 1)
        })
    }

    fn reap(&self, request: &Reap) -> Result<Reaped, StoreError> {
        let sessions = self.sql("select * from {s}.reap_sessions($1, $2, $3)");
        let jobs = self.sql("select {job_names} from {s}.reap_jobs($1, $2, $3, $4, $5, $6)");
        let request = request.clone();
        self.shared.claims.call(RetryOnDisconnect::Never, move |connection| {
            let dead: Vec<Uuid> =
                request.dead.iter().map(|lease| lease.session.as_uuid()).collect();
            let marks: Vec<i64> = request.dead.iter().map(|lease| lease.mark).collect();
            connection.transact(|tx| {
                let params: Params<'_> = &[
                    (&dead, Type::UUID_ARRAY),
                    (&marks, Type::INT8_ARRAY),
                    (&At(request.not_after), Type::TIMESTAMPTZ),
                ];
                let row = tx.query_typed_one(&sessions, params)?;
                let ended: Option<Vec<Uuid>> = row.try_get(0)?;
                let ended_marks: Option<Vec<i64>> = row.try_get(1)?;
                let mut ended: HashSet<(Uuid, i64)> =
                    ended.into_iter().flatten().zip(ended_marks.into_iter().flatten()).collect();
                let ids: Vec<Uuid> = row.try_get::<_, Option<_>>(2)?.unwrap_or_default();
                let owners: Option<Vec<Option<Uuid>>> = row.try_get(3)?;
                let fences: Option<Vec<i64>> = row.try_get(4)?;
                let labels: Option<Vec<Option<String>>> = row.try_get(5)?;
                let leases = request.dead.iter();
                let sessions = leases
                    .filter(|lease| ended.remove(&(lease.session.as_uuid(), lease.mark)))
                    .map(|lease| lease.session);
                let mut reaped = Reaped { sessions: sessions.collect(), jobs: Vec::new() };
                if !ids.is_empty() {
                    let waits: Vec<i64> = ids
                        .iter()
                        .map(|id| micros(reap_wait(JobId::from_uuid(*id), &request)))
                        .collect();
                    let params: Params<'_> = &[
                        (&ids, Type::UUID_ARRAY),
                        (&owners, Type::UUID_ARRAY),
                        (&fences, Type::INT8_ARRAY),
                        (&waits, Type::INT8_ARRAY),
                        (&labels, Type::TEXT_ARRAY),
                        (&i64::from(request.max_lost), Type::INT8),
                    ];
                    let rows = tx.query_typed(&jobs, params)?;
                    reaped.jobs =
                        rows.iter().map(|row| read_job(row, 0)).collect::<Result<_, _>>()?;
                }
                Ok(reaped)
            })
        })
    }

    fn enqueue(&self, request: &Enqueue) -> Result<Vec<Enqueued>, StoreError> {
        request.jobs.iter().try_for_each(scheduler_store::NewJob::check)?;
        let sql = self.sql(&columns::enqueue());
        let nudge = self.is_notifying();
        let batches = EnqueueBatch::split(&request.jobs);
        let not_after = request.not_after;
        self.caller().call(RetryOnDisconnect::Once, move |connection| {
            let mut answers = Vec::new();
            match &*batches {
                [one] => one.send(connection, &sql, not_after, nudge, &mut answers)?,
                several => {
                    connection.transact(|tx| {
                        several.iter().try_for_each(|batch| {
                            batch.send(tx, &sql, not_after, nudge, &mut answers)
                        })
                    })?;
                }
            }
            Ok(answers)
        })
    }

    fn statement(&self, jobs: &[NewJob]) -> Result<(String, String), StoreError> {
        let nudge = self.is_notifying();
        let sql = format!("select id, outcome from {{s}}.enqueue_json($1, nudge => {nudge})");
        Ok((self.sql(&sql), statement_json(jobs)?))
    }

    fn command(
        &self,
        command: &Command,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError> {
        command.check()?;
        let schema = self.schema_of();
        let name = match command {
            Command::Cancel { job } => return self.job_command("cancel", None, *job, not_after),
            Command::Retry { job } => return self.job_command("retry", None, *job, not_after),
            Command::Delete { job } => return self.job_command("remove", None, *job, not_after),
            Command::Edit { job, fence, payload } => {
                return edit_job(self.caller(), schema, (*job, *fence), payload.clone(), not_after);
            }
            Command::RunNow { schedule, job } => {
                return self.job_command("run_now", Some(schedule.clone()), *job, not_after);
            }
            Command::Pause { schedule, .. }
            | Command::Resume { schedule }
            | Command::Reschedule { schedule, .. }
            | Command::Remove { schedule } => schedule.clone(),
            Command::SetLimit { task, scope, limit } => {
                let (task, scope, limit) = (task.clone(), *scope, limit.clone());
                let set = move |limits: &mut StoredLimits| limits.set(&task, scope, limit.clone());
                return change_limits(self.caller(), schema, None, not_after, set)
                    .map(|()| CommandOutcome::Done);
            }
            Command::Put { definition } => definition.name.clone(),
            Command::PauseJobs { scope, until, by, reason } => {
                return pause_jobs(self.caller(), schema, scope, *until, (by, reason), not_after);
            }
            Command::ResumeJobs { scope } => {
                return resume_jobs(self.caller(), schema, scope, not_after);
            }
        };
        let (command, names) = (command.clone(), vec![name.clone()]);
        change_locked(self.caller(), schema, names, None, not_after, move |schedules| {
            schedules.on_row(&name, |row, now, is_busy| {
                StoredSchedule::execute(row, &command, now, is_busy)
            })
        })
    }

    fn command_all(&self, request: &CommandAll) -> Result<BulkOutcome, StoreError> {
        let (request, sql) = (request.clone(), self.sql(Selected::COMMAND));
        let filter = Selected(request.filter.clone());
        self.caller().call(RetryOnDisconnect::Never, move |connection| {
            filter.command(connection, &sql, &request)
        })
    }

    fn prune(&self, request: &Prune) -> Result<u64, StoreError> {
        let sql = self.sql("select {s}.prune($1, $2, $3, $4, $5)");
        let request = request.clone();
        self.shared.claims.call(RetryOnDisconnect::Never, move |connection| {
            let params: Params<'_> = &[
                (&micros(request.keep_done), Type::INT8),
                (&micros(request.keep_parked), Type::INT8),
                (&micros(request.keep_over), Type::INT8),
                (&i64::from(request.limit), Type::INT8),
                (&At(request.not_after), Type::TIMESTAMPTZ),
            ];
            Ok(count(connection.query_typed_one(&sql, params)?.try_get(0)?))
        })
    }

    fn job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError> {
        let template = "select {job_names} from {s}.job($1)";
        self.ask(template, move |client, sql| {
            let row = client.query_typed_opt(sql, &[(&id.as_uuid(), Type::UUID)])?;
            row.map(|row| read_job(&row, 0)).transpose()
        })
    }

    fn jobs(&self, filter: &JobFilter, limit: u32) -> Result<Vec<StoredJob>, StoreError> {
        let (filter, template) = (Selected(filter.clone()), Selected::JOBS);
        self.ask(template, move |client, sql| filter.jobs(client, sql, limit))
    }

    fn schedules(&self) -> Result<Vec<StoredSchedule>, StoreError> {
        let template = "select {schedule_names} from {s}.schedule order by name";
        let rows = self.ask(template, |client, sql| client.query_typed(sql, &[]))?;
        Ok(rows.iter().filter_map(|row| read_schedule(row).ok()).collect())
    }

    fn pauses(&self) -> Result<Vec<JobPause>, StoreError> {
        self.ask(PAUSES, |client, sql| {
            let rows = client.query_typed(sql, &[])?;
            rows.iter().filter_map(|row| read_pause(row).transpose()).collect()
        })
    }

    fn limits(&self) -> Result<Vec<StoredLimit>, StoreError> {
        self.ask(LIMITS, |client, sql| read_limits(&client.query_typed(sql, &[])?))
    }

    fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let template = "select id, label, build, opened_at, has_run_out, application, tasks, versions from {s}.list_sessions()";
        self.ask(template, |client, sql| {
            let rows = client.query_typed(sql, &[])?;
            let sessions = rows.iter().map(|row| {
                let names: Vec<&str> = row.try_get(6)?;
                let versions: Vec<i64> = row.try_get(7)?;
                let task = |(name, version): (&str, i64)| SessionTask {
                    name: name.into(),
                    version: small(version),
                };
                let id = SessionId::from_uuid(row.try_get(0)?);
                let mut session = SessionInfo::new(id, row.try_get::<_, At>(3)?.0);
                session.label = row.try_get(1)?;
                session.build = row.try_get(2)?;
                session.has_run_out = row.try_get(4)?;
                session.application = row.try_get(5)?;
                session.tasks = names.into_iter().zip(versions).map(task).collect();
                Ok(session)
            });
            sessions.collect()
        })
    }

    fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        let template = "select * from {s}.depths()";
        self.ask(template, |client, sql| {
            let rows = client.query_typed(sql, &[])?;
            let depths = rows.iter().map(|row| {
                let (oldest, oldest_running): (Option<At>, Option<At>) =
                    (row.try_get("oldest")?, row.try_get("oldest_running")?);
                let now: At = row.try_get("now")?;
                let versions: Option<Vec<i64>> = row.try_get("versions")?;
                let due: Option<Vec<i64>> = row.try_get("version_due")?;
                let since: Option<Vec<At>> = row.try_get("version_oldest")?;
                let counts = due.into_iter().flatten().zip(since.into_iter().flatten());
                let version = |(version, (due, oldest)): (i64, (i64, At))| VersionDepth {
                    version: small(version),
                    due: count(due),
                    oldest: now.0.since(oldest.0),
                };
                Ok(QueueDepth {
                    queue: row.try_get("queue")?,
                    task: row.try_get("task")?,
                    due: count(row.try_get("due")?),
                    later: count(row.try_get("later")?),
                    retrying: count(row.try_get("retrying")?),
                    running: count(row.try_get("running")?),
                    parked: count(row.try_get("parked")?),
                    oldest: oldest.map(|oldest| now.0.since(oldest.0)),
                    oldest_running: oldest_running.map(|oldest| now.0.since(oldest.0)),
                    versions: versions.into_iter().flatten().zip(counts).map(version).collect(),
                })
            });
            depths.collect()
        })
    }

    fn watch(&self) -> Option<Box<dyn Watch>> {
        let options = &self.shared.options;
        (options.wakeup == Wakeup::Notify).then(|| {
            Box::new(NotificationListener::new(&options.connect, &options.schema)) as Box<dyn Watch>
        })
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Postgres").field(&self.shared.options.described).finish()
    }
}
