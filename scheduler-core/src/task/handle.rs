//! The handle of a task, with which its caller waits and cancels; its value.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::block::Awaited;
use super::header::TaskId;
use super::run::{InterruptibleWait, Run};
use super::state::{TaskState, Waiter, notify};
use super::{AnyTask, run};
use crate::error::{Error, Failure};
use crate::time::{Clock, Due, EventCount, Now, Tick};
use crate::unwind::catch;

/// The time for which a due task may lack a worker before another task that waits for it is reported.
const STARVED_AFTER: Duration = Duration::from_secs(1);

/// The caller's end of a task: waits for it, looks at it, cancels it.
///
/// Clones are ends of the same task. Dropping a handle changes nothing: the task lives in its pool.
/// A handle can be awaited for the task's value: it [becomes a future](IntoFuture).
///
/// The body of a task, with all that it has captured, is dropped before its end is seen: by a wait, a callback, or
/// [`state`](Self::state). So what the body shared with the caller is the caller's alone then. There is one exception:
/// a task that is cancelled during a run has ended at once, and its body is dropped when the run is over.
///
/// Every handle resolves: a task that is dropped before it could run, in whatever way, is cancelled.
/// (In the JDK some futures stay pending for ever: discarded ones, drained ones, and those whose
/// before-hook throws.)
///
/// ```
/// use scheduler_core::{ScheduledThreadPool, TaskState};
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let answer = pool.submit(|| 6 * 7)?;
/// assert_eq!(answer.wait()?, 42);
/// assert_eq!(answer.state(), TaskState::Completed);
///
/// let later = pool.schedule(Duration::from_secs(3_600), || ())?;
/// assert!(later.cancel());
/// assert!(later.wait().unwrap_err().is_cancelled());
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[doc(alias = "ScheduledFuture")]
#[doc(alias = "FutureTask")]
pub struct TaskHandle<T> {
    pub(super) cell: Arc<dyn Awaited<T>>,
}

