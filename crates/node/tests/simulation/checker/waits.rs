//! The reason why a job does not run is the one by which it is not claimed, and by which ticks behind it are skipped.

use scheduler_store::{
    Fired, JobFilter, JobState, Limit, LimitScope, Model, PauseScope, Poll, Polled, Store,
    StoredJob, WaitReason,
};

use super::facts::{Checker, short};
use crate::body::WORK;

impl Checker {
    /// A poll is about to be executed: the reasons of all jobs that are ready.
    pub(super) fn note_waits(&mut self, model: &Model) {
        self.waits.clear();
        if self.limits.is_none() {
            return;
        }
        let ready = ready(model);
        let ids: Vec<_> = ready.iter().map(|job| job.id).collect();
        let mut waits = model.waits(&ids).unwrap_or_default();
        for job in ready {
            let place = waits.iter().position(|wait| wait.id == job.id);
            let reason = place.map(|place| waits.swap_remove(place).reason);
            self.must(reason.is_some(), || {
                format!("{} is ready, and has no reason", short(job.id))
            });
            self.waits.extend(reason.map(|reason| (job, reason)));
        }
    }

    /// Jobs that were said to wait for a worker alone are claimed, and no others.
    pub(super) fn reasons_are_true(&mut self, poll: &Poll, polled: &Polled) {
        let waits = std::mem::take(&mut self.waits);
        for (job, reason) in &waits {
            let is_claimed = polled.jobs.iter().any(|claimed| claimed.id == job.id);
            self.must(!is_claimed || *reason == WaitReason::Turn, || {
                format!("{} was claimed, and the reason why it waits was: {reason}", short(job.id))
            });
        }
        let is_in = |scope: &PauseScope| self.pauses.contains_key(scope);
        let wrong = waits.iter().find(
            |(_, reason)| matches!(reason, WaitReason::Paused { scope, .. } if !is_in(scope)),
        );
        let wrong = wrong.map(|(job, reason)| format!("{} is not paused: {reason}", short(job.id)));
        self.must(wrong.is_none(), || wrong.unwrap_or_default());
        let has_room = poll.limit.min(poll.abandon_limit).min(poll.lost_limit) > 0;
        if !has_room || !polled.is_alive || polled.is_partial || !polled.jobs.is_empty() {
            return;
        }
        let may_claim = |job: &StoredJob| {
            let is_known = poll.knows(&job.task, job.payload.version);
            is_known && poll.room(&job.task) > 0 && !job.is_expired(polled.now)
        };
        let left = waits.iter().find(|(job, reason)| *reason == WaitReason::Turn && may_claim(job));
        let left = left.map(|(job, _)| job.id);
        self.must(left.is_none(), || {
            format!(
                "{} waits for a worker alone, and is not claimed",
                left.map(short).unwrap_or_default()
            )
        });
    }

    /// Returns true if the job that keeps others of its schedule out waits for its turn, because its task has a limit.
    pub(crate) fn waits_for_limit(&self, schedule: &str, model: &Model) -> bool {
        let is_limited =
            LimitScope::BOTH.iter().any(|scope| self.limit(*scope) != Limit::default());
        let is_of = |job: &StoredJob| {
            let origin = job.origin.as_ref();
            origin.is_some_and(|origin| origin.schedule == schedule) && job.task == WORK
        };
        let waits = |job: &StoredJob| is_of(job) && job.started_at.is_none();
        is_limited && ready(model).iter().any(waits)
    }

    /// A statement of a schedule was executed: ticks are skipped because of a limit only if a job waits for it.
    pub(crate) fn skips_are_of_the_limit(&mut self, waits: bool, fired: &Fired, schedule: &str) {
        let is_limited = matches!(fired, Fired::Limited(_));
        self.must(waits || !is_limited, || {
            format!("a tick of {schedule} is skipped because of a limit, and no job waits for it")
        });
    }
}

fn ready(model: &Model) -> Vec<StoredJob> {
    let filter = JobFilter { state: Some(JobState::Ready), ..JobFilter::default() };
    model.jobs(&filter, u32::MAX).unwrap_or_default()
}
