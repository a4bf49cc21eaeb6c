//! The end of a claim, and of what is kept.

use std::time::Duration;

use super::state::State;
use crate::id::SessionId;
use crate::job::{Held, JobState, StoredJob};
use crate::request::{End, Finish, Finished, Prune};
use crate::text::storable;
use crate::time::StoreTime;

impl State {
    pub(super) fn finish(&mut self, request: &Finish, now: StoreTime) -> Finished {
        self.end_claim(request.session, request.held, &request.end, now)
    }

    pub(super) fn end_claim(
        &mut self,
        session: SessionId,
        held: Held,
        end: &End,
        now: StoreTime,
    ) -> Finished {
        let is_open = self.sessions.contains_key(&session);
        let row = self.jobs.get_mut(&held.job).filter(|row| {
            is_open && row.job.session == Some(session) && row.job.fence == held.fence
        });
        let Some(job) = row.map(|row| &mut row.job) else { return Finished::Lost };
        if job.state != JobState::Running {
            return Finished::AlreadyMine(job.state);
        }
        job.end(end, now);
        let state = job.state;
        if !state.is_unfinished()
            && let Some(origin) = job.origin.clone()
        {
            self.after_job(&origin.schedule, now);
        }
        Finished::Stored(state)
    }

    pub(super) fn prune(&mut self, request: &Prune, now: StoreTime) -> u64 {
        let is_old = |job: &StoredJob| {
            let keep = match job.state {
                JobState::Done | JobState::Cancelled => request.keep_done,
                JobState::Parked => request.keep_parked,
                JobState::Ready | JobState::Running => return None,
            };
            job.finished_at.filter(|finished| finished.after(keep) <= now)
        };
        let mut old: Vec<_> =
            self.jobs.values().filter_map(|row| Some((is_old(&row.job)?, row.job.id))).collect();
        old.sort_unstable();
        old.truncate(request.limit as usize);
        for (_, id) in &old {
            self.jobs.remove(id);
        }
        let over = now.before(request.keep_over);
        let over = self.schedules.values().filter(|row| row.is_over(over));
        let mut over: Vec<_> = over.map(|row| (row.cursor, row.definition.name.clone())).collect();
        over.sort_unstable();
        over.truncate(request.limit as usize);
        for (_, name) in &over {
            self.schedules.remove(name);
        }
        (old.len() + over.len()) as u64
    }
}

impl StoredJob {
    /// Ends the claim of a running job.
    pub fn end(&mut self, end: &End, now: StoreTime) {
        let was_no_attempt =
            matches!(end, End::Snooze { .. } | End::GiveBack | End::Undecodable { .. });
        if was_no_attempt {
            self.attempt = self.attempt.saturating_sub(1);
        }
        match end {
            End::Failed { error, .. } | End::Park { error } | End::Undecodable { error, .. } => {
                self.error = Some(storable(error));
            }
            End::Done => self.error = None,
            End::Cancelled | End::Snooze { .. } | End::GiveBack => {}
        }
        match end {
            End::Undecodable { .. } => self.undecoded += 1,
            End::GiveBack => {}
            _ => self.undecoded = 0,
        }
        let wait = match *end {
            End::Failed { after, .. } if self.attempt < self.max_attempts => Some(after),
            End::Snooze { after } => Some(after),
            End::Undecodable { after, limit, .. } if self.undecoded < limit => Some(after),
            End::GiveBack => Some(Duration::ZERO),
            _ => None,
        };
        self.state = match (end, wait) {
            (End::Done, _) => JobState::Done,
            (End::Cancelled, _) => JobState::Cancelled,
            (End::Park { .. }, _) => JobState::Parked,
            _ if self.is_cancel_requested => JobState::Cancelled,
            (_, Some(_)) => JobState::Ready,
            (_, None) => JobState::Parked,
        };
        match (self.state, end, wait) {
            (JobState::Ready, End::GiveBack, _) => {}
            (JobState::Ready, _, Some(wait)) => self.run_at = now.after(wait),
            _ => {
                self.finished_at = Some(now);
                self.is_cancel_requested = false;
            }
        }
    }
}
