//! One run of a task, as the body sees it from inside, and the task as runs, queue and workers know it: without the
//! type of its value.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::Home;
use super::header::{Header, TaskId};
use super::rhythm::LastRun;
use super::state::{Suspend, TaskState};
use super::waiters::{Waiter, notify};
use crate::error::{Error, Failure};
use crate::time::{Due, Gate, Now, Tick};

/// One run of a task: which one it is, when it was meant to start, and whether it shall stop.
///
/// ```
/// use scheduler_core::{Run, ScheduledThreadPool};
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let handle = pool.schedule(Duration::ZERO, || {
///     let run = Run::current().expect("this is a task");
///     assert!(!run.is_cancelled());
///     run.number()
/// })?;
/// assert_eq!(handle.wait()?, 1);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
pub struct Run {
    task: Arc<dyn AnyTask>,
    number: u64,
    last: LastRun,
    entry: RunEntry,
}

/// How a worker came to a run. As wide as its neighbours, so that a run is copied without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum RunEntry {
    /// It begins.
    Begun,
    /// It has begun before, and its future is polled on.
    Resumed,
}

impl Run {
    /// The number of the task.
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        self.task.header().id()
    }

    /// The name of the task, where it has one.
    #[must_use]
    pub fn task_name(&self) -> Option<&str> {
        self.task.header().name()
    }

    /// The number of this run among those of its task, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The instant this run was meant to start at, as the wall clock shows it.
    #[inline]
    #[must_use]
    pub fn fire_time(&self) -> DateTime<Utc> {
        self.last.scheduled().to_utc()
    }

    /// When this run started, by the wall clock.
    #[inline]
    #[must_use]
    pub fn started_at(&self) -> DateTime<Utc> {
        self.last.started.wall.to_utc()
    }

    /// The instant this run was due at, on its own clock; see [`fire_time`](Self::fire_time).
    #[inline]
    #[must_use]
    pub fn due(&self) -> Due {
        self.last.due
    }

    /// When this run started, by both clocks.
    #[inline]
    #[must_use]
    pub fn started(&self) -> Now {
        self.last.started
    }

    /// Asks this run to stop, as [`TaskHandle::ask_to_stop`](super::TaskHandle::ask_to_stop) does the
    /// present one. No effect when it is over.
    pub fn ask_to_stop(&self) {
        Arc::clone(&self.task).ask_to_stop(Some(self.number));
    }

    /// Returns true if this run was asked to stop, by [`TaskHandle::cancel_now`](super::TaskHandle::cancel_now),
    /// [`TaskHandle::ask_to_stop`](super::TaskHandle::ask_to_stop) or
    /// [`ScheduledThreadPool::shutdown_now`](crate::ScheduledThreadPool::shutdown_now), or because its
    /// time is over
    /// ([`submit_with_timeout`](crate::ScheduledThreadPool::submit_with_timeout)).
    ///
    /// It stands for the interrupt of the JDK and, like it, is a request that the body may follow.
    #[must_use]
    #[doc(alias = "isInterrupted")]
    pub fn is_cancelled(&self) -> bool {
        let header = self.task.header();
        self.task.is_asked_to_stop(self.number)
            || header.deadline() != Tick::MAX
                && header.home().is_none_or(|home| header.is_overdue(home.clock().now()))
    }

    /// Blocks the worker for this long, or until the run is asked to stop.
    ///
    /// # Errors
    ///
    /// [`Error::is_interrupted`] when the run was asked to stop, before or during the wait.
    pub fn sleep(&self, duration: Duration) -> Result<(), Error> {
        let Some(home) = self.task.header().home() else { return Err(Error::interrupted()) };
        let clock = home.clock();
        let until = clock.now() + duration;
        let look = until.min(self.task.header().deadline());
        let gate = Arc::new(Gate::new());
        let _interruptible = Interruptible::new(Some(self), &gate);
        loop {
            let seen = gate.epoch();
            if self.is_cancelled() {
                return Err(Error::interrupted());
            }
            if clock.now() >= until {
                return Ok(());
            }
            clock.wait(&gate, seen, Some(look));
        }
    }

    #[inline]
    pub(crate) fn new(task: Arc<dyn AnyTask>, begun: RunStart) -> Self {
        let RunStart { number, last, entry } = begun;
        Self { task, number, last, entry }
    }

    /// Returns true if the run has begun before, and its future is polled on.
    pub(crate) fn is_resumed(&self) -> bool {
        self.entry == RunEntry::Resumed
    }

    /// What is left when the run is over.
    pub(crate) fn into_task(self) -> Arc<dyn AnyTask> {
        self.task
    }

    /// The run's task.
    pub(crate) fn task(&self) -> &Arc<dyn AnyTask> {
        &self.task
    }

    /// Returns true if it is a run of this pool.
    pub(crate) fn is_of(&self, home: &dyn Home) -> bool {
        let own = self.task.header().home();
        own.is_some_and(|own| std::ptr::addr_eq(Arc::as_ptr(&own), home))
    }

    /// When a run of this pool is to have ended, if it has a limit. That of another pool is a time of another clock, and
    /// that pool enforces it.
    pub(crate) fn deadline_in(&self, home: &dyn Home) -> Option<Tick> {
        let deadline = self.task.header().deadline();
        (deadline != Tick::MAX && self.is_of(home)).then_some(deadline)
    }

    /// When the run was due, and when it has started.
    pub(super) fn last(&self) -> LastRun {
        self.last
    }

    /// How long this run has taken so far.
    pub(crate) fn elapsed(&self, now: Tick) -> Duration {
        now.since(self.last.started.tick)
    }
}

