//! One run of a scheduled task: what the task is told of it, and what came of it.
//!
//! # What this room is for
//!
//! [`Run`] is handed to a task that asks for it: which run this is, for when it was planned, why it
//! happens, and whether it shall stop. [`Shutdown`] is the scheduler's wish to stop, for tasks that
//! look far ahead. [`TaskError`] is what a failed run leaves behind.
//!
//! # What it must never do
//!
//! Decide anything. It knows no schedule and no pool; the conductor of a task makes its runs.

mod shutdown;
mod task_error;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use chrono::DateTime;
use chrono::Utc;

pub use shutdown::Shutdown;
pub use task_error::TaskError;

/// What one run of a scheduled function came to.
pub type TaskResult = Result<(), TaskError>;

/// The run of an async scheduled function, ready to be polled.
pub type BoxFuture = Pin<Box<dyn Future<Output = TaskResult> + Send>>;

/// Why a run happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The task's schedule.
    Schedule,
    /// Somebody asked for it.
    Manual,
}

/// One run of a scheduled task, as the task sees it.
///
/// ```
/// use scheduler::{Run, scheduled};
///
/// #[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
/// fn report(run: Run) {
///     println!("the report of {}", run.fire_time());
/// }
/// ```
#[derive(Clone)]
pub struct Run {
    facts: Arc<Facts>,
}

/// What is known of a run when it starts.
pub(crate) struct Facts {
    pub(crate) task: Arc<str>,
    pub(crate) number: u64,
    pub(crate) attempt: u32,
    pub(crate) cause: Cause,
    pub(crate) fire_time: DateTime<Utc>,
    pub(crate) started_at: DateTime<Utc>,
}

impl Run {
    pub(crate) fn new(facts: Facts) -> Self {
        Self { facts: Arc::new(facts) }
    }

    /// A run outside of any scheduler.
    pub(crate) fn detached(task: &str) -> Self {
        let at = DateTime::UNIX_EPOCH;
        let (fire_time, started_at) = (at, at);
        let facts = Facts {
            task: task.into(),
            number: 1,
            attempt: 1,
            cause: Cause::Manual,
            fire_time,
            started_at,
        };
        Self::new(facts)
    }

    /// The name of the task.
    #[must_use]
    pub fn task_name(&self) -> &str {
        &self.facts.task
    }

    /// The how-manieth run of its task this is; the first is 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.facts.number
    }

    /// The how-manieth attempt of this run this is; the first is 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.facts.attempt
    }

    /// Why the run happens.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.facts.cause
    }

    /// The instant that the task's rule asked for, without jitter.
    #[must_use]
    pub fn fire_time(&self) -> DateTime<Utc> {
        self.facts.fire_time
    }

    /// When the run did start, as the wall clock told it.
    #[must_use]
    pub fn started_at(&self) -> DateTime<Utc> {
        self.facts.started_at
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("task", &self.facts.task)
            .field("number", &self.facts.number)
            .field("fire_time", &self.facts.fire_time)
            .finish_non_exhaustive()
    }
}
