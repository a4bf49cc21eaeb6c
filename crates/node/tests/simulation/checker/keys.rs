//! Keys: at most one job of a task has one.

use scheduler_store::{Enqueued, JobId, KeyUntil, NewJob, StoreTime};

use super::facts::{Checker, short};

/// The key of a job.
#[derive(Debug)]
pub(super) struct KeyFacts {
    task: String,
    text: String,
    until: KeyUntil,
    accepted: StoreTime,
    /// True while the job is unfinished.
    is_live: bool,
}

impl KeyFacts {
    fn holds(&self, now: StoreTime) -> bool {
        let is_kept = match self.until {
            KeyUntil::For(time) => now < self.accepted.after(time),
            KeyUntil::End | KeyUntil::Start => false,
        };
        self.is_live || is_kept
    }
}

impl Checker {
    /// A store has answered an enqueue.
    pub(super) fn enqueued(&mut self, job: &NewJob, answer: Enqueued, now: StoreTime) {
        let Some(key) = &job.key else { return };
        match answer {
            // It was accepted before.
            Enqueued::Accepted(id) if self.keys.contains_key(&id) => {}
            Enqueued::Accepted(id) if self.jobs.get(&id).is_some_and(|job| job.has_left_key) => {}
            Enqueued::Accepted(id) => {
                let (task, text) = (job.task.clone(), key.text.clone());
                let (until, accepted) = (key.until, now);
                self.keys.insert(id, KeyFacts { task, text, until, accepted, is_live: true });
                self.has_key_alone(id, now);
            }
            Enqueued::Kept(other) | Enqueued::Replaced(other) => {
                let holds = self.keys.get(&other).is_some_and(|known| {
                    (&known.task, &known.text) == (&job.task, &key.text)
                        && (known.holds(now) || self.was_set)
                });
                self.must(holds, || format!("{} keeps a key that is free", short(other)));
            }
        }
    }

    /// A job that is retried has its key again.
    pub(super) fn has_key_again(&mut self, job: JobId, now: StoreTime) {
        if let Some(key) = self.keys.get_mut(&job) {
            key.is_live = true;
            self.has_key_alone(job, now);
        }
    }

    pub(super) fn key_ended(&mut self, job: JobId) {
        if let Some(key) = self.keys.get_mut(&job) {
            key.is_live = false;
        }
    }

    /// A claim ends a key that lasts until the start.
    pub(super) fn key_started(&mut self, job: JobId) {
        if self.keys.get(&job).is_some_and(|key| key.until == KeyUntil::Start) {
            self.keys.remove(&job);
            self.job(job).has_left_key = true;
        }
    }

    fn has_key_alone(&mut self, job: JobId, now: StoreTime) {
        let own = &self.keys[&job];
        let rival = self.keys.iter().find(|(id, key)| {
            **id != job && (&key.task, &key.text) == (&own.task, &own.text) && key.holds(now)
                // A key whose time was over may have been pruned before the clock was set back.
                && (key.is_live || !self.was_set)
        });
        let rival = rival.map(|(id, _)| *id);
        self.must(rival.is_none(), || {
            let rival = rival.map(short).unwrap_or_default();
            format!("{} has the key of {rival}, too", short(job))
        });
    }
}
