//! The store: each request with its statement.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use scheduler_store::{
    Action, ActionFilter, ActionId, BulkOutcome, ClaimRef, Close, Command, CommandAll,
    CommandOutcome, Enqueue, Enqueued, Failing, Finish, Finished, Fire, Fired, JobFilter, JobId,
    JobPause, JobWait, LimitDepth, NewJob, Open, Opened, OtherApplication, PartitionDepth, Poll,
    Polled, Prune, QueueDepth, Reap, Reaped, Register, Registered, Renew, Renewed, RunEnd,
    ScheduleSpec, SessionId, SessionInfo, Signature, Store, StoreError, StoreTime, StoredJob,
    StoredLimit, StoredSchedule, Uuid, VersionDepth, Watch, identifier, micros, reap_wait,
    statement_json, storable,
};
use tokio_postgres::Error;
use tokio_postgres::types::Type;

use crate::blocking_connection::BlockingConnection;
use crate::builder::{StoreOptions, Wakeup};

use crate::columns::{self, At, Params, count, small};
use crate::connect::CLAIMS;
use crate::connection_thread::{Callers, ConnectionThread, RetryOnDisconnect};
use crate::error::is_about_data;
use crate::finish::{FINISH, Finisher, to_ascii};
use crate::job::{
    EnqueueBatch, PAUSES, Selected, Signed, commanded, edit_job, held, pause_jobs, read_action,
    read_job, read_pause, resume_jobs,
};
use crate::limits::{
    LIMIT_DEPTHS, LIMITS, PARTITIONS, WAITS, read_limit_depth, read_limits, read_partition,
    read_wait, register_limits, set_limit,
};
use crate::poll::{NotificationListener, Poller};
use crate::schedules::{
    FIRE, SCHEDULE, change_locked, fire, keep_action, read_schedule, write_action,
};
use crate::sessions::{RENEW, SESSIONS, pause_node, read_session, renew, resume_node};
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
        command: &Command,
        id: JobId,
        signed: Signed,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError> {
        let sql =
            self.sql(&format!("select {{s}}.command_job($1, $2, $3, $4, {})", Signed::sql(5)));
        let (verb, schedule) = (command.verb(), command.schedule().map(str::to_owned));
        let answer: String = self.caller().call(RetryOnDisconnect::Never, move |connection| {
            let params: Params<'_> = &[
                (&verb, Type::TEXT),
                (&id.as_uuid(), Type::UUID),
                (&schedule, Type::TEXT),
                (&At(not_after), Type::TIMESTAMPTZ),
            ];
            signed.with(params, |params| connection.query_typed_one(&sql, params))?.try_get(0)
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
        let sql =
            self.sql("select * from {s}.open($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)");
        let request = request.clone();
        let (label, build) = (storable(&request.label), storable(&request.build));
        let application = storable(&request.application);
        let queues = request.queues.as_ref();
        let queues =
            queues.map(|queues| queues.iter().map(ToString::to_string).collect::<Vec<_>>());
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
                        (&queues, Type::TEXT_ARRAY),
                        (&i64::from(request.concurrency), Type::INT8),
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
        let sql = self.sql(RENEW);
        let mut request = request.clone();
        self.shared.leases.call(RetryOnDisconnect::Once, move |connection| {
            match renew(connection, &sql, &request) {
                // A text that the server cannot store must not end a lease.
                Err(error) if is_about_data(&error) && !request.progress.is_empty() => {
                    request.progress.iter_mut().for_each(|(_, progress)| to_ascii(progress));
                    renew(connection, &sql, &request)
                }
                result => result,
            }
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
        // A task's jobs are claimed only when its limits are known, also while a schedule is locked.
        register_limits(&self.shared.claims, self.schema_of(), request)?;
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
        let sessions = self.sql("select * from {s}.reap_sessions($1, $2, $3, $4)");
        let jobs = self.sql("select {job_names} from {s}.reap_jobs($1, $2, $3, $4, $5, $6)");
        let request = request.clone();
        self.shared.claims.call(RetryOnDisconnect::Never, move |connection| {
            let dead: Vec<Uuid> =
                request.dead.iter().map(|lease| lease.session.as_uuid()).collect();
            let marks: Vec<i64> = request.dead.iter().map(|lease| lease.mark).collect();
            let found_by = storable(&request.found_by);
            connection.transact(|tx| {
                let params: Params<'_> = &[
                    (&dead, Type::UUID_ARRAY),
                    (&marks, Type::INT8_ARRAY),
                    (&found_by, Type::TEXT),
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

    fn command_by(
        &self,
        signature: Option<&Signature>,
        command: &Command,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError> {
        command.check()?;
        let (schema, signed) = (self.schema_of(), Signed::new(signature));
        let name = match command {
            Command::Cancel { job }
            | Command::Retry { job }
            | Command::Delete { job }
            | Command::RunNow { job, .. } => {
                return self.job_command(command, *job, signed, not_after);
            }
            Command::Edit { job, fence, payload } => {
                let payload = (payload.clone(), signed);
                return edit_job(self.caller(), schema, (*job, *fence), payload, not_after);
            }
            Command::PauseNode { session, until, by, reason } => {
                let by = (&**by, &**reason, signed);
                return pause_node(self.caller(), schema, *session, *until, by, not_after);
            }
            Command::ResumeNode { session } => {
                return resume_node(self.caller(), schema, *session, signed, not_after);
            }
            Command::SetLimit { .. } => {
                let by = signature.cloned();
                return set_limit(self.caller(), schema, command.clone(), by, not_after);
            }
            Command::PauseJobs { scope, until, by, reason } => {
                let by = (&**by, &**reason, signed);
                return pause_jobs(self.caller(), schema, scope, *until, by, not_after);
            }
            Command::ResumeJobs { scope } => {
                return resume_jobs(self.caller(), schema, scope, signed, not_after);
            }
            Command::Pause { .. }
            | Command::Resume { .. }
            | Command::Reschedule { .. }
            | Command::Remove { .. }
            | Command::Put { .. } => command.schedule().unwrap_or_default().to_owned(),
        };
        let (command, signature) = (command.clone(), signature.cloned());
        let names = vec![name.clone()];
        change_locked(self.caller(), schema, names, None, not_after, move |schedules| {
            schedules.command(&name, &command, signature.as_ref())
        })
    }

    fn note(&self, action: &Action, adds: bool) -> Result<(), StoreError> {
        let (action, sql) = (action.clone(), self.sql(&keep_action()));
        self.caller().call(RetryOnDisconnect::Never, move |connection| {
            write_action(connection, &sql, &action, adds)
        })
    }

    fn actions(&self, filter: &ActionFilter, limit: u32) -> Result<Vec<Action>, StoreError> {
        let template = "select {action_names} from {s}.list_actions($1, $2, $3, $4, $5)";
        let filter = filter.clone();
        self.ask(template, move |client, sql| {
            let params: Params<'_> = &[
                (&filter.since.map(At), Type::TIMESTAMPTZ),
                (&filter.by, Type::TEXT),
                (&filter.task, Type::TEXT),
                (&filter.after.map(ActionId::as_uuid), Type::UUID),
                (&i64::from(limit), Type::INT8),
            ];
            client.query_typed(sql, params)?.iter().map(read_action).collect()
        })
    }

    fn command_all(&self, request: &CommandAll) -> Result<BulkOutcome, StoreError> {
        let (request, sql) = (request.clone(), self.sql(&Selected::command_sql()));
        let filter = Selected(request.filter.clone());
        self.caller().call(RetryOnDisconnect::Never, move |connection| {
            filter.command(connection, &sql, &request)
        })
    }

    fn prune(&self, request: &Prune) -> Result<u64, StoreError> {
        let sql = self.sql("select {s}.prune($1, $2, $3, $4, $5, $6)");
        let request = request.clone();
        self.shared.claims.call(RetryOnDisconnect::Never, move |connection| {
            let params: Params<'_> = &[
                (&micros(request.keep_done), Type::INT8),
                (&micros(request.keep_parked), Type::INT8),
                (&micros(request.keep_over), Type::INT8),
                (&micros(request.keep_actions), Type::INT8),
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

    fn waits(&self, jobs: &[JobId]) -> Result<Vec<JobWait>, StoreError> {
        let ids: Vec<Uuid> = jobs.iter().map(|id| id.as_uuid()).collect();
        self.ask(WAITS, move |client, sql| {
            client.query_typed(sql, &[(&ids, Type::UUID_ARRAY)])?.iter().map(read_wait).collect()
        })
    }

    fn partitions(&self, task: &str, limit: u32) -> Result<Vec<PartitionDepth>, StoreError> {
        let task = task.to_owned();
        self.ask(PARTITIONS, move |client, sql| {
            let params: Params<'_> = &[(&task, Type::TEXT), (&i64::from(limit), Type::INT8)];
            client.query_typed(sql, params)?.iter().map(read_partition).collect()
        })
    }

    fn limit_depths(&self) -> Result<Vec<LimitDepth>, StoreError> {
        self.ask(LIMIT_DEPTHS, |client, sql| {
            client.query_typed(sql, &[])?.iter().map(read_limit_depth).collect()
        })
    }

    fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.ask(SESSIONS, |client, sql| {
            client.query_typed(sql, &[])?.iter().map(read_session).collect()
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
                let failures: Option<i64> = row.try_get("failures")?;
                let since: Option<At> = row.try_get("failing_since")?;
                let (end, started): (Option<At>, Option<At>) =
                    (row.try_get("end_at")?, row.try_get("end_started")?);
                let error: Option<String> = row.try_get("end_error")?;
                let failing = failures.zip(since).zip(end).map(|((failures, since), end)| {
                    let last = RunEnd::parked(end.0, started.map(|started| started.0), error);
                    Failing::new(count(failures), since.0, last)
                });
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
                    failing,
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
