//! Commands of people and of the program.

use rusqlite::types::ToSqlOutput;
use rusqlite::{Row, params, params_from_iter};
use scheduler_store::{
    ACTION_COLUMNS, Action, ActionFilter, BulkOutcome, Command, CommandAll, CommandOutcome, Fence,
    JobId, JobPause, JobState, Origin, Pause, PauseScope, Payload, Signature, StoreTime,
    StoredSchedule, TickJob,
};

use crate::fields::{FieldReader, bound_all, sql};
use crate::rows::SqliteJob;
use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn command_by(
        &self,
        signature: Option<&Signature>,
        command: &Command,
    ) -> rusqlite::Result<CommandOutcome> {
        let Some(signature) = signature else { return self.command((command, "")) };
        let before = command.schedule().map_or(Ok(None), |name| self.schedule(name))?;
        let job = command.job().map_or(Ok(None), |id| self.job(id))?;
        let is_limit = matches!(command, Command::SetLimit { .. });
        let limits = is_limit.then(|| self.all_limits()).transpose()?;
        let outcome = self.command((command, &signature.by))?;
        if outcome == CommandOutcome::Done {
            let entry = match command.schedule() {
                Some(name) => {
                    let after = self.schedule(name)?;
                    signature.entry_of_schedule(command, before.as_ref(), after.as_ref(), self.now)
                }
                None => match command.node() {
                    Some(session) => {
                        signature.entry_of_node(command, &self.label_of(session)?, self.now)
                    }
                    None => match &limits {
                        Some(before) => {
                            let limits = (before, &self.all_limits()?);
                            signature.entry_of_limit(command, limits, self.now)
                        }
                        None => signature.entry_of(command, job.as_ref(), self.now),
                    },
                },
            };
            self.keep(&entry, signature.scope.is_some())?;
        }
        Ok(outcome)
    }

    /// Keeps an action. One that is there already counts on, or stays as it is.
    pub(crate) fn keep(&self, action: &Action, adds: bool) -> rusqlite::Result<()> {
        let sql = sql!(
            "INSERT INTO scheduler_action ({action}) VALUES ({action_values}) \
             ON CONFLICT (id) DO UPDATE SET count = count + iif(?1, excluded.count, 0)"
        );
        let values = bound_all(&ACTION_COLUMNS, action);
        let values = std::iter::once(ToSqlOutput::from(adds)).chain(values);
        self.execute(sql, params_from_iter(values)).map(drop)
    }

    /// Those that a filter selects, the latest first.
    pub(crate) fn actions(
        &self,
        filter: &ActionFilter,
        limit: u32,
    ) -> rusqlite::Result<Vec<Action>> {
        let id = filter.after.map(|after| after.as_uuid().into_bytes());
        let sql = "SELECT at FROM scheduler_action WHERE id = ?1";
        let at = self.first(sql, params![id], |row| row.get::<_, i64>(0))?;
        let last = match (id, at) {
            (Some(_), None) => return Ok(Vec::new()),
            (id, at) => id.zip(at).map_or((vec![0xFF; 17], i64::MAX), |(id, at)| (id.to_vec(), at)),
        };
        let sql = sql!(
            "SELECT {action} FROM scheduler_action INDEXED BY scheduler_action_at \
             WHERE at >= ?1 AND (at, id) < (?2, ?3) AND (?4 IS NULL OR done_by = ?4) \
             AND (?5 IS NULL OR task = ?5 OR target = ?5) \
             ORDER BY at DESC, id DESC LIMIT ?6"
        );
        let since = filter.since.map_or(i64::MIN, StoreTime::as_micros);
        let (by, task) = (&filter.by, &filter.task);
        self.all(sql, params![since, last.1, last.0, by, task, limit], |row| {
            let (mut fields, mut action) = (FieldReader::new(row), Action::empty());
            for (at, column) in ACTION_COLUMNS.iter().enumerate() {
                (column.set)(&mut action, fields.value(at, column)?);
            }
            Ok(action)
        })
    }

    fn command(&self, (command, by): (&Command, &str)) -> rusqlite::Result<CommandOutcome> {
        match command {
            Command::Pause { schedule, .. }
            | Command::Resume { schedule }
            | Command::Reschedule { schedule, .. } => self.change(schedule, (command, by)),
            Command::PauseJobs { scope, until, by, reason } => {
                self.pause_jobs(scope, &Pause::new(self.now, *until, by, reason))
            }
            Command::ResumeJobs { scope } => self.resume_jobs(scope),
            Command::SetLimit { task, scope, limit } => {
                self.change_limits(|limits| limits.set(task, *scope, limit.clone()))?;
                Ok(CommandOutcome::Done)
            }
            Command::PauseNode { session, until, by, reason } => {
                self.pause_node(*session, &Pause::new(self.now, *until, by, reason))
            }
            Command::ResumeNode { session } => self.resume_node(*session),
            Command::Put { definition } => self.change(&definition.name, (command, by)),
            Command::RunNow { schedule, job } => self.run_now(schedule, *job),
            // By its name alone, so that a row goes that cannot be read.
            Command::Remove { schedule } => {
                let sql = "DELETE FROM scheduler_schedule WHERE name = ?1";
                Ok(done_if(self.execute(sql, params![schedule])? > 0))
            }
            Command::Cancel { job } => self.cancel(*job),
            Command::Retry { job } => self.retry(*job),
            Command::Delete { job } => self.delete(*job),
            Command::Edit { job, fence, payload } => self.edit(*job, *fence, payload),
        }
    }

    pub(crate) fn command_all(&self, request: &CommandAll) -> rusqlite::Result<BulkOutcome> {
        let jobs = self.jobs(&request.filter, request.limit)?;
        let mut all = BulkOutcome { done: 0, last: request.last_of(&jobs) };
        for job in jobs.into_iter().rev() {
            // One may have made another ready, or keep it from that.
            let job = self.job(job.id)?.filter(|job| request.filter.selects(job));
            let Some(job) = job else { continue };
            let is_done = self.command((&request.action.of(job.id), ""))? == CommandOutcome::Done;
            all.done += u64::from(is_done);
        }
        if let Some(entry) = request.entry(all.done, self.now) {
            self.keep(&entry, true)?;
        }
        Ok(all)
    }

    fn change(&self, name: &str, command: (&Command, &str)) -> rusqlite::Result<CommandOutcome> {
        self.on_row(name, |row, is_busy| StoredSchedule::execute(row, command, self.now, is_busy))
    }

    fn run_now(&self, name: &str, id: JobId) -> rusqlite::Result<CommandOutcome> {
        let Some(schedule) = self.schedule(name)? else { return Ok(CommandOutcome::NotFound) };
        if self.has(id)? || self.find_ended(id)?.is_some() {
            return Ok(CommandOutcome::Done);
        }
        if schedule.is_exclusive()
            && let Some((busy, _)) = self.busy(name)?
        {
            return Ok(CommandOutcome::Conflict(busy));
        }
        let job = TickJob { id, tick: self.now, missed: 0, run_at: self.now };
        self.insert_of(&schedule, &job, true)?;
        Ok(CommandOutcome::Done)
    }

    fn cancel(&self, id: JobId) -> rusqlite::Result<CommandOutcome> {
        let Some(mut row) = self.find(id)? else {
            let done = self.find_done(id)?;
            return Ok(done.map_or(CommandOutcome::NotFound, |row| {
                CommandOutcome::NotInState(row.job.state)
            }));
        };
        match row.job.state {
            JobState::Running => row.job.is_cancel_requested = true,
            JobState::Ready => {
                (row.job.state, row.job.finished_at) = (JobState::Cancelled, Some(self.now));
            }
            state => return Ok(CommandOutcome::NotInState(state)),
        }
        let origin = row.job.origin.clone().filter(|_| row.job.state == JobState::Cancelled);
        self.store(row)?;
        self.has_ended(origin.as_ref())?;
        Ok(CommandOutcome::Done)
    }

    /// Row by row, as another job may be in the way (R13).
    fn retry(&self, id: JobId) -> rusqlite::Result<CommandOutcome> {
        let unfinished = self.find(id)?;
        let is_done = unfinished.is_none();
        let row = if is_done { self.find_done(id)? } else { unfinished };
        let Some(mut row) = row else { return Ok(CommandOutcome::NotFound) };
        let state = row.job.state;
        if state == JobState::Running {
            return Ok(CommandOutcome::NotInState(state));
        }
        if !state.is_unfinished()
            && let Some(other) = self.rival(&row)?
        {
            return Ok(CommandOutcome::Conflict(other));
        }
        row.job.retry(self.now);
        if let Some(key) = &row.job.key {
            self.execute(
                "DELETE FROM scheduler_key WHERE task = ?1 AND key = ?2 AND job <> ?3",
                params![row.job.task, key, id.as_uuid().into_bytes()],
            )?;
        }
        if is_done {
            self.take_done(id)?;
            self.insert(&row)?;
            row.seq = self.find(id)?.map_or(0, |row| row.seq);
        }
        self.rewrite(&row)?;
        Ok(CommandOutcome::Done)
    }

    fn rival(&self, row: &SqliteJob) -> rusqlite::Result<Option<JobId>> {
        if let Some(key) = &row.job.key
            && let Some(other) = self.with_key(&row.job.task, key)?
            && other != row.job.id
        {
            return Ok(Some(other));
        }
        match row.job.origin.as_ref().filter(|_| row.is_exclusive) {
            Some(origin) => Ok(self.busy(&origin.schedule)?.map(|(busy, _)| busy)),
            None => Ok(None),
        }
    }

    fn delete(&self, id: JobId) -> rusqlite::Result<CommandOutcome> {
        let row = match self.find(id)? {
            Some(row) if row.job.state == JobState::Running => {
                return Ok(CommandOutcome::NotInState(JobState::Running));
            }
            Some(row) => {
                self.execute("DELETE FROM scheduler_job WHERE seq = ?1", params![row.seq])?;
                row
            }
            None => match self.take_done(id)? {
                Some(row) => row,
                None => return Ok(CommandOutcome::NotFound),
            },
        };
        if let Some(key) = &row.job.key {
            self.execute(
                "DELETE FROM scheduler_key WHERE task = ?1 AND key = ?2 AND job = ?3",
                params![row.job.task, key, id.as_uuid().into_bytes()],
            )?;
        }
        self.has_ended(row.job.origin.as_ref())?;
        Ok(CommandOutcome::Done)
    }

    fn edit(
        &self,
        id: JobId,
        fence: Option<Fence>,
        payload: &Payload,
    ) -> rusqlite::Result<CommandOutcome> {
        let row = match self.find(id)? {
            Some(row) => Some(row),
            None => self.find_done(id)?,
        };
        let Some(mut row) = row else { return Ok(CommandOutcome::NotFound) };
        let answer = row.job.edit(fence, payload);
        if answer == CommandOutcome::Done {
            self.execute(
                "UPDATE scheduler_job SET payload_version = ?2, payload = ?3, undecoded = 0 WHERE seq = ?1",
                params![row.seq, payload.version, payload.bytes],
            )?;
        }
        Ok(answer)
    }

    fn has_ended(&self, origin: Option<&Origin>) -> rusqlite::Result<()> {
        origin.map_or(Ok(()), |origin| self.after_job(&origin.schedule))
    }
}

