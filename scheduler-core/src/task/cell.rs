//! One task in the flesh: what it is made of, behind one lock, and what workers and cancellers do to it.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::Wake;
use std::task::Waker;

use super::Header;
use super::Home;
use super::any;
use super::any::AnyTask;
use super::any::Cancelled;
use super::any::Executed;
use super::any::Verdict;
use super::header::EVERY_RUN;
use super::rhythm::LastRun;
use super::rhythm::Rhythm;
use super::run::Run;
use super::slot::Outcome;
use super::slot::Slot;
use super::slot::Work;
use super::slot::discard;
use super::state;
use super::state::Begin;
use super::state::Cancel;
use super::state::End;
use super::state::Settle;
use super::state::Suspend;
use super::state::TaskState;
use super::steps::Step;
use super::waiters::Waiter;
use super::waiters::tell;
use crate::error::Error;
use crate::error::Failure;
use crate::sync::Mutex;
use crate::sync::planted;
use crate::time::Due;
use crate::time::Gate;
use crate::time::Now;
use crate::unwind::catch;
use crate::unwind::drop_contained;

/// A task whose value is of type `T`.
///
/// INVARIANT: the lock is the innermost of the engine; nothing is locked and no user code runs while
/// it is held. Whatever a transition frees is handed out and dropped after unlocking.
pub(crate) struct TaskCell<T> {
    header: Header,
    slot: Mutex<Slot<T>>,
}

impl<T> TaskCell<T> {
    pub(crate) fn remove_waiter(&self, number: u64) {
        let removed = self.slot.lock().waiters.remove(number);
        drop_contained(removed);
    }
}

impl<T: Send + Sync + 'static> TaskCell<T> {
    pub(crate) fn new(header: Header, work: Work<T>, due: Due) -> Arc<Self> {
        Arc::new(Self { header, slot: Mutex::new(Slot::new(work, due)) })
    }

    /// The outcome, or none while the task has not ended.
    pub(crate) fn outcome(&self) -> Option<Arc<Outcome<T>>> {
        self.slot.lock().outcome.clone()
    }

    /// Adds a waiter, or hands it back with the final state when the task has ended.
    pub(crate) fn add_waiter(&self, waiter: Waiter) -> Result<u64, (Waiter, TaskState)> {
        let mut slot = self.slot.lock();
        if slot.state.is_ended() && !planted("L6") {
            return Err((waiter, slot.state.visible()));
        }
        Ok(slot.waiters.add(waiter))
    }

    fn end(&self, end: End, outcome: Outcome<T>) -> Verdict {
        let mut slot = self.slot.lock();
        let farewell = match slot.state.end(end) {
            Settle::Done => slot.farewell(outcome),
            Settle::WasCancelled => return self.drop_body(slot, outcome),
        };
        drop(slot);
        let state = farewell.state;
        farewell.say(&self.header);
        Verdict::Ended(state)
    }

    /// What a worker does that finds its task cancelled: drops the body and the late outcome.
    fn drop_body(
        &self,
        mut slot: crate::sync::MutexGuard<'_, Slot<T>>,
        late: Outcome<T>,
    ) -> Verdict {
        let leftover = (slot.work.take(), slot.step.take());
        drop(slot);
        discard(&self.header, (leftover, late));
        Verdict::Ended(TaskState::Cancelled)
    }

    fn requeue(&self, next: Due) -> Verdict {
        let mut slot = self.slot.lock();
        match slot.state.requeue() {
            Settle::Done => {
                slot.due = next;
                Verdict::Requeue(next)
            }
            Settle::WasCancelled => self.drop_body(slot, Err(Error::cancelled())),
        }
    }

    /// Decides how a recurring task goes on after a run.
    fn settle_recurring(
        &self,
        last: Option<LastRun>,
        outcome: &Result<(), Failure>,
        now: Now,
    ) -> Verdict {
        if self.header.ends_on_failure()
            && let Err(failure) = outcome
        {
            return self.end(End::Failed, Err(Error::failed(failure.clone())));
        }
        self.header.begin_question();
        let next = last.map_or(Ok(None), |last| self.header.rhythm.next(last, outcome, now));
        match next {
            Ok(Some(next)) => self.requeue(next),
            Ok(None) => self.end_without_next(),
            Err(failure) => self.end(End::Failed, Err(Error::failed(failure))),
        }
    }

    fn end_without_next(&self) -> Verdict {
        let (end, outcome) = self.last_outcome();
        self.end(end, outcome)
    }

    /// How a task ends that has no further due time.
    fn last_outcome(&self) -> (End, Outcome<T>) {
        let value = self.slot.lock().work.as_ref().and_then(|work| work.body.last_value());
        match value {
            Some(value) => (End::Completed, Ok(value)),
            None => (End::Failed, Err(Error::cancelled())),
        }
    }

    /// Ends a task that waits.
    ///
    /// RACE: one that was cancelled meanwhile goes back into the queue, where the pool treats it as any
    /// that was cancelled there; its canceller has told of its end.
    fn retire(&self, end: End, outcome: Outcome<T>) -> Verdict {
        let mut slot = self.slot.lock();
        let farewell = match slot.state.retire(end) {
            Settle::Done => slot.farewell(outcome),
            Settle::WasCancelled => {
                let due = slot.due;
                drop(slot);
                discard(&self.header, outcome);
                return Verdict::Requeue(due);
            }
        };
        drop(slot);
        let state = farewell.state;
        farewell.say(&self.header);
        Verdict::Ended(state)
    }

    fn resume_if(self: Arc<Self>, answer: state::Wake) {
        if answer == state::Wake::Resume
            && let Some(home) = self.header.home()
        {
            Home::resume(&*home, self);
        }
    }

    fn take_work(&self) -> Option<Work<T>> {
        self.slot.lock().work.take()
    }

    fn put_back(&self, work: Work<T>, step: Result<Step<T>, Failure>) {
        let mut slot = self.slot.lock();
        slot.work = Some(work);
        slot.step = Some(step);
    }
}

