//! A guarded enqueue is refused while as many jobs wait as may, and is not refused otherwise.

use scheduler_store::{
    JobFilter, JobState, LimitScope, Model, NewJob, Refusal, Store, StoreError, StoredJob,
};

use super::facts::{Checker, short};

/// The jobs that wait beside a new one, of each partition and of all: those that are in a lane for sure, and those that may be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    is_known: bool,
    each: [usize; 2],
    all: [usize; 2],
}

impl Waiting {
    fn of(&self, scope: LimitScope) -> [usize; 2] {
        if scope == LimitScope::Each { self.each } else { self.all }
    }
}

impl Checker {
    /// An enqueue is about to be executed.
    pub(super) fn note_waiting(&mut self, jobs: &[NewJob], model: &Model) {
        self.waiting = None;
        let Some(new) = jobs.first().filter(|new| new.is_guarded) else { return };
        let filter = JobFilter { state: Some(JobState::Ready), ..JobFilter::default() };
        let ready = model.jobs(&filter, u32::MAX).unwrap_or_default();
        let is_of_all = |job: &&StoredJob| {
            (&job.task, &job.queue) == (&new.task, &new.queue) && job.partition.is_some()
        };
        let is_of_each = |job: &&StoredJob| {
            let partition = new.partition.as_deref().or(Some(""));
            is_of_all(job)
                && job.partition.as_deref() == partition
                && job.payload.version == new.payload.version
        };
        // A poll may have seen one that was due later than it was accepted.
        let count = |is_of: &dyn Fn(&&StoredJob) -> bool| {
            let all: Vec<_> = ready.iter().filter(is_of).collect();
            [all.iter().filter(|job| job.run_at <= job.created_at).count(), all.len()]
        };
        let is_known = model.state().remembers(new.id);
        self.waiting = Some(Waiting { is_known, each: count(&is_of_each), all: count(&is_of_all) });
    }

    pub(super) fn is_rightly_accepted(&mut self, jobs: &[NewJob]) {
        let (Some(waiting), Some(new)) = (self.waiting.take(), jobs.first()) else { return };
        for scope in LimitScope::BOTH {
            let ([least, _], most) = (waiting.of(scope), self.limit(scope).waiting);
            let is_full = most.is_some_and(|most| least >= most as usize);
            self.must(!is_full || waiting.is_known, || {
                format!("{} was accepted, and {least} wait of {most:?}", short(new.id))
            });
        }
    }

    pub(super) fn is_rightly_refused(&mut self, jobs: &[NewJob], error: &StoreError) {
        let (waiting, Some(new)) = (self.waiting.take(), jobs.first()) else { return };
        let StoreError::Refused(Refusal::Full { partition, waiting: most, .. }) = error else {
            return;
        };
        let scope = if partition.is_some() { LimitScope::Each } else { LimitScope::All };
        let is_full = waiting.is_some_and(|waiting| waiting.of(scope)[1] >= *most as usize);
        let is_of_limit = self.limit(scope).waiting == Some(*most);
        self.must(is_full && is_of_limit, || {
            format!("{} is refused, and {waiting:?} wait: {error}", short(new.id))
        });
        let is_known = waiting.is_some_and(|waiting| waiting.is_known);
        self.must(!is_known, || format!("{} was accepted before, and is refused", short(new.id)));
    }
}
