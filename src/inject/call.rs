//! A scheduled function with all its arguments but the run.

use std::fmt;
use std::sync::Arc;

use crate::run::BoxFuture;
use crate::run::Run;
use crate::run::TaskResult;

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

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync(_) => "Sync",
            Self::Async(_) => "Async",
        })
    }
}
