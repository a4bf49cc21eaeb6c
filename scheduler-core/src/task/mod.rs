//! Tasks: identity, body, recurrence, states, and the handle that the caller keeps.
//!
//! A [`Task`] describes a task before it is submitted; a [`TaskHandle`] watches it while it lives, and cancels it.
//!
//! # States
//!
//! A task is `Scheduled` until a worker begins it, `Running` during a run (and while the run's future
//! is pending), then either `Scheduled` again or ended: `Completed`, `Failed` or `Cancelled`. It ends
//! once, and then its waiters are notified.
//
// # Files
//
// | file | content |
// |---|---|
// | `spec` | a task before it is submitted: recurrence, name, body |
// | `state` | the states of a task and the ways between them; what its lock guards; its waiters |
// | `header`, `block` | the memory of a task, and its runs |
// | `cancel` | the cancellation of a task |
// | `timer` | a call that is made each time it is armed for, and its firings |
// | `run` | a run as its body sees it; the run of a thread |
// | `handle` | the caller's side: waits, callbacks, the value |
//
// Below: tasks and timers as the pool knows them, and a pool as they know it, with the count of its dead entries.
//
// The pool above decides which task runs when and on which worker, and knows no value type. `Queued` stands in the queue: a task, or the
// ticket of a timer. `Interruptible` owns a run: a task, or the timer itself. `AnyTask` is both, and can be put back.
//
// A task knows no queue and no pool: it calls its pool through `TaskPool`. User code — bodies, destructors, wakers, callbacks — runs
// while no lock is held: transitions return the waiters to notify and the values to drop after unlocking.
//
// # The races, one by one
//
// * *Cancel against begin*: both take the task's lock; the first has the body. A canceller drops it outside the lock, while the
//   task is *leaving*: it cannot be begun then, and does not look ended yet. A destructor that waits for the task, or
//   for the end of a pool that waits for it, would wait for itself: the thread knows what it drops (`run::hold_up`).
// * *Cancel against the end of a run*: both set the end in the header, by compare and swap; the first wins. If the cancel does, waiters
//   are notified at once, and the outcome of the run is dropped by its worker.
// * *Wait against end*: the waiter is added first, and then marked in the header. The thread that ends the task sees the mark, or the
//   waiter sees the end.
// * *Cancel against the queue*: the entry of a cancelled task stays, as a dead one. The flag `is_queued` says whether an entry stands for
//   the task; exactly one of begin, cancel, withdraw clears it, and a cancel that does announces a dead entry.
// * *Wake against suspend*: a wake during a poll is noted and answers the suspend.

pub(crate) mod block;
mod cancel;
mod handle;
pub(crate) mod header;
pub(crate) mod run;
pub(crate) mod spec;
pub(crate) mod state;
mod timer;

use std::any::Any;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use crate::error::Failure;
use crate::sync::{AtomicBool, AtomicU64, CachePadded, Ordering};
use crate::time::{Clock, Due, EventCount, Now, Tick};
use state::{EventCounts, Waiter, notify};

pub(crate) use handle::starves_at;
pub use handle::{TaskFuture, TaskHandle, TaskValue};
pub use header::TaskId;
pub(crate) use header::{Header, TaskOptions};
pub use run::Run;
pub(crate) use run::Thread;
pub use scheduler_expr::OnError;
pub(crate) use spec::Recurrence;
pub use spec::{Body, Fallible, OnceBody, OnceFutureBody, Task, TaskReturn, fallible};
pub use state::TaskState;
pub(crate) use state::{NothingToRun, Suspend};
pub(crate) use timer::Arming;
pub use timer::{Fire, Fired, Timer};

