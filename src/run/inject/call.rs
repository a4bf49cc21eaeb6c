//! A scheduled function with its arguments, and the types it may return.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::run::{BoxFuture, Run, TaskError, TaskResult};

/// A task with its resolved arguments. Overlapping runs call it at the same time.
#[derive(Clone)]
pub enum Call {
    /// A plain function: the call is the attempt.
    Sync(Arc<dyn Fn(&Run) -> TaskResult + Send + Sync>),
    /// An async function: the call makes the future, polling it is the attempt.
    Async(Arc<dyn Fn(&Run) -> BoxFuture + Send + Sync>),
}

impl Call {
    /// Does nothing.
    pub(crate) fn noop() -> Self {
        Self::of(|_| ())
    }

    /// A closure as a task.
    pub(crate) fn of<R, Kind>(body: impl Fn(&Run) -> R + Send + Sync + 'static) -> Self
    where
        R: TaskReturn<Kind>,
    {
        Self::Sync(Arc::new(move |run| into_task_result(body(run))))
    }

    /// A closure that returns a future, as a task.
    pub(crate) fn of_async<F, Kind>(body: impl Fn(Run) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: TaskReturn<Kind>> + Send + 'static,
    {
        Self::Async(Arc::new(move |run| {
            let future = body(run.clone());
            Box::pin(async move { into_task_result(future.await) })
        }))
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync(_) => "Sync",
            Self::Async(_) => "Async",
        })
    }
}

/// The return type of a task: `()`, `Result<(), E>` where `E` is an error, a text, a boxed error or `anyhow::Error`, or `!`.
///
/// The same holds for annotated functions, closures and futures. `E` is any type with
/// `Into<Box<dyn Error + Send + Sync>>`, or `Box<dyn Error>`. The scheduler keeps the text of the error and of its
/// [causes](Error::source).
///
/// `Kind` is inferred. The trait is sealed.
///
/// ```
/// use scheduler::TaskReturn;
/// use std::error::Error;
///
/// fn may_be_returned<Kind>(_: impl TaskReturn<Kind>) {}
/// may_be_returned(());
/// may_be_returned(Ok::<(), std::io::Error>(()));
/// may_be_returned(Ok::<(), String>(()));
/// may_be_returned(Ok::<(), Box<dyn Error>>(()));
/// ```
#[diagnostic::on_unimplemented(
    message = "a task cannot return `{Self}`",
    label = "not a return type of a task",
    note = "return `()`, or `Result<(), E>` where `E` is an error, a text, `Box<dyn Error>` or `anyhow::Error`",
    note = "a durable job may return `Result<(), JobError>`",
    note = "a closure that returns a future goes to `task_async` or `add_async`"
)]
pub trait TaskReturn<Kind>: sealed::IntoTaskResult<Kind> {}

#[diagnostic::do_not_recommend]
impl<Kind, R: sealed::IntoTaskResult<Kind>> TaskReturn<Kind> for R {}

/// Turns the return value of a task into the result of its attempt.
pub(crate) fn into_task_result<R: TaskReturn<Kind>, Kind>(returned: R) -> TaskResult {
    returned.into_task_result()
}

/// The kinds of return types, which keep the implementations apart.
pub(crate) mod sealed {
    use super::{Error, TaskError, TaskResult};

    pub trait IntoTaskResult<Kind> {
        fn into_task_result(self) -> TaskResult;
    }

    #[derive(Debug)]
    pub enum Unit {}
    #[derive(Debug)]
    pub enum Nothing {}
    #[derive(Debug)]
    pub enum AnyError {}
    #[derive(Debug)]
    pub enum BoxedError {}

    impl IntoTaskResult<Unit> for () {
        fn into_task_result(self) -> TaskResult {
            Ok(())
        }
    }

    /// A task that never returns, such as a closure that ends with `panic!()` or `loop {}`. The type `!` has no name in
    /// stable Rust but this one.
    impl IntoTaskResult<Nothing> for <fn() -> ! as Returns>::Type {
        fn into_task_result(self) -> TaskResult {
            self
        }
    }

    pub trait Returns {
        type Type;
    }

    impl<R> Returns for fn() -> R {
        type Type = R;
    }

    impl<E: Into<Box<dyn Error + Send + Sync>>> IntoTaskResult<AnyError> for Result<(), E> {
        fn into_task_result(self) -> TaskResult {
            self.map_err(|error| TaskError::from_error(&*error.into()))
        }
    }

    #[cfg(feature = "durable")]
    #[derive(Debug)]
    pub enum OfJob {}

    #[cfg(feature = "durable")]
    impl IntoTaskResult<OfJob> for Result<(), crate::run::JobError> {
        fn into_task_result(self) -> TaskResult {
            self.map_err(crate::run::JobError::into_task_error)
        }
    }

    impl IntoTaskResult<BoxedError> for Result<(), Box<dyn Error>> {
        fn into_task_result(self) -> TaskResult {
            self.map_err(|error| TaskError::from_error(&*error))
        }
    }
}
