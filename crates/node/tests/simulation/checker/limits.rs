//! No more jobs run than the limits allow, and no more start in any window of their rates.

use scheduler_store::{
    EXPIRED, JobFilter, JobId, JobState, Limit, LimitOverride, LimitScope, Model, NewJob,
    OnConflict, OnPark, Register, Store, StoreTime, StoredJob,
};

use super::facts::{Checker, short};
use crate::body::WORK;

impl Checker {
    /// Jobs were claimed by a poll.
    pub(super) fn limits_are_kept(&mut self, jobs: &[StoredJob], model: &Model, now: StoreTime) {
        // Jobs that go on under a lower limit hold others back, and are within the limit that they have begun under.
        let is_of = |job: &&StoredJob| job.task == WORK && job.partition.is_some();
        let claimed: Vec<_> = jobs.iter().filter(is_of).collect();
        if claimed.is_empty() {
            return;
        }
        self.starts.extend(claimed.iter().map(|job| (job.partition.clone(), now)));
        let filter = JobFilter { state: Some(JobState::Running), ..JobFilter::default() };
        let running = model.jobs(&filter, u32::MAX).unwrap_or_default();
        let running: Vec<_> = running.into_iter().filter(|job| is_of(&job)).collect();
        self.limit_is_kept(LimitScope::All, None, &running, now);
        if let Some(on_park) = self.limit(LimitScope::Each).ordered {
            self.order_is_kept(jobs, on_park, model, now);
        }
        for job in claimed {
            self.limit_is_kept(LimitScope::Each, job.partition.as_ref(), &running, now);
        }
    }

    fn limit_is_kept(
        &mut self,
        scope: LimitScope,
        of: Option<&String>,
        running: &[StoredJob],
        now: StoreTime,
    ) {
        let limit = self.limit(scope);
        let is_of = |partition: Option<&String>| of.is_none() || partition == of;
        let count = running.iter().filter(|job| is_of(job.partition.as_ref())).count();
        self.must(limit.running.is_none_or(|most| count <= most as usize), || {
            format!("{count} jobs of {of:?} run, and the limit is {limit}")
        });
        let Some(rate) = limit.rate.filter(|_| !self.was_set) else { return };
        let changed = self.limits_known.get(&scope).and_then(|known| known.changed);
        let since = changed.max(Some(now.before(rate.period))).unwrap_or_default();
        let starts =
            self.starts.iter().filter(|(partition, at)| is_of(partition.as_ref()) && *at > since);
        let count = starts.count();
        self.must(count <= rate.starts as usize, || {
            format!("{count} jobs of {of:?} have started in {:?}: {limit}", rate.period)
        });
    }

