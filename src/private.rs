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
//!   They are four answers to the method call `(&&&&Returns::of(&value)).__scheduler_settle(value)`,
//!   in the order in which the compiler tries them (fewest dereferences first): a pointer to an error
//!   such as `Box<dyn Error>`, an error with causes, anything that can be shown, anything. Nobody
//!   else may have a method of that name: one that everything has would be tried before ours.

use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Deref;

use std::sync::Arc;

pub use core::option::Option::{self, None, Some};
pub use core::{cfg, concat, file, line, module_path, stringify};
pub use inventory::submit;
use scheduler_core::Clock;
use scheduler_core::ManualClock;
pub use scheduler_expr::Attribute;

pub use crate::entry::Entry;
pub use crate::entry::FunctionId;
pub use crate::entry::Origin;
pub use crate::entry::Receiver;
pub use crate::facts::Location;
pub use crate::inject::Call;
use crate::inject::Extract;
use crate::inject::Managed;
use crate::inject::States;
pub use crate::inject::Wiring;
use crate::run::BoxFuture;
pub use crate::run::Run;
use crate::run::Shutdown;
use crate::run::TaskError;
use crate::run::TaskResult;
#[cfg(feature = "bench")]
pub use crate::task::Conducted;

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
    fn __scheduler_settle(&self, value: T) -> TaskResult;
}

impl<P> FromPointer<Result<(), P>> for &&&Returns<Result<(), P>>
where
    P: Deref<Target: Error> + Display,
{
    fn __scheduler_settle(&self, value: Result<(), P>) -> TaskResult {
        value.map_err(|error| TaskError::from_error(&*error))
    }
}

/// The error is an `Error`.
pub trait FromError<T> {
    /// Keeps text and causes.
    fn __scheduler_settle(&self, value: T) -> TaskResult;
}

impl<E: Error> FromError<Result<(), E>> for &&Returns<Result<(), E>> {
    fn __scheduler_settle(&self, value: Result<(), E>) -> TaskResult {
        value.map_err(|error| TaskError::from_error(&error))
    }
}

/// Something else that may be returned.
pub trait FromReturn<T> {
    /// Keeps the text.
    fn __scheduler_settle(&self, value: T) -> TaskResult;
}

impl<T: TaskReturn> FromReturn<T> for &Returns<T> {
    fn __scheduler_settle(&self, value: T) -> TaskResult {
        value.into_task_result()
    }
}

/// Something that may not be returned. This is never called: it is there so that the only message is
/// that of [`TaskReturn`].
pub trait FromAny<T> {
    /// Forgets the value.
    fn __scheduler_settle(&self, value: T) -> TaskResult;
}

impl<T> FromAny<T> for Returns<T> {
    fn __scheduler_settle(&self, _value: T) -> TaskResult {
        Ok(())
    }
}

/// The managed value behind a parameter `&T`.
pub fn state<T: ?Sized + Managed>(wiring: &mut Wiring<'_>) -> Option<Arc<T>> {
    wiring.state::<T>()
}

/// The managed value behind a parameter `Option<&T>`, if there is one.
pub fn optional_state<T: ?Sized + Managed>(wiring: &mut Wiring<'_>) -> Option<Option<Arc<T>>> {
    wiring.optional_parameter::<T>()
}

/// The managed value behind `&self`.
pub fn receiver<T: ?Sized + Managed>(wiring: &mut Wiring<'_>) -> Option<Arc<T>> {
    wiring.receiver::<T>()
}

/// What a parameter `&Run` is, by its type: methods of the type itself are tried before those of
/// [`LendState`], so that the scheduler's own [`Run`] is the run, and any other a managed value.
#[derive(Debug)]
pub struct Lending<T: ?Sized>(PhantomData<fn() -> Box<T>>);

impl<T: ?Sized> Lending<T> {
    /// There is only one.
    pub const NEW: Self = Self(PhantomData);
}

impl Lending<Run> {
    /// There is nothing to look up.
    #[must_use]
    pub fn __scheduler_find(&self, _wiring: &mut Wiring<'_>) -> Option<()> {
        Some(())
    }

    /// The run itself.
    #[must_use]
    pub fn __scheduler_lend<'a>(&self, (): &'a (), run: &'a Run) -> &'a Run {
        run
    }
}

/// The managed value behind a parameter `&Run` of another type of that name.
pub trait LendState<T: ?Sized> {
    /// Looks it up.
    fn __scheduler_find(&self, wiring: &mut Wiring<'_>) -> Option<Arc<T>>
    where
        T: Managed;

    /// The value.
    fn __scheduler_lend<'a>(&self, found: &'a Arc<T>, run: &'a Run) -> &'a T;
}

impl<T: ?Sized> LendState<T> for Lending<T> {
    fn __scheduler_find(&self, wiring: &mut Wiring<'_>) -> Option<Arc<T>>
    where
        T: Managed,
    {
        wiring.state::<T>()
    }

    fn __scheduler_lend<'a>(&self, found: &'a Arc<T>, _run: &'a Run) -> &'a T {
        found
    }
}

/// What a parameter that is taken by value is made of.
pub fn resolve<A: Extract>(wiring: &mut Wiring<'_>) -> Option<A::Source> {
    A::resolve(wiring)
}

/// A parameter that is taken by value, for one run.
pub fn extract<A: Extract>(source: &A::Source, run: &Run) -> A {
    A::extract(source, run)
}

/// A plain function with its arguments.
pub fn sync_call(call: impl Fn(&Run) -> TaskResult + Send + Sync + 'static) -> Option<Call> {
    Some(Call::Sync(Arc::new(call)))
}

/// An async function with its arguments.
pub fn async_call(call: impl Fn(&Run) -> BoxFuture + Send + Sync + 'static) -> Option<Call> {
    Some(Call::Async(Arc::new(call)))
}

/// The value of a parameter `Option<&T>`, for one run.
#[must_use]
pub fn lend<T: ?Sized>(value: &Option<Arc<T>>) -> Option<&T> {
    value.as_deref()
}

/// Judges what a plain function returned.
pub fn settle<R: TaskReturn>(returned: R, settle: fn(R) -> TaskResult) -> TaskResult {
    settle(returned)
}

/// Another owner of a value, for one run.
pub fn share<T: Clone>(value: &T) -> T {
    value.clone()
}

/// Keeps the future of one run.
pub fn begin<F>(future: F) -> BoxFuture
where
    F: Future<Output = TaskResult> + Send + 'static,
{
    Box::pin(future)
}

/// The call of an entry that needs nothing managed, and a run to call it with.
#[must_use]
pub fn alone(entry: &Entry) -> (Option<Call>, Run) {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
    let (states, shutdown) = (States::default(), Shutdown::new());
    let call = entry.wire(&mut Wiring::new(&states, &clock, &shutdown));
    (call, Run::detached(entry.name()))
}