impl<T: Send + Sync + 'static> TaskHandle<T> {
    pub(crate) fn new(cell: Arc<dyn Awaited<T>>) -> Self {
        Self { cell }
    }

    /// The cancelled handle of a task that is not submitted.
    pub(crate) fn cancelled(cell: Arc<dyn Awaited<T>>) -> Self {
        let handle = Self::new(cell);
        handle.cancel();
        handle
    }

    pub(crate) fn task(&self) -> Arc<dyn AnyTask> {
        Arc::clone(&self.cell) as Arc<dyn AnyTask>
    }

    /// The number of the task.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.cell.header().id()
    }

    /// The name of the task, where it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.cell.name()
    }

    /// The present state of the task.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.cell.state()
    }

    /// Returns true if the task has ended: completed, failed or cancelled.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state().is_done()
    }

    /// Returns true if the task was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state() == TaskState::Cancelled
    }

    /// The time left until the task is due; zero once it is.
    #[must_use]
    #[doc(alias = "getDelay")]
    pub fn delay(&self) -> Duration {
        self.cell.due().left(Now::read(&*self.cell.header().link.clock))
    }

    /// Orders two tasks as the queue does: by due time, then by order of submission.
    ///
    /// Equal only for two handles of one task. Tasks of different pools are compared by the readings
    /// of their own clocks.
    #[must_use]
    #[doc(alias = "compareTo")]
    pub fn compare<U: Send + Sync + 'static>(&self, other: &TaskHandle<U>) -> Ordering {
        let due = |task: &dyn AnyTask| task.due().into_parts().1;
        let key = |task: &dyn AnyTask| (due(task), task.id(), task.header().link.address());
        key(&*self.cell).cmp(&key(&*other.cell))
    }

    /// Waits until the task has ended.
    ///
    /// Inside a task this holds the worker. If the awaited task is of the same pool and finds no other
    /// worker, the wait may be in vain: it is reported after a second as
    /// [`Event::WaitStarved`](crate::Event::WaitStarved).
    ///
    /// # Errors
    ///
    /// [`Error::is_interrupted`] when called inside a task that is asked to stop meanwhile;
    /// [`Error::is_deadlock`] when the task waits for itself, or a destructor waits for the task that it is
    /// dropped with.
    pub fn wait_done(&self) -> Result<(), Error> {
        self.block(None).map(drop)
    }

    /// As [`wait_done`](Self::wait_done), for at most this long; zero only checks.
    ///
    /// # Errors
    ///
    /// [`Error::is_timeout`] when the task has not ended within `limit`, and not earlier than that;
    /// otherwise as [`wait_done`](Self::wait_done).
    pub fn wait_done_for(&self, limit: Duration) -> Result<(), Error> {
        self.block(Some(limit)).map(drop)
    }

    /// Waits until the task has ended, and shows its value, which need not be `Clone`.
    ///
    /// ```
    /// use scheduler_core::ScheduledThreadPool;
    /// use std::fs::File;
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let opened = pool.submit(|| File::open("/dev/null").map_err(|error| error.to_string()))?;
    /// let opened = opened.wait_ref()?;
    /// let file: &File = opened.as_ref().expect("it is there");
    /// # let _ = file;
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub fn wait_ref(&self) -> Result<TaskValue<T>, Error> {
        self.block(None).and_then(TaskOutcome::into_result)
    }

    /// The failure of a failed task, without waiting.
    ///
    /// # Errors
    ///
    /// [`Error::is_wrong_state`] unless the task has failed.
    #[doc(alias = "exceptionNow")]
    pub fn failure_now(&self) -> Result<Failure, Error> {
        // RACE: the state is read first. Read later, it could be the very one that is asked for.
        let state = self.state();
        match self.cell.outcome() {
            Some(TaskOutcome::Failed(failure)) => Ok(failure),
            _ => Err(Error::wrong_state("failed", state.name())),
        }
    }

    /// Calls `callback` with the final state when the task has ended; at once where it has.
    ///
    /// It is called exactly once, by the thread that ends the task, with no lock held: it may cancel, wait,
    /// submit, or shut the pool down. A panic of it is contained.
    ///
    /// ```
    /// use scheduler_core::ScheduledThreadPool;
    /// use std::sync::mpsc;
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let (sender, receiver) = mpsc::channel();
    /// pool.execute(|| ())?.on_done(move |state| sender.send(state.is_done()).unwrap());
    /// assert_eq!(receiver.recv(), Ok(true));
    /// # Ok::<(), scheduler_core::Error>(())
    /// ```
    #[doc(alias = "done")]
    pub fn on_done(&self, callback: impl FnOnce(TaskState) + Send + 'static) {
        if let Err((waiter, state)) = self.cell.add_waiter(Waiter::Callback(Box::new(callback))) {
            notify(vec![(0, waiter)], state);
        }
    }

    /// Blocks until the task has ended or the limit has passed.
    fn block(&self, limit: Option<Duration>) -> Result<TaskOutcome<T>, Error> {
        if let Some(outcome) = self.cell.outcome() {
            return Ok(outcome);
        }
        let run = Run::current();
        let would_deadlock = run.as_ref().is_some_and(|run| self.is_task_of(run))
            || run::holds_up(self.cell.header().link.address(), Some(self.cell.id()));
        if would_deadlock {
            return Err(Error::would_deadlock("wait"));
        }
        let gate = Arc::new(EventCount::new());
        match self.cell.add_waiter(Waiter::Thread(Arc::clone(&gate))) {
            Err(_) => self.cell.outcome().ok_or_else(Error::cancelled),
            Ok(number) => {
                let outcome = self.block_at(&gate, run.as_ref(), limit);
                self.cell.remove_waiter(number);
                outcome
            }
        }
    }

    fn block_at(
        &self,
        gate: &Arc<EventCount>,
        run: Option<&Run>,
        limit: Option<Duration>,
    ) -> Result<TaskOutcome<T>, Error> {
        let link = &self.cell.header().link;
        let (clock, pool) = (&link.clock, link.address());
        let until = limit.map(|limit| clock.now() + limit);
        let interruptible = InterruptibleWait::new(run, gate);
        let mut starves_at =
            run.filter(|run| run.belongs_to(pool)).map(|_| starves_at(&**clock, self.cell.due()));
        let stops_at = run.and_then(|run| run.deadline_in(pool));
        let mut ends_at = Some(self.cell.deadline()).filter(|end| *end != Tick::MAX);
        loop {
            let seen = gate.epoch();
            if let Some(outcome) = self.cell.outcome() {
                return Ok(outcome);
            }
            if interruptible.is_asked_to_stop() {
                return Err(Error::interrupted());
            }
            // Another thread may be cancelling it already, and dropping its body.
            if ends_at.take_if(|end| clock.now() >= *end).is_some() {
                self.cancel_now();
                continue;
            }
            if let Some(limit) = limit
                && until.is_some_and(|until| clock.now() >= until)
            {
                return Err(Error::timeout(limit));
            }
            if let Some(run) = run
                && starves_at.take_if(|at| clock.now() >= *at).is_some()
                && self.state() == TaskState::Scheduled
                && let Some(pool) = link.pool()
            {
                pool.wait_starves(run, &*self.cell);
            }
            let wake_ups = [until, starves_at, stops_at, ends_at];
            clock.wait(gate, seen, wake_ups.into_iter().flatten().min());
        }
    }

    fn is_task_of(&self, run: &Run) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(run.task()), Arc::as_ptr(&self.cell))
    }
}

