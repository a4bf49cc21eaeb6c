//! The memory of one task: its parts behind one lock, and what workers and cancellers do to it.

use std::any::Any;
use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::task::{Wake, Waker};

use super::header::{EVERY_RUN, TaskId, Traits};
use super::rhythm::LastRun;
use super::run::{
    AnyTask, Cancelled, Claim, Held, Ran, Rest, Run, RunEntry, RunObserver, RunStart, Verdict,
};
use super::slot::{Ended, Slot, Tried, Work, discard, unit};
use super::state::{Begin, Cancel, End, Suspend, TaskState};
use super::steps::{Step, Steps};
use super::waiters::{Waiter, notify};
use super::{Header, Home, current, state};
use crate::error::Failure;
use crate::sync::{Mutex, OnceLock, planted};
use crate::time::{Due, Gate, Now};
use crate::unwind::{catch, drop_contained};

/// A task whose value is of type `T`, with its body in place: one allocation for both.
///
/// INVARIANT: the lock is the innermost of the engine; nothing is locked and no user code runs while
/// it is held. Whatever a transition frees is handed out and dropped after unlocking.
pub(crate) struct TaskCell<T, B> {
    pub(super) header: Header,
    pub(super) slot: Mutex<Slot<T, B>>,
    /// Set once, under the lock, when the task completes with a value that is more than `()`.
    pub(super) value: OnceLock<T>,
}

/// A task as its handles know it: without the type of its body.
pub(crate) trait Awaited<T>: AnyTask {
    /// The outcome, or none while the task has not ended.
    fn outcome(&self) -> Option<Ended<'_, T>>;
    /// Adds a waiter, or hands it back with the final state when the task has ended.
    fn add_waiter(&self, waiter: Waiter) -> Result<u64, (Waiter, TaskState)>;
    fn remove_waiter(&self, number: u64);
}

impl<T: Send + Sync + 'static, B: Steps<T> + 'static> TaskCell<T, B> {
    pub(crate) fn new(header: Header, work: Work<B>, due: Due) -> Arc<Self> {
        let slot = Mutex::new(Slot::new(work, due));
        Arc::new(Self { header, slot, value: OnceLock::new() })
    }

    /// Makes it another task, of which nothing is left of the former one.
    pub(super) fn renew(
        &mut self,
        id: TaskId,
        traits: Option<Box<Traits>>,
        work: Work<B>,
        due: Due,
    ) {
        self.header.renew(id, traits);
        self.slot.get_mut().renew(work, due);
        // It has no destructor, or there is none.
        self.value.take();
    }

    fn resume_if(self: Arc<Self>, answer: state::Woken) {
        if answer == state::Woken::Resume
            && let Some(home) = self.header.home()
        {
            Home::resume(&*home, self);
        }
    }

    /// Claims the task whose lock this is for a run; none when it has ended.
    #[inline(always)]
    fn claim(&self, slot: &mut Slot<T, B>, now: Now) -> Option<RunStart> {
        match slot.state.begin() {
            Begin::Ended => None,
            Begin::Resume => {
                let (number, last) = (self.header.runs(), slot.rare().last?);
                Some(RunStart { number, last, entry: RunEntry::Resumed })
            }
            Begin::Run => {
                let last = LastRun { due: slot.due(), started: now };
                let number = self.header.count_run();
                Some(RunStart { number, last, entry: RunEntry::Begun })
            }
        }
    }

    /// Runs one step of the body.
    ///
    /// Others have to find a run that hooks or listeners look at, or whose future may have been given
    /// it before; so they do that of a task which may have kept it from an earlier run.
    #[inline(always)]
    fn attempt(
        &self,
        mut work: Work<B>,
        run: &Run,
        goes_unnoticed: bool,
        observer: &dyn RunObserver,
    ) -> Tried<T, B> {
        if !goes_unnoticed || run.is_resumed() {
            current::show();
        }
        let is_new = !goes_unnoticed && !run.is_resumed();
        let refused = if is_new { observer.begins(run) } else { None };
        let step = match refused {
            Some(failure) => Ok(Step::Refused(failure)),
            None => perform(&mut work, &|| Arc::clone(run.task()).waker()),
        };
        if step.is_err() {
            // A future that has panicked must not be polled again.
            drop(catch(|| work.body.abandon_run()));
        }
        Tried { work, step }
    }

