//! No more jobs run than the limits allow, and no more start in any window of their rates.

use scheduler_store::{JobFilter, JobState, Limit, Model, Store, StoreTime, StoredJob};

use super::facts::Checker;
use crate::body::WORK;

impl Checker {
    /// Jobs were claimed by a poll.
    pub(super) fn limits_are_kept(&mut self, jobs: &[StoredJob], model: &Model, now: StoreTime) {
        let Some(limits) = self.limits.clone().filter(|_| self.is_limited) else { return };
        let claimed = jobs.iter().filter(|job| job.task == WORK);
        self.starts.extend(claimed.map(|job| (job.partition.clone(), now)));
        let filter = JobFilter { state: Some(JobState::Running), ..JobFilter::default() };
        let running = model.jobs(&filter, u32::MAX).unwrap_or_default();
        let running: Vec<_> = running.into_iter().filter(|job| job.task == WORK).collect();
        self.limit_is_kept(&limits.all, None, &running, now);
        for job in jobs.iter().filter(|job| job.task == WORK) {
            self.limit_is_kept(&limits.each, job.partition.as_ref(), &running, now);
        }
    }

    fn limit_is_kept(
        &mut self,
        limit: &Limit,
        of: Option<&String>,
        running: &[StoredJob],
        now: StoreTime,
    ) {
        let is_of = |partition: Option<&String>| of.is_none() || partition == of;
        let count = running.iter().filter(|job| is_of(job.partition.as_ref())).count();
        self.must(limit.running.is_none_or(|most| count <= most as usize), || {
            format!("{count} jobs of {of:?} run, and the limit is {limit}")
        });
        let Some(rate) = limit.rate.filter(|_| !self.was_set) else { return };
        let since = now.before(rate.period);
        let starts =
            self.starts.iter().filter(|(partition, at)| is_of(partition.as_ref()) && *at > since);
        let count = starts.count();
        self.must(count <= rate.starts as usize, || {
            format!("{count} jobs of {of:?} have started in {:?}: {limit}", rate.period)
        });
    }
}