impl<T: Clone + Send + Sync + 'static> TaskHandle<T> {
    /// Waits until the task has ended, and gives a clone of its value; [`wait_ref`](Self::wait_ref) shows one that
    /// cannot be cloned.
    ///
    /// A recurring task delivers no value while it is healthy: the wait ends when it is cancelled or fails.
    ///
    /// # Errors
    ///
    /// [`Error::is_cancelled`], [`Error::is_failed`], or as [`wait_done`](Self::wait_done).
    #[doc(alias = "get")]
    pub fn wait(&self) -> Result<T, Error> {
        self.wait_ref().map(|value| T::clone(&value))
    }

    /// As [`wait`](Self::wait), for at most this long; zero only checks.
    ///
    /// # Errors
    ///
    /// [`Error::is_timeout`] when the task has not ended within `limit`, and not earlier than that;
    /// otherwise as [`wait`](Self::wait).
    #[doc(alias = "get")]
    pub fn wait_for(&self, limit: Duration) -> Result<T, Error> {
        let outcome = self.block(Some(limit))?;
        outcome.into_result().map(|value| T::clone(&value))
    }

    /// The value of a completed task, without waiting.
    ///
    /// # Errors
    ///
    /// [`Error::is_wrong_state`] unless the task has completed.
    #[doc(alias = "resultNow")]
    pub fn result_now(&self) -> Result<T, Error> {
        // RACE: the state is read first, as in `failure_now`.
        let state = self.state();
        match self.cell.outcome() {
            Some(TaskOutcome::Value(value)) => Ok(T::clone(&value)),
            _ => Err(Error::wrong_state("completed", state.name())),
        }
    }
}

/// Requests to a task: to end, or to stop its run.
impl<T: Send + Sync + 'static> TaskHandle<T> {
    /// Cancels the task: it will not start (again). A run in progress goes on undisturbed.
    ///
    /// Returns true if this call has ended the task; false when the task had ended before, or another
    /// thread is cancelling it. The body of a waiting task is dropped before the end is visible, waiters
    /// are notified, and this returns. While the body runs, waiters are notified at once, and it is dropped
    /// after the run.
    ///
    /// As `cancel(false)` of the JDK.
    #[doc(alias = "cancel(false)")]
    pub fn cancel(&self) -> bool {
        self.cell.cancel_and_notify()
    }

    /// Cancels the task, and asks a run in progress to stop.
    ///
    /// The run sees [`Run::is_cancelled`](crate::Run::is_cancelled), and its interruptible waits end
    /// early. Otherwise as [`cancel`](Self::cancel); as `cancel(true)` of the JDK.
    #[doc(alias = "cancel(true)")]
    #[doc(alias = "interrupt")]
    pub fn cancel_now(&self) -> bool {
        let won = self.cancel();
        if won {
            self.cell.interrupt();
        }
        won
    }

    /// Asks only the present run to stop; the task itself goes on, and its next run begins unasked.
    ///
    /// The run sees [`Run::is_cancelled`](crate::Run::is_cancelled), and its interruptible waits end
    /// early. A future that is pending is polled once more, so that it can look. Without a run in
    /// progress it has no effect.
    pub fn ask_to_stop(&self) {
        self.task().ask_present_run_to_stop();
    }
}

