//! Everything that generated code may name, and nothing else.
//!
//! This module is not part of the public API and not subject to semantic versioning.
//!
//! Generated code stands in crates that may shadow every name of the prelude, so it reaches even
//! `Some` through here. The traits below answer one question each:
//!
//! * [`TaskReturn`]: may a scheduled function return this? It carries the message for the case that
//!   it may not.
//! * [`FromPointer`], [`FromError`], [`FromReturn`], [`FromAny`]: how much of the error can be kept?
//!   They are four answers to the method call `(&&&&Returns::of(&value)).settle(value)`, in the
//!   order in which the compiler tries them (fewest dereferences first): a pointer to an error such
//!   as `Box<dyn Error>`, an error with causes, anything that can be shown, anything.

use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Deref;

pub use core::option::Option::{None, Some};
pub use core::{concat, file, line, module_path};
pub use inventory::submit;
pub use scheduler_expr::DurationUnit;

pub use crate::entry::{Body, Entry, Origin, Rule};
use crate::entry::{BoxFuture, TaskError, TaskResult};

/// A type that a scheduled function may return.
#[diagnostic::on_unimplemented(
    message = "a scheduled function cannot return `{Self}`",
    label = "not a return type the scheduler understands",
    note = "return `()`, or `Result<(), E>` where `E: std::fmt::Display`"
)]
pub trait TaskReturn {
    /// The value as the scheduler sees it.
    #[doc(hidden)]
    fn into_task_result(self) -> TaskResult;
}

#[diagnostic::do_not_recommend]
impl TaskReturn for () {
    fn into_task_result(self) -> TaskResult {
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<E: Display> TaskReturn for Result<(), E> {
    fn into_task_result(self) -> TaskResult {
        self.map_err(|error| TaskError::from_display(&error))
    }
}

/// Names the type of a value that a scheduled function returned.
#[derive(Debug)]
pub struct Returns<T>(PhantomData<fn() -> T>);

impl<T> Returns<T> {
    /// The type of `value`.
    pub const fn of(_value: &T) -> Self {
        Self(PhantomData)
    }
}

/// The error is a pointer to an error, such as `Box<dyn Error>`, which is itself not an `Error`.
pub trait FromPointer<T> {
    /// Keeps text and causes.
    fn settle(&self, value: T) -> TaskResult;
}

impl<P> FromPointer<Result<(), P>> for &&&Returns<Result<(), P>>
where
    P: Deref<Target: Error> + Display,
{
    fn settle(&self, value: Result<(), P>) -> TaskResult {
        value.map_err(|error| TaskError::from_error(&*error))
    }
}

/// The error is an `Error`.
pub trait FromError<T> {
    /// Keeps text and causes.
    fn settle(&self, value: T) -> TaskResult;
}

impl<E: Error> FromError<Result<(), E>> for &&Returns<Result<(), E>> {
    fn settle(&self, value: Result<(), E>) -> TaskResult {
        value.map_err(|error| TaskError::from_error(&error))
    }
}

/// Something else that may be returned.
pub trait FromReturn<T> {
    /// Keeps the text.
    fn settle(&self, value: T) -> TaskResult;
}

impl<T: TaskReturn> FromReturn<T> for &Returns<T> {
    fn settle(&self, value: T) -> TaskResult {
        value.into_task_result()
    }
}

/// Something that may not be returned. This is never called: it is there so that the only message is
/// that of [`TaskReturn`].
pub trait FromAny<T> {
    /// Forgets the value.
    fn settle(&self, value: T) -> TaskResult;
}

impl<T> FromAny<T> for Returns<T> {
    fn settle(&self, _value: T) -> TaskResult {
        Ok(())
    }
}

/// Calls a plain function.
pub fn call<R: TaskReturn>(function: fn() -> R, settle: fn(R) -> TaskResult) -> TaskResult {
    settle(function())
}

/// Makes the future of an `async fn`.
pub fn begin<F, R>(future: F, settle: fn(R) -> TaskResult) -> BoxFuture
where
    F: Future<Output = R> + Send + 'static,
    R: TaskReturn + 'static,
{
    Box::pin(async move { settle(future.await) })
}
