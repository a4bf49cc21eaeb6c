//! Runs the planned tasks: from the start, through the signals, to the end.
//!
//! # What this room is for
//!
//! [`Builder`] collects settings; starting it plans all entries, speaks the banner, and submits the
//! tasks to a pool. [`Scheduler`] is the running thing: it is shut down, or stops when it is dropped.
//!
//! # What it must never do
//!
//! Start one task before all are known to be good. Install a signal handler behind the back of a
//! program that only called `spawn`. Wait without a limit for a task that does not end.
//!
//! # States
//!
//! A scheduler runs from `spawn` until it is stopped. Stopping starts no new runs and waits for those
//! in progress; after the limit it asks them to stop and gives them [`GRACE`] to do so.

mod builder;
mod context;
mod launch;
mod pools;
mod prepare;
mod signals;
mod start;
mod tasks;
mod watch;
mod zone;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub use builder::Builder;
use chrono::DateTime;
use chrono::Utc;
use context::Context;
pub use pools::Pool;
use pools::Pools;
use scheduler_core::Clock;
pub use tasks::Tasks;
use watch::Totals;
use watch::Watch;

use crate::error::StartError;
use crate::error::StopError;
use crate::notice::Notice;
use crate::observe::Event;
use crate::run::Shutdown;
use crate::speech::NotStopped;
use crate::speech::StillRunning;
use crate::speech::Stopped;
use crate::speech::Stopping;
use crate::speech::Voice;
use crate::speech::dropped_too_early;
use crate::speech::duration;
use crate::speech::on_one_line;

/// How long tasks have to end after they were asked to stop.
const GRACE: Duration = Duration::from_secs(1);

/// How long listeners have to hear the last events.
const FLUSH: Duration = Duration::from_secs(1);

/// Starts all annotated tasks, blocks until Ctrl-C or SIGTERM, and lets running tasks finish.
///
/// A second Ctrl-C ends the process at once, with exit code 130.
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

/// As [`start`], inside an async `main`: holds no thread of the runtime.
///
/// ```no_run
/// #[tokio::main]
/// async fn main() -> Result<(), scheduler::StartError> {
///     scheduler::start_async().await
/// }
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
/// ```
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

/// What a running scheduler is made of.
#[derive(Debug)]
pub(crate) struct Running {
    pools: Pools,
    watch: Arc<Watch>,
    voice: Voice,
    limit: Duration,
    clock: Arc<dyn Clock>,
    shutdown: Shutdown,
    tasks: Tasks,
    /// Dropped when the scheduler is: a runtime that was built for it ends then.
    _context: Option<Context>,
}

impl Scheduler {
    /// A builder with the default settings.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Starts no new runs, and waits until those in progress have ended.
    ///
    /// # Errors
    ///
    /// When tasks had not ended within the [limit](Builder::await_termination).
    pub fn shutdown(self) -> Result<(), StopError> {
        self.stop("")
    }

    /// As [`shutdown`](Self::shutdown), without blocking the calling thread.
    ///
    /// # Errors
    ///
    /// As [`shutdown`](Self::shutdown).
    pub async fn shutdown_async(self) -> Result<(), StopError> {
        self.stop_async("").await
    }

    /// The tasks, to be looked at and controlled.
    #[must_use]
    pub fn tasks(&self) -> Tasks {
        self.running.tasks.clone()
    }

    fn new(running: Running) -> Self {
        Self { running, is_stopped: false }
    }

    fn stop(mut self, hint: &str) -> Result<(), StopError> {
        self.is_stopped = true;
        // First of all, because saying so may take its time: a pipe is full, or a function slow.
        self.running.pools.shutdown();
        self.running.shutdown.request();
        let begun = self.running.watch.now();
        self.running.watch.bus().emit(Event::SchedulerStopping { at: begun });
        let (running, limit) = (self.running.watch.running(), self.running.limit);
        self.running.voice.say(&Stopping { running: &running, limit, hint }.message());
        let stopped = if self.await_end(limit) {
            Ok(())
        } else {
            let running = self.running.watch.running();
            self.running.pools.shutdown_now();
            let _ = self.await_end(GRACE);
            let left = self.running.watch.running();
            if !left.is_empty() {
                self.running.voice.say(&NotStopped { running: &left, limit }.message());
            }
            Err(StopError::new(duration(limit), names(&running)))
        };
        self.announce_end(begun);
        stopped
    }

    fn await_end(&self, limit: Duration) -> bool {
        self.running.pools.await_termination(&*self.running.clock, limit)
    }

    /// Stops on a thread of its own: the waiting is done by the pool's clock, which no runtime drives.
    async fn stop_async(self, hint: &'static str) -> Result<(), StopError> {
        let outcome = Notice::new();
        let given = outcome.clone();
        let (limit, watch) = (self.running.limit, Arc::clone(&self.running.watch));
        let thread = thread::Builder::new().name("scheduler-stop".to_owned());
        match thread.spawn(move || given.give(self.stop(hint))) {
            Ok(_) => outcome.await,
            // Without a thread to wait on, dropping has stopped the pool.
            Err(_) => Err(StopError::new(duration(limit), names(&watch.running()))),
        }
    }

    fn announce_end(&self, begun: DateTime<Utc>) {
        let at = self.running.watch.now();
        let took = (at - begun).to_std().unwrap_or_default();
        let Totals { runs, failures, skipped } = self.running.watch.totals();
        self.running.watch.bus().emit(Event::SchedulerStopped { at, took });
        self.running.watch.bus().flush(FLUSH);
        self.running.voice.say(&Stopped { took, runs, failures, skipped }.message());
    }
}

/// The names of tasks, in backticks.
fn names(running: &[StillRunning]) -> Vec<String> {
    running.iter().map(|each| format!("`{}`", on_one_line(&each.task))).collect()
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if !self.is_stopped {
            self.running.pools.shutdown_now();
            if self.running.watch.totals().runs == 0 && self.running.watch.has_tasks() {
                self.running.voice.say(&dropped_too_early());
            }
        }
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