/// When a wait for a task of the same pool is to be reported, whose worker it holds.
pub(crate) fn starves_at(clock: &dyn Clock, due: Due) -> Tick {
    let now = Now::read(clock);
    due.as_tick(now).max(now.tick) + STARVED_AFTER
}

impl<T: Clone + Send + Sync + 'static> IntoFuture for TaskHandle<T> {
    type Output = Result<T, Error>;
    type IntoFuture = TaskFuture<T>;

    fn into_future(self) -> TaskFuture<T> {
        TaskFuture { handle: self, waker: None }
    }
}

/// A future of the value of a task; see [`TaskHandle`].
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
/// use std::future::IntoFuture;
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let answer = pool.submit(|| 6 * 7)?;
/// let doubled = pool.schedule_async(Duration::ZERO, async { answer.await.map(|n| n * 2) })?;
/// assert_eq!(doubled.wait()?, Ok(84));
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct TaskFuture<T: Send + Sync + 'static> {
    handle: TaskHandle<T>,
    /// The number under which the waker is registered.
    waker: Option<u64>,
}

impl<T: Clone + Send + Sync + 'static> Future for TaskFuture<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let cell = &this.handle.cell;
        let result = |outcome: TaskOutcome<T>| outcome.into_result().map(|value| T::clone(&value));
        if let Some(outcome) = cell.outcome() {
            return Poll::Ready(result(outcome));
        }
        let waker = match catch(|| context.waker().clone()) {
            Ok(waker) => waker,
            Err(failure) => return Poll::Ready(Err(Error::failed(failure))),
        };
        if let Some(number) = this.waker.take() {
            cell.remove_waiter(number);
        }
        match cell.add_waiter(Waiter::Future(waker)) {
            Ok(number) => {
                this.waker = Some(number);
                Poll::Pending
            }
            Err(_) => Poll::Ready(result(cell.outcome().unwrap_or(TaskOutcome::Cancelled))),
        }
    }
}

impl<T: Send + Sync + 'static> Drop for TaskFuture<T> {
    fn drop(&mut self) {
        if let Some(number) = self.waker.take() {
            self.handle.cell.remove_waiter(number);
        }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for TaskFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskFuture").field(&self.handle).finish()
    }
}

impl<T> Clone for TaskHandle<T> {
    fn clone(&self) -> Self {
        Self { cell: Arc::clone(&self.cell) }
    }
}

impl<T> fmt::Debug for TaskHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskHandle").field(&self.cell.label()).finish()
    }
}

/// The value of a completed task, which all its handles share.
///
/// It dereferences to the value.
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
///
/// let pool = ScheduledThreadPool::new(1);
/// let text = pool.submit(|| "shared".to_owned())?.wait_ref()?;
/// assert_eq!(text.len(), 6);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
pub struct TaskValue<T: 'static>(Kept<T>);

/// A value is shared, except `()`, which is static.
enum Kept<T: 'static> {
    Shared(Arc<T>),
    Unit(&'static T),
}

/// Returns true if a value of this type is not kept.
#[inline]
pub(super) fn is_unit<T: 'static>() -> bool {
    unit::<T>().is_some()
}

#[inline]
fn unit<T: 'static>() -> Option<&'static T> {
    const UNIT: &dyn Any = &();
    UNIT.downcast_ref()
}

impl<T: 'static> TaskValue<T> {
    /// The value that was kept; none where there is none and the type is not `()`.
    pub(super) fn new(value: Option<Arc<T>>) -> Option<Self> {
        let value = value.map(Kept::Shared).or_else(|| unit().map(Kept::Unit));
        value.map(Self)
    }
}

impl<T: 'static> Deref for TaskValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Kept::Shared(value) => value,
            Kept::Unit(value) => value,
        }
    }
}

impl<T: fmt::Debug + 'static> fmt::Debug for TaskValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The outcome of a task, as its handles report it.
pub(crate) enum TaskOutcome<T: 'static> {
    Value(TaskValue<T>),
    Cancelled,
    Failed(Failure),
}

impl<T: 'static> TaskOutcome<T> {
    /// The value, where there is one. It is cloned outside every lock: that is user code.
    pub(super) fn into_result(self) -> Result<TaskValue<T>, Error> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Cancelled => Err(Error::cancelled()),
            Self::Failed(failure) => Err(Error::failed(failure)),
        }
    }
}
