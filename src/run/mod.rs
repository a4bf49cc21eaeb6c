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
//! The conductor makes a [`Run`] from [`Facts`] and a [`Stage`] for each attempt, and calls the task
//! inside [`Run::enter`], so that [`Run::current`] answers.

mod current;
mod shutdown;
mod stop;
mod task_error;
mod wait;

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::Weak;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Clock;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::Tick;

pub use shutdown::Shutdown;
use stop::Stop;
pub(crate) use stop::StopCause;
pub use stop::Stopped;
pub use task_error::TaskError;

/// What one run of a scheduled function came to.
pub type TaskResult = Result<(), TaskError>;

/// The run of an async scheduled function, ready to be polled.
pub type BoxFuture = Pin<Box<dyn Future<Output = TaskResult> + Send>>;

/// How many notes of a run are kept; later ones are dropped.
const NOTES_MAX: usize = 16;

/// How many bytes of a note are kept.
const NOTE_BYTES_MAX: usize = 1_024;

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

/// One attempt of a run.
struct Attempt {
    facts: Facts,
    due: DateTime<Utc>,
    stage: Option<Stage>,
    stop: Stop,
    notes: Mutex<Vec<Box<str>>>,
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

/// Where a run takes place.
pub(crate) struct Stage {
    /// When it was due: its fire time, and jitter.
    pub(crate) due: DateTime<Utc>,
    /// The run as the engine sees it.
    pub(crate) engine: scheduler_core::Run,
    /// RACE: weak, because a run may be kept by its task, and must not keep the pool from ending.
    pub(crate) pool: Weak<ScheduledThreadPool>,
    /// When the time of this attempt is over, and the clock that says so: all workers may be busy when
    /// it is, and then nobody asks the run to stop.
    pub(crate) deadline: Option<(Tick, Arc<dyn Clock>)>,
}

impl Run {
    /// A run that takes place nowhere, for tests of code that is told of runs.
    #[cfg(test)]
    pub(crate) fn new(facts: Facts) -> Self {
        let due = facts.fire_time;
        Self::with(facts, due, None)
    }

    /// An attempt of a run that begins now.
    pub(crate) fn on_stage(facts: Facts, stage: Stage) -> Self {
        let due = stage.due;
        Self::with(facts, due, Some(stage))
    }

    /// A run outside of any scheduler.
    pub(crate) fn detached(task: &str) -> Self {
        let facts = Facts {
            task: task.into(),
            number: 1,
            attempt: 1,
            cause: Cause::Manual,
            fire_time: DateTime::UNIX_EPOCH,
            started_at: DateTime::UNIX_EPOCH,
        };
        Self::with(facts, DateTime::UNIX_EPOCH, None)
    }

    fn with(facts: Facts, due: DateTime<Utc>, stage: Option<Stage>) -> Self {
        let (stop, notes) = (Stop::default(), Mutex::default());
        Self { attempt: Arc::new(Attempt { facts, due, stage, stop, notes }) }
    }

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
        self.attempt.facts.fire_time
    }

    /// When this attempt was to start: the fire time and jitter, or the end of the wait after the
    /// attempt before.
    #[must_use]
    pub fn due(&self) -> DateTime<Utc> {
        self.attempt.due
    }

    /// When this attempt did start, as the wall clock told it.
    #[must_use]
    #[doc(alias = "getFireTime")]
    pub fn started_at(&self) -> DateTime<Utc> {
        self.attempt.facts.started_at
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
        (self.started_at() - self.due()).to_std().unwrap_or_default()
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
            || stage.is_some_and(|stage| stage.engine.is_cancelled() || stage.left().is_zero())
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
        let text = text.as_ref();
        let mut end = text.len().min(NOTE_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut notes = self.attempt.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MAX {
            notes.push(text[..end].into());
        }
    }

    /// Calls `step` with this run as the [`current`](Self::current) one.
    pub(crate) fn enter<R>(&self, step: impl FnOnce() -> R) -> R {
        let _entered = current::enter(self.clone());
        step()
    }

    /// Makes the request to stop, and says whether it was not made before. To be followed, with no
    /// lock held, by [`heed_stop`](Self::heed_stop).
    pub(crate) fn request_stop(&self, cause: StopCause) -> bool {
        self.attempt.stop.ask(cause)
    }

    /// Ends the waits of a run that was asked to stop, and has its future polled once more.
    pub(crate) fn heed_stop(&self) {
        if let Some(stage) = &self.attempt.stage {
            stage.engine.ask_to_stop();
        }
    }

    /// Whether the pool has asked the run to stop, because it shuts down.
    pub(crate) fn is_stopped_by_pool(&self) -> bool {
        self.stop_cause().is_none() && self.is_cancelled()
    }

    /// Why the run was asked to stop, where it was.
    pub(crate) fn stop_cause(&self) -> Option<StopCause> {
        self.attempt.stop.cause()
    }

    pub(crate) fn is_same_attempt(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.attempt, &other.attempt)
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.attempt.facts.task
    }

    /// Takes the notes out, for the record or the next attempt.
    pub(crate) fn take_notes(&self) -> Vec<Box<str>> {
        let mut notes = self.attempt.notes.lock().unwrap_or_else(PoisonError::into_inner);
        mem::take(&mut notes)
    }

    /// Gives a new attempt the notes of the one before.
    pub(crate) fn keep_notes(&self, kept: Vec<Box<str>>) {
        *self.attempt.notes.lock().unwrap_or_else(PoisonError::into_inner) = kept;
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
