//! What a task's lock guards, and how what it frees is dropped outside of it.

use std::any::Any;

use super::Header;
use super::rhythm::LastRun;
use super::state::StateMachine;
use super::steps::{Step, Steps};
use super::waiters::{Waiter, Waiters};
use crate::error::{Error, Failure};
use crate::time::Due;
use crate::unwind::catch_drop;

/// What surrounds each step of a body; it has to call the step it is given.
pub(crate) type Around = Box<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// How a task ends.
pub(super) enum Outcome<T> {
    Value(T),
    /// A recurring task, whose value is `()`, will not run again.
    Over,
    Failed(Failure),
}

/// How a task has ended, as its handles report it.
pub(crate) enum Ended<'a, T> {
    Value(&'a T),
    Cancelled,
    Failed(Failure),
}

impl<'a, T> Ended<'a, T> {
    /// The shared value, where there is one. It is cloned outside every lock: that is user code.
    pub(super) fn into_result(self) -> Result<&'a T, Error> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Cancelled => Err(Error::cancelled()),
            Self::Failed(failure) => Err(Error::failed(failure)),
        }
    }
}

/// What a task's lock guards.
pub(super) struct Slot<T, B> {
    pub(super) state: StateMachine,
    /// The due time, of which clock and when: apart, so that the first takes no room of its own.
    is_due_by_wall: bool,
    due: u64,
    /// INVARIANT: absent while the task is executed, and after it has ended.
    pub(super) body: Option<B>,
    rare: Option<Box<Rare<T>>>,
}

/// What only some tasks need: not a closure that runs once and has no waiter.
pub(super) struct Rare<T> {
    /// Is absent when the body is.
    around: Option<Around>,
    /// What the last step led to, where it is not settled at once.
    pub(super) step: Option<Result<Step<T>, Failure>>,
    pub(super) waiters: Waiters,
    /// Opened when the run is asked to stop.
    pub(super) interruptible: Waiters,
    /// The present run of a future that is pending.
    pub(super) last: Option<LastRun>,
    /// Why the task has failed.
    pub(super) failure: Option<Failure>,
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Self {
            around: None,
            step: None,
            waiters: Waiters::default(),
            interruptible: Waiters::default(),
            last: None,
            failure: None,
        }
    }
}

/// A body with what surrounds it.
pub(crate) struct Work<B> {
    pub(crate) body: B,
    pub(crate) around: Option<Around>,
}

impl<B> Work<B> {
    /// Returns true if it holds nothing whose dropping could run code of the user.
    #[inline]
    pub(super) fn is_spent<T>(&self) -> bool
    where
        B: Steps<T>,
    {
        self.around.is_none() && (!std::mem::needs_drop::<B>() || self.body.is_spent())
    }
}

/// A body of which one step has been run, in the hands of its worker.
pub(super) struct Tried<T, B> {
    pub(super) work: Work<B>,
    pub(super) step: Result<Step<T>, Failure>,
}

impl<T, B> Tried<T, B> {
    /// Returns true if the future of the run is pending.
    pub(super) fn is_pending(&self) -> bool {
        matches!(self.step, Ok(Step::Pending))
    }

    /// What came of a run that is over.
    pub(super) fn outcome(&self) -> Result<(), Failure> {
        match &self.step {
            Ok(Step::Value(_) | Step::Pending) => Ok(()),
            Ok(Step::Ran(result)) => result.clone(),
            Ok(Step::Refused(failure)) | Err(failure) => Err(failure.clone()),
        }
    }
}

/// The value `()`, if that is what `T` is: such a task stores none.
pub(super) fn unit<T: 'static>() -> Option<&'static T> {
    const UNIT: &dyn Any = &();
    UNIT.downcast_ref()
}

/// Drops what a task no longer needs; a panic of its destructors is reported and goes no further.
pub(super) fn discard<V>(header: &Header, leftover: V) {
    if let Err(failure) = catch_drop(leftover)
        && let Some(home) = header.home()
    {
        home.drop_panicked(header, &failure);
    }
}