pub(crate) fn done_if(is_found: bool) -> CommandOutcome {
    if is_found { CommandOutcome::Done } else { CommandOutcome::NotFound }
}

/// A row of pauses.
pub(crate) fn pause_at(row: &Row<'_>) -> rusqlite::Result<(Option<PauseScope>, Pause)> {
    let (until, by, reason): (Option<i64>, String, String) =
        (row.get(3)?, row.get(4)?, row.get(5)?);
    let (since, until) = (StoreTime::from_micros(row.get(2)?), until.map(StoreTime::from_micros));
    let scope = PauseScope::of(&row.get::<_, String>(0)?, row.get(1)?);
    Ok((scope, Pause::new(since, until, &by, &reason)))
}

impl Tx<'_> {
    /// The pauses that hold, those of queues after those of tasks. Almost always there is none.
    pub(crate) fn pauses(&self) -> rusqlite::Result<Vec<JobPause>> {
        self.pauses_by(
            "SELECT scope, name, since, until, paused_by, reason FROM scheduler_pause \
             WHERE scope IN ('queue', 'task') AND (until IS NULL OR until > ?1) ORDER BY scope DESC, name",
        )
    }

    /// The same and those of partitions, which no poll reads.
    pub(crate) fn all_pauses(&self) -> rusqlite::Result<Vec<JobPause>> {
        let mut pauses = self.pauses()?;
        pauses.extend(self.pauses_by(
            "SELECT scope, name, since, until, paused_by, reason FROM scheduler_pause \
             WHERE scope = 'partition' AND (until IS NULL OR until > ?1) ORDER BY name",
        )?);
        Ok(pauses)
    }

    fn pauses_by(&self, sql: &'static str) -> rusqlite::Result<Vec<JobPause>> {
        let rows = self.all(sql, params![self.now.as_micros()], pause_at)?;
        let paused = |(scope, pause): (Option<PauseScope>, _)| Some(JobPause::new(scope?, pause));
        Ok(rows.into_iter().filter_map(paused).collect())
    }

    /// Pauses jobs. Pauses that are over are deleted, so that a poll does not read them.
    fn pause_jobs(&self, scope: &PauseScope, pause: &Pause) -> rusqlite::Result<CommandOutcome> {
        self.execute(
            "DELETE FROM scheduler_pause WHERE until <= ?1",
            params![self.now.as_micros()],
        )?;
        self.execute(
            "INSERT INTO scheduler_pause (scope, name, since, until, paused_by, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT (scope, name) DO UPDATE SET until = ?4, paused_by = ?5, reason = ?6",
            params![
                scope.word(),
                scope.name(),
                pause.since.as_micros(),
                pause.until.map(StoreTime::as_micros),
                pause.by,
                pause.reason,
            ],
        )?;
        Ok(CommandOutcome::Done)
    }

    fn resume_jobs(&self, scope: &PauseScope) -> rusqlite::Result<CommandOutcome> {
        self.execute(
            "DELETE FROM scheduler_pause WHERE scope = ?1 AND name = ?2",
            params![scope.word(), scope.name()],
        )?;
        Ok(CommandOutcome::Done)
    }
}
