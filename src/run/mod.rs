//! One run of a scheduled task: what the task is told of it, and what came of it.
//!
//! # What this room is for
//!
//! [`Run`] is handed to a task that asks for it: which run this is, for when it was planned, why it
//! happens, and whether it shall stop; it lets the task wait on the scheduler's clock and leave notes.
//! [`Shutdown`] is the scheduler's wish to stop, for tasks that look far ahead. [`TaskError`] is what
//! a failed run leaves behind.
//!
//! # What it must never do
//!
//! Decide anything. It knows no schedule; the conductor of a task makes its runs, asks them to stop,
//! and declares them over.
//!
//! # How a neighbour uses it
//!
//! The conductor begins a [`Run`] at a [`Place`] for each attempt, and calls the task inside
//! [`Run::enter`], so that [`Run::current`] answers. What a run is made of serves the next run of the task
//! where nobody has kept it, so that a run costs no allocation.

mod attempt;
mod conducted;
mod current;
mod info;
mod notes;
mod shutdown;
mod stop;
mod task_error;
mod wait;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;

use attempt::Attempt;
pub(crate) use attempt::AttemptStart;
#[cfg(test)]
pub(crate) use attempt::Facts;
pub(crate) use attempt::Place;
pub use info::RunInfo;
pub(crate) use notes::shortened;
pub use shutdown::Shutdown;
pub(crate) use stop::StopCause;
pub use stop::Stopped;
pub use task_error::TaskError;

/// What one run of a scheduled function came to.
pub type TaskResult = Result<(), TaskError>;

/// The run of an async scheduled function, ready to be polled.
pub type BoxFuture = Pin<Box<dyn Future<Output = TaskResult> + Send>>;

/// Why a run happens.
///
/// ```
/// use scheduler::{Cause, Run, scheduled};
///
/// #[scheduled(cron = "@daily")]
/// fn report(run: Run) {
///     if run.cause() == Cause::Manual {
///         println!("somebody asked for it");
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Cause {
    /// The task's schedule.
    Schedule,
    /// A request: [`run_now`](crate::TaskControl::run_now).
    Manual,
}

impl Cause {
    /// The cause in one word: `schedule` or `manual`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Manual => "manual",
        }
    }
}

/// One run of a scheduled task, as the task sees it.
///
/// A run that is tried again is the same run: it keeps its [`number`](Self::number) and
/// [`fire_time`](Self::fire_time), and its [`attempt`](Self::attempt) grows. Clones are the same run;
/// they may outlive it, and be sent to other threads.
///
/// ```standalone_crate
/// use scheduler::{Run, scheduled};
///
/// #[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
/// fn report(run: Run) {
///     println!("the report of {}", run.fire_time());
///     if run.attempt() > 1 {
///         run.note("at last");
///     }
/// }
/// ```
#[derive(Clone)]
#[doc(alias = "JobExecutionContext")]
pub struct Run {
    attempt: Arc<Attempt>,
}

impl Run {
    /// The run that the calling thread executes; none outside a scheduled task.
    ///
    /// ```
    /// use scheduler::Run;
    ///
    /// assert!(Run::current().is_none());
    /// ```
    #[must_use]
    pub fn current() -> Option<Self> {
        current::get()
    }

    /// The name of the task.
    #[must_use]
    pub fn task_name(&self) -> &str {
        &self.attempt.facts.task
    }

    /// The how-manieth run of its task this is; the first is 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.attempt.facts.number
    }

    /// The how-manieth attempt of this run this is; the first is 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt.facts.attempt
    }

    /// Why the run happens.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.attempt.facts.cause
    }

    /// The instant that the task's rule asked for, without jitter; of a manual run, when it was begun.
    #[must_use]
    #[doc(alias = "getScheduledFireTime")]
    pub fn fire_time(&self) -> DateTime<Utc> {
        self.attempt.facts.fire_time.to_utc()
    }

    /// When this attempt was to start: the fire time and jitter, or the end of the wait after the
    /// attempt before.
    #[must_use]
    pub fn due(&self) -> DateTime<Utc> {
        self.attempt.due.to_utc()
    }

    /// When this attempt did start, as the wall clock told it.
    #[must_use]
    #[doc(alias = "getFireTime")]
    pub fn started_at(&self) -> DateTime<Utc> {
        self.attempt.facts.started_at.to_utc()
    }

    /// How much later than it was [`due`](Self::due) this attempt started.
    ///
    /// ```standalone_crate
    /// use scheduler::{Run, scheduled};
    /// use std::time::Duration;
    ///
    /// #[scheduled(fixed_rate = "1s")]
    /// fn sample(run: Run) {
    ///     if run.lateness() > Duration::from_millis(100) {
    ///         run.note("too late to be of use");
    ///         return;
    ///     }
    ///     println!("a sample");
    /// }
    /// ```
    #[must_use]
    pub fn lateness(&self) -> Duration {
        self.attempt.facts.started_at.since(self.attempt.due)
    }

    /// Whether this run is asked to stop: it was cancelled, its `timeout` is over, or the scheduler
    /// has stopped and waited long enough.
    ///
    /// It is a request that the task may follow. (The future of an async task need not ask: it is
    /// dropped where it awaits.) What [`Shutdown`] tells comes earlier: no new runs start, and this one
    /// may finish.
    ///
    /// ```standalone_crate
    /// use scheduler::{Run, scheduled};
    ///
    /// #[scheduled(fixed_delay = "1h")]
    /// fn import(run: Run) -> Result<(), &'static str> {
    ///     for part in 0..1_000 {
    ///         if run.is_cancelled() {
    ///             return Err("stopped half-way");
    ///         }
    ///         println!("part {part}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    #[doc(alias = "isInterrupted")]
    pub fn is_cancelled(&self) -> bool {
        let stage = self.attempt.stage.as_ref();
        self.attempt.stop.is_asked()
            || stage.is_some_and(|stage| stage.engine().is_cancelled() || stage.left().is_zero())
    }

    /// Leaves a note that is kept with the record of this run: at most 16 of them, each of at most
    /// 1,024 bytes.
    ///
    /// ```standalone_crate
    /// use scheduler::{Run, scheduled};
    ///
    /// #[scheduled(fixed_delay = "1h")]
    /// fn purge(run: Run) {
    ///     let removed = 17;
    ///     run.note(format!("{removed} sessions removed"));
    /// }
    /// ```
    pub fn note(&self, text: impl AsRef<str>) {
        self.attempt.notes.add(text.as_ref());
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("task", &self.attempt.facts.task)
            .field("number", &self.attempt.facts.number)
            .field("attempt", &self.attempt.facts.attempt)
            .field("fire_time", &self.attempt.facts.fire_time)
            .finish_non_exhaustive()
    }
}
