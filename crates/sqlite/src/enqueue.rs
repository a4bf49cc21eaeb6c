//! Jobs that are enqueued.

use rusqlite::params;
use scheduler_store::{Enqueued, NewJob, OnConflict, When};

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
                let is_replaced = key.on_conflict == OnConflict::Replace
                    && self.execute(
                        "UPDATE scheduler_job SET payload_version = ?2, payload = ?3, priority = ?4, run_at = ?5, \
                         traceparent = ?6, max_attempts = ?7, attempt = 0, lost = 0, undecoded = 0, error = NULL, attempts = NULL \
                         WHERE id = ?1 AND state = 'ready'",
                        params![
                            other.as_uuid().into_bytes(),
                            new.payload.version,
                            new.payload.bytes,
                            new.priority.rank(),
                            run_at.as_micros(),
                            new.traceparent,
                            new.max_attempts.max(1),
                        ],
                    )? > 0;
                return Ok(match is_replaced {
                    true => Enqueued::Replaced(other),
                    false => Enqueued::Kept(other),
                });
            }
        }
        self.insert(&self.row_of(new, run_at))?;
        Ok(Enqueued::Accepted(new.id))
    }
}
