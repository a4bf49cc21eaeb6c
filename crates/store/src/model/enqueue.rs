//! Jobs that are enqueued.

use super::state::State;
use crate::job::{Enqueued, JobState, NewJob, OnConflict, When};
use crate::time::StoreTime;

impl State {
    pub(super) fn enqueue(&mut self, new: &NewJob, now: StoreTime) -> Enqueued {
        if self.jobs.contains_key(&new.id) {
            return Enqueued::Accepted(new.id);
        }
        let run_at = match new.when {
            When::Now => now,
            When::After(wait) => now.after(wait),
            When::At(at) => at,
        };
        let Some(key) = &new.key else {
            self.insert(new, run_at, now);
            return Enqueued::Accepted(new.id);
        };
        let Some(other) = self.with_key(&new.task, &key.text, now) else {
            self.insert(new, run_at, now);
            return Enqueued::Accepted(new.id);
        };
        // Its own key may outlive a job that was sent before.
        if other == new.id {
            return Enqueued::Accepted(new.id);
        }
        let row = self.jobs.get_mut(&other).filter(|row| row.job.state == JobState::Ready);
        match row {
            Some(row) if key.on_conflict == OnConflict::Replace => {
                row.replace(new, run_at);
                Enqueued::Replaced(other)
            }
            _ => Enqueued::Kept(other),
        }
    }
}
