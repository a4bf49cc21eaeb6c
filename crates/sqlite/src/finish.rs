//! The end of a claim, and of what is kept.

use rusqlite::params;
use scheduler_store::{End, Finish, Finished, Held, JobState, Prune, SessionId, StoreTime, micros};

use crate::job_row::capped;
use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn finish(&self, requests: &[Finish]) -> rusqlite::Result<Vec<Finished>> {
        let mut answers = Vec::with_capacity(requests.len());
        // Most requests are of one session, and no answer ends one.
        let mut last = None;
        for Finish { session, held, end } in requests {
            let is_open = match last {
                Some((same, is_open)) if same == session => is_open,
                _ => self.is_open(*session)?,
            };
            last = Some((session, is_open));
            answers.push(match is_open {
                true => self.end_claim_of_open(*session, *held, end)?,
                false => Finished::Lost,
            });
        }
        Ok(answers)
    }

    pub(crate) fn end_claim(
        &self,
        session: SessionId,
        held: Held,
        end: &End,
    ) -> rusqlite::Result<Finished> {
        match self.is_open(session)? {
            true => self.end_claim_of_open(session, held, end),
            false => Ok(Finished::Lost),
        }
    }

    fn end_claim_of_open(
        &self,
        session: SessionId,
        held: Held,
        end: &End,
    ) -> rusqlite::Result<Finished> {
        if *end == End::Done && self.succeed(session, held)? {
            return Ok(Finished::Stored(JobState::Done));
        }
        let row = self.find(held.job)?;
        let row = row.filter(|row| row.job.session == Some(session) && row.job.fence == held.fence);
        let Some(mut row) = row else { return Ok(Finished::Lost) };
        if row.job.state != JobState::Running {
            return Ok(Finished::AlreadyMine(row.job.state));
        }
        row.job.end(end, self.now);
        self.update(&row)?;
        let state = row.job.state;
        if !state.is_unfinished()
            && let Some(origin) = &row.job.origin
        {
            self.after_job(&origin.schedule)?;
        }
        Ok(Finished::Stored(state))
    }

    /// The usual end in one statement: as [`StoredJob::end`](scheduler_store::StoredJob::end) does with [`End::Done`].
    fn succeed(&self, session: SessionId, held: Held) -> rusqlite::Result<bool> {
        let schedule = self.first(
            "UPDATE scheduler_job SET state = 'done', error = NULL, undecoded = 0, is_cancel_requested = 0, \
             finished_at = ?4 WHERE id = ?1 AND state = 'running' AND session = ?2 AND fence = ?3 RETURNING schedule",
            params![
                held.job.as_uuid().into_bytes(),
                session.as_uuid().into_bytes(),
                capped(held.fence.0),
                self.now.as_micros(),
            ],
            |row| row.get::<_, Option<String>>(0),
        )?;
        if let Some(Some(schedule)) = &schedule {
            self.after_job(schedule)?;
        }
        Ok(schedule.is_some())
    }

    pub(crate) fn prune(&self, request: &Prune) -> rusqlite::Result<u64> {
        // Two walks from the oldest, each to its own age.
        let done = "SELECT finished_at, id, seq FROM scheduler_job INDEXED BY scheduler_job_ended \
                    WHERE state IN ('done', 'cancelled') AND finished_at <= ?1 ORDER BY finished_at, id LIMIT ?2";
        let parked = "SELECT finished_at, id, seq FROM scheduler_job INDEXED BY scheduler_job_parked \
                      WHERE state = 'parked' AND finished_at <= ?1 ORDER BY finished_at, id LIMIT ?2";
        let mut old = Vec::new();
        for (sql, keep) in [(done, request.keep_done), (parked, request.keep_parked)] {
            let until = match self.now {
                StoreTime::MAX => i64::MAX,
                now => now.as_micros().saturating_sub(micros(keep)),
            };
            old.extend(self.all(sql, params![until, request.limit], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, i64>(2)?))
            })?);
        }
        old.sort_unstable();
        old.truncate(request.limit as usize);
        for (_, _, seq) in &old {
            self.execute("DELETE FROM scheduler_job WHERE seq = ?1", params![seq])?;
        }
        let over = self.execute(
            "DELETE FROM scheduler_schedule WHERE name IN (\
               SELECT name FROM scheduler_schedule INDEXED BY scheduler_schedule_over \
               WHERE is_dynamic <> 0 AND override_rule IS NULL AND next = 'never' AND waiting_id IS NULL \
                 AND cursor <= ?1 ORDER BY cursor, name LIMIT ?2)",
            params![self.now.before(request.keep_over).as_micros(), request.limit],
        )?;
        Ok((old.len() + over) as u64)
    }
}
