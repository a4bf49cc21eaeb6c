//! A scheduled function with all its arguments but the run.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::run::{BoxFuture, Run, TaskError, TaskResult};

/// How a task is run, once its arguments are resolved.
///
/// It may be called several times at once, when the task lets its runs overlap.
#[derive(Clone)]
pub enum Call {
    /// A plain function: the call is the run.
    Sync(Arc<dyn Fn(&Run) -> TaskResult + Send + Sync>),
    /// An async function: the call only makes the future, polling it is the run.
    Async(Arc<dyn Fn(&Run) -> BoxFuture + Send + Sync>),
}

impl Call {
    /// Does nothing.
    pub(crate) fn nothing() -> Self {
        Self::of(|_| ())
    }

    /// A closure as a task.
    pub(crate) fn of<R: TaskOutput>(body: impl Fn(&Run) -> R + Send + Sync + 'static) -> Self {
        Self::Sync(Arc::new(move |run| body(run).into_task_result()))
    }

    /// A closure that makes a future, as a task.
    pub(crate) fn of_async<F>(body: impl Fn(Run) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: TaskOutput> + Send + 'static,
    {
        Self::Async(Arc::new(move |run| {
            let future = body(run.clone());
            Box::pin(async move { future.await.into_task_result() })
        }))
    }
}

/// What a closure that is a task may return: `()`, or `Result<(), E>` where `E` can be boxed as an
/// error, as all errors, texts and `anyhow::Error` can.
///
/// ```
/// use scheduler::TaskOutput;
///
/// fn may_be_returned<T: TaskOutput>(_: T) {}
/// may_be_returned(());
/// may_be_returned(Ok::<(), String>(()));
/// ```
#[diagnostic::on_unimplemented(
    message = "a task cannot return `{Self}`",
    label = "not a return type the scheduler understands",
    note = "return `()`, or `Result<(), E>` where `E: Into<Box<dyn Error + Send + Sync>>`",
    note = "a closure that makes a future goes to `task_async` or `add_async`"
)]
pub trait TaskOutput {
    /// The value as the scheduler sees it.
    #[doc(hidden)]
    fn into_task_result(self) -> TaskResult;
}

impl TaskOutput for () {
    fn into_task_result(self) -> TaskResult {
        Ok(())
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> TaskOutput for Result<(), E> {
    fn into_task_result(self) -> TaskResult {
        self.map_err(|error| TaskError::from_error(&*error.into()))
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
