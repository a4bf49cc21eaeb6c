//! The body of a task, whatever its shape: a closure or a future, run once or again and again.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::once::OnceBody;
use crate::error::Failure;

/// What a recurring body may return: `()`, or `Result<(), E>` where `E: Display`.
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

/// What one step of a body led to.
#[derive(Debug)]
pub(crate) enum Step<T> {
    /// A one-shot has its value.
    Value(T),
    /// A recurring body has made one run, or a one-shot has returned an error.
    Ran(Result<(), Failure>),
    /// The future of the run is pending.
    Pending,
    /// The body was not run, because the before-run hook has panicked.
    Refused(Failure),
}

/// A body, as the task keeps it.
pub(crate) trait Steps<T>: Send {
    /// Runs the body, or polls the future of the present run.
    ///
    /// Only a future asks for the waker.
    fn step(&mut self, waker: &dyn Fn() -> Waker) -> Step<T>;

    /// Returns true if nothing is left of it that could run or be dropped.
    fn is_spent(&self) -> bool {
        false
    }

    /// Forgets the future of the present run, so that the next step begins a new one.
    fn abandon_run(&mut self) {}
}

impl<T> Steps<T> for Box<dyn Steps<T>> {
    fn step(&mut self, waker: &dyn Fn() -> Waker) -> Step<T> {
        (**self).step(waker)
    }

    fn is_spent(&self) -> bool {
        (**self).is_spent()
    }

    fn abandon_run(&mut self) {
        (**self).abandon_run();
    }
}

#[inline]
fn value<T>(result: Result<T, Failure>) -> Step<T> {
    match result {
        Ok(value) => Step::Value(value),
        Err(failure) => Step::Ran(Err(failure)),
    }
}

/// A closure that runs once and returns a value.
pub(crate) struct Once<F>(pub(crate) Option<F>);

impl<T, F: OnceBody<T>> Steps<T> for Once<F> {
    fn step(&mut self, _: &dyn Fn() -> Waker) -> Step<T> {
        let body = self.0.take().expect("a one-shot is run once");
        value(body.run())
    }

    fn is_spent(&self) -> bool {
        self.0.is_none()
    }
}

/// A future that yields a value once.
pub(crate) struct OnceFuture<U>(pub(crate) Pin<Box<U>>);

impl<T, U: Future<Output = Result<T, Failure>> + Send> Steps<T> for OnceFuture<U> {
    fn step(&mut self, waker: &dyn Fn() -> Waker) -> Step<T> {
        match self.0.as_mut().poll(&mut Context::from_waker(&waker())) {
            Poll::Ready(result) => value(result),
            Poll::Pending => Step::Pending,
        }
    }
}

/// A closure that is run again and again.
pub(crate) struct Repeat<F>(pub(crate) F);

impl<R: TaskReturn, F: FnMut() -> R + Send> Steps<()> for Repeat<F> {
    fn step(&mut self, _: &dyn Fn() -> Waker) -> Step<()> {
        Step::Ran((self.0)().into_result())
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
        match present.as_mut().poll(&mut Context::from_waker(&waker())) {
            Poll::Pending => Step::Pending,
            Poll::Ready(outcome) => {
                let result = outcome.into_result();
                self.present = None;
                Step::Ran(result)
            }
        }
    }

    fn abandon_run(&mut self) {
        self.present = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_closure_that_has_run_once() {
        let mut body: Box<dyn Steps<u8>> = Box::new(Once(Some(|| 7)));
        assert!(!body.is_spent());
        assert!(matches!(body.step(&|| unreachable!("it asks for no waker")), Step::Value(7)));
        assert!(body.is_spent());
    }
}