/// An item of the queue: a task, or the ticket of a timer.
pub(crate) trait Queued: fmt::Debug + Send + Sync {
    /// Makes the only run of a task without options that stands in the queue; no hook and no listener observes it.
    ///
    /// # Errors
    ///
    /// There is nothing to run.
    fn run_plainly(&self) -> Result<(), NothingToRun>;
    /// Begins a run, or goes on with one: runs one step of the body, and makes the outcome known unless it is held
    /// back.
    fn run(self: Arc<Self>, request: &RunRequest<'_>, pool: &dyn TaskPool) -> RunResult;

    /// Takes the task or timer of an entry that was due then out of the queue; none if the entry was a dead one.
    fn take_out(self: Arc<Self>, due: Due) -> Option<Arc<dyn Interruptible>>;
    /// Returns true if an entry in the queue that is due then stands for the item.
    fn stands_at(&self, due: Due) -> bool;
    /// The same for one entry in a sweep only: a timer that went to and fro may have several that are due then.
    fn stands_once(&self, due: Due, _sweep: u64) -> bool {
        self.stands_at(due)
    }

    /// Returns true if it has ended, or is about to without another run.
    fn is_over(&self) -> bool {
        false
    }
    /// The task, unless this is the ticket of a timer.
    fn into_task(self: Arc<Self>) -> Option<Arc<dyn AnyTask>> {
        None
    }
}

/// The owner of a run: a task or a timer. Both can be cancelled, and their runs be asked to stop.
pub(crate) trait Interruptible: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    fn header(&self) -> &Header;
    fn options(&self) -> Option<&TaskOptions>;
    /// The task, unless this is a timer.
    fn into_task(self: Arc<Self>) -> Option<Arc<dyn AnyTask>> {
        None
    }

    /// Makes the outcome of a step known that was held back; returns the task with its next due time if it is due again.
    /// Called inside the run.
    fn settle(self: Arc<Self>, run: &Run, fired: Fired, pool: &dyn TaskPool) -> Option<Requeue>;
    /// Drops the body of a task that waits, ends it as cancelled, and announces its entry as dead; none when it had ended
    /// before, or another thread is cancelling it. The answer notifies the waiters. A timer is notified that it is dropped.
    #[must_use = "the waiters must be notified"]
    fn cancel(self: Arc<Self>) -> Option<Cancelled>;
    /// Cancels a task whose worker's thread dies during the run. A timer goes on.
    fn abandon(&self) -> Option<Cancelled> {
        None
    }
    /// Tells a timer that the wall clock was set back. Does nothing for a task.
    fn clock_set_back(self: Arc<Self>, _now: Now) {}

    /// Asks a run to stop if it is in progress, and lets its future look at that.
    fn ask_to_stop(self: Arc<Self>, run: u64);
    /// Returns true if a run was asked to stop.
    fn is_asked_to_stop(&self, run: u64) -> bool;
    /// Adds a thread that waits inside a run, to be woken when the run is asked to stop.
    fn add_interruptible(&self, run: u64, gate: &Arc<EventCount>) -> u64;
    fn remove_interruptible(&self, run: u64, number: u64);

    fn id(&self) -> TaskId {
        self.header().id()
    }

    fn name(&self) -> Option<&str> {
        self.options()?.name.as_deref()
    }

    /// The name in messages: its own, or else its number.
    fn label(&self) -> String {
        match self.name() {
            Some(name) => format!("task `{name}`"),
            None => format!("task {}", self.id()),
        }
    }

    /// Returns true if this is not a task, but a call of an alarm or a timer. It is not reported.
    fn is_call(&self) -> bool {
        self.options().is_some_and(|options| options.is_call)
    }

    /// When the task is to have ended; [`Tick::MAX`] for no such time.
    fn deadline(&self) -> Tick {
        self.options().map_or(Tick::MAX, |options| options.deadline)
    }

    /// Returns true if the task should have ended.
    fn is_overdue(&self, now: Tick) -> bool {
        let deadline = self.deadline();
        deadline != Tick::MAX && now >= deadline
    }
}

/// A task whose value type does not matter.
pub(crate) trait AnyTask: Queued + Interruptible {
    fn state(&self) -> TaskState;
    fn due(&self) -> Due;
    /// Notes that an entry of the queue stands for the task; false if it is over.
    fn enqueue(&self) -> bool;
    /// Takes the task out of the queue; its entry is a dead one from now on. Returns true if it had one.
    fn withdraw(&self) -> bool;
    /// Returns true if the task waits in the queue.
    fn is_queued(&self) -> bool;
    /// Moves a run whose future is pending out of its worker.
    fn suspend(&self, run: &Run) -> Suspend;
    /// Asks the present run to stop, if there is one, and every later one.
    fn interrupt(&self);
    /// Asks the present run to stop, if there is one, and lets its future look at that.
    fn ask_present_run_to_stop(self: Arc<Self>);
}

/// A request to run a task.
#[derive(Clone, Copy)]
pub(crate) struct RunRequest<'a> {
    /// The thread that runs it.
    pub(crate) thread: &'a Thread,
    /// When it was due, by its entry.
    pub(crate) due: Due,
    /// The time at which the run starts; none while nothing needs it.
    pub(crate) started: Option<Now>,
    /// True if a worker runs it, which took it from the queue.
    pub(crate) by_worker: bool,
    /// True if the outcome is held back until it is [settled](Interruptible::settle).
    pub(crate) is_held: bool,
}

