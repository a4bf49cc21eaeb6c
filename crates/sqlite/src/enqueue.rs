//! Jobs that are enqueued.

use scheduler_store::{Enqueued, JobState, NewJob, OnConflict, When};

use crate::tx::Tx;

impl Tx<'_> {
    pub(crate) fn enqueue(&self, jobs: &[NewJob]) -> rusqlite::Result<Vec<Enqueued>> {
        jobs.iter().map(|job| self.enqueue_one(job)).collect()
    }

    fn enqueue_one(&self, new: &NewJob) -> rusqlite::Result<Enqueued> {
        let run_at = match new.when {
            When::Now => self.now,
            When::After(wait) => self.now.after(wait),
            When::At(at) => at,
        };
        if new.is_resent && self.find_ended(new.id)?.is_some() {
            return Ok(Enqueued::Accepted(new.id));
        }
        if let Some(key) = &new.key {
            // The identity comes before the key (R3).
            if self.has(new.id)? {
                return Ok(Enqueued::Accepted(new.id));
            }
            let other = self.with_key(&new.task, &key.text)?;
            // Its own key may outlive a job that was sent before.
            if other == Some(new.id) {
                return Ok(Enqueued::Accepted(new.id));
            }
            if let Some(other) = other {
                let row =
                    if key.on_conflict == OnConflict::Replace { self.find(other)? } else { None };
                // A poll parks one that is damaged.
                let row =
                    row.filter(|row| row.job.state == JobState::Ready && row.faults.is_empty());
                let Some(mut row) = row else { return Ok(Enqueued::Kept(other)) };
                row.replace(new, run_at);
                self.rewrite(&row)?;
                return Ok(Enqueued::Replaced(other));
            }
        }
        self.insert(&self.row_of(new, run_at))?;
        Ok(Enqueued::Accepted(new.id))
    }
}