impl<T: Send + Sync + 'static> AnyTask for TaskCell<T> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn state(&self) -> TaskState {
        self.slot.lock().state.visible()
    }

    fn due(&self) -> Due {
        self.slot.lock().due
    }

    fn begin(self: Arc<Self>, now: Now) -> Option<Run> {
        let mut slot = self.slot.lock();
        let begin = slot.state.begin();
        match begin {
            Begin::Ended => return None,
            Begin::Resume => {}
            Begin::Run => {
                slot.runs += 1;
                let due = slot.due;
                slot.last = Some(LastRun { due, scheduled: due.as_wall(now), started: now });
            }
        }
        let (number, last) = (slot.runs, slot.last?);
        drop(slot);
        Some(Run::new(self, number, last, begin == Begin::Resume))
    }

    fn execute(self: Arc<Self>, refused: Option<Failure>) -> Executed {
        let Some(mut work) = self.take_work() else { return Executed::Pending };
        let step = match refused {
            Some(failure) => Err(failure),
            None => perform(&mut work, &Waker::from(Arc::clone(&self))),
        };
        if step.is_err() {
            // A future that has panicked must not be polled again.
            drop(catch(|| work.body.abandon_run()));
        }
        let executed = match &step {
            Ok(Step::Pending) => Executed::Pending,
            Ok(Step::Value(_)) => Executed::Over(Ok(())),
            Ok(Step::Ran(result)) => Executed::Over(result.clone()),
            Err(failure) => Executed::Over(Err(failure.clone())),
        };
        self.put_back(work, step);
        executed
    }

    fn settle(self: Arc<Self>, now: Now) -> Verdict {
        let (step, last) = {
            let mut slot = self.slot.lock();
            (slot.step.take(), slot.last)
        };
        match step {
            Some(Ok(Step::Value(value))) => self.end(End::Completed, Ok(value)),
            Some(Ok(Step::Ran(result))) if self.header.rhythm.is_recurring() => {
                self.settle_recurring(last, &result, now)
            }
            Some(Ok(Step::Ran(Ok(())))) => self.end_without_next(),
            Some(Err(failure)) if self.header.rhythm.is_recurring() => {
                self.settle_recurring(last, &Err(failure), now)
            }
            Some(Ok(Step::Ran(Err(failure))) | Err(failure)) => {
                self.end(End::Failed, Err(Error::failed(failure)))
            }
            Some(Ok(Step::Pending)) | None => {
                unreachable!("a pending run is suspended, not settled")
            }
        }
    }

    fn renew(&self, now: Now) -> Verdict {
        let due = {
            let slot = self.slot.lock();
            if slot.state.is_ended() {
                return Verdict::Requeue(slot.due);
            }
            slot.due
        };
        self.header.begin_question();
        match self.header.rhythm.renew(due, now) {
            Ok(Some(next)) => {
                self.slot.lock().due = next;
                Verdict::Requeue(next)
            }
            Ok(None) => {
                let (end, outcome) = self.last_outcome();
                self.retire(end, outcome)
            }
            Err(failure) => self.retire(End::Failed, Err(Error::failed(failure))),
        }
    }

    fn suspend(&self) -> Suspend {
        let mut slot = self.slot.lock();
        slot.step = None;
        let answer = slot.state.suspend();
        if answer == Suspend::WasCancelled {
            let _ = self.drop_body(slot, Err(Error::cancelled()));
        }
        answer
    }

    fn cancel(&self) -> Cancelled {
        let (answer, farewell) = self.slot.lock().cancel();
        let won = farewell.is_some();
        if let Some(farewell) = farewell {
            farewell.say(&self.header);
        }
        Cancelled { won, waits_in_pool: answer == Cancel::WhileWaiting }
    }

    fn end_as_cancelled(self: Arc<Self>) -> Option<any::Farewell> {
        let (answer, farewell) = self.slot.lock().cancel();
        let farewell = farewell?;
        Some(any::Farewell {
            say: Box::new(move || farewell.say(&self.header)),
            was_waiting: answer == Cancel::WhileWaiting,
        })
    }

    fn interrupt(&self) {
        let waiters = {
            let mut slot = self.slot.lock();
            self.header.ask_to_stop(EVERY_RUN);
            slot.interruptible.take()
        };
        tell(waiters, TaskState::Running);
    }

    fn ask_to_stop(self: Arc<Self>, run: Option<u64>) {
        let (waiters, wake) = {
            let mut slot = self.slot.lock();
            // RACE: under the lock, so that the request is for the run that is in progress now, and
            // never for the next.
            let is_over = run.is_some_and(|run| run != slot.runs);
            if is_over || slot.state.visible() == TaskState::Scheduled {
                return;
            }
            self.header.ask_to_stop(slot.runs);
            (slot.interruptible.take(), slot.state.wake())
        };
        tell(waiters, TaskState::Running);
        self.resume_if(wake);
    }

    fn add_interruptible(&self, gate: &Arc<Gate>) -> u64 {
        self.slot.lock().interruptible.add(Waiter::Thread(Arc::clone(gate)))
    }

    fn remove_interruptible(&self, number: u64) {
        let removed = self.slot.lock().interruptible.remove(number);
        drop(removed);
    }
}

