//! The body of a task: a closure or a future, one-shot or recurring.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use super::once::OnceBody;
use crate::error::Failure;
use crate::unwind::{catch, drop_contained};

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
pub(crate) struct OnceFuture<U>(pub(crate) Pin<Box<U>>);

impl<T, U: Future<Output = Result<T, Failure>> + Send> Steps<T> for OnceFuture<U> {
    fn step(&mut self, waker: &dyn Fn() -> Waker) -> Step<T> {
        self.0.as_mut().poll(&mut Context::from_waker(&waker())).map_ok(Some)
    }
}

/// A closure that is run again and again.
pub(crate) struct Repeat<F>(pub(crate) F);

impl<R: TaskReturn, F: FnMut() -> R + Send> Steps<()> for Repeat<F> {
    fn step(&mut self, _: &dyn Fn() -> Waker) -> Step<()> {
        Poll::Ready((self.0)().into_result().map(|()| None))
    }
}

/// A closure that makes a future for each run.
pub(crate) struct RepeatFuture<F, U> {
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