    fn put_back(&self, tried: Tried<T, B>, run: &Run) {
        let mut slot = self.slot.lock();
        slot.put_work(tried.work);
        let rare = slot.rare();
        (rare.step, rare.last) = (Some(tried.step), Some(run.last()));
    }
}

impl<T: Send + Sync + 'static, B: Steps<T> + 'static> Awaited<T> for TaskCell<T, B> {
    fn outcome(&self) -> Option<Ended<'_, T>> {
        let slot = self.slot.lock();
        match slot.state.visible() {
            TaskState::Scheduled | TaskState::Running => None,
            TaskState::Completed => unit().or_else(|| self.value.get()).map(Ended::Value),
            TaskState::Failed => Some(slot.failure().map_or(Ended::Cancelled, Ended::Failed)),
            TaskState::Cancelled => Some(Ended::Cancelled),
        }
    }

    fn add_waiter(&self, waiter: Waiter) -> Result<u64, (Waiter, TaskState)> {
        let mut slot = self.slot.lock();
        if slot.state.is_ended() && !planted("L6") {
            return Err((waiter, slot.state.visible()));
        }
        Ok(slot.rare().waiters.add(waiter))
    }

    fn remove_waiter(&self, number: u64) {
        let removed = self.slot.lock().rare_if_any().and_then(|rare| rare.waiters.remove(number));
        drop_contained(removed);
    }
}

