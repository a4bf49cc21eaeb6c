//! A task before it is submitted: recurrence, name, body.

use std::fmt;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use scheduler_expr::OnError;

use crate::error::{Error, Failure};
use crate::time::Tick;
use crate::unwind::{catch, drop_contained};

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
    /// [`fallible`].
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

/// A body that runs once: a closure, or a closure in [`fallible`].
///
/// A closure delivers what it returns, whatever that is: a `Result` is a value, too, as with a thread of the standard
/// library, and the task has completed. In [`fallible`] an error is the failure of the task.
#[diagnostic::on_unimplemented(
    message = "a task cannot run `{Self}` once",
    label = "not a closure without arguments that returns `{T}`, nor `fallible` of one"
)]
pub trait OnceBody<T>: Send + 'static {
    /// Runs the body.
    ///
    /// # Errors
    ///
    /// The error that a fallible body returned, as text.
    fn run(self) -> Result<T, Failure>;
}

/// A body that is polled once to its end: a future, or a future in [`fallible`].
#[diagnostic::on_unimplemented(
    message = "a task cannot poll `{Self}`",
    label = "not a future that yields `{T}`, nor `fallible` of one"
)]
pub trait OnceFutureBody<T>: Send + 'static {
    /// The future to be polled.
    fn into_future(self) -> impl Future<Output = Result<T, Failure>> + Send + 'static;
}

/// A body whose error is the failure of its task; see [`fallible`].
#[derive(Clone, Debug)]
#[must_use = "a body does nothing until it is submitted to a pool"]
pub struct Fallible<B>(B);

/// Makes an error that the closure or the future returns the failure of its task.
///
/// An `Ok` is the value. Everything that takes a body that runs once takes a fallible one, too:
///
/// ```
/// use scheduler_core::{ScheduledThreadPool, TaskState, fallible};
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let parsed = pool.submit(fallible(|| "42".parse::<u32>()))?;
/// assert_eq!(parsed.wait()?, 42);
///
/// let failed = pool.submit(fallible(|| "none".parse::<u32>()))?;
/// assert_eq!(failed.wait().unwrap_err().to_string(), "the task failed: invalid digit found in string");
/// assert_eq!(failed.state(), TaskState::Failed);
///
/// // Without it, the `Result` is the value.
/// assert!(pool.submit(|| "none".parse::<u32>())?.wait()?.is_err());
/// let first = pool.invoke_any(["none", "7"].map(|text| fallible(|| text.parse::<u32>())))?;
/// assert_eq!(first, 7);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
pub fn fallible<B>(body: B) -> Fallible<B> {
    Fallible(body)
}

impl<T, F: FnOnce() -> T + Send + 'static> OnceBody<T> for F {
    #[inline]
    fn run(self) -> Result<T, Failure> {
        Ok(self())
    }
}

impl<T, E: Display, F: FnOnce() -> Result<T, E> + Send + 'static> OnceBody<T> for Fallible<F> {
    fn run(self) -> Result<T, Failure> {
        (self.0)().map_err(|error| Failure::from_error(&error.to_string()))
    }
}

impl<T: 'static, U: Future<Output = T> + Send + 'static> OnceFutureBody<T> for U {
    async fn into_future(self) -> Result<T, Failure> {
        Ok(self.await)
    }
}

impl<T: 'static, E: Display + 'static, U: Future<Output = Result<T, E>> + Send + 'static>
    OnceFutureBody<T> for Fallible<U>
{
    async fn into_future(self) -> Result<T, Failure> {
        self.0.await.map_err(|error| Failure::from_error(&error.to_string()))
    }
}

/// A return type of recurring bodies: `()`, or `Result<(), E>` where `E: Display`.
///
/// ```
/// use scheduler_core::Body;
///
/// let never_fails = Body::new(|| {});
/// let may_fail = Body::new(|| std::fs::write("/dev/null", "tick"));
/// ```
#[diagnostic::on_unimplemented(
    message = "a scheduled task cannot return `{Self}`",
    label = "not a return type the scheduler understands",
    note = "return `()`, or `Result<(), E>` where `E: std::fmt::Display`"
)]
pub trait TaskReturn {
    /// The outcome of the run.
    ///
    /// # Errors
    ///
    /// The error that the body returned, as text.
    fn into_result(self) -> Result<(), Failure>;
}