/// The waiters to notify that a task was cancelled.
#[must_use = "the waiters must be notified"]
pub(crate) struct Cancelled {
    waiters: Vec<(u64, Waiter)>,
    /// True if the task was waiting. The end of one that is being run is reported by its worker.
    pub(crate) was_waiting: bool,
    /// True if the pool has the task among its suspended ones.
    pub(crate) was_suspended: bool,
}

impl Cancelled {
    /// Notifies the waiters; returns whether the task was waiting.
    pub(crate) fn notify(self) -> bool {
        notify(self.waiters, TaskState::Cancelled);
        self.was_waiting
    }
}

/// A task whose run is over, and the time at which it is due again.
pub(crate) type Requeue = (Arc<dyn AnyTask>, Tick);

/// A run that is over: when its task is due again, or how it has ended.
pub(crate) type AfterRun = ControlFlow<TaskState, Tick>;

/// The result of a request to run a task.
#[derive(Debug)]
pub(crate) enum RunResult {
    Nothing(NothingToRun),
    /// The run is over.
    Over(Option<Requeue>),
    /// The run waits for its waker.
    Suspended,
    /// The outcome is held back.
    Held(Box<HeldRun>),
}

/// A run whose last step has an outcome that is held back.
#[derive(Debug)]
pub(crate) struct HeldRun {
    pub(crate) run: Run,
    /// None while the run's future is pending.
    pub(crate) fired: Option<Fired>,
}

impl fmt::Debug for dyn Interruptible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

/// A pool as its tasks know it.
///
/// In cache lines of its own, because each task counts as a share.
#[repr(align(128))]
pub(crate) struct PoolLink {
    pub(crate) clock: Arc<dyn Clock>,
    pool: Weak<dyn TaskPool>,
    /// True if a cancelled task keeps its place in the queue until it is due.
    keeps_cancelled: AtomicBool,
    /// True if a cancelled task ever kept its place.
    has_kept: AtomicBool,
    /// True if the pool stops, so that all runs on its workers are asked to stop.
    is_stopping: AtomicBool,
    /// True if there is a listener.
    is_heard: bool,
    /// The waits inside runs of the pool.
    pub(crate) waits: EventCounts,
    pub(crate) dead: CachePadded<DeadEntries>,
}

/// A pool as its tasks call it, while it exists.
pub(crate) trait TaskPool: Any + Send + Sync {
    /// Reads the time.
    fn now(&self) -> Now;

    /// A run is about to begin; the answer is why it must not.
    fn begins(&self, run: &Run) -> Option<Failure>;

    /// A run is over, but not settled; it may have been refused when it began. Returns the time.
    fn is_over(&self, run: &Run, outcome: &Result<(), Failure>, was_refused: bool) -> Now;

    /// It is known what came of a run.
    fn is_settled(&self, run: &Run, outcome: &Result<(), Failure>, after_run: AfterRun, now: Now);

    /// The future of a run is pending.
    fn suspend(&self, run: &Run, by_worker: bool);

    /// Puts a run whose waker was called back into the queue.
    fn resume(&self, task: Arc<dyn AnyTask>);

    /// Forgets a suspended run, because its task was cancelled.
    fn forget_suspended(&self, task: TaskId);

    /// Looks at entries of the queue that died.
    fn entries_died(&self);

    /// Cancels a task that the pool has let go of.
    fn cancel(&self, task: Arc<dyn Interruptible>);

    /// Cancels a task whose worker's thread dies during the run.
    fn abandon(&self, task: &dyn Interruptible);

    /// Reports that a task has ended.
    fn task_ended(&self, task: &dyn Interruptible, state: TaskState);

    /// Reports that a destructor of something that belonged to a task has panicked.
    fn drop_panicked(&self, id: TaskId, name: Option<&str>, failure: &Failure);

