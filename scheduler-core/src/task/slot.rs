//! What a task's lock guards, and what is to be done outside of it when the task has ended.

use super::Header;
use super::rhythm::LastRun;
use super::state::Cancel;
use super::state::StateMachine;
use super::state::TaskState;
use super::steps::Step;
use super::steps::Steps;
use super::waiters::Waiter;
use super::waiters::Waiters;
use super::waiters::tell;
use crate::error::Error;
use crate::error::Failure;
use crate::time::Due;
use crate::unwind::catch_drop;

/// What surrounds each step of a body; it has to call the step it is given.
pub(crate) type Around = Box<dyn FnMut(&mut dyn FnMut()) + Send>;

/// How a task has ended, for all who ask.
pub(crate) type Outcome<T> = Result<T, Error>;

/// What a task's lock guards.
pub(super) struct Slot<T> {
    pub(super) state: StateMachine,
    /// INVARIANT: absent while the task is executed, and after it has ended.
    pub(super) work: Option<Work<T>>,
    /// What the last step led to, from its execution until it is settled.
    pub(super) step: Option<Result<Step<T>, Failure>>,
    pub(super) waiters: Waiters,
    /// Opened when the run is asked to stop.
    pub(super) interruptible: Waiters,
    pub(super) due: Due,
    pub(super) runs: u64,
    pub(super) last: Option<LastRun>,
}

/// A body with what surrounds it.
pub(crate) struct Work<T> {
    pub(crate) body: Box<dyn Steps<T>>,
    pub(crate) around: Option<Around>,
}

/// What is to be done outside the lock when a task has ended.
pub(super) struct Farewell<T> {
    pub(super) work: Option<Work<T>>,
    step: Option<Result<Step<T>, Failure>>,
    waiters: Vec<(u64, Waiter)>,
    pub(super) state: TaskState,
}

impl<T> Farewell<T> {
    /// Tells all waiters, and drops what is left.
    pub(super) fn say(self, header: &Header) {
        tell(self.waiters, self.state);
        discard(header, (self.work, self.step));
    }
}

/// Drops what a task no longer needs; a panic of its destructors is reported and goes no further.
pub(super) fn discard<V>(header: &Header, leftover: V) {
    if let Err(failure) = catch_drop(leftover)
        && let Some(home) = header.home()
    {
        home.drop_panicked(header, &failure);
    }
}

impl<T> Slot<T> {
    pub(super) fn new(work: Work<T>, due: Due) -> Self {
        Self {
            state: StateMachine::new(),
            work: Some(work),
            step: None,
            waiters: Waiters::default(),
            interruptible: Waiters::default(),
            due,
            runs: 0,
            last: None,
        }
    }

    /// What is to be told and dropped of a task that has just ended.
    pub(super) fn farewell(&mut self) -> Farewell<T> {
        Farewell {
            work: self.work.take(),
            step: self.step.take(),
            waiters: self.waiters.take(),
            state: self.state.visible(),
        }
    }

    /// Ends the task as cancelled, if it has not ended.
    pub(super) fn cancel(&mut self) -> (Cancel, Option<Farewell<T>>) {
        let answer = self.state.cancel();
        if answer == Cancel::Refused {
            return (answer, None);
        }
        let mut farewell = self.farewell();
        if answer == Cancel::WhileRunning {
            // The worker that executes the task owns both until it settles.
            (self.work, self.step) = (farewell.work.take(), farewell.step.take());
        }
        (answer, Some(farewell))
    }
}
