//! Sessions: opened, renewed, closed, reaped; and what they register.

use rusqlite::{Row, params};
use scheduler_store::{
    ClaimRef, Close, ColumnKind, CommandOutcome, ENDED_SESSION_RETENTION, End, EndedNodes, Fence,
    Finish, JobState, Lease, Open, Opened, OtherApplication, Pause, Reap, Reaped, Register,
    Registered, Renew, Renewed, ScheduleSpec, SessionEnd, SessionId, SessionInfo, SessionTask,
    StoreTime, StoredSchedule, micros, reap_count, storable,
};

use crate::commands::done_if;
use crate::fields::{FieldReader, sql};
use crate::rows::{SqliteJob, capped, id_at};
use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn open(&self, request: &Open) -> rusqlite::Result<Opened> {
        if let Some(replaced) = request.replaces {
            self.end_session(replaced, Some(&request.label))?;
        }
        let queues = request
            .queues
            .as_ref()
            .map(|queues| queues.iter().map(|queue| format!("{queue}\0")).collect());
        let queues = queues.map(String::into_bytes);
        let opened = self.execute(
            "INSERT INTO scheduler_session (id, label, build, application, tasks, opened_at, boot, lease_until, renewals, \
               queues, concurrency) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10) ON CONFLICT (id) DO NOTHING",
            params![
                request.id.as_uuid().into_bytes(),
                storable(&request.label),
                storable(&request.build),
                storable(&request.application),
                tasks_to_bytes(&request.tasks),
                self.now.as_micros(),
                self.boot_id,
                self.since_boot.saturating_add(micros(request.lease)),
                queues,
                request.concurrency,
            ],
        )?;
        if let Some(replaced) = request.replaces.filter(|_| opened > 0) {
            self.take_pause(request.id, replaced)?;
        }
        Ok(Opened { now: self.now, other_application: self.other_application(request)? })
    }

    /// A process of another application, by the living sessions.
    fn other_application(&self, request: &Open) -> rusqlite::Result<Option<OtherApplication>> {
        let others = self.all(
            "SELECT application, label, tasks FROM scheduler_session \
             WHERE id <> ?1 AND boot = ?2 AND lease_until > ?3 ORDER BY id",
            params![request.id.as_uuid().into_bytes(), self.boot_id, self.since_boot],
            |row| {
                let mut fields = FieldReader::new(row);
                let other =
                    OtherApplication { application: fields.text(0)?, label: fields.text(1)? };
                Ok((other, tasks_of(&fields.bytes(2)?)))
            },
        )?;
        let others = others
            .iter()
            .map(|(other, tasks)| (other.clone(), tasks.iter().map(|task| &*task.name).collect()));
        Ok(request.other_application(others))
    }

    /// A session is paused if the one was that it replaces.
    fn take_pause(&self, session: SessionId, replaced: SessionId) -> rusqlite::Result<()> {
        self.execute(
            "UPDATE scheduler_session SET (pause_since, pause_until, paused_by, pause_reason) = \
               (SELECT pause_since, pause_until, paused_by, pause_reason FROM scheduler_ended_session WHERE id = ?2) \
             WHERE id = ?1",
            params![session.as_uuid().into_bytes(), replaced.as_uuid().into_bytes()],
        )?;
        Ok(())
    }

    /// Ends a session, which a process of this name has found lost, or which was closed.
    fn end_session(&self, session: SessionId, found_by: Option<&str>) -> rusqlite::Result<()> {
        let id = session.as_uuid().into_bytes();
        self.execute(
            sql!(
                "INSERT INTO scheduler_ended_session ({session}, ended_at, found_by, jobs) SELECT {session}, ?2, ?3, \
                   (SELECT count(*) FROM scheduler_job INDEXED BY scheduler_job_running WHERE state = 'running' AND session = ?1) \
                 FROM scheduler_session WHERE id = ?1 ON CONFLICT (id) DO NOTHING"
            ),
            params![id, self.now.as_micros(), found_by.map(storable)],
        )?;
        self.execute("DELETE FROM scheduler_session WHERE id = ?1", params![id])?;
        Ok(())
    }

    /// Deletes what is kept of sessions that ended long ago.
    pub(crate) fn prune_sessions(&self, limit: u32) -> rusqlite::Result<()> {
        self.execute(
            "DELETE FROM scheduler_ended_session WHERE id IN (\
               SELECT id FROM scheduler_ended_session INDEXED BY scheduler_ended_session_at \
               WHERE ended_at <= ?1 ORDER BY ended_at, id LIMIT ?2)",
            params![self.kept_since(), limit],
        )?;
        Ok(())
    }

    /// Sessions that ended then or before are not kept any more.
    fn kept_since(&self) -> i64 {
        self.now.before(ENDED_SESSION_RETENTION).as_micros()
    }

    pub(crate) fn pause_node(
        &self,
        session: SessionId,
        pause: &Pause,
    ) -> rusqlite::Result<CommandOutcome> {
        let changed = self.execute(
            "UPDATE scheduler_session SET pause_since = CASE WHEN pause_since IS NULL OR pause_until <= ?2 THEN ?2 \
               ELSE pause_since END, pause_until = ?3, paused_by = ?4, pause_reason = ?5 WHERE id = ?1",
            params![
                session.as_uuid().into_bytes(),
                pause.since.as_micros(),
                pause.until.map(StoreTime::as_micros),
                pause.by,
                pause.reason,
            ],
        )?;
        Ok(done_if(changed > 0))
    }

    pub(crate) fn resume_node(&self, session: SessionId) -> rusqlite::Result<CommandOutcome> {
        let sql = "UPDATE scheduler_session SET pause_since = NULL WHERE id = ?1";
        Ok(done_if(self.execute(sql, params![session.as_uuid().into_bytes()])? > 0))
    }

    /// Returns true if the session is open and its lease has not run out.
    pub(crate) fn is_alive(&self, session: SessionId) -> rusqlite::Result<bool> {
        let sql =
            "SELECT 1 FROM scheduler_session WHERE id = ?1 AND boot = ?2 AND lease_until > ?3";
        let params = params![session.as_uuid().into_bytes(), self.boot_id, self.since_boot];
        Ok(self.first(sql, params, |_| Ok(()))?.is_some())
    }

    /// Returns true if the session is open and paused.
    pub(crate) fn is_node_paused(&self, session: SessionId) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM scheduler_session \
                   WHERE id = ?1 AND pause_since IS NOT NULL AND (pause_until IS NULL OR pause_until > ?2)";
        let params = params![session.as_uuid().into_bytes(), self.now.as_micros()];
        Ok(self.first(sql, params, |_| Ok(()))?.is_some())
    }

    /// Returns true if the session has not ended.
    pub(crate) fn is_open(&self, session: SessionId) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM scheduler_session WHERE id = ?1";
        Ok(self.first(sql, params![session.as_uuid().into_bytes()], |_| Ok(()))?.is_some())
    }

    /// The name of the process for people; empty if the session has ended.
    pub(crate) fn label_of(&self, session: SessionId) -> rusqlite::Result<String> {
        let sql = "SELECT label FROM scheduler_session WHERE id = ?1";
        let params = params![session.as_uuid().into_bytes()];
        Ok(self.first(sql, params, |row| FieldReader::new(row).text(0))?.unwrap_or_default())
    }

    pub(crate) fn renew(&self, request: &Renew) -> rusqlite::Result<Renewed> {
        let renewed = self.execute(
            "UPDATE scheduler_session SET lease_until = ?4, renewals = renewals + 1, clock_offset = ?5 \
             WHERE id = ?1 AND boot = ?2 AND lease_until > ?3",
            params![
                request.session.as_uuid().into_bytes(),
                self.boot_id,
                self.since_boot,
                self.since_boot.saturating_add(micros(request.lease)),
                request.clock_offset,
            ],
        )?;
        let (is_alive, mut written) = (renewed > 0, 0);
        for (held, progress) in request.progress.iter().filter(|_| is_alive) {
            written += self.execute(
                "UPDATE scheduler_job SET progress = ?4 WHERE id = ?1 AND session = ?2 AND fence = ?3 AND state = 'running'",
                params![
                    held.job.as_uuid().into_bytes(),
                    request.session.as_uuid().into_bytes(),
                    capped(held.fence.0),
                    progress.to_column(),
                ],
            )?;
        }
        Ok(Renewed { now: self.now, is_alive, is_complete: written == request.progress.len() })
    }

    /// The leases of all other sessions.
    pub(crate) fn leases(&self, session: SessionId) -> rusqlite::Result<Vec<Lease>> {
        self.all(
            "SELECT id, renewals, boot <> ?2 OR lease_until <= ?3 FROM scheduler_session WHERE id <> ?1 ORDER BY id",
            params![session.as_uuid().into_bytes(), self.boot_id, self.since_boot],
            |row| Ok(Lease { session: session_at(row, 0)?, mark: row.get(1)?, has_run_out: row.get(2)? }),
        )
    }

    pub(crate) fn close(&self, request: &Close) -> rusqlite::Result<()> {
        let session = request.session;
        let end = |held| Finish::new(session, held, End::GiveBack);
        self.finish(&self.held(session)?.into_iter().map(end).collect::<Vec<_>>())?;
        self.end_session(request.session, None)
    }

    pub(crate) fn register(&self, request: &Register) -> rusqlite::Result<Registered> {
        let is_alive = self.is_alive(request.session)?;
        let definitions = if is_alive { &*request.definitions } else { &[] };
        let register = |definition: &ScheduleSpec| {
            self.on_row(&definition.name, |row, is_busy| {
                StoredSchedule::register_as(
                    row,
                    definition,
                    request.first_opened,
                    self.now,
                    is_busy,
                )
            })
        };
        if is_alive {
            self.register_limits(request)?;
        }
        let schedules = definitions.iter().map(register).collect::<Result<_, _>>()?;
        Ok(Registered { now: self.now, is_alive, schedules })
    }

    pub(crate) fn reap(&self, request: &Reap) -> rusqlite::Result<Reaped> {
        let (mut reaped, mut ended_nodes) = (Reaped::default(), EndedNodes::default());
        for lease in &request.dead {
            // Only what was seen, and only if it was not renewed since (R8, R9).
            let label = self.first(
                "SELECT label FROM scheduler_session \
                 WHERE id = ?1 AND renewals = ?2 AND (boot <> ?3 OR lease_until <= ?4)",
                params![
                    lease.session.as_uuid().into_bytes(),
                    lease.mark,
                    self.boot_id,
                    self.since_boot
                ],
                |row| FieldReader::new(row).text(0),
            )?;
            if let Some(label) = label {
                self.end_session(lease.session, Some(&request.found_by))?;
                ended_nodes.add(lease.session, label);
                reaped.sessions.push(lease.session);
            }
        }
        let orphans = self.all(
            sql!(
                "SELECT seq, {job} FROM scheduler_job INDEXED BY scheduler_job_running WHERE state = 'running' AND NOT EXISTS \
                 (SELECT 1 FROM scheduler_session WHERE scheduler_session.id = scheduler_job.session) ORDER BY id"
            ),
            [],
            SqliteJob::read,
        )?;
        let count = reap_count(orphans.iter().map(|row| row.job.payload.bytes.len()));
        for mut row in orphans.into_iter().take(count) {
            let node = ended_nodes.of(&row.job);
            row.job.lose(request, node, || self.next_fence(), self.now);
            let job = row.job.clone();
            self.store(row)?;
            if job.state != JobState::Ready {
                self.run_ended(&job)?;
            }
            reaped.jobs.push(job);
        }
        Ok(reaped)
    }

    pub(crate) fn held(&self, session: SessionId) -> rusqlite::Result<Vec<ClaimRef>> {
        self.all(
            "SELECT id, fence FROM scheduler_job INDEXED BY scheduler_job_running \
             WHERE state = 'running' AND session = ?1 ORDER BY id",
            params![session.as_uuid().into_bytes()],
            held_at,
        )
    }

    pub(crate) fn sessions(&self) -> rusqlite::Result<Vec<SessionInfo>> {
        let mut sessions = self.all(
            sql!(
                "SELECT {session}, boot <> ?1 OR lease_until <= ?2 FROM scheduler_session ORDER BY id"
            ),
            params![self.boot_id, self.since_boot],
            |row| {
                let mut session = self.session_info(row)?;
                session.has_run_out = row.get(13)?;
                Ok(session)
            },
        )?;
        sessions.extend(self.all(
            sql!(
                "SELECT {session}, ended_at, found_by, jobs \
                 FROM scheduler_ended_session INDEXED BY scheduler_ended_session_at \
                 WHERE ended_at > ?1 ORDER BY ended_at DESC, id"
            ),
            params![self.kept_since()],
            |row| {
                let mut fields = FieldReader::new(row);
                let (at, jobs) = (fields.time(13)?, fields.int(15, ColumnKind::Number.range())?);
                let found_by = fields.opt_text(14)?;
                let jobs = u32::try_from(jobs).unwrap_or(u32::MAX);
                let mut session = self.session_info(row)?;
                session.ended = Some(SessionEnd::new(at, found_by.as_deref(), jobs));
                Ok(session)
            },
        )?);
        Ok(sessions)
    }

    /// The columns that both tables have, which are the list `session`.
    fn session_info(&self, row: &Row<'_>) -> rusqlite::Result<SessionInfo> {
        let mut fields = FieldReader::new(row);
        let mut session = SessionInfo::new(session_at(row, 0)?, fields.time(3)?);
        session.label = fields.text(1)?;
        session.build = fields.text(2)?;
        session.application = fields.text(4)?;
        session.tasks = tasks_of(&fields.bytes(5)?);
        let queues = fields.opt_bytes(6)?;
        session.queues = queues.map(|queues| words_of(&queues).into_iter().collect());
        let concurrency = fields.int(7, ColumnKind::Number.range())?;
        session.concurrency = u32::try_from(concurrency).unwrap_or(u32::MAX);
        session.clock_offset = fields.opt_int(8, ColumnKind::Micros.range())?;
        if let Some(since) = fields.opt_int(9, ColumnKind::Time.range())? {
            let until = fields.opt_int(10, ColumnKind::Time.range())?.map(StoreTime::from_micros);
            let (by, reason) = (fields.opt_text(11)?, fields.opt_text(12)?);
            let (by, reason) = (by.unwrap_or_default(), reason.unwrap_or_default());
            let pause = Pause::new(StoreTime::from_micros(since), until, &by, &reason);
            session.pause = Some(pause).filter(|pause| pause.holds(self.now));
        }
        Ok(session)
    }
}

