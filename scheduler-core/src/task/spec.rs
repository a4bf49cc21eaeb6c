//! The description of a task before it is submitted.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::OnError;

use super::once::{OnceBody, OnceFutureBody};
use super::steps::{Once, OnceFuture, Repeat, RepeatFuture, Steps, TaskReturn};
use crate::error::Error;
use crate::time::Tick;

/// The rule by which a task fires again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recurrence {
    Once,
    FixedRate(Duration),
    FixedDelay(Duration),
}

impl Recurrence {
    /// Returns true if the task is meant to run more than once.
    pub(crate) fn is_recurring(self) -> bool {
        self != Self::Once
    }

    /// When the task is due again, after a run that was due then and has ended now; none when it is over.
    pub(crate) fn next(self, due: Tick, now: Tick) -> Option<Tick> {
        match self {
            Self::Once => None,
            Self::FixedRate(period) => Some(due + period),
            Self::FixedDelay(delay) => Some(now + delay),
        }
    }
}

/// The body of a recurring task: a closure, or a closure that makes a future.
///
/// A future never holds a worker while it is pending: its waker puts the run back into the queue.
///
/// ```
/// use scheduler_core::Body;
///
/// let closure = Body::new(|| println!("tick"));
/// let fallible = Body::new(|| std::fs::write("/dev/null", "tick"));
/// let future = Body::new_async(|| async { println!("tick") });
/// ```
pub struct Body {
    body: Box<dyn Steps<()>>,
}

impl Body {
    /// A body that runs this closure each time.
    pub fn new<R: TaskReturn>(body: impl FnMut() -> R + Send + 'static) -> Self {
        Self { body: Box::new(Repeat(body)) }
    }

    /// A body that makes a future each time and polls it on the pool's workers until it is ready.
    pub fn new_async<R, U>(make: impl FnMut() -> U + Send + 'static) -> Self
    where
        R: TaskReturn,
        U: Future<Output = R> + Send + 'static,
    {
        Self { body: Box::new(RepeatFuture::new(make)) }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

/// A task to submit: body, time and name.
///
/// ```
/// use scheduler_core::{Body, OnError, ScheduledThreadPool, Task};
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(2);
/// let handle = pool.submit_task(
///     Task::at_fixed_rate(Duration::from_secs(60), Body::new(|| Err::<(), _>("not today")))
///         .name("report")
///         .initial_delay(Duration::from_secs(5))
///         .on_error(OnError::Continue),
/// )?;
/// assert_eq!(handle.name(), Some("report"));
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[must_use = "a task does nothing until it is submitted to a pool"]
pub struct Task<T> {
    pub(crate) body: Box<dyn Steps<T>>,
    pub(crate) recurrence: Recurrence,
    pub(crate) initial_delay: Duration,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) on_error: OnError,
    /// When the task is to have ended; [`Tick::MAX`] for no such time.
    pub(crate) deadline: Tick,
}

impl<T: Send + Sync + 'static> Task<T> {
    /// A task that runs once and delivers the value of the closure; an error is its failure where the closure is
    /// [`fallible`](crate::fallible).
    pub fn once(body: impl OnceBody<T>) -> Self {
        Self::with(Box::new(Some(Once(body))), Recurrence::Once)
    }

    /// A task that runs once and delivers the value of the future.
    ///
    /// The future is first polled when the task is due; while it is pending it holds no worker.
    pub fn once_async(body: impl OnceFutureBody<T>) -> Self {
        Self::with(Box::new(OnceFuture(Box::pin(body.into_future()))), Recurrence::Once)
    }

    /// Waits this long before the first run; zero by default.
    pub fn initial_delay(mut self, delay: Duration) -> Self {
        self.initial_delay = delay;
        self
    }

    /// Gives the task a name, for messages and events; it has none by default.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    fn with(body: Box<dyn Steps<T>>, recurrence: Recurrence) -> Self {
        Self {
            body,
            recurrence,
            initial_delay: Duration::ZERO,
            name: None,
            on_error: OnError::Stop,
            deadline: Tick::MAX,
        }
    }

    /// Cancels the task if it has not ended by then.
    pub(crate) fn deadline(mut self, deadline: Tick) -> Self {
        self.deadline = deadline;
        self
    }
}

impl Task<()> {
    /// A task whose fire times lie `period` apart, however long its runs take.
    ///
    /// Runs never overlap. `period` 5 s, a run takes 2 s: the next starts 3 s later. A run takes 7 s:
    /// the next starts at once, and later ones are on the grid again. Missed fire times follow back to back, as in the
    /// JDK.
    #[doc(alias = "scheduleAtFixedRate")]
    pub fn at_fixed_rate(period: Duration, body: Body) -> Self {
        Self::with(body.body, Recurrence::FixedRate(period))
    }

    /// A task that runs again `delay` after each run has ended.
    ///
    /// `delay` 5 s, a run takes 2 s: the next starts 5 s later, 7 s after the start of this one.
    #[doc(alias = "scheduleWithFixedDelay")]
    pub fn with_fixed_delay(delay: Duration, body: Body) -> Self {
        Self::with(body.body, Recurrence::FixedDelay(delay))
    }

    /// Sets the policy after a run that panicked or returned an error; [`OnError::Stop`] by default.
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }
}

impl<T> Task<T> {
    /// Refuses what cannot be scheduled.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let (what, length) = match self.recurrence {
            Recurrence::FixedRate(period) => ("period", period),
            Recurrence::FixedDelay(delay) => ("delay", delay),
            Recurrence::Once => return Ok(()),
        };
        if length.is_zero() {
            return Err(Error::argument(what, "it must be longer than zero"));
        }
        Ok(())
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("name", &self.name)
            .field("recurrence", &self.recurrence)
            .field("initial_delay", &self.initial_delay)
            .field("on_error", &self.on_error)
            .finish_non_exhaustive()
    }
}