/// A copy of the last run of a task becomes one of its present run at no cost.
impl Clone for Run {
    fn clone(&self) -> Self {
        Self { task: Arc::clone(&self.task), ..*self }
    }

    #[inline]
    fn clone_from(&mut self, source: &Self) {
        let Self { task, number, last, entry } = source;
        if !Arc::ptr_eq(&self.task, task) {
            self.task = Arc::clone(task);
        }
        (self.number, self.last, self.entry) = (*number, *last, *entry);
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("task", &self.task.header().label())
            .field("number", &self.number)
            .field("fire_time", &self.last.scheduled())
            .finish_non_exhaustive()
    }
}

/// A wait inside a task that ends when the task is asked to stop.
pub(crate) struct Interruptible<'a> {
    registered: Option<(&'a Run, u64)>,
}

impl<'a> Interruptible<'a> {
    pub(crate) fn new(run: Option<&'a Run>, gate: &Arc<Gate>) -> Self {
        Self { registered: run.map(|run| (run, run.task.add_interruptible(gate))) }
    }

    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.registered.is_some_and(|(run, _)| run.is_cancelled())
    }
}

impl Drop for Interruptible<'_> {
    fn drop(&mut self) {
        if let Some((run, number)) = self.registered {
            run.task.remove_interruptible(number);
        }
    }
}

