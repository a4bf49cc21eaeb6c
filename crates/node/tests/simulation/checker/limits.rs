//! No more jobs run than the limits allow, and no more start in any window of their rates.

use scheduler_store::{
    JobFilter, JobId, JobState, Limit, Model, OnPark, Store, StoreTime, StoredJob,
};

use super::facts::{Checker, short};
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
        if let Some(on_park) = limits.each.ordered {
            self.order_is_kept(jobs, on_park, model, now);
        }
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

    /// A job that has begun and not ended goes before all that have not begun.
    fn order_is_kept(
        &mut self,
        jobs: &[StoredJob],
        on_park: OnPark,
        model: &Model,
        now: StoreTime,
    ) {
        let in_state = |state| {
            let filter = JobFilter { state: Some(state), ..JobFilter::default() };
            model.jobs(&filter, u32::MAX).unwrap_or_default()
        };
        let (ready, parked) = (in_state(JobState::Ready), in_state(JobState::Parked));
        for job in jobs.iter().filter(|job| job.task == WORK) {
            let place = self.begun.iter().position(|id| *id == job.id);
            let is_beside =
                |other: &&StoredJob| other.task == WORK && other.partition == job.partition;
            let before = ready.iter().filter(is_beside).find(|other| {
                let other_place = self.begun.iter().position(|id| *id == other.id);
                other_place.is_some_and(|it| {
                    place.is_none_or(|own| it < own && other.priority >= job.priority)
                })
            });
            let (before, name) = (before.map(|other| other.id), short(job.id));
            self.must(before.is_none() || self.was_set, || {
                format!("{name} begins before {}", before.map(short).unwrap_or_default())
            });
            let holds = on_park == OnPark::Hold && parked.iter().any(|other| is_beside(&other));
            self.must(!holds, || format!("{name} begins behind a parked job"));
            let until = self.held.get(&job.id).copied().filter(|until| now < *until);
            self.must(until.is_none(), || format!("{name} begins before {until:?}"));
            if place.is_none() && job.partition.is_some() {
                self.begun.push(job.id);
            }
        }
    }

    /// A statement was executed: the jobs that have a place among others, and until when they wait.
    pub(super) fn keep_places(&mut self, model: &Model) {
        let is_ordered = |limits: &scheduler_store::LimitSpec| limits.each.ordered.is_some();
        if !self.limits.as_ref().is_some_and(is_ordered) {
            return;
        }
        let row = |id: &JobId| model.job(*id).ok().flatten();
        self.begun.retain(|id| {
            row(id).is_some_and(|job| !matches!(job.state, JobState::Done | JobState::Cancelled))
        });
        let held = self.begun.iter().filter_map(|id| Some((*id, row(id)?.held_until?)));
        self.held = held.collect();
    }
}
