//! Polls: repairs, claims, and what is due.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::params;
use scheduler_store::{DueSchedule, JobState, Poll, Polled, StoreTime, UnreadableRow};

use crate::connection::Shared;
use crate::fields::sql;
use crate::job_row::JobRow;
use crate::schedule_row;
use crate::schema::damaged;
use crate::sessions::held_at;
use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn poll(&self, request: &Poll, shared: &Shared) -> rusqlite::Result<Polled> {
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
        let paused = self.pauses()?;
        let mut lines = self.lines(request)?;
        lines.retain(|line| !paused.iter().any(|paused| line.is_in(&paused.scope)));
        let resumed = paused.iter().filter_map(|paused| paused.pause.until);
        polled.next_job = resumed.chain(self.next_job(&lines)?).min();
        polled.paused = paused.into_iter().map(|paused| paused.scope).collect();
        polled.jobs = self.claim_of(&lines, request, &mut polled.damaged)?;
        let tasks: BTreeSet<&Arc<str>> = request.tasks.iter().map(|room| &room.task).collect();
        for task in tasks {
            self.due(task, shared, &mut polled)?;
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

    /// The schedules of a task that have something to decide, and when the next one has.
    fn due(&self, task: &str, shared: &Shared, polled: &mut Polled) -> rusqlite::Result<()> {
        let rows = self.all(
            sql!(
                "SELECT {schedule} FROM scheduler_schedule INDEXED BY scheduler_schedule_due WHERE task = ?1 AND decide_at <= ?2"
            ),
            params![task, self.now.as_micros()],
            |row| Ok((row.get::<_, String>(0)?, schedule_row::read(row)?)),
        )?;
        for (name, schedule) in rows {
            match schedule {
                Ok(schedule) => {
                    let busy_since = self.busy(&name)?.map(|(_, since)| since);
                    polled.due.push(DueSchedule { schedule, busy_since });
                }
                Err(reason) => {
                    let row = format!("schedule {name}");
                    if shared.is_news(&row) {
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
            JobRow::read,
        )?;
        for row in rows {
            damaged.push(self.park(row)?);
        }
        Ok(())
    }

    /// Puts a damaged row right; one that waits, or whose state is unknown, is parked. Its payload stays as it is.
    pub(crate) fn park(&self, mut row: JobRow) -> rusqlite::Result<UnreadableRow> {
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
