//! Claims: taken, cancelled, finished, and compared with the store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{
    ClaimRef, End, Finish, Finished, JobState, OnLost, Origin, ScheduleSpec, SessionId, StoredJob,
};

use super::{FINISHES_MAX, Node};
use crate::claims::{Claim, STARVED_AFTER};
use crate::effect::{Effect, NodeEvent};
use crate::observed::with_drift_margin;

/// After that time a request is sent again that met a lock of another transaction.
pub(super) const LOCKED: Duration = Duration::from_millis(250);

impl Node {
    /// A job was claimed. It is given back if its session has ended by now, or if it is beyond the limit of its task: a store
    /// knows nothing of former names, and may find as many jobs for each name. If it may not wait here for the end of a run, it is
    /// put off until the next poll.
    pub(super) fn claimed(
        &mut self,
        session: SessionId,
        job: StoredJob,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        let is_working = self.session() == Some(session) && self.phase == super::NodePhase::Working;
        let config = Arc::clone(&self.config);
        let task = config.task(&job.task).filter(|task| self.claims.within_limit(task) > 0);
        let Some(task) = task.filter(|_| is_working) else {
            self.finishes.push(Finish::new(session, job.held(), End::GiveBack));
            return;
        };
        let is_held = self.is_blocked(&job);
        if is_held && (job.on_lost == OnLost::Abandon || job.partition.is_some()) {
            // It is claimed only when it begins (R14): its process may die while it waits, and it takes a place of its limit. Given
            // back it would come again at once.
            let end = End::Snooze { after: self.config.poll_every };
            self.finishes.push(Finish::new(session, job.held(), end));
            return;
        }
        let job = Arc::new(job);
        self.claims.take(&job, task, session, now);
        let limit = STARVED_AFTER.min(self.config.lease / 2);
        self.deadlines.stale = self.deadlines.stale.min(now + limit);
        match self.claims.get_mut(job.held()).filter(|_| is_held) {
            Some(claim) => claim.is_held = true,
            None => effects.push(Effect::Start(job)),
        }
    }

    /// Returns true if another run in this process keeps a job from beginning, whatever the store says (R11).
    fn is_blocked(&self, job: &StoredJob) -> bool {
        let is_exclusive = job.origin.as_ref().is_some_and(|origin| {
            // A rule that was set by hand may be exclusive where the definition is not.
            let seen = self.exclusive.get(&origin.schedule).copied();
            let defined =
                || self.definition(&origin.schedule).is_none_or(ScheduleSpec::is_exclusive);
            seen.unwrap_or_else(defined)
        });
        self.claims.is_blocked(job, is_exclusive)
    }

    /// Jobs begin that have waited for the end of a run.
    fn release(&mut self, effects: &mut Vec<Effect>) {
        let is_free = |claim: &Claim| claim.is_held && !self.is_blocked(&claim.job);
        for held in self.claims.waiting(is_free) {
            if let Some(claim) = self.claims.get_mut(held) {
                claim.is_held = false;
                effects.push(Effect::Start(Arc::clone(&claim.job)));
            }
        }
    }

    pub(super) fn run_ended(
        &mut self,
        held: ClaimRef,
        end: End,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        let Some(claim) = self.claims.remove(held, now) else { return };
        // A schedule that this process has not seen may have something due after its job.
        let follows = |origin: &Origin| *self.has_follow_up.get(&origin.schedule).unwrap_or(&true);
        self.is_followed |= claim.job.origin.as_ref().is_some_and(follows);
        // As for a job that another process takes over (R14).
        let end = match end {
            End::Lost { .. } => {
                let spread = u64::try_from(self.config.lost_spread.as_nanos()).unwrap_or(u64::MAX);
                let after = Duration::from_nanos(self.rng.below(spread.max(1)));
                End::Lost { after, max_lost: self.config.max_lost }
            }
            End::Done if self.config.keep_done.is_zero() => End::Gone,
            end => end,
        };
        if may_park(&end) {
            self.failing.insert((held.job, held.fence), claim.job);
        }
        let (session, progress) = (claim.session, claim.progress);
        self.finishes.push(Finish { session, held, end, progress });
        if claim.has_outlived {
            self.release(effects);
        }
    }

    /// A job was cancelled.
    pub(super) fn cancel(&mut self, held: ClaimRef, now: Tick, effects: &mut Vec<Effect>) {
        let Some(job) = self.claims.get_mut(held).filter(|job| !job.is_cancelled) else { return };
        job.is_cancelled = true;
        if job.begun.is_some() {
            effects.push(Effect::Cancel(held));
        } else if let Some(job) = self.claims.remove(held, now) {
            effects.push(Effect::Withdraw(held));
            self.finishes.push(Finish::new(job.session, held, End::Cancelled));
        }
    }

