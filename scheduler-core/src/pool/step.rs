//! The types of a step of the core: its input, its answer, its effects.

use super::staging::Place;
use super::workers::WorkerNumber;
use crate::time::{Due, Tick};
use scheduler_queue::Ticket;

/// What the core has to know of a task.
pub(crate) trait Item: Clone {
    fn sequence(&self) -> u64;
    /// Where it is found while it waits in the queue.
    fn place(&self) -> Place;
    fn set_ticket(&self, ticket: Ticket);
    /// Reads what is behind it, to bring it into the cache.
    fn look(&self);
    /// When a timer is due that waits in the queue.
    fn armed(&self) -> Option<Due>;
    /// Notes when a timer is due that was put into the queue, or that it is there no more.
    fn set_armed(&self, due: Option<Due>);
    /// Returns true if the task has ended or is about to, so that there is no point in keeping it.
    fn is_ended(&self) -> bool;
}

/// The kind of thread that submitted a task.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Submitter {
    /// A worker, in its run: it looks at the queue when that is over, and has a head start.
    Worker,
    Other,
}

/// What a worker is to do next.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Take<I> {
    /// Run this; a timer was armed for that time.
    Run(I, Option<Due>),
    /// Wait to be woken, at most until this time.
    Wait(Option<Tick>),
    Leave,
    /// Ask once more, when what is asked for is done.
    ///
    /// RACE: a worker that left in the step that cancels tasks could report that after another one has declared
    /// the end of the pool. A worker that performs slow effects neither waits nor leads.
    Again,
}

/// What a worker has in hand that comes back into the queue.
#[derive(Debug)]
pub(crate) enum Done<I> {
    Nothing,
    /// A task that it has run, and that is due again.
    Recurs(I, Due),
}

/// What is to be done after unlocking: waking, starting, cancelling, dropping.
///
/// The core can only ask for these things. So user code — destructors, wakers, callbacks — cannot
/// run under the lock: there is no line in the core that could run it.
#[derive(Debug)]
#[must_use = "effects are to be performed after unlocking"]
pub(crate) struct Effects<I> {
    /// Workers to wake.
    pub(crate) wake: Vec<WorkerNumber>,
    /// Tasks that have ended and that the core no longer holds.
    pub(crate) release: Vec<I>,
    /// What most steps do not ask for.
    rare: Option<Box<Rare<I>>>,
}

/// What few steps ask for.
#[derive(Debug)]
pub(crate) struct Rare<I> {
    /// Workers whose threads are to be started.
    pub(crate) start: Vec<WorkerNumber>,
    /// Tasks that will not run; their handles become cancelled. The core does not end before they are.
    pub(crate) cancel: Vec<I>,
    /// Tasks that are to ask anew when they are due, and that then enter again, or have ended.
    pub(crate) renew: Vec<I>,
    /// Workers whose runs are to be asked to stop, with the numbers of their tasks.
    pub(crate) interrupt: Vec<(WorkerNumber, u64)>,
    /// Whether nothing is left, and the pool is to be declared terminated.
    pub(crate) tidy: bool,
}

impl<I> Default for Rare<I> {
    fn default() -> Self {
        let (start, tidy) = (Vec::new(), false);
        Self { start, cancel: Vec::new(), renew: Vec::new(), interrupt: Vec::new(), tidy }
    }
}

impl<I> Effects<I> {
    pub(crate) const fn new() -> Self {
        Self { wake: Vec::new(), release: Vec::new(), rare: None }
    }

    /// What few steps ask for, made where it is not there yet.
    pub(crate) fn rare(&mut self) -> &mut Rare<I> {
        self.rare.get_or_insert_default()
    }

    /// Takes out what few steps ask for.
    pub(crate) fn take_rare(&mut self) -> Option<Box<Rare<I>>> {
        self.rare.take()
    }

    /// How many tasks are to be cancelled.
    pub(crate) fn cancels(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.cancel.len())
    }

    /// Returns true if something is to be done that runs user code, which may take long: triggers are asked, a factory
    /// starts threads.
    pub(crate) fn has_slow_effects(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.renew.is_empty() || !rare.start.is_empty())
    }

    /// Returns true if nothing is to be done but to release tasks that have ended.
    pub(crate) fn is_quiet(&self) -> bool {
        self.wake.is_empty() && self.rare.is_none()
    }
}
