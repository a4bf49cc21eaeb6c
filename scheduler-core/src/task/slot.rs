//! The changing part of a task, which its lock guards.

use std::sync::Arc;

use super::run::Run;
use super::state::Phase;
use super::steps::Step;
use super::waiters::{Waiter, Waiters};
use crate::error::Failure;
use crate::time::Tick;

/// What a task's lock guards.
pub(super) struct Slot<T, B> {
    pub(super) phase: Phase<B, Arc<T>>,
    /// When the task is due, or was for its present run.
    pub(super) due: Tick,
    pub(super) rare: Option<Box<Rare<T>>>,
}

/// What only some tasks need: not a closure that runs once and has no waiter.
pub(super) struct Rare<T> {
    pub(super) waiters: Waiters,
    /// Opened when the run is asked to stop.
    pub(super) interruptible: Waiters,
    /// The present run, while its future is pending.
    pub(super) suspended: Option<Run>,
    /// The outcome of a step that is held back.
    pub(super) step: Option<Result<Step<T>, Failure>>,
    /// Why the task has failed.
    pub(super) failure: Option<Failure>,
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        let (waiters, interruptible) = (Waiters::default(), Waiters::default());
        Self { waiters, interruptible, suspended: None, step: None, failure: None }
    }
}

impl<T, B> Slot<T, B> {
    pub(super) fn rare(&mut self) -> &mut Rare<T> {
        self.rare.get_or_insert_default()
    }

    pub(super) fn take_waiters(&mut self) -> Vec<(u64, Waiter)> {
        self.rare.as_mut().map(|rare| rare.waiters.take()).unwrap_or_default()
    }

    pub(super) fn take_interruptible(&mut self) -> Vec<(u64, Waiter)> {
        self.rare.as_mut().map(|rare| rare.interruptible.take()).unwrap_or_default()
    }

    pub(super) fn take_step(&mut self) -> Option<Result<Step<T>, Failure>> {
        self.rare.as_mut()?.step.take()
    }
}

/// A body of which one step has been made, in the hands of its worker.
pub(super) struct Stepped<T, B> {
    pub(super) body: B,
    pub(super) step: Result<Step<T>, Failure>,
}

impl<T, B> Stepped<T, B> {
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
