//! Sessions: opened, renewed, closed, reaped; and what they register.

use rusqlite::{Row, params};
use scheduler_store::{
    ClaimRef, Close, ColumnKind, End, EndedNodes, Fence, JobState, Lease, Open, Opened,
    OtherApplication, Reap, Reaped, Register, Registered, Renew, Renewed, ScheduleSpec, SessionId,
    SessionInfo, SessionTask, StoredSchedule, micros, reap_count, storable,
};

use crate::fields::{FieldReader, sql};
use crate::rows::{SqliteJob, id_at};
use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn open(&self, request: &Open) -> rusqlite::Result<Opened> {
        if let Some(replaced) = request.replaces {
            self.delete_session(replaced)?;
        }
        self.execute(
            "INSERT INTO scheduler_session (id, label, build, application, tasks, opened_at, boot, lease_until, renewals) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0) ON CONFLICT (id) DO NOTHING",
            params![
                request.id.as_uuid().into_bytes(),
                storable(&request.label),
                storable(&request.build),
                storable(&request.application),
                tasks_to_bytes(&request.tasks),
                self.now.as_micros(),
                self.boot_id,
                self.since_boot.saturating_add(micros(request.lease)),
            ],
        )?;
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

    fn delete_session(&self, session: SessionId) -> rusqlite::Result<bool> {
        let sql = "DELETE FROM scheduler_session WHERE id = ?1";
        Ok(self.execute(sql, params![session.as_uuid().into_bytes()])? > 0)
    }

    /// Returns true if the session is open and its lease has not run out.
    pub(crate) fn is_alive(&self, session: SessionId) -> rusqlite::Result<bool> {
        let sql =
            "SELECT 1 FROM scheduler_session WHERE id = ?1 AND boot = ?2 AND lease_until > ?3";
        let params = params![session.as_uuid().into_bytes(), self.boot_id, self.since_boot];
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
            "UPDATE scheduler_session SET lease_until = ?4, renewals = renewals + 1 \
             WHERE id = ?1 AND boot = ?2 AND lease_until > ?3",
            params![
                request.session.as_uuid().into_bytes(),
                self.boot_id,
                self.since_boot,
                self.since_boot.saturating_add(micros(request.lease)),
            ],
        )?;
        Ok(Renewed { now: self.now, is_alive: renewed > 0 })
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
        for held in self.held(request.session)? {
            self.end_claim(request.session, held, &End::GiveBack)?;
        }
        self.delete_session(request.session)?;
        Ok(())
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
                "DELETE FROM scheduler_session \
                 WHERE id = ?1 AND renewals = ?2 AND (boot <> ?3 OR lease_until <= ?4) \
                 RETURNING label",
                params![
                    lease.session.as_uuid().into_bytes(),
                    lease.mark,
                    self.boot_id,
                    self.since_boot
                ],
                |row| FieldReader::new(row).text(0),
            )?;
            if let Some(label) = label {
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
            if let Some(origin) = job.origin.as_ref().filter(|_| job.state != JobState::Ready) {
                self.after_job(&origin.schedule)?;
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
        self.all(
            "SELECT id, label, build, opened_at, boot <> ?1 OR lease_until <= ?2, application, tasks \
             FROM scheduler_session ORDER BY id",
            params![self.boot_id, self.since_boot],
            |row| {
                let mut fields = FieldReader::new(row);
                let mut session = SessionInfo::new(session_at(row, 0)?, fields.time(3)?);
                session.label = fields.text(1)?;
                session.build = fields.text(2)?;
                session.has_run_out = row.get(4)?;
                session.application = fields.text(5)?;
                session.tasks = tasks_of(&fields.bytes(6)?);
                Ok(session)
            },
        )
    }
}

/// Name and version of each task, with a zero byte after each.
fn tasks_to_bytes(tasks: &[SessionTask]) -> Vec<u8> {
    let text = |task: &SessionTask| format!("{}\0{}\0", task.name, task.version);
    tasks.iter().map(text).collect::<String>().into_bytes()
}

/// The tasks that [`Tx::open`] has written.
fn tasks_of(bytes: &[u8]) -> Vec<SessionTask> {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<_> = text.split_terminator('\0').collect();
    let task = |pair: &[&str]| {
        Some(SessionTask { name: pair[0].into(), version: pair.get(1)?.parse().ok()? })
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
