//! Workers without threads: a test takes their steps by hand.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use super::pool_state::PoolState;
use super::shutdown::EntryKind;
use super::worker::{WorkerLoop, WorkerStep, WorkerThread};
use super::workers::WorkerNumber;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::task::{Fired, HeldRun, TaskId, run};
use crate::time::{Epoch, EventCount, Now, Tick};

/// Workers without threads: a test takes each of their steps, one after the other.
///
/// With a [`ManualClock`](crate::ManualClock) this runs a whole pool on the thread of the test,
/// deterministically.
///
/// ```
/// use scheduler_core::{ManualClock, ScheduledThreadPool, VirtualWorkers};
/// use std::{sync::Arc, time::Duration};
///
/// let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
/// let pool = ScheduledThreadPool::builder()
///     .clock(Arc::new(clock.clone()))
///     .virtual_workers(&workers)
///     .build()?;
/// let handle = pool.schedule(Duration::from_secs(60), || "a minute later")?;
/// workers.run_until_idle();
/// assert!(!handle.is_done());
/// clock.advance(Duration::from_secs(60));
/// workers.run_until_idle();
/// assert_eq!(handle.result_now()?, "a minute later");
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct VirtualWorkers {
    /// Workers of a pool that exists; the pool owns them.
    workers: Arc<Mutex<BTreeMap<WorkerNumber, VirtualWorker>>>,
    state: Arc<Mutex<Option<Weak<PoolState>>>>,
    steps: Arc<AtomicU64>,
    refusals: Arc<AtomicU64>,
}

/// A virtual worker between its steps.
struct VirtualWorker {
    gate: Arc<EventCount>,
    /// None while a step is being taken, or in the middle of a run.
    worker_loop: Option<Box<WorkerLoop>>,
    /// The epoch of the gate before the last step; none before the first one.
    seen: Option<Epoch>,
}

impl VirtualWorker {
    fn is_woken(&self) -> bool {
        self.worker_loop.is_some() && self.seen != Some(self.gate.epoch())
    }
}

/// The result of one step of a virtual worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stepped {
    /// It ran a task.
    Ran,
    /// It has nothing to do before this time, or until it is given something.
    Waits(Option<Tick>),
    /// It has left the pool.
    Left,
}

impl VirtualWorkers {
    /// No workers yet; to be given to one pool.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The numbers of the workers, smallest first.
    #[must_use]
    pub fn numbers(&self) -> Vec<u64> {
        self.workers.lock().keys().copied().collect()
    }

    /// Returns true if the pool has woken this worker since its last step, or it has not taken a step yet; false in the
    /// middle of a run.
    ///
    /// A worker that waits has to be stepped when it is woken and when the time is reached until which
    /// it waits. It may be stepped at any other time, too.
    #[must_use]
    pub fn is_woken(&self, worker: u64) -> bool {
        let workers = self.workers.lock();
        workers.get(&worker).is_some_and(VirtualWorker::is_woken)
    }

    /// When the first of the tasks and alarms that wait in the pool is due, as its clocks go now.
    ///
    /// A worker that waits looks at the wall clock every half second ([`Stepped::Waits`]); a test that
    /// moves the clocks itself steps a worker at this time instead, and after each setting of the wall clock.
    #[must_use]
    pub fn next_due(&self) -> Option<Tick> {
        let state = self.state()?;
        let now = Now::read(&*state.clock);
        state.step(|core, effects| core.first_due(now, effects))
    }

    /// Refuses the next `count` workers that the pool wants to start, as a system does that has no
    /// threads left.
    pub fn refuse(&self, count: u64) {
        // ORDERING: relaxed, a mere counter.
        self.refusals.store(count, Ordering::Relaxed);
    }

    /// Lets one worker take one step: run a task, begin to wait, or leave.
    #[must_use]
    pub fn step(&self, worker: u64) -> Stepped {
        match self.begin(worker) {
            Begun::Run(run) => {
                run.finish();
                Stepped::Ran
            }
            Begun::Waits(until) => Stepped::Waits(until),
            Begun::Left => Stepped::Left,
        }
    }

    /// Lets one worker take a task and execute its body, without making the outcome known yet.
    ///
    /// Until [`VirtualRun::finish`] the worker is busy and the task is running: so a run can be given
    /// a virtual duration. Meanwhile the worker has nothing else to do: it waits.
    #[must_use]
    pub fn begin(&self, worker: u64) -> Begun {
        // ORDERING: relaxed, a mere counter.
        self.steps.fetch_add(1, Ordering::Relaxed);
        let Some(mut worker_loop) = self.take_seat(worker) else {
            let is_there = self.workers.lock().contains_key(&worker);
            return if is_there { Begun::Waits(None) } else { Begun::Left };
        };
        let Some(state) = self.state() else {
            self.workers.lock().remove(&worker);
            return Begun::Left;
        };
        let thread = run::this_thread();
        let as_worker = run::enter_as_worker(state.address(), worker);
        loop {
            match worker_loop.step(&state, &thread) {
                WorkerStep::Ran(None) => {}
                WorkerStep::Ran(Some((held, kind))) => {
                    let (workers, held) = (self.clone(), Some((held, kind, worker_loop)));
                    return Begun::Run(VirtualRun { state, workers, worker, held });
                }
                WorkerStep::Waits(until) => {
                    self.give_back(worker, worker_loop);
                    return Begun::Waits(Some(until).filter(|until| *until != Tick::MAX));
                }
                WorkerStep::Leaves => break,
            }
        }
        drop(as_worker);
        self.workers.lock().remove(&worker);
        state.worker_left(worker);
        Begun::Left
    }

