//! A poll: repairs, claims, what is due.

use std::collections::BTreeMap;

use super::state::State;
use crate::id::{JobId, SessionId};
use crate::job::{JobState, KeyUntil, OnLost, StoredJob};
use crate::request::{DueSchedule, Poll, Polled};
use crate::schedule::{Next, StoredSchedule};
use crate::time::StoreTime;

impl State {
    pub(super) fn poll(&mut self, request: &Poll, now: StoreTime) -> Polled {
        let leases = match request.with_leases {
            true => self.leases(request.session, now),
            false => Vec::new(),
        };
        if !self.is_alive(request.session, now) {
            return Polled { now, leases, ..Polled::default() };
        }
        self.repair(now);
        let jobs = self.choose(request, now);
        let jobs = jobs.into_iter().filter_map(|id| self.claim(id, request.session, now)).collect();
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
        let later = self.jobs.values().map(|row| &row.job).filter(|job| {
            job.state == JobState::Ready
                && now < job.run_at
                && is_known(&job.task)
                && serves(request, &job.queue)
        });
        Polled {
            now,
            is_alive: true,
            jobs,
            due: due.collect(),
            next_job: later.map(|job| job.run_at).min(),
            next_tick: known.iter().filter_map(|schedule| schedule.decides_after(now)).min(),
            cancels: cancels.map(StoredJob::held).collect(),
            leases,
            damaged: Vec::new(),
        }
    }

    fn repair(&mut self, now: StoreTime) {
        let names: Vec<String> = self.schedules.keys().cloned().collect();
        for name in names {
            self.after_job(&name, now);
        }
    }

    /// The jobs to claim, in the order of priority, due time, identity, within all limits.
    fn choose(&self, request: &Poll, now: StoreTime) -> Vec<JobId> {
        let mut room: BTreeMap<&str, u32> =
            request.tasks.iter().map(|each| (&*each.task, each.room)).collect();
        let ready = self.jobs.values().map(|row| &row.job).filter(|job| {
            job.state == JobState::Ready && job.run_at <= now && serves(request, &job.queue)
        });
        let mut ready: Vec<&StoredJob> = ready.collect();
        ready.sort_by_key(|job| (std::cmp::Reverse(job.priority), job.run_at, job.id));
        let (mut abandon, mut lost) = (request.abandon_limit, request.lost_limit);
        let mut chosen = Vec::new();
        for job in ready {
            if chosen.len() == request.limit as usize {
                break;
            }
            let Some(room) = room.get_mut(&*job.task).filter(|room| **room > 0) else { continue };
            let (is_abandon, is_lost) = (job.on_lost == OnLost::Abandon, job.lost > 0);
            if (is_abandon && abandon == 0) || (is_lost && lost == 0) {
                continue;
            }
            *room -= 1;
            abandon -= u32::from(is_abandon);
            lost -= u32::from(is_lost);
            chosen.push(job.id);
        }
        chosen
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
        let job = &mut row.job;
        (job.state, job.session, job.fence) = (JobState::Running, Some(session), fence);
        job.attempt += 1;
        job.started_at = Some(now);
        if row.key_until == KeyUntil::Start {
            job.key = None;
        }
        Some(job.clone())
    }
}

fn serves(request: &Poll, queue: &str) -> bool {
    request.queues.as_ref().is_none_or(|queues| queues.iter().any(|each| &**each == queue))
}

impl StoredSchedule {
    /// Returns true if a process has to decide something now.
    #[must_use]
    pub fn is_due(&self, now: StoreTime) -> bool {
        let is_paused = self.pause.as_ref().is_some_and(|pause| pause.holds(now));
        !is_paused
            && match self.next {
                Next::At(tick) => tick <= now,
                Next::Unknown => true,
                Next::AfterJob | Next::Never => false,
            }
    }

    /// When a process has to decide something next that it need not decide now.
    #[must_use]
    pub fn decides_after(&self, now: StoreTime) -> Option<StoreTime> {
        let paused = self.pause.as_ref().filter(|pause| pause.holds(now));
        let tick = match self.next {
            Next::At(tick) => tick,
            Next::Unknown => now,
            Next::AfterJob | Next::Never => return None,
        };
        match paused {
            Some(pause) => Some(pause.until?.max(tick)),
            None => Some(tick).filter(|tick| now < *tick),
        }
    }
}