    pub(super) fn finished(
        &mut self,
        finishes: &[Finish],
        finished: &[Finished],
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        self.finish_limit = (self.finish_limit * 2).min(FINISHES_MAX);
        // INVARIANT: what was sent is at the front, since ends are only added at the back.
        self.finishes.drain(..finishes.len().min(self.finishes.len()));
        if self.finishes.is_empty() && std::mem::take(&mut self.is_followed) {
            self.deadlines.poll = now;
        }
        if std::mem::take(&mut self.is_full) {
            self.deadlines.poll = now;
        }
        if finished.contains(&Finished::Locked) {
            self.deadlines.unlock = now + LOCKED;
        }
        for (finish, outcome) in finishes.iter().zip(finished) {
            let held = finish.held;
            if *outcome == Finished::Locked {
                self.locked.push(finish.clone());
                continue;
            }
            let failing = self.failing.remove(&(held.job, held.fence));
            let lost = self.parked_as_lost.remove(&(held.job, held.fence));
            match outcome {
                Finished::Stored(JobState::Parked) | Finished::AlreadyMine(JobState::Parked) => {
                    let lost = lost.filter(|_| !is_failure(&finish.end)).map(NodeEvent::JobLost);
                    let parked = || {
                        let failing = failing.as_ref();
                        failing.map(|job| NodeEvent::Parked(self.parked(job, &finish.end, now)))
                    };
                    effects.extend(lost.or_else(parked).map(Effect::Event));
                }
                Finished::Stored(state) | Finished::AlreadyMine(state) => {
                    self.poll_for_next(finish, *state, now);
                }
                Finished::Lost if finish.end == End::GiveBack => {}
                Finished::Lost => {
                    effects.push(Effect::Event(NodeEvent::FinishRefused { held }));
                }
                Finished::Locked => {}
            }
        }
    }

    /// The job that this end has parked, as it is now.
    fn parked(&self, job: &StoredJob, end: &End, now: Tick) -> Box<StoredJob> {
        let mut job = Box::new(job.clone());
        job.end(end, &self.config.label, self.clock.earliest(now).unwrap_or_default());
        job
    }

    /// A job that is ready again is claimed when it is due.
    fn poll_for_next(&mut self, finish: &Finish, state: JobState, now: Tick) {
        if let (
            JobState::Ready,
            End::Failed { after, .. }
            | End::Snooze { after }
            | End::Lost { after, .. }
            | End::Undecodable { after, .. },
        ) = (state, &finish.end)
        {
            self.deadlines.poll = self.deadlines.poll.min(now + *after);
        }
    }

    /// The store says which jobs the session had, at an instant after the request was sent and with no claim in flight.
    pub(super) fn compared(
        &mut self,
        session: SessionId,
        stored: &[ClaimRef],
        sent: Tick,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        if self.session() != Some(session) {
            return;
        }
        // R1: each one by its fence, never "all but these".
        let ending: BTreeSet<_> = self
            .finishes
            .iter()
            .chain(&self.locked)
            .map(|finish| (finish.held.job, finish.held.fence))
            .collect();
        for held in stored {
            let is_known = self.claims.contains(*held) || ending.contains(&(held.job, held.fence));
            if !is_known {
                self.finishes.push(Finish::new(session, *held, End::GiveBack));
                effects.push(Effect::Event(NodeEvent::GivenBack { held: *held }));
            }
        }
        let stored: BTreeSet<_> = stored.iter().map(|held| (held.job, held.fence)).collect();
        let is_gone = |held: &ClaimRef| !stored.contains(&(held.job, held.fence));
        let claimed = self
            .claims
            .iter()
            .filter(|(_, job)| job.session == session && job.claimed <= sent && !job.is_lost);
        let gone: Vec<ClaimRef> = claimed.map(|(held, _)| held).filter(is_gone).collect();
        for held in gone {
            self.tell_lost(held, effects);
        }
        let is_over = self
            .uncertain_until
            .is_none_or(|until| self.clock.earliest(now).is_some_and(|at| until < at));
        self.deadlines.compare = match self.uncertain_until.filter(|_| !is_over) {
            None => {
                self.uncertain_until = None;
                now + self.rng.about(self.config.compare_every)
            }
            // Until then the claim may still be executed (R2).
            Some(until) => {
                let left =
                    self.clock.earliest(now).map_or(self.config.answer_limit, |at| until.since(at));
                now + with_drift_margin(left) + std::time::Duration::from_millis(1)
            }
        };
    }
}

/// Returns true if the run says that it failed.
fn is_failure(end: &End) -> bool {
    matches!(end, End::Failed { .. } | End::Park { .. })
}

/// Returns true if a store may park a job that ends so.
fn may_park(end: &End) -> bool {
    matches!(
        end,
        End::Failed { .. } | End::Park { .. } | End::Undecodable { .. } | End::Lost { .. }
    )
}
