//! A poll: repairs, claims, what is due.

use super::state::State;
use crate::id::{JobId, SessionId};
use crate::job::{JobState, StoredJob};
use crate::pause::JobPause;
use crate::request::{DueSchedule, Poll, Polled};
use crate::schedule::StoredSchedule;
use crate::time::StoreTime;

impl State {
    /// The answer, and whether the poll has changed something.
    pub(super) fn poll(&mut self, request: &Poll, now: StoreTime) -> (Polled, bool) {
        let leases = match request.with_leases {
            true => self.leases(request.session, now),
            false => Vec::new(),
        };
        if !self.is_alive(request.session, now) {
            return (Polled { now, leases, ..Polled::default() }, false);
        }
        let is_repaired = self.repair(now);
        let jobs = self.choose(request, now);
        let jobs: Vec<StoredJob> =
            jobs.into_iter().filter_map(|id| self.claim(id, request.session, now)).collect();
        let is_changed = is_repaired || !jobs.is_empty();
        let is_known = |task: &str| request.tasks.iter().any(|room| &*room.task == task);
        let known: Vec<&StoredSchedule> = self
            .schedules
            .values()
            .filter(|schedule| is_known(&schedule.definition.task))
            .collect();
        let due = known.iter().filter(|schedule| schedule.is_due(now)).map(|schedule| {
            let busy = self.busy(&schedule.definition.name);
            DueSchedule {
                schedule: StoredSchedule::clone(schedule),
                busy_since: busy.map(|job| job.created_at),
            }
        });
        let cancels = self.jobs.values().map(|row| &row.job).filter(|job| {
            job.state == JobState::Running
                && job.session == Some(request.session)
                && job.is_cancel_requested
        });
        let paused: Vec<JobPause> = self.pauses(now).collect();
        let later = self.jobs.values().map(|row| &row.job).filter(|job| {
            job.state == JobState::Ready
                && now < job.run_at
                && request.knows(&job.task, job.payload.version)
                && serves(request, &job.queue)
                && !self.is_paused(job, now)
        });
        let resumed = paused.iter().filter_map(|paused| paused.pause.until);
        let polled = Polled {
            now,
            is_alive: true,
            jobs,
            due: due.collect(),
            next_job: later.map(|job| job.run_at).chain(resumed).min(),
            next_tick: known.iter().filter_map(|schedule| schedule.decides_after(now)).min(),
            cancels: cancels.map(StoredJob::held).collect(),
            leases,
            paused: paused.into_iter().map(|paused| paused.scope).collect(),
            damaged: Vec::new(),
        };
        (polled, is_changed)
    }

    /// Repairs what the end of a job has left. Returns true if something was left.
    fn repair(&mut self, now: StoreTime) -> bool {
        let names: Vec<String> = self.schedules.keys().cloned().collect();
        let repaired = names.iter().filter(|name| self.after_job(name, now));
        repaired.count() > 0
    }

    /// The pauses of jobs that hold.
    pub(super) fn pauses(&self, now: StoreTime) -> impl Iterator<Item = JobPause> {
        let holding = self.pauses.iter().filter(move |(_, pause)| pause.holds(now));
        holding.map(|(scope, pause)| JobPause { scope: scope.clone(), pause: pause.clone() })
    }

    /// Returns true if no such job may be claimed now (R21).
    pub(super) fn is_paused(&self, job: &StoredJob, now: StoreTime) -> bool {
        self.pauses(now).any(|paused| paused.scope.has(&job.task, &job.queue))
    }

    /// The jobs to claim.
    fn choose(&self, request: &Poll, now: StoreTime) -> Vec<JobId> {
        let ready = self.jobs.values().map(|row| &row.job).filter(|job| {
            job.state == JobState::Ready
                && job.run_at <= now
                && request.knows(&job.task, job.payload.version)
                && serves(request, &job.queue)
                && !self.is_paused(job, now)
        });
        let chosen = request.choose(ready.collect(), |job| *job);
        chosen.into_iter().map(|job| job.id).collect()
    }

    /// Gives a job to a session.
    pub(super) fn claim(
        &mut self,
        id: JobId,
        session: SessionId,
        now: StoreTime,
    ) -> Option<StoredJob> {
        let fence = self.next_fence();
        let row = self.jobs.get_mut(&id)?;
        row.job.claim(session, fence, row.key_until, now);
        Some(row.job.clone())
    }
}

fn serves(request: &Poll, queue: &str) -> bool {
    request.queues.as_ref().is_none_or(|queues| queues.iter().any(|each| &**each == queue))
}
