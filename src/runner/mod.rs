//! Runs the planned tasks: from the start, through the signals, to the end.
//!
//! # What this room is for
//!
//! [`Builder`] collects what the program says; starting it prepares everything (`prepare`), makes the pools and
//! the conductor of each task, asks triggers of the program's, speaks the banner, and submits the tasks
//! (`launch`). [`Scheduler`] is the running thing: it is shut down, or stops when it is dropped. Its tasks are in the
//! `registry`, which finds them by name; `adding` brings them there.
//!
//! # What it must never do
//!
//! Start one task before all are known to be good. Install a signal handler behind the back of a
//! program that only called `spawn`, or whose start fails. Wait without a limit for a task that does not end.
//!
//! # States
//!
//! A scheduler runs from `spawn` until it is stopped. Stopping starts no new runs and waits for those
//! in progress; after the limit it asks them to stop and waits for them once more, for `stop::GRACE`.

mod adding;
mod annotated;
mod builder;
mod context;
mod departure;
#[cfg(unix)]
mod disposition;
mod fallbacks;
mod gone;
mod impatience;
mod launch;
mod launcher;
mod pools;
mod prepare;
mod registry;
mod signals;
mod simulation;
mod start;
mod stop;
mod task_control;
mod tasks;
mod zone;

pub use builder::Builder;
pub use pools::Pool;
#[cfg(feature = "testing")]
pub(crate) use simulation::Simulation;
use std::time::Duration;
use stop::Running;
pub use task_control::Pause;
pub use task_control::{Tagged, TaskControl};
pub use tasks::Tasks;

use crate::error::StartError;
use crate::error::StopError;
use crate::task::ControlError;
use crate::task::Until;

/// Starts all annotated tasks, blocks until Ctrl-C or SIGTERM, and lets running tasks finish.
///
/// A second Ctrl-C ends the process at once, with exit code 130. One that comes within 250 ms of the
/// first is taken for the same: `timeout -s INT` for example signals a program twice. Until all tasks are known to
/// be good, and after it has returned, signals do what they did before.
///
/// ```no_run
/// use scheduler::scheduled;
///
/// #[scheduled(fixed_rate = "1s")]
/// fn tick() {
///     println!("tick");
/// }
///
/// fn main() -> Result<(), scheduler::StartError> {
///     scheduler::start()
/// }
/// ```
///
/// # Errors
///
/// As [`Builder::start`].
pub fn start() -> Result<(), StartError> {
    Scheduler::builder().start()
}

/// As [`start`](start()), inside an async `main`: holds no thread of the runtime.
///
/// ```
/// # fn main() {}
/// # mod program {
/// # /* The crate does not depend on Tokio, not even for its tests.
/// #[tokio::main]
/// # */
/// async fn main() -> Result<(), scheduler::StartError> {
///     scheduler::start_async().await
/// }
/// # }
/// ```
///
/// # Errors
///
/// As [`Builder::start`].
pub async fn start_async() -> Result<(), StartError> {
    Scheduler::builder().start_async().await
}

/// The running scheduler, alongside the rest of a program.
///
/// It installs no signal handler. Dropping it stops all tasks and waits for none.
///
/// In the child of a `fork` without `exec` its threads are missing, and locks that they held stay locked: there, do
/// nothing with it, and end by `_exit` or `exec`.
///
/// ```rust,standalone_crate
/// use scheduler::Scheduler;
///
/// let scheduler = Scheduler::builder().spawn()?;
/// // … serve requests …
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping it stops all tasks; keep it, or use `scheduler::start()` to run until Ctrl-C"]
#[derive(Debug)]
pub struct Scheduler {
    running: Running,
    is_stopped: bool,
}

impl Scheduler {
    /// A builder with the default settings.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Starts no new runs, and waits until those in progress have ended.
    ///
    /// It blocks the calling thread. In async code write [`shutdown_async`](Self::shutdown_async).
    ///
    /// # Errors
    ///
    /// When tasks had not ended within the [limit](Builder::await_termination). At once where waiting would keep
    /// tasks from ending: inside a task of this scheduler ([`StopError::is_inside_task`]), and with the feature
    /// `tokio` on the only thread of a runtime. The scheduler stops all the same then.
    pub fn shutdown(self) -> Result<(), StopError> {
        self.stop("")
    }

    /// As [`shutdown`](Self::shutdown), without blocking the calling thread.
    ///
    /// ```
    /// # fn main() {}
    /// # mod program {
    /// # /* The crate does not depend on Tokio, not even for its tests.
    /// #[tokio::main]
    /// # */
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let scheduler = scheduler::Scheduler::builder().spawn()?;
    ///     // … serve requests …
    ///     scheduler.shutdown_async().await?;
    ///     Ok(())
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When tasks had not ended within the [limit](Builder::await_termination). At once inside a task of this
    /// scheduler ([`StopError::is_inside_task`]).
    pub async fn shutdown_async(self) -> Result<(), StopError> {
        self.stop_async("").await
    }

    /// The tasks, to be looked at and controlled.
    #[must_use]
    pub fn tasks(&self) -> Tasks {
        self.running.tasks.clone()
    }

    /// Blocks until a task has had so many runs: see [`TaskControl::wait_for`].
    ///
    /// # Errors
    ///
    /// As [`Tasks::wait_for`].
    pub fn wait_for(&self, name: &str, until: Until, limit: Duration) -> Result<(), ControlError> {
        self.running.tasks.wait_for(name, until, limit)
    }

    fn new(running: Running) -> Self {
        Self { running, is_stopped: false }
    }
}

#[cfg(test)]
mod tests {
    use super::Scheduler;

    #[test]
    fn words_that_cannot_be_said_do_not_keep_it_from_stopping() {
        let builder = Scheduler::builder().messages(|text| panic!("`{text}` cannot be said"));
        let scheduler = builder.spawn().expect("it starts");
        scheduler.shutdown().expect("it stops");
    }
}
