//! The contents of the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{Fence, JobId, SessionId};
use crate::job::{KeyUntil, NewJob, Origin, StoredJob};
use crate::job_columns::JobRow;
use crate::pause::{Pause, PauseScope};
use crate::request::SessionTask;
use crate::schedule::{ScheduleSpec, StoredSchedule, TickJob};
use crate::time::StoreTime;

/// All that a store keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub(super) sessions: BTreeMap<SessionId, SessionRow>,
    pub(super) schedules: BTreeMap<String, StoredSchedule>,
    pub(super) jobs: BTreeMap<JobId, JobRow>,
    /// By task and key: the job that keeps it for a time, and until when.
    pub(super) kept_keys: BTreeMap<(String, String), (JobId, StoreTime)>,
    /// The pauses of jobs, also those that are over.
    pub(super) pauses: BTreeMap<PauseScope, Pause>,
    /// The last fence given out.
    pub(super) fence: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionRow {
    pub(super) label: String,
    pub(super) build: String,
    pub(super) application: String,
    pub(super) tasks: Arc<[SessionTask]>,
    pub(super) opened_at: StoreTime,
    pub(super) lease_until: StoreTime,
    /// The number of renewals: the mark of its lease.
    pub(super) renewals: i64,
}

impl State {
    pub(super) fn next_fence(&mut self) -> Fence {
        self.fence += 1;
        Fence(self.fence)
    }

    /// A job that people can see.
    pub(super) fn row(&self, id: JobId) -> Option<&JobRow> {
        self.jobs.get(&id).filter(|row| !row.is_gone)
    }

    /// Returns true if a request that is sent again finds the job.
    #[must_use]
    pub fn remembers(&self, id: JobId) -> bool {
        self.jobs.contains_key(&id)
    }

    /// Returns true if the session is open and its lease has not run out.
    pub(super) fn is_alive(&self, session: SessionId, now: StoreTime) -> bool {
        self.sessions.get(&session).is_some_and(|row| now < row.lease_until)
    }

    /// The unfinished job that keeps others of its schedule out. INVARIANT: there is at most one.
    pub(super) fn busy(&self, schedule: &str) -> Option<&StoredJob> {
        let rows = self.jobs.values().filter(|row| row.is_exclusive);
        rows.map(|row| &row.job).find(|job| job.belongs_to(schedule) && job.state.is_unfinished())
    }

    /// The job of a task that has the key.
    pub(super) fn with_key(&self, task: &str, key: &str, now: StoreTime) -> Option<JobId> {
        let mut jobs = self.jobs.values().map(|row| &row.job);
        let job = jobs.find(|job| {
            job.task == task && job.key.as_deref() == Some(key) && job.state.is_unfinished()
        });
        let kept = self.kept_keys.get(&(task.to_owned(), key.to_owned()));
        job.map(|job| job.id).or(kept.filter(|(_, until)| now < *until).map(|(job, _)| *job))
    }

    pub(super) fn insert(&mut self, new: &NewJob, run_at: StoreTime, now: StoreTime) {
        let job = StoredJob::new(new, run_at, now);
        let key_until = new.key.as_ref().map_or(KeyUntil::End, |key| key.until);
        if let Some(key) = &new.key {
            let place = (new.task.clone(), key.text.clone());
            self.kept_keys.remove(&place);
            if let KeyUntil::For(time) = key.until {
                self.kept_keys.insert(place, (new.id, now.after(time)));
            }
        }
        self.jobs.insert(new.id, JobRow { key_until, ..job.into() });
    }

    /// Makes a job of a schedule: for a tick, or by hand. Returns false if there is a job of this identity: it was made
    /// before, and stays as it is (R3).
    pub(super) fn insert_of(
        &mut self,
        definition: &ScheduleSpec,
        is_exclusive: bool,
        tick: &TickJob,
        is_by_hand: bool,
        now: StoreTime,
    ) -> bool {
        if self.jobs.contains_key(&tick.id) {
            return false;
        }
        let new = definition.job(tick.id);
        self.insert(&new, tick.run_at, now);
        if let Some(row) = self.jobs.get_mut(&tick.id) {
            let tick_of = (!is_by_hand).then_some(tick.tick);
            let (schedule, missed) = (definition.name.clone(), tick.missed);
            row.job.origin = Some(Origin { schedule, tick: tick_of, missed });
            row.is_exclusive = is_exclusive;
        }
        true
    }

    /// Changes the row of a schedule, which may be none. The flag is true if the schedule is busy.
    pub(super) fn on_row<R>(
        &mut self,
        schedule: &str,
        change: impl FnOnce(&mut Option<StoredSchedule>, bool) -> R,
    ) -> R {
        let is_busy = self.busy(schedule).is_some();
        let mut row = self.schedules.remove(schedule);
        let answer = change(&mut row, is_busy);
        self.schedules.extend(row.map(|row| (schedule.to_owned(), row)));
        answer
    }

    /// A job of a schedule has ended or is gone: the tick that waits becomes a job, or the next delay begins. Returns true if
    /// there was such a tick or delay.
    pub(super) fn after_job(&mut self, schedule: &str, now: StoreTime) -> bool {
        if self.busy(schedule).is_some() {
            return false;
        }
        let Some(row) = self.schedules.get_mut(schedule) else { return false };
        // A delay counts from the end of the tick that waits, if there is one.
        let Some(waiting) = row.waiting.take() else {
            let before = row.next;
            row.job_ended(now);
            return row.next != before;
        };
        let (definition, is_exclusive) = (row.definition.clone(), row.is_exclusive());
        if self.insert_of(&definition, is_exclusive, &waiting, false, now)
            && let Some(row) = self.schedules.get_mut(schedule)
        {
            row.has_fired(waiting.tick);
        }
        true
    }
}

impl StoredJob {
    pub(super) fn belongs_to(&self, schedule: &str) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.schedule == schedule)
    }
}