impl<T, B> Slot<T, B> {
    pub(super) fn new(work: Work<B>, due: Due) -> Self {
        let (is_due_by_wall, due) = due.into_parts();
        let Work { body, around } = work;
        let rare = around.map(|around| Box::new(Rare { around: Some(around), ..Rare::default() }));
        Self { state: StateMachine::new(), is_due_by_wall, due, body: Some(body), rare }
    }

    /// Makes it that of another task, in place.
    pub(super) fn renew(&mut self, work: Work<B>, due: Due) {
        let Work { body, around } = work;
        self.state = StateMachine::new();
        self.set_due(due);
        self.body = Some(body);
        self.rare = around.map(|around| Box::new(Rare { around: Some(around), ..Rare::default() }));
    }

    /// When the task is due, or was for its present run.
    #[inline]
    pub(super) fn due(&self) -> Due {
        Due::from_parts(self.is_due_by_wall, self.due)
    }

    pub(super) fn set_due(&mut self, due: Due) {
        (self.is_due_by_wall, self.due) = due.into_parts();
    }

    /// Returns true if nothing is left of a body, of waiters, or of anything else that only some tasks need.
    pub(super) fn is_spent(&self) -> bool {
        self.body.is_none() && self.rare.is_none()
    }

    /// What only some tasks need, made where it is not there yet.
    pub(super) fn rare(&mut self) -> &mut Rare<T> {
        self.rare.get_or_insert_default()
    }

    /// The same, where it is there.
    pub(super) fn rare_if_any(&mut self) -> Option<&mut Rare<T>> {
        self.rare.as_deref_mut()
    }

    pub(super) fn put_work(&mut self, work: Work<B>) {
        self.body = Some(work.body);
        if work.around.is_some() {
            self.rare().around = work.around;
        }
    }

    pub(super) fn take_work(&mut self) -> Option<Work<B>> {
        let around = self.rare_if_any().and_then(|rare| rare.around.take());
        self.body.take().map(|body| Work { body, around })
    }

    pub(super) fn take_step(&mut self) -> Option<Result<Step<T>, Failure>> {
        self.rare_if_any()?.step.take()
    }

    /// Why the task has failed, where it has.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.rare.as_ref()?.failure.clone()
    }

    /// The waiters for the end.
    pub(super) fn take_waiters(&mut self) -> Vec<(u64, Waiter)> {
        self.rare_if_any().map(|rare| rare.waiters.take()).unwrap_or_default()
    }

    /// The waits inside the task.
    pub(super) fn take_interruptible(&mut self) -> Vec<(u64, Waiter)> {
        self.rare_if_any().map(|rare| rare.interruptible.take()).unwrap_or_default()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::steps::Once;
    use super::*;
    use crate::time::Tick;

    #[test]
    fn a_slot_is_spent_without_a_body_and_without_what_is_rare() {
        let due = Due::Tick(Tick::ZERO);
        let work = || Work { body: Once(Some(|| 7)), around: None };
        let mut slot: Slot<u8, _> = Slot::new(work(), due);
        assert!(!slot.is_spent());
        assert!(slot.take_work().is_some() && slot.is_spent());
        slot.rare();
        assert!(!slot.is_spent());
    }

    #[test]
    fn work_is_spent_when_nothing_is_left_that_has_a_destructor() {
        let body = |kept: String| Once(Some(move || drop(kept)));
        assert!(!Work { body: body("kept".to_owned()), around: None }.is_spent::<()>());
        assert!(Work { body: Once(Some(|| 7)), around: None }.is_spent::<u8>());
        let mut ran = body(String::new());
        ran.0 = None;
        assert!(Work { body: ran, around: None }.is_spent::<()>());
        let around: Around = Box::new(|step| step());
        assert!(!Work { body: Once(Some(|| 7)), around: Some(around) }.is_spent::<u8>());
    }
}
