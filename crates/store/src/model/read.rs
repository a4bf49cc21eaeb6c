//! Queries: jobs by filter, and depths.

use std::collections::BTreeMap;

use super::state::State;
use crate::job::{JobState, StoredJob};
use crate::request::{JobFilter, QueueDepth};
use crate::time::StoreTime;

impl State {
    pub(super) fn select(&self, filter: &JobFilter, limit: u32) -> Vec<StoredJob> {
        let rows = self.jobs.values().rev().filter(|row| !row.is_gone);
        let jobs = rows.map(|row| &row.job);
        jobs.filter(|job| filter.selects(job)).take(limit as usize).cloned().collect()
    }

    pub(super) fn depths(&self, now: StoreTime) -> Vec<QueueDepth> {
        let mut depths = BTreeMap::<_, QueueDepth>::new();
        for job in self.jobs.values().map(|row| &row.job) {
            if matches!(job.state, JobState::Done | JobState::Cancelled) {
                continue;
            }
            let depth = depths.entry((&job.queue, &job.task)).or_insert_with(|| QueueDepth {
                queue: job.queue.clone(),
                task: job.task.clone(),
                due: 0,
                later: 0,
                running: 0,
                parked: 0,
                oldest: None,
                versions: Vec::new(),
            });
            match job.state {
                JobState::Ready if job.run_at <= now => {
                    depth.add_due(job.payload.version, 1, now.since(job.run_at));
                }
                JobState::Ready => depth.later += 1,
                JobState::Running => depth.running += 1,
                _ => depth.parked += 1,
            }
        }
        depths.into_values().collect()
    }
}

impl JobFilter {
    /// Returns true if all conditions hold.
    #[must_use]
    pub fn selects(&self, job: &StoredJob) -> bool {
        let is = |wanted: &Option<String>, text: Option<&String>| {
            wanted.as_ref().is_none_or(|wanted| Some(wanted) == text)
        };
        is(&self.task, Some(&job.task))
            && is(&self.queue, Some(&job.queue))
            && is(&self.key, job.key.as_ref())
            && is(&self.schedule, job.origin.as_ref().map(|origin| &origin.schedule))
            && self.state.is_none_or(|state| state == job.state)
            && self.after.is_none_or(|after| job.id < after)
    }
}