    /// Steps every worker in turn until none has anything to do at this time.
    ///
    /// Does not return while a task keeps submitting tasks that are due at once.
    pub fn run_until_idle(&self) {
        let mut is_idle = false;
        while !is_idle {
            is_idle = true;
            for worker in self.numbers() {
                is_idle &= matches!(self.step(worker), Stepped::Waits(_));
            }
        }
    }

    /// The number of steps that have been taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        // ORDERING: relaxed, a mere counter.
        self.steps.load(Ordering::Relaxed)
    }

    fn state(&self) -> Option<Arc<PoolState>> {
        self.state.lock().as_ref().and_then(Weak::upgrade)
    }

    /// Notes what a worker sees before it looks for work, and takes its seat; none if it is busy or has left.
    fn take_seat(&self, worker: WorkerNumber) -> Option<Box<WorkerLoop>> {
        let mut workers = self.workers.lock();
        let entry = workers.get_mut(&worker)?;
        let worker_loop = entry.worker_loop.take()?;
        entry.seen = Some(entry.gate.epoch());
        Some(worker_loop)
    }

    fn give_back(&self, worker: WorkerNumber, worker_loop: Box<WorkerLoop>) {
        if let Some(entry) = self.workers.lock().get_mut(&worker) {
            entry.worker_loop = Some(worker_loop);
        }
    }

    /// Takes a worker in, or refuses it.
    pub(super) fn join(&self, mut worker: WorkerThread) {
        // ORDERING: relaxed, a mere counter.
        let one_less = |count: u64| count.checked_sub(1);
        if self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
            return;
        }
        let Some(state) = worker.state.take() else { return };
        let Some(info) = state.worker_info(worker.number) else { return };
        *self.state.lock() = Some(Arc::downgrade(&state));
        let (gate, worker_loop) = (Arc::clone(&info.gate), Box::new(WorkerLoop::new(info, true)));
        let entry = VirtualWorker { gate, worker_loop: Some(worker_loop), seen: None };
        self.workers.lock().insert(worker.number, entry);
        state.worker_started(worker.number);
    }
}

impl fmt::Debug for VirtualWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualWorkers").field("workers", &self.numbers()).finish_non_exhaustive()
    }
}

/// The answer of a virtual worker that was asked to begin a run.
///
/// ```
/// use scheduler_core::{Begun, ScheduledThreadPool, VirtualWorkers};
///
/// let workers = VirtualWorkers::new();
/// let pool = ScheduledThreadPool::builder().virtual_workers(&workers).build()?;
/// let answer = pool.submit(|| 6 * 7)?;
/// let worker = workers.numbers()[0];
/// if let Begun::Run(run) = workers.begin(worker) {
///     run.finish(); // the worker is busy until then
/// }
/// assert_eq!(answer.result_now()?, 42);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Debug)]
pub enum Begun {
    /// It has executed a task's body, whose outcome is not known yet.
    Run(VirtualRun),
    /// It has nothing to do before this time, or until it is given something, or until its run is finished.
    Waits(Option<Tick>),
    /// It has left the pool.
    Left,
}

/// A run of a virtual worker between its beginning and its end.
///
/// Dropping it ends the run, too, so that no waiter waits for ever.
#[must_use = "the run is in progress until it is finished"]
pub struct VirtualRun {
    state: Arc<PoolState>,
    workers: VirtualWorkers,
    worker: WorkerNumber,
    /// None after the end.
    held: Option<(Box<HeldRun>, EntryKind, Box<WorkerLoop>)>,
}

impl VirtualRun {
    /// The number of the task that is run.
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        self.held().run.task_id()
    }

    /// The name of the task that is run, where it has one.
    #[must_use]
    pub fn task_name(&self) -> Option<&str> {
        self.held().run.task_name()
    }

    /// Returns true if the run's future is pending: then [`finish`](Self::finish) does not end the run, but
    /// suspends it until its waker is called.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.held().fired.is_none()
    }

    /// Returns true if the run is over: it was the firing of a [`Timer`](crate::Timer) that answered
    /// [`Fired::NothingToFinish`]. Then [`finish`](Self::finish) calls nothing, it only frees the worker.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.held().fired == Some(Fired::NothingToFinish)
    }

    /// Ends the run, or the step of a run that is pending: its outcome becomes known, and a recurring
    /// task is queued again.
    pub fn finish(self) {
        drop(self);
    }

    fn held(&self) -> &HeldRun {
        match &self.held {
            Some((held, ..)) => held,
            None => unreachable!("only the drop takes it"),
        }
    }
}

