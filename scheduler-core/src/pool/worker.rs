//! The loop of a worker, and the thread that makes it.
//!
//! A thread and a virtual worker make the same [`step`](WorkerLoop::step). A virtual worker holds the outcome of the run
//! back, until [`finish`](WorkerLoop::finish) makes it known.

use std::sync::Arc;
use std::{fmt, io, thread};

use super::core::{CoreEffects, Finished, NextAction, Worker, WorkerLoss};
use super::entry::{Entry, due_of, kind_of};
use super::pool_state::{PoolState, state_of};
use super::shutdown::EntryKind;
use super::virtual_workers::VirtualWorkers;
use super::worker;
use super::workers::{WorkerInfo, WorkerNumber};
use crate::sync::{AtomicBool, Ordering};
use crate::task::run::{self, Thread};
use crate::task::{AnyTask, HeldRun, Run, RunRequest, RunResult, TaskPool};
use crate::time::{Due, Now, Tick};
use crate::unwind::catch;

/// The result of one step of a worker.
pub(super) enum WorkerStep {
    /// It has run a task, or found that it had ended; with the outcome, where that is held back.
    Ran(Option<(Box<HeldRun>, EntryKind)>),
    Waits(Tick),
    Leaves,
}

/// A worker with the memory that its steps use again.
pub(super) struct WorkerLoop {
    worker: Worker,
    effects: CoreEffects,
    /// True if the outcomes of runs are held back.
    holds_outcomes: bool,
}

impl WorkerLoop {
    pub(super) fn new(info: WorkerInfo, holds_outcomes: bool) -> Self {
        Self { worker: Worker::new(info), effects: CoreEffects::default(), holds_outcomes }
    }

    /// Gives back the task that the worker has run, takes the next one, and runs it.
    #[inline]
    pub(super) fn step(&mut self, state: &Arc<PoolState>, thread: &Thread) -> WorkerStep {
        if self.worker.has_nothing_to_settle()
            && let Some(entry) = state.try_take_fast(&mut self.worker)
        {
            return self.run(state, entry, None, thread);
        }
        self.step_slowly(state, thread)
    }

    #[inline(never)]
    fn step_slowly(&mut self, state: &Arc<PoolState>, thread: &Thread) -> WorkerStep {
        let mut now = None;
        let mut wake_latency = if self.worker.is_parked { state.wake_latency() } else { None };
        loop {
            match state.next(&mut self.worker, now, wake_latency.take(), &mut self.effects) {
                NextAction::Run(entry) => {
                    // RACE: another worker may have read the clock later, and the task may be due by that reading only.
                    let now = now.filter(|now| due_of(entry.key).is_reached(*now));
                    return self.run(state, entry, now, thread);
                }
                NextAction::Wait(until) => return WorkerStep::Waits(until),
                NextAction::Leave => return WorkerStep::Leaves,
                NextAction::ReadClock => now = Some(Now::read(&*state.clock)),
                NextAction::Retry => now = None,
            }
        }
    }

    /// Runs a task that was taken from the queue.
    #[inline(always)]
    fn run(
        &mut self,
        state: &Arc<PoolState>,
        entry: Entry,
        now: Option<Now>,
        thread: &Thread,
    ) -> WorkerStep {
        let kind = kind_of(entry.key);
        let is_observed = !state.is_silent || self.holds_outcomes || !thread.is_free();
        if kind != EntryKind::Plain || is_observed {
            return self.run_observed(state, entry, now, thread);
        }
        match thread.enter_plain(entry.item, |task| task.run_plainly()) {
            // The task is dropped first: once its end is counted, the pool may terminate.
            Ok(()) => self.worker.info.tally.end(kind, true),
            Err(nothing) => self.worker.finished = Finished::FoundNothing { kind, nothing },
        }
        WorkerStep::Ran(None)
    }

    /// Runs a task that has options, or that a hook or a listener observes.
    #[inline(never)]
    fn run_observed(
        &mut self,
        state: &Arc<PoolState>,
        entry: Entry,
        now: Option<Now>,
        thread: &Thread,
    ) -> WorkerStep {
        let (kind, due) = (kind_of(entry.key), due_of(entry.key));
        let is_held = self.holds_outcomes;
        let request = RunRequest { thread, due, started: now, by_worker: true, is_held };
        match entry.item.run(&request, &**state) {
            RunResult::Nothing(nothing) => {
                self.worker.finished = Finished::FoundNothing { kind, nothing };
            }
            RunResult::Over(again) => {
                // A task that is not due again was dropped before, as in `run`.
                self.worker.info.tally.end(kind, true);
                if let Some((task, due)) = again {
                    self.worker.finished = Finished::Requeue(task, due);
                }
            }
            RunResult::Suspended => {}
            RunResult::Held(held) => return WorkerStep::Ran(Some((held, kind))),
        }
        WorkerStep::Ran(None)
    }

