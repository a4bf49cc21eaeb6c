//! Nothing of a paused kind or queue is claimed, or begins once its process has heard of the pause.

use scheduler_store::{PauseScope, StoreTime, StoredJob};

use super::facts::{Checker, short};

impl Checker {
    /// All jobs are to be resumed: those of partitions stand in no list of the store.
    pub(crate) fn jobs_are_resumed(&mut self) -> Vec<PauseScope> {
        std::mem::take(&mut self.pauses).into_keys().collect()
    }

    /// Jobs are paused. The store forgets pauses that are over, also where its clock is set back later.
    pub(super) fn jobs_are_paused(
        &mut self,
        scope: &PauseScope,
        until: Option<StoreTime>,
        store_now: StoreTime,
    ) {
        self.pauses.retain(|_, until| until.is_none_or(|until| store_now < until));
        self.pauses.insert(scope.clone(), until);
    }

    /// A job is claimed.
    pub(super) fn is_not_paused(&mut self, job: &StoredJob, store_now: StoreTime) {
        let mut pauses = self.pauses.iter();
        let paused = pauses.find(|(scope, until)| {
            is_in(scope, job) && until.is_none_or(|until| store_now < until)
        });
        let paused = paused.map(|(scope, _)| scope.clone());
        self.must(paused.is_none(), || {
            format!("{} was claimed, and {} is paused", short(job.id), paused_text(paused.as_ref()))
        });
    }

    /// A run begins, of a job that may have been claimed before the last poll of its process.
    pub(super) fn is_not_known_as_paused(&mut self, process: usize, job: &StoredJob) {
        let Some((told, fence)) = self.lives.get(&process).map(|life| &life.told) else { return };
        let is_older = job.fence <= *fence;
        let paused =
            told.iter().find(|scope| is_older && scope.has(&job.task, &job.queue)).cloned();
        self.must(paused.is_none(), || {
            let paused = paused_text(paused.as_ref());
            format!("{} begins, and its process knows that {paused} is paused", short(job.id))
        });
    }
}

/// Returns true if a pause of such jobs keeps this one.
fn is_in(scope: &PauseScope, job: &StoredJob) -> bool {
    match scope {
        PauseScope::Partition(task, partition) => {
            job.task == *task && job.partition.as_ref() == Some(partition)
        }
        _ => scope.has(&job.task, &job.queue),
    }
}

fn paused_text(scope: Option<&PauseScope>) -> String {
    scope.map(ToString::to_string).unwrap_or_default()
}