/// Words with a zero byte after each.
fn words_of(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).split_terminator('\0').map(str::to_owned).collect()
}

/// Name and version of each task, with a zero byte after each.
fn tasks_to_bytes(tasks: &[SessionTask]) -> Vec<u8> {
    let text = |task: &SessionTask| format!("{}\0{}\0", task.name, task.version);
    tasks.iter().map(text).collect::<String>().into_bytes()
}

/// The tasks that [`Tx::open`] has written.
fn tasks_of(bytes: &[u8]) -> Vec<SessionTask> {
    let words = words_of(bytes);
    let task = |pair: &[String]| {
        Some(SessionTask { name: pair[0].clone(), version: pair.get(1)?.parse().ok()? })
    };
    words.chunks(2).filter_map(task).collect()
}

/// A job and its fence, from the first two columns.
pub(crate) fn held_at(row: &Row<'_>) -> rusqlite::Result<ClaimRef> {
    Ok(ClaimRef {
        job: id_at(row, 0)?,
        fence: Fence(FieldReader::new(row).int(1, ColumnKind::Long.range())?.unsigned_abs()),
    })
}

fn session_at(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionId> {
    Ok(SessionId::from_uuid(FieldReader::new(row).opt_uuid(column)?.unwrap_or_default()))
}