    /// Makes the outcome of a run known that was held back, and gives the task back to the pool.
    pub(super) fn finish(&mut self, state: &Arc<PoolState>, held: HeldRun, kind: EntryKind) {
        let HeldRun { run, fired } = held;
        let _as_worker = run::enter_as_worker(state.address(), self.worker.info.number);
        let tally = &self.worker.info.tally;
        let Some(fired) = fired else {
            state.suspend(&run, true);
            return;
        };
        let settle = |run: &Run| Arc::clone(run.task()).settle(run, fired, &**state);
        let (again, _) = run::this_thread().enter(run, settle);
        tally.end(kind, true);
        if let Some((task, due)) = again {
            state.step(|core, effects| core.requeue(task, due, effects));
        }
    }
}

/// A worker whose thread dies gives up what it has in hand.
impl Drop for WorkerLoop {
    fn drop(&mut self) {
        if let Finished::Requeue(task, _) = &self.worker.finished
            && let Some(state) = state_of(&task.header().link)
        {
            state.cancel(Arc::<dyn AnyTask>::clone(task));
        }
    }
}

/// The life of a worker on its own thread.
pub(super) fn work(state: &Arc<PoolState>, number: WorkerNumber) {
    let Some(info) = state.worker_info(number) else { return };
    let gate = Arc::clone(&info.gate);
    let mut guard =
        WorkerGuard { state, number, worker_loop: WorkerLoop::new(info, false), has_left: false };
    let thread = run::this_thread();
    let as_worker = run::enter_as_worker(state.address(), number);
    state.clock.set_timer_slack();
    state.worker_started(number);
    loop {
        let seen = gate.epoch();
        match guard.worker_loop.step(state, &thread) {
            WorkerStep::Ran(_) => {}
            WorkerStep::Waits(until) => state.wait(&gate, seen, until),
            WorkerStep::Leaves => break,
        }
    }
    drop(as_worker);
    guard.has_left = true;
    state.worker_left(number);
}

/// A worker's presence in its pool; if its thread unwinds, the pool loses it and replaces it.
struct WorkerGuard<'a> {
    state: &'a Arc<PoolState>,
    number: WorkerNumber,
    worker_loop: WorkerLoop,
    has_left: bool,
}

impl Drop for WorkerGuard<'_> {
    fn drop(&mut self) {
        if !self.has_left {
            let (number, was_parked) = (self.number, self.worker_loop.worker.is_parked);
            let loss = WorkerLoss { number, was_parked, is_replaced: true };
            self.state.lose_worker(loss);
            self.state.announce_worker_lost(self.number, "the worker's thread has died");
        }
    }
}

/// Runs a task that is in no pool's queue on the calling thread, once.
pub(super) fn run_outside(state: &Arc<PoolState>, task: &Arc<dyn AnyTask>) {
    let now = Now::read(&*state.clock);
    if task.is_overdue(now.tick) {
        state.cancel(Arc::<dyn AnyTask>::clone(task));
    }
    let thread = run::this_thread();
    let request = RunRequest {
        thread: &thread,
        due: Due::Tick(Tick::MAX),
        started: Some(now),
        by_worker: false,
        is_held: false,
    };
    if !matches!(Arc::clone(task).run(&request, &**state), RunResult::Nothing(_)) {
        state.cancel(Arc::<dyn AnyTask>::clone(task));
    }
}

/// Starts the threads of a pool's workers.
///
/// A closure `Fn(WorkerThread) -> io::Result<()>` is a factory.
///
/// ```
/// use scheduler_core::{ScheduledThreadPool, WorkerThread};
///
/// let pool = ScheduledThreadPool::builder()
///     .thread_factory(|worker: WorkerThread| {
///         let thread = std::thread::Builder::new().name(worker.name().to_owned());
///         thread.spawn(move || worker.run()).map(drop)
///     })
///     .build()?;
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[doc(alias = "java.util.concurrent.ThreadFactory")]
pub trait ThreadFactory: Send + Sync {
    /// Starts a thread that calls [`WorkerThread::run`].
    ///
    /// # Errors
    ///
    /// Whatever kept the thread from starting; the pool goes on with the workers it has, reports the refusal, and tries
    /// again at the next submission. Where it has none, the submission is refused
    /// ([`Error::is_no_thread`](crate::Error::is_no_thread)). Dropping the worker without running it counts as a
    /// refusal, too.
    fn start(&self, worker: WorkerThread) -> io::Result<()>;
}