    /// Reports that a call of a timer has panicked.
    fn timer_panicked(&self, id: TaskId, name: Option<&str>, call: &'static str, failure: &Failure);

    /// Reports that `run` waits for a task of its own pool that is due and finds no worker.
    fn wait_starves(&self, run: &Run, awaited: &dyn Interruptible);
}

impl PoolLink {
    pub(crate) fn new(
        pool: Weak<dyn TaskPool>,
        clock: Arc<dyn Clock>,
        keeps_cancelled: bool,
        is_heard: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            clock,
            pool,
            keeps_cancelled: AtomicBool::new(keeps_cancelled),
            has_kept: AtomicBool::new(keeps_cancelled),
            is_stopping: AtomicBool::new(false),
            is_heard,
            waits: EventCounts::default(),
            dead: CachePadded(DeadEntries::default()),
        })
    }

    /// The pool, while it exists.
    pub(crate) fn pool(&self) -> Option<Arc<dyn TaskPool>> {
        self.pool.upgrade()
    }

    /// The address of the pool: it identifies the pool of a task, even when that no longer exists.
    pub(crate) fn address(&self) -> usize {
        self.pool.as_ptr().addr()
    }

    /// Returns true if a cancelled task keeps its place in the queue until it is due.
    #[inline]
    pub(crate) fn keeps_cancelled(&self) -> bool {
        // ORDERING: acquire, see `keep_cancelled`.
        self.keeps_cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn keep_cancelled(&self, keeps: bool) {
        if keeps {
            // ORDERING: release, before a task can keep its place; see `has_kept`.
            self.has_kept.store(true, Ordering::Release);
        }
        self.keeps_cancelled.store(keeps, Ordering::Release);
    }

    /// Returns true if an ended task may have kept its place in the queue.
    #[inline]
    pub(crate) fn has_kept(&self) -> bool {
        self.has_kept.load(Ordering::Acquire)
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.is_heard
    }

    pub(crate) fn is_stopping(&self) -> bool {
        // ORDERING: acquire, so that a body that sees the request sees what led to it.
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Asks all runs on workers of the pool to stop.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.waits.open_all();
    }

    /// Announces that an entry of the queue will not be run.
    #[inline]
    pub(crate) fn entry_died(&self, is_alarm: bool) {
        if self.dead.announce(is_alarm) {
            self.call_for_dead();
        }
    }

    #[cold]
    fn call_for_dead(&self) {
        if let Some(pool) = self.pool() {
            pool.entries_died();
        }
    }
}

/// The number of entries of a queue that have died since the pool looked.
///
/// A task that is cancelled touches no queue: its entry stays as a dead one, which is skipped when it comes, or swept out
/// with others. So the number of live entries is the number of all entries less the dead ones.
#[derive(Debug, Default)]
pub(crate) struct DeadEntries {
    /// From the lowest bit: whether the pool wants to hear of each; how many alarms; how many others.
    word: AtomicU64,
}

/// The number of dead entries after which the pool looks whether to sweep.
const MANY: u64 = 256;
const HEARS: u64 = 1;
const ALARM: u64 = 1 << 1;
const OTHER: u64 = 1 << 32;

impl DeadEntries {
    /// Counts one more, and returns true if the pool is to look.
    #[inline]
    pub(crate) fn announce(&self, is_alarm: bool) -> bool {
        // ORDERING: one atomic holds count and wish, so that either the pool sees this entry when it says that it wants to
        // hear, or this thread sees that wish. Release, so that a thread that sees the count sees the end of the task.
        let before = self.word.fetch_add(if is_alarm { ALARM } else { OTHER }, Ordering::AcqRel);
        before & HEARS != 0 || (before / OTHER + 1).is_multiple_of(MANY)
    }

    /// Takes the counts of alarms and of others, and says whether the pool wants to hear of each from now on.
    pub(crate) fn take(&self, wants_death_notices: bool) -> (i64, i64) {
        // ORDERING: see `announce`.
        let word = self.word.swap(u64::from(wants_death_notices), Ordering::AcqRel);
        let alarms = (word % OTHER) / ALARM;
        (alarms.cast_signed(), (word / OTHER).cast_signed())
    }

    /// Returns true if nothing was announced since, and the wish is the same.
    pub(crate) fn is_quiet(&self, wants_death_notices: bool) -> bool {
        // ORDERING: relaxed, a look without a lock; what came in between is found at the next.
        self.word.load(Ordering::Relaxed) == u64::from(wants_death_notices)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{DeadEntries, MANY};

    #[test]
    fn the_pool_is_called_for_each_entry_if_it_wants_and_otherwise_for_many() {
        let dead = DeadEntries::default();
        assert!(!dead.announce(true) && !dead.announce(false));
        assert_eq!(dead.take(true), (1, 1));
        assert!(dead.is_quiet(true) && !dead.is_quiet(false));
        assert!(dead.announce(true) && dead.announce(false));
        assert_eq!(dead.take(false), (1, 1));
        let called = (0..MANY).filter(|_| dead.announce(false)).count();
        assert_eq!((called, dead.take(false)), (1, (0, MANY.cast_signed())));
    }
}