/// Runs one step of the body, inside what surrounds it.
fn perform<T>(work: &mut Work<T>, waker: &Waker) -> Result<Step<T>, Failure> {
    let Work { body, around } = work;
    let mut result = None;
    let outer = match around {
        None => catch(|| result = Some(body.step(waker))),
        Some(around) => catch(|| around(&mut || result = Some(body.step(waker)))),
    };
    match (outer, result) {
        (Err(failure), late) => {
            drop_contained(late);
            Err(failure)
        }
        (Ok(()), Some(step)) => Ok(step),
        (Ok(()), None) => Err(Failure::from_error("the decorator did not run the task")),
    }
}

/// The waker of a task's future puts the task back into the queue of its pool.
impl<T: Send + Sync + 'static> Wake for TaskCell<T> {
    fn wake(self: Arc<Self>) {
        let answer = self.slot.lock().state.wake();
        self.resume_if(answer);
    }
}

impl<T> Drop for TaskCell<T> {
    fn drop(&mut self) {
        let mut slot = self.slot.lock();
        let body = (slot.work.take(), slot.step.take());
        let rest = (slot.outcome.take(), slot.waiters.take());
        drop(slot);
        // The trigger of a rhythm is user code, too.
        let rhythm = mem::replace(&mut self.header.rhythm, Rhythm::Once);
        discard(&self.header, body);
        discard(&self.header, rest);
        discard(&self.header, rhythm);
    }
}

impl<T> fmt::Debug for TaskCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = self.slot.lock();
        f.debug_struct("TaskCell")
            .field("task", &self.header.label())
            .field("state", &slot.state.visible())
            .field("due", &slot.due)
            .finish_non_exhaustive()
    }
}