impl<F: Fn(WorkerThread) -> io::Result<()> + Send + Sync> ThreadFactory for F {
    fn start(&self, worker: WorkerThread) -> io::Result<()> {
        self(worker)
    }
}

impl<F: ThreadFactory + ?Sized> ThreadFactory for Arc<F> {
    fn start(&self, worker: WorkerThread) -> io::Result<()> {
        (**self).start(worker)
    }
}

/// The work of one worker's thread, to be run on that thread.
#[must_use = "a worker does nothing until it is run"]
pub struct WorkerThread {
    name: String,
    pub(super) number: WorkerNumber,
    pub(super) state: Option<Arc<PoolState>>,
    /// Set by the start and by the dropping of the worker: the later of the two reports a refusal.
    is_over: Arc<AtomicBool>,
}

impl WorkerThread {
    pub(super) fn new(name: String, number: WorkerNumber, state: Arc<PoolState>) -> Self {
        Self { name, number, state: Some(state), is_over: Arc::new(AtomicBool::new(false)) }
    }

    /// The name the thread is meant to have: the pool's prefix and the worker's number.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The worker's number in its pool, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Starts this worker, or returns why not; a panic is a refusal, and so is a dropped worker.
    pub(super) fn start(self, start: impl FnOnce(Self) -> io::Result<()>) -> Result<(), String> {
        let is_over = Arc::clone(&self.is_over);
        let answer = catch(|| start(self));
        // ORDERING: relaxed, see the drop.
        let was_dropped = is_over.swap(true, Ordering::Relaxed);
        let why = match answer {
            Ok(Ok(())) if was_dropped => DROPPED.to_owned(),
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(failure) => failure.to_string(),
        };
        Err(format!("no thread could be started: {why}"))
    }

    /// Runs tasks until the worker leaves its pool.
    pub fn run(mut self) {
        if let Some(state) = self.state.take() {
            worker::work(&state, self.number);
        }
    }
}

/// A worker that is dropped without having been run does not count as one of its pool.
impl Drop for WorkerThread {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            let number = self.number;
            state.lose_worker(WorkerLoss { number, was_parked: false, is_replaced: false });
            // ORDERING: relaxed, the swap alone decides which is the later one.
            if self.is_over.swap(true, Ordering::Relaxed) {
                state.announce_worker_lost(self.number, DROPPED);
            }
        }
    }
}

/// Why a worker that was dropped without having been run does not work.
const DROPPED: &str = "the thread factory dropped the worker";

impl fmt::Debug for WorkerThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThread").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The least stack: what a worker needs itself, and some more.
const STACK_MIN: usize = 64 * 1024;

/// The default factory: named threads of the standard library, with a stack of the given size.
#[derive(Debug, Clone, Default)]
pub(super) struct StdThreads {
    pub(super) stack_size: Option<usize>,
}

impl ThreadFactory for StdThreads {
    fn start(&self, worker: WorkerThread) -> io::Result<()> {
        let mut thread = thread::Builder::new().name(worker.name().to_owned());
        if let Some(size) = self.stack_size {
            thread = thread.stack_size(size.max(STACK_MIN));
        }
        thread.spawn(move || worker.run()).map(drop)
    }
}

/// Starts the workers of a pool.
#[derive(Clone)]
pub(super) enum Starter {
    Threads(Arc<dyn ThreadFactory>),
    Virtual(VirtualWorkers),
}

impl Starter {
    /// Starts a worker, or returns why not.
    pub(super) fn start(
        &self,
        state: Arc<PoolState>,
        name: String,
        number: WorkerNumber,
    ) -> Result<(), String> {
        let worker = WorkerThread::new(name, number, state);
        match self {
            Self::Threads(factory) => worker.start(|worker| factory.start(worker)),
            Self::Virtual(workers) => worker.start(|worker| {
                workers.join(worker);
                Ok(())
            }),
        }
    }
}
