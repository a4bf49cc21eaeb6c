//! A scheduled function with all its arguments except the run.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::task_return::{TaskReturn, into_task_result};
use crate::run::{BoxFuture, Run, TaskResult};

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