    /// The limit that counts.
    pub(super) fn limit(&self, scope: LimitScope) -> Limit {
        let known = self.limits_known.get(&scope).cloned().unwrap_or_default();
        known.by_hand.map(|by_hand| by_hand.limit).or(known.code).unwrap_or_default()
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

/// A limit by hand counts at once, and until the code has another one.
impl Checker {
    /// A process has registered its limits: those of the process that was started last count, and end the limits by hand that
    /// were set beside others.
    pub(super) fn limits_are_registered(&mut self, register: &Register, now: StoreTime) {
        for spec in register.limits.iter().filter(|spec| spec.task == WORK) {
            for (scope, limit) in [(LimitScope::All, spec.all), (LimitScope::Each, spec.each)] {
                let code = Some(limit).filter(|limit| *limit != Limit::default());
                let before = self.limit(scope);
                if code.is_none() && !self.limits_known.contains_key(&scope) {
                    continue;
                }
                let known = self.limits_known.entry(scope).or_default();
                if known.opened > Some(register.first_opened) {
                    continue;
                }
                if known.opened.is_some() && known.code != code {
                    known.by_hand = None;
                }
                (known.code, known.opened) = (code, Some(register.first_opened));
                self.limit_is_changed(scope, before, now);
            }
        }
    }

    /// A limit was set by hand, or the one of the code was restored.
    pub(super) fn limit_is_set(
        &mut self,
        scope: LimitScope,
        by_hand: Option<&LimitOverride>,
        now: StoreTime,
    ) {
        let before = self.limit(scope);
        self.limits_known.entry(scope).or_default().by_hand = by_hand.cloned();
        self.limit_is_changed(scope, before, now);
    }

    fn limit_is_changed(&mut self, scope: LimitScope, before: Limit, now: StoreTime) {
        let is_other = self.limit(scope) != before;
        let known = self.limits_known.entry(scope).or_default();
        known.changed = if is_other { Some(now) } else { known.changed };
    }

    /// The store has the limits by hand that were set, with their authors.
    pub(super) fn limits_are_as_set(&mut self, model: &Model) {
        for row in model.limits().unwrap_or_default() {
            let known = self.limits_known.get(&row.scope).cloned().unwrap_or_default();
            let (set, found) = (known.by_hand, row.by_hand);
            self.must(set == found, || {
                format!("by hand {set:?} was set, and the limit is {found:?}")
            });
            let (code, found) = (known.code, row.code);
            self.must(code == found, || {
                format!("in the code is {code:?}, and the store has {found:?}")
            });
        }
    }
}

/// Promises of lanes, of expiry and of delays.
impl Checker {
    /// A job goes from run to run with its partition.
    pub(super) fn is_of_its_partition(&mut self, job: &StoredJob) {
        let known = self.job(job.id).partition.get_or_insert_with(|| job.partition.clone());
        // One without a partition is in the one without a name, once its task has limits.
        let is_same =
            *known == job.partition || known.is_none() && job.partition.as_deref() == Some("");
        self.must(is_same, || format!("{} has another partition than before", short(job.id)));
    }

    /// No job was due in the lane of a claimed one, and before it. One that was lost may wait for its turn in quarantine.
    pub(super) fn is_first_of_its_lane(&mut self, job: &StoredJob, model: &Model) {
        // Where order counts, one that has begun goes before all others.
        if job.partition.is_none() || job.lost > 0 || self.begun.contains(&job.id) {
            return;
        }
        let filter = JobFilter { state: Some(JobState::Ready), ..JobFilter::default() };
        let ready = model.jobs(&filter, u32::MAX).unwrap_or_default();
        let place = |job: &StoredJob| (std::cmp::Reverse(job.priority), job.run_at, job.id);
        let before = ready.iter().find(|other| {
            // It was in the lane since it was accepted.
            let is_in = other.run_at <= other.created_at && other.lost == 0;
            is_in
                && (&other.task, &other.queue, &other.partition, other.payload.version)
                    == (&job.task, &job.queue, &job.partition, job.payload.version)
                && place(other) < place(job)
        });
        let before = before.map(|other| short(other.id));
        self.must(before.is_none(), || {
            format!("{} was claimed before {before:?} of its partition", short(job.id))
        });
    }

    /// Jobs were cancelled that no process had taken by their time.
    pub(super) fn expired(&mut self, model: &Model, now: StoreTime) {
        let filter = JobFilter { state: Some(JobState::Cancelled), ..JobFilter::default() };
        for job in model.jobs(&filter, u32::MAX).unwrap_or_default() {
            if job.error.as_deref() != Some(EXPIRED) || self.job(job.id).is_over {
                continue;
            }
            let is_right = job.fence.0 == 0 && job.expires_at.is_some_and(|until| until <= now);
            self.must(is_right || self.was_set, || {
                format!("{} has begun, or is in time, and has expired", short(job.id))
            });
            self.over(job.id, model, now);
        }
    }

    /// A job that waits for the last of many is due at most so long after it was accepted.
    pub(super) fn is_due_in_time(&mut self, waiting: JobId, new: &NewJob, model: &Model) {
        let Some(OnConflict::Debounce(most)) = new.key.as_ref().map(|key| key.on_conflict) else {
            return;
        };
        let Some(job) = model.job(waiting).ok().flatten() else { return };
        self.must(job.run_at <= job.created_at.after(most), || {
            format!("{} is put off for longer than it may be", short(waiting))
        });
    }
}
