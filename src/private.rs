//! The names that generated code uses.
//!
//! This module is not part of the public API and not subject to semantic versioning.
//!
//! Generated code stands in crates that may shadow every name of the prelude, so it names even `Some` through this
//! module.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

pub use core::any::{Any, TypeId};
pub use core::option::Option::{self, None, Some};
pub use core::result::Result::{Err, Ok};
pub use core::{cfg, concat, file, line, module_path, stringify};
pub use inventory::submit;
use scheduler_core::{Clock, ManualClock};
pub use scheduler_expr::Attribute;
pub use scheduler_macros::cron_schedule;

pub use crate::base::metadata::Location;
pub use crate::define::entry::{Entry, JobFacts, entries};
use crate::run::Shutdown;
pub use crate::run::inject::Call;
use crate::run::inject::{self, Extract, Managed, Resolver, States, TaskReturn};
pub use crate::run::{BoxFuture, Run, TaskError, TaskResult};
#[cfg(feature = "__bench")]
pub use crate::task::BenchTask;

/// The managed value behind a parameter `&T`.
pub fn state<T: ?Sized + Managed>(resolver: &mut Resolver<'_>) -> Option<Arc<T>> {
    resolver.state::<T>()
}

/// The managed value behind a parameter `Option<&T>`, if there is one.
pub fn optional_state<T: ?Sized + Managed>(resolver: &mut Resolver<'_>) -> Option<Option<Arc<T>>> {
    resolver.optional_parameter::<T>()
}

/// The managed value behind `&self`.
pub fn receiver<T: ?Sized + Managed>(resolver: &mut Resolver<'_>) -> Option<Arc<T>> {
    resolver.receiver::<T>()
}

/// Resolves a parameter `&Run` by its type: the run for the scheduler's [`Run`], a managed value for another type of
/// that name. Inherent methods win over those of [`LendState`].
#[derive(Debug)]
pub struct Lending<T: ?Sized>(PhantomData<fn() -> Box<T>>);

impl<T: ?Sized> Lending<T> {
    /// The only value.
    pub const NEW: Self = Self(PhantomData);
}

impl Lending<Run> {
    /// A run needs no lookup.
    #[must_use]
    pub fn __scheduler_find(&self, _resolver: &mut Resolver<'_>) -> Option<()> {
        Some(())
    }

    /// The run.
    #[must_use]
    pub fn __scheduler_lend<'a>(&self, (): &'a (), run: &'a Run) -> &'a Run {
        run
    }
}

/// The managed value behind a parameter `&Run` of another type of that name.
pub trait LendState<T: ?Sized> {
    /// Looks it up.
    fn __scheduler_find(&self, resolver: &mut Resolver<'_>) -> Option<Arc<T>>
    where
        T: Managed;

    /// The value.
    fn __scheduler_lend<'a>(&self, found: &'a Arc<T>, run: &'a Run) -> &'a T;
}

impl<T: ?Sized> LendState<T> for Lending<T> {
    fn __scheduler_find(&self, resolver: &mut Resolver<'_>) -> Option<Arc<T>>
    where
        T: Managed,
    {
        resolver.state::<T>()
    }

    fn __scheduler_lend<'a>(&self, found: &'a Arc<T>, _run: &'a Run) -> &'a T {
        found
    }
}

/// Looks up the source of a parameter that is taken by value.
pub fn resolve<A: Extract>(resolver: &mut Resolver<'_>) -> Option<A::Source> {
    A::resolve(resolver)
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
pub fn as_deref<T: ?Sized>(value: &Option<Arc<T>>) -> Option<&T> {
    value.as_deref()
}

/// Turns the return value of a function into the result of its attempt.
///
/// The second argument does nothing. With one argument alone rustc would report a wrong return type at that argument,
/// which has the place of the annotation.
pub fn into_task_result<R: TaskReturn<Kind>, Kind>(returned: R, _nothing: fn(&R)) -> TaskResult {
    inject::into_task_result(returned)
}

/// Clones a value for one run.
pub fn share<T: Clone>(value: &T) -> T {
    value.clone()
}

/// A future that has failed already.
#[must_use]
pub fn failed(error: TaskError) -> BoxFuture {
    Box::pin(std::future::ready(Err(error)))
}

#[cfg(feature = "durable")]
pub use durable::*;

/// The names that `#[job]` uses besides.
#[cfg(feature = "durable")]
mod durable {
    use std::fmt::Display;

    use serde_json::Value;

    use super::{Entry, Run, TaskError};
    pub use crate::durable::Job;
    use crate::durable::{self, Partition, Payload};

    /// A job without a payload.
    pub fn job(entry: &'static Entry) -> Job {
        Job::of(entry)
    }

    /// A job with a payload.
    pub fn job_with<T: Payload>(entry: &'static Entry, payload: &T) -> Job {
        Job::with(entry, payload)
    }

    /// The job in a partition.
    pub fn partitioned<P: Partition + ?Sized>(job: Job, partition: &P) -> Job {
        job.partition(partition)
    }

    /// The payload of a run.
    ///
    /// # Errors
    ///
    /// When it cannot be decoded.
    pub fn payload<T: Payload>(
        run: &Run,
        version: u32,
        upgrade: Option<fn(Value) -> Result<T, String>>,
    ) -> Result<T, TaskError> {
        durable::decoded(run, version, upgrade)
    }

    /// Why a stored payload could not be decoded.
    ///
    /// # Errors
    ///
    /// The reason.
    pub fn check_payload<T: Payload>(
        stored: (u32, &[u8]),
        version: u32,
        upgrade: Option<fn(Value) -> Result<T, String>>,
    ) -> Result<(), String> {
        durable::decode(stored, version, upgrade).map(drop)
    }

    /// The result of the program's upgrade of a payload.
    ///
    /// # Errors
    ///
    /// When the upgrade failed.
    pub fn upgraded<T, E: Display + 'static>(upgraded: Result<T, E>) -> Result<T, String> {
        durable::stringify_error(upgraded)
    }
}

/// Boxes the future of one run.
pub fn box_future<F>(future: F) -> BoxFuture
where
    F: Future<Output = TaskResult> + Send + 'static,
{
    Box::pin(future)
}

/// The call of an entry without managed values, and a run to call it with, for tests.
#[must_use]
pub fn resolve_for_test(entry: &Entry) -> (Option<Call>, Run) {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
    let (states, shutdown) = (States::default(), Shutdown::new());
    let call = entry.resolve(&mut Resolver::new(&states, &clock, &shutdown));
    (call, Run::detached(entry.name))
}
