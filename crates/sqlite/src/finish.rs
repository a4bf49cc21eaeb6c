//! Finishes claims and prunes old rows.

use rusqlite::params;
use scheduler_store::{
    ClaimRef, End, Finish, Finished, JobState, OnLost, Prune, RunEnd, SessionId, StoreTime,
    StoredJob, micros,
};

use crate::fields::{instant, sql};
use crate::rows::{SqliteJob, capped, read_schedule};
use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn finish(&self, requests: &[Finish]) -> rusqlite::Result<Vec<Finished>> {
        let mut answers = Vec::with_capacity(requests.len());
        // Most requests are of one session, and no answer ends one.
        let mut last = None;
        for request in requests {
            let session = request.session;
            let is_open = match last {
                Some((same, is_open)) if same == session => is_open,
                _ => self.is_open(session)?,
            };
            last = Some((session, is_open));
            answers.push(self.end_claim_of(request, is_open)?);
        }
        Ok(answers)
    }

    fn end_claim_of(&self, request: &Finish, is_open: bool) -> rusqlite::Result<Finished> {
        let Finish { session, held, end, progress } = request;
        let (session, held, progress) = (*session, *held, progress.as_ref());
        if is_open
            && matches!(end, End::Done | End::Gone)
            && let Some(mut row) = self.take_running(session, held)?
        {
            row.job.report(progress);
            row.job.end(end, "", self.now);
            row.is_gone = *end == End::Gone;
            let job = row.job.clone();
            self.ended.borrow_mut().push(row);
            self.run_ended(&job)?;
            return Ok(Finished::Stored(JobState::Done));
        }
        let row = match self.find(held.job)? {
            Some(row) => Some(row),
            None => self.find_ended(held.job)?,
        };
        let row = row.filter(|row| {
            let is_held = row.job.session == Some(session) && row.job.fence == held.fence;
            // No other process runs a job that runs at most once: its end counts also when the session is gone (R4).
            is_held && (is_open || row.job.on_lost == OnLost::Abandon)
        });
        let Some(mut row) = row else { return Ok(Finished::Lost) };
        let node = match end.recorded() {
            Some(_) => self.label_of(session)?,
            None => String::new(),
        };
        if row.job.end_late(end, &node, self.now) {
            let state = row.job.state;
            row.job.report(progress);
            row.is_gone = *end == End::Gone;
            self.store(row)?;
            return Ok(Finished::Stored(state));
        }
        if row.job.state != JobState::Running {
            return Ok(Finished::AlreadyMine(row.job.state));
        }
        row.job.report(progress);
        row.job.end(end, &node, self.now);
        row.is_gone = *end == End::Gone;
        let job = row.job.clone();
        self.store(row)?;
        if !job.state.is_unfinished() {
            self.run_ended(&job)?;
        }
        Ok(Finished::Stored(job.state))
    }

    /// A run has ended a job, whose row is as it is left.
    pub(crate) fn run_ended(&self, job: &StoredJob) -> rusqlite::Result<()> {
        self.note_failing(job)?;
        let Some(origin) = &job.origin else { return Ok(()) };
        let sql = sql!("SELECT {schedule} FROM scheduler_schedule WHERE name = ?1");
        if let Some(Ok(mut schedule)) = self.first(sql, params![origin.schedule], read_schedule)? {
            schedule.note_end(job, self.now);
            self.write_schedule(&schedule)?;
        }
        self.after_job(&origin.schedule)
    }

    /// The failures in a row of the task of a job that a run has ended.
    fn note_failing(&self, job: &StoredJob) -> rusqlite::Result<()> {
        match job.state {
            JobState::Done => {
                let sql = "DELETE FROM scheduler_failing WHERE task = ?1";
                self.execute(sql, params![job.task])?;
            }
            JobState::Parked => {
                let end = RunEnd::of(job, self.now);
                self.execute(
                    "INSERT INTO scheduler_failing (task, failures, since, end_at, end_started, end_error) \
                     VALUES (?1, 1, ?2, ?2, ?3, ?4) ON CONFLICT (task) DO UPDATE SET failures = failures + 1, \
                       end_at = excluded.end_at, end_started = excluded.end_started, end_error = excluded.end_error",
                    params![job.task, instant(Some(end.at)), instant(end.started_at), end.error],
                )?;
            }
            JobState::Ready | JobState::Running | JobState::Cancelled => {}
        }
        Ok(())
    }

    /// Writes a job whose state may be another one now.
    pub(crate) fn store(&self, row: SqliteJob) -> rusqlite::Result<()> {
        match row.job.state {
            JobState::Done | JobState::Cancelled => self.leave(row),
            JobState::Ready | JobState::Running | JobState::Parked => self.update(&row),
        }
    }

    /// Deletes a running job, which is the usual end, and returns it.
    fn take_running(
        &self,
        session: SessionId,
        held: ClaimRef,
    ) -> rusqlite::Result<Option<SqliteJob>> {
        self.first(
            sql!(
                "DELETE FROM scheduler_job WHERE id = ?1 AND state = 'running' AND session = ?2 AND fence = ?3 RETURNING seq, {job}"
            ),
            params![
                held.job.as_uuid().into_bytes(),
                session.as_uuid().into_bytes(),
                capped(held.fence.0),
            ],
            SqliteJob::read,
        )
    }

    pub(crate) fn prune(&self, request: &Prune) -> rusqlite::Result<u64> {
        let until = |keep| match self.now {
            StoreTime::MAX => StoreTime::MAX,
            now => StoreTime::from_micros(now.as_micros().saturating_sub(micros(keep))),
        };
        let parked = self.execute(
            "DELETE FROM scheduler_job WHERE seq IN (\
               SELECT seq FROM scheduler_job INDEXED BY scheduler_job_parked \
               WHERE state = 'parked' AND finished_at <= ?1 ORDER BY finished_at, id LIMIT ?2)",
            params![until(request.keep_parked).as_micros(), request.limit],
        )?;
        self.prune_arrivals(request)?;
        let done = self.prune_done(request, until(request.keep_done))?;
        let over = self.execute(
            "DELETE FROM scheduler_schedule WHERE name IN (\
               SELECT name FROM scheduler_schedule INDEXED BY scheduler_schedule_over \
               WHERE is_dynamic <> 0 AND override_rule IS NULL AND next = 'never' AND waiting_id IS NULL \
                 AND cursor <= ?1 ORDER BY cursor, name LIMIT ?2)",
            params![self.now.before(request.keep_over).as_micros(), request.limit],
        )?;
        self.execute(
            "DELETE FROM scheduler_key WHERE (task, key) IN (\
               SELECT task, key FROM scheduler_key INDEXED BY scheduler_key_until WHERE until <= ?1 AND NOT EXISTS (\
                 SELECT 1 FROM scheduler_job WHERE id = scheduler_key.job AND state IN ('ready', 'running')) \
               ORDER BY until, task, key LIMIT ?2)",
            params![self.now.as_micros(), request.limit],
        )?;
        self.prune_sessions(request.limit)?;
        let actions = self.execute(
            "DELETE FROM scheduler_action WHERE id IN (\
               SELECT id FROM scheduler_action INDEXED BY scheduler_action_at \
               WHERE at <= ?1 ORDER BY at, id LIMIT ?2)",
            params![until(request.keep_actions).as_micros(), request.limit],
        )?;
        Ok((parked + over + actions) as u64 + done)
    }
}
