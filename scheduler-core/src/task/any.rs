//! A task whose value type does not matter: what queue, workers and runs know of it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use super::header::Header;
use super::rhythm::LastRun;
use super::run::Entry;
use super::run::Run;
use super::state::Suspend;
use super::state::TaskState;
use super::waiters::Waiter;
use super::waiters::tell;
use crate::error::Failure;
use crate::time::Due;
use crate::time::Gate;
use crate::time::Now;

/// A task whose value type does not matter: what queue and workers know of it.
pub(crate) trait AnyTask: Send + Sync {
    fn header(&self) -> &Header;
    /// Reads something of each line of memory that a run begins with, as far as no lock guards it.
    fn look(&self);
    fn state(&self) -> TaskState;
    fn due(&self) -> Due;
    /// Claims the task for a run; none when it has ended. A timer is told the due time that it was armed for.
    fn begin(&self, now: Now, armed: Option<Due>) -> Option<Begun>;
    /// Runs one step of the body of a claimed task, or notes why it was not run. To be called inside
    /// the run.
    fn execute(&self, run: &Run, witness: &dyn Witness) -> Executed;
    /// Makes the outcome of an executed step known, and says what the pool is to do.
    fn settle(&self, run: &Run, executed: Executed, witness: &dyn Witness) -> Verdict;
    /// Claims the task, executes one step and settles it, where one thread does it all; none when the task
    /// has ended. The run of a worker is `hidden` until somebody looks at it.
    fn run_through(
        self: Arc<Self>,
        now: Now,
        armed: Option<Due>,
        witness: &dyn Witness,
        is_hidden: bool,
    ) -> Option<RanThrough>;
    /// The task as what it is.
    fn as_any(&self) -> &dyn Any;
    /// Asks the trigger of a waiting task anew, or tells a timer, because the wall clock was set back. The pool holds
    /// it, but not in its queue.
    fn renew(&self, now: Now) -> Verdict;
    /// What wakes the task's future.
    fn waker(self: Arc<Self>) -> Waker;
    /// Moves a run whose future is pending out of its worker.
    fn suspend(&self) -> Suspend;
    /// Whether it has ended, or is about to without another run.
    fn is_over(&self) -> bool;
    /// Drops the body of a task that waits, and ends it as cancelled; none when it had ended before, or another
    /// thread is at it. Those who wait are told by the answer.
    #[must_use = "those who wait are to be told"]
    fn cancel(&self) -> Option<Farewell>;
    /// Asks the present run to stop, if there is one, and every later one.
    fn interrupt(&self);
    /// Asks the present run to stop, if there is one, and lets its future look at that.
    fn ask_to_stop(self: Arc<Self>, run: Option<u64>);
    /// Whether a run was asked to stop.
    fn is_asked_to_stop(&self, run: u64) -> bool;
    /// When a timer is due that waits in the queue; only to be asked under the lock of the pool, of timers.
    fn armed(&self) -> Option<Due>;
    /// Notes when a timer is due that was put into the queue, or that it is there no more. As `armed`.
    fn set_armed(&self, due: Option<Due>);
    /// Adds a thread that waits inside the task, to be told when the run is asked to stop.
    fn add_interruptible(&self, gate: &Arc<Gate>) -> u64;
    fn remove_interruptible(&self, number: u64);
}

/// Who sees the runs of tasks: the pool that runs them.
pub(crate) trait Witness {
    /// What time it is.
    fn now(&self) -> Now;

    /// Whether it takes note of nothing.
    fn is_indifferent(&self) -> bool;

    /// A run is about to begin; the answer is why it must not.
    fn begins(&self, run: &Run) -> Option<Failure>;

    /// A run is over, but not settled; it may have been refused when it began. Says what time it is.
    fn is_over(&self, run: &Run, outcome: &Result<(), Failure>, was_refused: bool) -> Now;

    /// It is known what came of a run.
    fn is_settled(&self, run: &Run, outcome: &Result<(), Failure>, verdict: Verdict, now: Now);
}

/// A run that a worker has claimed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) number: u64,
    pub(crate) last: LastRun,
    pub(crate) entry: Entry,
}

/// Those who are to be told that a task was cancelled.
#[must_use = "those who wait are to be told"]
pub(crate) struct Farewell {
    pub(super) waiters: Vec<(u64, Waiter)>,
    /// Whether the task was waiting, so that the pool may still hold it. The end of one that is being run is
    /// reported by its worker.
    pub(crate) was_waiting: bool,
    /// When it was due.
    pub(crate) due: Due,
}

impl Farewell {
    pub(crate) fn say(self) {
        tell(self.waiters, TaskState::Cancelled);
    }
}

/// What has become of a run of which one step has been executed and settled.
#[derive(Debug)]
pub(crate) enum RanThrough {
    Over(Verdict, Arc<dyn AnyTask>),
    /// The run's future is pending.
    Pending(Run),
}

/// What executing one step has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executed {
    /// The run is over.
    Over,
    /// The run's future is pending.
    Pending,
    /// The run is over, and nothing is left of which the end could be reported: a timer has fired.
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