impl TaskReturn for () {
    fn into_result(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<E: Display> TaskReturn for Result<(), E> {
    fn into_result(self) -> Result<(), Failure> {
        self.map_err(|error| Failure::from_error(&error.to_string()))
    }
}

/// The result of one step of a body: pending while the future of the run is, then the failure of the run, or the value of a
/// one-shot. A recurring body has none.
pub(crate) type Step<T> = Poll<Result<Option<T>, Failure>>;

/// A body in the hands of its worker. The body of a task is an `Option` then: a closure that runs once leaves `None`.
pub(crate) trait Steps<T>: Send {
    /// Runs the body, or polls the future of the present run. A failure may also be one of what surrounds the body, such as a
    /// decorator.
    ///
    /// Only a future asks for the waker.
    fn step(&mut self, waker: &dyn Fn() -> Waker) -> Step<T>;

    /// Forgets the future of the present run, so that the next step begins a new one.
    fn abandon_run(&mut self) {}
}

/// The message of a panic that never comes: a body is stepped only while the task has one.
const HAS_BODY: &str = "a task that is stepped has a body";

impl<T> Steps<T> for Option<Box<dyn Steps<T>>> {
    fn step(&mut self, waker: &dyn Fn() -> Waker) -> Step<T> {
        self.as_mut().expect(HAS_BODY).step(waker)
    }

    fn abandon_run(&mut self) {
        if let Some(body) = self {
            body.abandon_run();
        }
    }
}

/// A closure that runs once and returns a value.
pub(crate) struct Once<F>(pub(crate) F);

impl<T, F: OnceBody<T>> Steps<T> for Option<Once<F>> {
    #[inline]
    fn step(&mut self, _: &dyn Fn() -> Waker) -> Step<T> {
        let Once(body) = self.take().expect(HAS_BODY);
        Poll::Ready(body.run().map(Some))
    }
}

/// A future that yields a value once.
struct OnceFuture<U>(pub(crate) Pin<Box<U>>);

impl<T, U: Future<Output = Result<T, Failure>> + Send> Steps<T> for OnceFuture<U> {
    fn step(&mut self, waker: &dyn Fn() -> Waker) -> Step<T> {
        self.0.as_mut().poll(&mut Context::from_waker(&waker())).map_ok(Some)
    }
}

/// A closure that is run again and again.
struct Repeat<F>(pub(crate) F);

impl<R: TaskReturn, F: FnMut() -> R + Send> Steps<()> for Repeat<F> {
    fn step(&mut self, _: &dyn Fn() -> Waker) -> Step<()> {
        Poll::Ready((self.0)().into_result().map(|()| None))
    }
}

/// A closure that makes a future for each run.
struct RepeatFuture<F, U> {
    make: F,
    present: Option<Pin<Box<U>>>,
}

impl<F, U> RepeatFuture<F, U> {
    pub(crate) fn new(make: F) -> Self {
        Self { make, present: None }
    }
}

impl<R, U, F> Steps<()> for RepeatFuture<F, U>
where
    R: TaskReturn,
    U: Future<Output = R> + Send,
    F: FnMut() -> U + Send,
{
    fn step(&mut self, waker: &dyn Fn() -> Waker) -> Step<()> {
        let present = self.present.get_or_insert_with(|| Box::pin((self.make)()));
        let outcome = ready!(present.as_mut().poll(&mut Context::from_waker(&waker())));
        let result = outcome.into_result();
        self.present = None;
        Poll::Ready(result.map(|()| None))
    }

    fn abandon_run(&mut self) {
        self.present = None;
    }
}

/// A decorator of each step of a body; it has to call the step once.
pub(crate) type Around = Box<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// A body with what surrounds each of its steps.
pub(crate) struct Decorated<T> {
    pub(crate) body: Box<dyn Steps<T>>,
    pub(crate) around: Around,
}

impl<T> Steps<T> for Decorated<T> {
    fn step(&mut self, waker: &dyn Fn() -> Waker) -> Step<T> {
        let Self { body, around } = self;
        let mut result = None;
        let failure = match (catch(|| around(&mut || result = Some(body.step(waker)))), result) {
            (Ok(()), Some(step)) => return step,
            (Ok(()), None) => Failure::from_error("the decorator did not run the task"),
            (Err(failure), late) => {
                drop_contained(late);
                failure
            }
        };
        // The run has failed, also where its future is pending: the next run begins with a new one.
        drop(catch(|| body.abandon_run()));
        Poll::Ready(Err(failure))
    }

    fn abandon_run(&mut self) {
        self.body.abandon_run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_closure_that_has_run_once() {
        let mut body = Some(Once(|| 7));
        assert!(matches!(
            body.step(&|| unreachable!("it asks for no waker")),
            Poll::Ready(Ok(Some(7)))
        ));
        assert!(body.is_none());
    }
}
