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
mod pools;
mod signals;
mod zone;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::notice::Notice;
pub use builder::Builder;
pub use pools::Pool;
use scheduler_core::ScheduledThreadPool;

use crate::error::StartError;
use crate::error::StopError;
use crate::speech::Reporter;
use crate::speech::Voice;
use crate::speech::duration;

/// How long tasks have to end after they were asked to stop.
const GRACE: Duration = Duration::from_secs(1);

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
    pool: ScheduledThreadPool,
    reporter: Arc<Reporter>,
    voice: Voice,
    limit: Duration,
    is_stopped: bool,
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

    fn new(
        pool: ScheduledThreadPool,
        reporter: Arc<Reporter>,
        voice: Voice,
        limit: Duration,
    ) -> Self {
        Self { pool, reporter, voice, limit, is_stopped: false }
    }

    fn stop(mut self, hint: &str) -> Result<(), StopError> {
        self.is_stopped = true;
        // First of all, because saying so may take its time: a pipe is full, or a function slow.
        self.pool.shutdown();
        self.announce_stop(hint);
        if self.pool.await_termination(self.limit) {
            self.announce_end();
            return Ok(());
        }
        let running = self.reporter.running();
        drop(self.pool.shutdown_now());
        let _ = self.pool.await_termination(GRACE);
        Err(StopError::new(duration(self.limit), running))
    }

    /// Stops on a thread of its own: the waiting is done by the pool's clock, which no runtime drives.
    async fn stop_async(self, hint: &'static str) -> Result<(), StopError> {
        let outcome = Notice::new();
        let given = outcome.clone();
        let (limit, reporter) = (self.limit, Arc::clone(&self.reporter));
        let thread = thread::Builder::new().name("scheduler-stop".to_owned());
        match thread.spawn(move || given.give(self.stop(hint))) {
            Ok(_) => outcome.await,
            // Without a thread to wait on, dropping has stopped the pool.
            Err(_) => Err(StopError::new(duration(limit), reporter.running())),
        }
    }

    fn announce_stop(&self, hint: &str) {
        let running = self.reporter.running();
        let mut text = "INFO  stopping: no new runs".to_owned();
        if !running.is_empty() {
            let (limit, tasks) = (duration(self.limit), running.join(", "));
            text.push_str(&format!("; waiting up to {limit} for {tasks}"));
            if !hint.is_empty() {
                text.push_str(&format!(" — {hint}"));
            }
        }
        self.voice.say(&text);
    }

    fn announce_end(&self) {
        let tally = self.reporter.tally();
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        self.voice.say(&format!(
            "INFO  stopped: {} run{}, {} failure{}",
            tally.runs,
            plural(tally.runs),
            tally.failures,
            plural(tally.failures)
        ));
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if !self.is_stopped {
            drop(self.pool.shutdown_now());
            if self.reporter.tally().runs == 0 && self.reporter.has_tasks() {
                self.voice.say(
                    "WARN  the scheduler was dropped before any task ran\n      \
                     help: keep it: `let scheduler = Scheduler::builder().spawn()?;`, \
                     or use scheduler::start() to run until Ctrl-C",
                );
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