impl Drop for VirtualRun {
    fn drop(&mut self) {
        if let Some((held, kind, mut worker_loop)) = self.held.take() {
            worker_loop.finish(&self.state, *held, kind);
            self.workers.give_back(self.worker, worker_loop);
        }
    }
}

impl fmt::Debug for VirtualRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualRun").field("worker", &self.worker).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{ManualClock, ScheduledThreadPool};
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    fn pool() -> (ScheduledThreadPool, VirtualWorkers) {
        let workers = VirtualWorkers::new();
        let clock = Arc::new(ManualClock::new());
        let builder = ScheduledThreadPool::builder().core_size(1).clock(clock);
        (builder.virtual_workers(&workers).build().unwrap(), workers)
    }

    #[test]
    fn a_worker_is_woken_by_a_nearer_task_and_until_its_first_step() {
        let (pool, workers) = pool();
        pool.schedule(SECOND * 10, || {}).unwrap();
        assert!(workers.is_woken(1));
        assert_eq!(workers.step(1), Stepped::Waits(Some(Tick::ZERO + SECOND * 10)));
        pool.schedule(SECOND * 20, || {}).unwrap();
        assert!(!workers.is_woken(1));
        pool.schedule(SECOND * 5, || {}).unwrap();
        assert!(workers.is_woken(1));
        assert_eq!(workers.step(1), Stepped::Waits(Some(Tick::ZERO + SECOND * 5)));
        assert!(!workers.is_woken(1));
        assert!(!workers.is_woken(2));
    }

    #[test]
    fn a_worker_that_stayed_as_the_only_one_leaves_when_it_is_no_longer() {
        let (workers, clock) = (VirtualWorkers::new(), ManualClock::new());
        let builder = ScheduledThreadPool::builder().core_size(2).keep_alive(SECOND);
        let builder = builder.core_may_time_out(true).clock(Arc::new(clock.clone()));
        let pool = builder.virtual_workers(&workers).build().unwrap();
        let pending = pool.schedule(SECOND * 60, || {}).unwrap();
        assert_eq!(workers.step(1), Stepped::Waits(Some(Tick::ZERO + SECOND * 60)));
        let short = pool.schedule(Duration::ZERO, || {}).unwrap();
        assert_eq!(workers.step(2), Stepped::Ran);
        assert!(short.is_done() && workers.is_woken(1));
        assert_eq!(workers.step(1), Stepped::Waits(Some(Tick::ZERO + SECOND)));
        clock.advance(SECOND);
        assert_eq!(workers.step(1), Stepped::Left);
        assert!(pending.cancel());
        workers.run_until_idle();
        clock.advance(SECOND);
        workers.run_until_idle();
        assert_eq!(workers.numbers(), []);
    }

    #[test]
    fn the_next_due_time_is_that_of_the_first_task() {
        let (workers, clock) = (VirtualWorkers::new(), ManualClock::new());
        assert_eq!(workers.next_due(), None);
        let builder = ScheduledThreadPool::builder().clock(Arc::new(clock.clone()));
        let pool = builder.virtual_workers(&workers).build().unwrap();
        pool.schedule(SECOND * 3_000, || {}).unwrap();
        assert_eq!(workers.next_due(), Some(Tick::ZERO + SECOND * 3_000));
        pool.schedule(SECOND * 2_000, || {}).unwrap();
        assert_eq!(workers.next_due(), Some(Tick::ZERO + SECOND * 2_000));
    }

    #[test]
    fn a_refused_worker_is_wanted_again_at_the_next_submission() {
        let (pool, workers) = pool();
        workers.refuse(1);
        assert!(pool.schedule(Duration::ZERO, || {}).unwrap_err().is_no_thread());
        assert_eq!(
            (workers.numbers().len(), pool.stats().pool_size, pool.stats().queued),
            (0, 0, 0)
        );
        let second = pool.schedule(Duration::ZERO, || {}).unwrap();
        workers.run_until_idle();
        assert!(second.is_done());
    }

    #[test]
    fn the_workers_of_a_pool_that_is_gone_have_left() {
        let (pool, workers) = pool();
        let handle = pool.schedule(SECOND, || {}).unwrap();
        drop(pool);
        workers.run_until_idle();
        assert_eq!(workers.numbers(), []);
        assert!(handle.is_cancelled());
    }

    #[test]
    fn a_run_that_is_dropped_has_ended() {
        let (pool, workers) = pool();
        let handle = pool.submit(|| 42).unwrap();
        let Begun::Run(run) = workers.begin(1) else { panic!("the task is due") };
        assert!(!handle.is_done());
        drop(run);
        assert_eq!(handle.result_now().unwrap(), 42);
        workers.run_until_idle();
        assert_eq!(pool.stats().active, 0);
    }
}
