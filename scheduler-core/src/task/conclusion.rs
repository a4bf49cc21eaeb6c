//! What follows a step of a task's body: it goes on, or it ends and its waiters are notified.

use super::cell::TaskCell;
use super::current;
use super::rhythm::LastRun;
use super::run::{Run, RunObserver, Verdict};
use super::slot::{Outcome, Slot, Tried, Work, discard, unit};
use super::state::{End, Settle, TaskState};
use super::steps::{Step, Steps};
use super::waiters::notify;
use crate::error::Failure;
use crate::sync::MutexGuard;
use crate::time::{Due, Now};

impl<T: Send + Sync + 'static, B: Steps<T> + 'static> TaskCell<T, B> {
    /// Ends a task whose body its worker holds.
    #[inline(always)]
    fn end(&self, end: End, outcome: Outcome<T>, work: Work<B>) -> Verdict {
        if !work.is_spent() {
            discard(&self.header, work);
        }
        let mut slot = self.slot.lock();
        match slot.state.end(end) {
            Settle::Done => self.publish(slot, outcome),
            Settle::WasCancelled => {
                drop(slot);
                discard(&self.header, outcome);
                Verdict::Ended(TaskState::Cancelled)
            }
        }
    }

    /// Drops what a task is made of that is leaving.
    pub(super) fn strip<'a>(
        &'a self,
        mut slot: MutexGuard<'a, Slot<T, B>>,
    ) -> MutexGuard<'a, Slot<T, B>> {
        let (work, step) = (slot.take_work(), slot.take_step());
        if work.as_ref().is_none_or(Work::is_spent) && step.is_none() {
            return slot;
        }
        drop(slot);
        current::hold_up_task(&self.header, || discard(&self.header, (work, step)));
        self.slot.lock()
    }

    /// Publishes the outcome of a task that has just ended, and notifies its waiters.
    #[inline(always)]
    fn publish(&self, mut slot: MutexGuard<'_, Slot<T, B>>, outcome: Outcome<T>) -> Verdict {
        let late = match outcome {
            Outcome::Value(_) if unit::<T>().is_some() => Ok(()),
            Outcome::Value(value) => self.value.set(value),
            Outcome::Failed(failure) => {
                slot.rare().failure = Some(failure);
                Ok(())
            }
            Outcome::Over => Ok(()),
        };
        let state = slot.state.visible();
        let waiters = slot.rare_if_any().map(|rare| rare.waiters.take());
        drop(slot);
        if let Some(waiters) = waiters {
            notify(waiters, state);
        }
        if late.is_err() {
            discard(&self.header, late);
        }
        Verdict::Ended(state)
    }

    fn requeue(&self, next: Due, work: Work<B>) -> Verdict {
        let mut slot = self.slot.lock();
        match slot.state.requeue() {
            Settle::Done => {
                slot.set_due(next);
                slot.put_work(work);
                Verdict::Requeue(next)
            }
            Settle::WasCancelled => {
                drop(slot);
                discard(&self.header, work);
                Verdict::Ended(TaskState::Cancelled)
            }
        }
    }

    /// Makes the outcome of a run known. A run goes unnoticed if no hook and no listener observes it and its end time
    /// does not matter: its task does not recur and has no limit.
    #[inline(always)]
    pub(super) fn close(
        &self,
        tried: Tried<T, B>,
        run: &Run,
        goes_unnoticed: bool,
        observer: &dyn RunObserver,
    ) -> Verdict {
        if goes_unnoticed {
            return self.conclude(tried, run.last(), run.started());
        }
        let outcome = tried.outcome();
        let was_refused = matches!(tried.step, Ok(Step::Refused(_)));
        let now = observer.is_over(run, &outcome, was_refused);
        let verdict = self.conclude(tried, run.last(), now);
        observer.is_settled(run, &outcome, verdict, now);
        verdict
    }

    #[inline(always)]
    fn conclude(&self, tried: Tried<T, B>, last: LastRun, now: Now) -> Verdict {
        let Tried { work, step } = tried;
        match step {
            Ok(Step::Value(value)) => self.end(End::Completed, Outcome::Value(value), work),
            Ok(Step::Ran(result)) if self.header.rhythm().is_recurring() => {
                self.conclude_recurring(work, last, &result, now)
            }
            Ok(Step::Ran(Ok(()))) => self.end(End::Completed, Outcome::Over, work),
            Ok(Step::Refused(failure)) | Err(failure) if self.header.rhythm().is_recurring() => {
                self.conclude_recurring(work, last, &Err(failure), now)
            }
            Ok(Step::Ran(Err(failure)) | Step::Refused(failure)) | Err(failure) => {
                self.end(End::Failed, Outcome::Failed(failure), work)
            }
            Ok(Step::Pending) => unreachable!("a pending run is suspended, not settled"),
        }
    }

    /// Decides how a recurring task goes on after a run.
    fn conclude_recurring(
        &self,
        work: Work<B>,
        last: LastRun,
        outcome: &Result<(), Failure>,
        now: Now,
    ) -> Verdict {
        if self.header.ends_on_failure()
            && let Err(failure) = outcome
        {
            return self.end(End::Failed, Outcome::Failed(failure.clone()), work);
        }
        match self.header.rhythm().next(last, now) {
            Ok(Some(next)) => self.requeue(next, work),
            Ok(None) => self.end(End::Completed, Outcome::Over, work),
            Err(failure) => self.end(End::Failed, Outcome::Failed(failure), work),
        }
    }
}