impl<T: Send + Sync + 'static, B: Steps<T> + 'static> AnyTask for TaskCell<T, B> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn look(&self) {
        black_box((self.header.deadline(), self.value.get().is_some()));
    }

    fn state(&self) -> TaskState {
        self.slot.lock().state.visible()
    }

    fn due(&self) -> Due {
        self.slot.lock().due()
    }

    fn run(self: Arc<Self>, claim: &Claim, observer: &dyn RunObserver) -> Ran {
        let (begun, work) = {
            let mut slot = self.slot.lock();
            let Some(begun) = self.claim(&mut slot, claim.now) else { return Ran::Nothing };
            let Some(work) = slot.take_work() else { return Ran::Nothing };
            (begun, work)
        };
        let goes_unnoticed = claim.is_silent && !self.header.is_special();
        let (closed, task) = Run::new(self, begun).enter(claim.by_worker, |run| {
            // The run has the only share that this thread needs.
            let Some(cell) = run.task().as_any().downcast_ref::<Self>() else {
                unreachable!("the task is what it was")
            };
            let tried = cell.attempt(work, run, goes_unnoticed, observer);
            if claim.is_held || tried.is_pending() {
                let rest = if tried.is_pending() { Rest::Pending } else { Rest::Over };
                cell.put_back(tried, run);
                if !claim.is_held {
                    observer.suspend(run.task(), claim.by_worker);
                }
                return Err(rest);
            }
            Ok(cell.close(tried, run, goes_unnoticed, observer))
        });
        match closed {
            Ok(verdict) => Ran::Over(verdict, task),
            Err(rest) if claim.is_held => {
                Ran::Held(Box::new(Held { run: Run::new(task, begun), rest }))
            }
            Err(_) => Ran::Suspended,
        }
    }

    fn settle(&self, run: &Run, _: Rest, observer: &dyn RunObserver) -> Verdict {
        let mut slot = self.slot.lock();
        let (work, step) = (slot.take_work(), slot.take_step());
        drop(slot);
        match work.zip(step) {
            Some((work, step)) => self.close(Tried { work, step }, run, false, observer),
            None => unreachable!("only an outcome that is held back is settled"),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn is_spent(&mut self) -> bool {
        let has_value = std::mem::needs_drop::<T>() && self.value.get().is_some();
        !has_value && !self.header.is_special() && self.slot.get_mut().is_spent()
    }

    fn renew(&self, now: Now) -> Verdict {
        let due = {
            let slot = self.slot.lock();
            if slot.state.is_over() {
                return Verdict::Requeue(slot.due());
            }
            slot.due()
        };
        let next = self.header.rhythm().renew(due, now);
        self.slot.lock().set_due(next);
        Verdict::Requeue(next)
    }

    fn waker(self: Arc<Self>) -> Waker {
        Waker::from(self)
    }

    fn suspend(&self) -> Suspend {
        let mut slot = self.slot.lock();
        // A pending step has no outcome.
        drop(slot.take_step());
        let answer = slot.state.suspend();
        if answer == Suspend::WasCancelled {
            let work = slot.take_work();
            drop(slot);
            discard(&self.header, work);
        }
        answer
    }

    fn is_over(&self) -> bool {
        self.slot.lock().state.is_over()
    }

    fn cancel(&self) -> Option<Cancelled> {
        let mut slot = self.slot.lock();
        match slot.state.cancel() {
            Cancel::Refused => None,
            Cancel::WhileRunning => {
                let due = slot.due();
                Some(Cancelled { waiters: slot.take_waiters(), was_waiting: false, due })
            }
            Cancel::WhileWaiting => {
                let mut slot = self.strip(slot);
                slot.state.left(End::Cancelled);
                let due = slot.due();
                Some(Cancelled { waiters: slot.take_waiters(), was_waiting: true, due })
            }
        }
    }

    fn interrupt(&self) {
        let waiters = {
            let mut slot = self.slot.lock();
            self.header.ask_to_stop(EVERY_RUN);
            slot.take_interruptible()
        };
        notify(waiters, TaskState::Running);
    }

    fn ask_to_stop(self: Arc<Self>, run: Option<u64>) {
        let (waiters, wake) = {
            let mut slot = self.slot.lock();
            // RACE: under the lock, so that the request is for the run that is in progress now, and
            // never for the next.
            let is_over = run.is_some_and(|run| run != self.header.runs());
            if is_over || slot.state.visible() == TaskState::Scheduled {
                return;
            }
            self.header.ask_to_stop(self.header.runs());
            (slot.take_interruptible(), slot.state.wake())
        };
        notify(waiters, TaskState::Running);
        self.resume_if(wake);
    }

    fn is_asked_to_stop(&self, run: u64) -> bool {
        self.header.is_asked_to_stop(run)
    }

    fn armed(&self) -> Option<Due> {
        None
    }

    fn set_armed(&self, _: Option<Due>) {}

    fn add_interruptible(&self, gate: &Arc<Gate>) -> u64 {
        self.slot.lock().rare().interruptible.add(Waiter::Thread(Arc::clone(gate)))
    }

    fn remove_interruptible(&self, number: u64) {
        let removed =
            self.slot.lock().rare_if_any().and_then(|rare| rare.interruptible.remove(number));
        drop(removed);
    }
}

/// Runs one step of the body, inside what surrounds it.
#[inline(always)]
fn perform<T, B: Steps<T>>(
    work: &mut Work<B>,
    waker: &dyn Fn() -> Waker,
) -> Result<Step<T>, Failure> {
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
impl<T: Send + Sync + 'static, B: Steps<T> + 'static> Wake for TaskCell<T, B> {
    fn wake(self: Arc<Self>) {
        let answer = self.slot.lock().state.wake();
        self.resume_if(answer);
    }
}

impl<T, B> Drop for TaskCell<T, B> {
    fn drop(&mut self) {
        let slot = self.slot.get_mut();
        let is_plain = !std::mem::needs_drop::<T>() && !self.header.is_special();
        if is_plain && slot.is_spent() {
            return;
        }
        let body = (slot.take_work(), slot.take_step());
        let rest = (self.value.take(), slot.take_waiters());
        discard(&self.header, body);
        discard(&self.header, rest);
        // The trigger of a rhythm is user code, too.
        if let Some(rhythm) = self.header.take_rhythm() {
            discard(&self.header, rhythm);
        }
    }
}

impl<T, B> fmt::Debug for TaskCell<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = self.slot.lock();
        f.debug_struct("TaskCell")
            .field("task", &self.header.label())
            .field("state", &slot.state.visible())
            .field("due", &slot.due())
            .finish_non_exhaustive()
    }
}
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::steps::Once;
    use super::TaskCell;

    /// With its counts a task of a small closure fits a block of 112 bytes, with what an allocator adds.
    #[test]
    fn a_small_one_shot_takes_a_small_block() {
        let counts = 2 * size_of::<usize>();
        assert!(size_of::<TaskCell<(), Once<[u64; 1]>>>() + counts <= 104);
    }
}
