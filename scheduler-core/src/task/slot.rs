//! The changing part of a task, which its lock guards.

use std::sync::Arc;
use std::task::Poll;

use super::run::Run;
use super::state::Phase;
use super::steps::Step;
use super::waiters::{Waiter, Waiters};
use crate::error::Failure;
use crate::time::Tick;

/// The data that a task's lock guards.
pub(super) struct Slot<T, B> {
    pub(super) phase: Phase<B, Arc<T>>,
    /// When the task is due, or was for its present run.
    pub(super) due: Tick,
    pub(super) extras: Option<Box<Extras<T, B>>>,
}

/// State that only some tasks have; a closure that runs once without waiters has none.
pub(super) struct Extras<T, B> {
    pub(super) waiters: Waiters,
    /// Opened when the run is asked to stop.
    pub(super) interruptible: Waiters,
    /// The present run, while its future is pending.
    pub(super) suspended: Option<Run>,
    /// A step of a virtual worker whose outcome is held back.
    pub(super) held: Option<Stepped<T, B>>,
    /// Why the task has failed.
    pub(super) failure: Option<Failure>,
}

impl<T, B> Default for Extras<T, B> {
    fn default() -> Self {
        let (waiters, interruptible) = (Waiters::default(), Waiters::default());
        Self { waiters, interruptible, suspended: None, held: None, failure: None }
    }
}

impl<T, B> Slot<T, B> {
    pub(super) fn extras(&mut self) -> &mut Extras<T, B> {
        self.extras.get_or_insert_default()
    }

    pub(super) fn take_waiters(&mut self) -> Vec<(u64, Waiter)> {
        self.extras.as_mut().map(|extras| extras.waiters.take()).unwrap_or_default()
    }

    pub(super) fn take_interruptible(&mut self) -> Vec<(u64, Waiter)> {
        self.extras.as_mut().map(|extras| extras.interruptible.take()).unwrap_or_default()
    }

    /// Takes the step that is held back.
    pub(super) fn take_held(&mut self) -> Option<Stepped<T, B>> {
        self.phase.run_on();
        self.extras.as_mut()?.held.take()
    }
}

/// The result of one step, and what is left of the body.
pub(super) struct Stepped<T, B> {
    pub(super) body: Option<B>,
    pub(super) step: Step<T>,
    /// True if the body was not run, because the before-run hook has panicked.
    pub(super) was_refused: bool,
}

impl<T, B> Stepped<T, B> {
    pub(super) fn is_pending(&self) -> bool {
        self.step.is_pending()
    }

    /// The outcome of a run that is over.
    pub(super) fn outcome(&self) -> Result<(), Failure> {
        match &self.step {
            Poll::Ready(Err(failure)) => Err(failure.clone()),
            Poll::Ready(Ok(_)) | Poll::Pending => Ok(()),
        }
    }
}
