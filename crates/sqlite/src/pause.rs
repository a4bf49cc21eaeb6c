//! Pauses of jobs.

use rusqlite::params;
use scheduler_store::{CommandOutcome, JobPause, Pause, PauseScope, StoreTime};

use crate::tx::Tx;

impl Tx<'_> {
    /// The pauses that hold, those of queues after those of tasks. Almost always there is none.
    pub(crate) fn pauses(&self) -> rusqlite::Result<Vec<JobPause>> {
        let rows = self.all(
            "SELECT scope, name, since, until, paused_by, reason FROM scheduler_pause \
             WHERE until IS NULL OR until > ?1 ORDER BY scope DESC, name",
            params![self.now.as_micros()],
            |row| {
                let until: Option<i64> = row.get(3)?;
                let (by, reason): (String, String) = (row.get(4)?, row.get(5)?);
                let (since, until) =
                    (StoreTime::from_micros(row.get(2)?), until.map(StoreTime::from_micros));
                let pause = Pause::new(since, until, &by, &reason);
                let scope = PauseScope::of(&row.get::<_, String>(0)?, row.get(1)?);
                Ok(scope.map(|scope| JobPause::new(scope, pause)))
            },
        )?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Pauses jobs. Pauses that are over are deleted, so that a poll does not read them.
    pub(crate) fn pause_jobs(
        &self,
        scope: &PauseScope,
        pause: &Pause,
    ) -> rusqlite::Result<CommandOutcome> {
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

    pub(crate) fn resume_jobs(&self, scope: &PauseScope) -> rusqlite::Result<CommandOutcome> {
        self.execute(
            "DELETE FROM scheduler_pause WHERE scope = ?1 AND name = ?2",
            params![scope.word(), scope.name()],
        )?;
        Ok(CommandOutcome::Done)
    }
}