/// A task whose value type does not matter: what queue and workers know of it.
pub(crate) trait AnyTask: Send + Sync {
    fn header(&self) -> &Header;
    /// Reads something of each line of memory that a run begins with, as far as no lock guards it.
    fn look(&self);
    fn state(&self) -> TaskState;
    fn due(&self) -> Due;
    /// Begins a run, or goes on with one: runs one step of the body, and makes the outcome known unless it is held
    /// back.
    fn run(self: Arc<Self>, claim: &Claim, observer: &dyn RunObserver) -> Ran;
    /// Makes the outcome of a step known that was held back, and returns what the pool is to do. Called inside the run.
    fn settle(&self, run: &Run, rest: Rest, observer: &dyn RunObserver) -> Verdict;
    /// The task as what it is.
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    /// Returns true if nothing is left of it that could be dropped, so that another task may be made in its memory.
    fn is_spent(&mut self) -> bool;
    /// Asks the trigger of a waiting task anew, or calls the timer, because the wall clock was set back. The pool holds
    /// it, but not in its queue.
    fn renew(&self, now: Now) -> Verdict;
    /// What wakes the task's future.
    fn waker(self: Arc<Self>) -> Waker;
    /// Moves a run whose future is pending out of its worker.
    fn suspend(&self) -> Suspend;
    /// Returns true if it has ended, or is about to without another run.
    fn is_over(&self) -> bool;
    /// Drops the body of a task that waits, and ends it as cancelled; none when it had ended before, or another
    /// thread is cancelling it. The answer notifies the waiters.
    #[must_use = "the waiters must be notified"]
    fn cancel(&self) -> Option<Cancelled>;
    /// Asks the present run to stop, if there is one, and every later one.
    fn interrupt(&self);
    /// Asks the present run to stop, if there is one, and lets its future look at that.
    fn ask_to_stop(self: Arc<Self>, run: Option<u64>);
    /// Returns true if a run was asked to stop.
    fn is_asked_to_stop(&self, run: u64) -> bool;
    /// When a timer is due that waits in the queue; only to be asked under the lock of the pool, of timers.
    fn armed(&self) -> Option<Due>;
    /// Notes when a timer is due that was put into the queue, or that it is there no more. As `armed`.
    fn set_armed(&self, due: Option<Due>);
    /// Adds a thread that waits inside the task, to be woken when the run is asked to stop.
    fn add_interruptible(&self, gate: &Arc<Gate>) -> u64;
    fn remove_interruptible(&self, number: u64);
}

/// What observes the runs of tasks: the pool that runs them.
pub(crate) trait RunObserver {
    /// What time it is.
    fn now(&self) -> Now;

    /// A run is about to begin; the answer is why it must not.
    fn begins(&self, run: &Run) -> Option<Failure>;

    /// A run is over, but not settled; it may have been refused when it began. Returns the time.
    fn is_over(&self, run: &Run, outcome: &Result<(), Failure>, was_refused: bool) -> Now;

    /// The future of a run is pending.
    fn suspend(&self, task: &Arc<dyn AnyTask>, by_worker: bool);

    /// It is known what came of a run.
    fn is_settled(&self, run: &Run, outcome: &Result<(), Failure>, verdict: Verdict, now: Now);
}

/// How a task was taken to be run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) now: Now,
    /// What a timer was armed for.
    pub(crate) armed: Option<Due>,
    /// Whether no hook and no listener observes runs.
    pub(crate) is_silent: bool,
    /// Whether a worker runs it.
    pub(crate) by_worker: bool,
    /// Whether the outcome is held back until it is [settled](AnyTask::settle).
    pub(crate) is_held: bool,
}

/// A run that has begun, or goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunStart {
    pub(crate) number: u64,
    pub(crate) last: LastRun,
    pub(crate) entry: RunEntry,
}

/// The waiters to notify that a task was cancelled.
#[must_use = "the waiters must be notified"]
pub(crate) struct Cancelled {
    pub(super) waiters: Vec<(u64, Waiter)>,
    /// Whether the task was waiting, so that the pool may still hold it. The end of one that is being run is
    /// reported by its worker.
    pub(crate) was_waiting: bool,
    /// When it was due.
    pub(crate) due: Due,
}

impl Cancelled {
    pub(crate) fn notify(self) {
        notify(self.waiters, TaskState::Cancelled);
    }
}

/// What has become of a task that was to be run.
#[derive(Debug)]
pub(crate) enum Ran {
    /// It had ended before.
    Nothing,
    /// The run is over.
    Over(Verdict, Arc<dyn AnyTask>),
    /// The run waits for its waker.
    Suspended,
    /// The outcome is held back.
    Held(Box<Held>),
}

/// A run of which a step was made whose outcome is held back.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) run: Run,
    pub(crate) rest: Rest,
}

/// What is left of a run whose outcome is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is over.
    Over,
    /// The run's future is pending.
    Pending,
    /// It is over, and its end is not reported: a timer has fired.
    Spent,
}

/// What the pool is to do with a task whose run is over, or that was asked anew.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Put it back into the queue.
    Requeue(Due),
    /// Nothing: it has ended.
    Ended(TaskState),
}

impl fmt::Debug for dyn AnyTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.header().label())
    }
}
