//! Finishes claims and prunes old rows.

use std::time::Duration;

use super::state::State;
use crate::id::{JobId, SessionId};
use crate::job::{ClaimRef, JobState, OnLost};
use crate::job_columns::JobRow;
use crate::request::{End, Finish, Finished, Prune};
use crate::time::StoreTime;

impl State {
    pub(super) fn finish(&mut self, request: &Finish, now: StoreTime) -> Finished {
        self.end_claim(request.session, request.held, &request.end, now)
    }

    pub(super) fn end_claim(
        &mut self,
        session: SessionId,
        held: ClaimRef,
        end: &End,
        now: StoreTime,
    ) -> Finished {
        let node = self.sessions.get(&session).map(|row| row.label.clone());
        let (is_open, node) = (node.is_some(), node.unwrap_or_default());
        let row = self.jobs.get_mut(&held.job).filter(|row| {
            let is_held = row.job.session == Some(session) && row.job.fence == held.fence;
            // No other process runs a job that runs at most once: its end counts also when the session is gone (R4).
            is_held && (is_open || row.job.on_lost == OnLost::Abandon)
        });
        let Some(row) = row else { return Finished::Lost };
        let job = &mut row.job;
        if job.end_late(end, &node, now) {
            row.is_gone = *end == End::Gone;
            return Finished::Stored(job.state);
        }
        if job.state != JobState::Running {
            return Finished::AlreadyMine(job.state);
        }
        job.end(end, &node, now);
        row.is_gone = *end == End::Gone;
        let state = job.state;
        if !state.is_unfinished()
            && let Some(origin) = job.origin.clone()
        {
            self.after_job(&origin.schedule, now);
        }
        Finished::Stored(state)
    }

    pub(super) fn prune(&mut self, request: &Prune, now: StoreTime) -> u64 {
        let limit = request.limit as usize;
        let jobs = self.prune_jobs(request, now);
        let over = now.before(request.keep_over);
        let over = self.schedules.values().filter(|row| row.is_over(over));
        let mut over: Vec<_> = over.map(|row| (row.cursor, row.definition.name.clone())).collect();
        over.sort_unstable();
        over.truncate(limit);
        for (_, name) in &over {
            self.schedules.remove(name);
        }
        self.prune_keys(limit, now);
        (jobs + over.len()) as u64
    }

    fn prune_jobs(&mut self, request: &Prune, now: StoreTime) -> usize {
        let ended = |is_meant: fn(&JobState) -> bool, keep: Duration| {
            let jobs = self.jobs.values().map(|row| &row.job);
            let old = jobs.filter(|job| is_meant(&job.state)).filter_map(|job| {
                Some((job.finished_at.filter(|at| at.after(keep) <= now)?, job.id))
            });
            let mut old: Vec<_> = old.collect();
            old.sort_unstable();
            old
        };
        let mut parked = ended(|state| *state == JobState::Parked, request.keep_parked);
        parked.truncate(request.limit as usize);
        let is_done = |state: &JobState| matches!(state, JobState::Done | JobState::Cancelled);
        let mut done = ended(is_done, request.keep_done);
        let until = request.done_until(done.iter().map(|(at, _)| (*at, 1)));
        done.retain(|(at, _)| until.is_some_and(|until| *at <= until));
        let jobs = [parked, done].concat();
        for (_, id) in &jobs {
            self.jobs.remove(id);
        }
        jobs.len()
    }

    /// Keys whose time is over, and whose jobs have ended.
    fn prune_keys(&mut self, limit: usize, now: StoreTime) {
        let is_over = |job: &JobId, until: StoreTime| {
            let is_unfinished = |row: &JobRow| row.job.state.is_unfinished();
            until <= now && !self.jobs.get(job).is_some_and(is_unfinished)
        };
        let keys = self.kept_keys.iter().filter(|(_, (job, until))| is_over(job, *until));
        let mut keys: Vec<_> = keys.map(|(place, (_, until))| (*until, place.clone())).collect();
        keys.sort_unstable();
        for (_, place) in keys.iter().take(limit) {
            self.kept_keys.remove(place);
        }
    }
}
