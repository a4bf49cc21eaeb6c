//! The ways to start.

use std::io;
use std::io::Write;

use scheduler_core::Run;

use super::Scheduler;
use super::builder::Builder;
use super::context::Context;
use super::launch::has_async;
use super::launch::launch;
use super::prepare::Prepared;
use super::prepare::Purpose;
use super::prepare::prepare;
use super::signals::Signals;
use crate::error::StartError;
use crate::registrar::Planned;
use crate::report::Message;

/// What a person who has not read the documentation may want to know when stopping takes long.
const HINT: &str = "Ctrl-C again to quit now";

impl Builder {
    /// Starts all tasks, blocks until Ctrl-C or SIGTERM, and lets running tasks finish.
    ///
    /// With `SCHEDULER_DRY_RUN=1` in the environment it prints [what `dry_run` says](Self::dry_run) to stdout,
    /// and returns without having started anything.
    ///
    /// ```no_run
    /// use scheduler::Scheduler;
    ///
    /// struct Database;
    ///
    /// fn main() -> Result<(), scheduler::StartError> {
    ///     Scheduler::builder().pool_size(4).manage(Database).start()
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// When nothing could be started, with everything that is wrong in one error; or when tasks had
    /// not ended within the [limit](Self::await_termination) ([`StartError::is_not_drained`]).
    pub fn start(mut self) -> Result<(), StartError> {
        if Context::is_only_thread() {
            return Err(StartError::blocks_runtime());
        }
        let signals = reserve_signals()?;
        let Some(prepared) = self.prepare_to_start(false)? else { return Ok(()) };
        let scheduler = launch(self, prepared, || signals.take())?;
        signals.first().wait();
        scheduler.stop(HINT).map_err(StartError::from)
    }

    /// As [`start`](Self::start), inside an async `main`: holds no thread of the runtime.
    ///
    /// ```
    /// # fn main() {}
    /// # mod program {
    /// use scheduler::Scheduler;
    ///
    /// # /* The crate does not depend on Tokio, not even for its tests.
    /// #[tokio::main]
    /// # */
    /// async fn main() -> Result<(), scheduler::StartError> {
    ///     Scheduler::builder().pool_size(4).start_async().await
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_async(mut self) -> Result<(), StartError> {
        let signals = reserve_signals()?;
        let Some(prepared) = self.prepare_to_start(true)? else { return Ok(()) };
        let scheduler = launch(self, prepared, || signals.take())?;
        signals.first().await;
        scheduler.stop_async(HINT).await.map_err(StartError::from)
    }

    /// Starts all tasks and returns; installs no signal handler.
    ///
    /// Keep the answer: dropping it stops the tasks.
    ///
    /// With `SCHEDULER_DRY_RUN=1` in the environment it prints [what `dry_run` says](Self::dry_run) to stdout,
    /// and ends the process with exit code 0: the program would go on to serve otherwise.
    ///
    /// ```rust,standalone_crate
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .task("tick", Schedule::fixed_rate("1s"), |run| println!("tick {}", run.number()))
    ///     .spawn()?;
    /// // … serve requests …
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When a task cannot be started; then none is, and everything that is wrong is in the error.
    pub fn spawn(mut self) -> Result<Scheduler, StartError> {
        match self.prepare_to_start(false)? {
            Some(prepared) => launch(self, prepared, || Ok(())),
            None => std::process::exit(0),
        }
    }

    /// Every effective value and where it comes from, as a text; below them all remarks and warnings of a
    /// start. Nothing is started.
    ///
    /// ```rust,standalone_crate
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let builder = Scheduler::builder()
    ///     .task("purge", Schedule::fixed_delay("30s"), |_| {})
    ///     .environment([("SCHEDULER_TASKS_PURGE_FIXED_DELAY", "1m")]);
    /// let report = builder.dry_run()?;
    /// assert!(report.contains("env SCHEDULER_TASKS_PURGE_FIXED_DELAY"));
    /// # Ok::<(), scheduler::StartError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn dry_run(mut self) -> Result<String, StartError> {
        Ok(prepare(&mut self, Purpose::Report)?.report.unwrap_or_default())
    }

    /// None if a dry run was asked for, which has then been made.
    fn prepare_to_start(&mut self, is_in_async_code: bool) -> Result<Option<Prepared>, StartError> {
        let mut prepared = prepare(self, Purpose::Start)?;
        let Some(report) = &prepared.report else {
            prepared.remarks.extend(without_tokio(&prepared.planned, is_in_async_code));
            return Ok(Some(prepared));
        };
        print(report);
        Ok(None)
    }
}

/// Prints what a person has asked for to stdout, whatever the logger; where that is closed, it is lost.
fn print(report: &str) {
    let mut stdout = io::stdout().lock();
    drop(stdout.write_all(report.as_bytes()).and_then(|()| stdout.flush()));
}

fn reserve_signals() -> Result<Signals, StartError> {
    if Run::current().is_some() {
        return Err(StartError::inside_task());
    }
    Signals::reserve()
}

/// What is to be known of async tasks where the feature `tokio` is off and a runtime of Tokio runs, or may well run.
fn without_tokio(planned: &[Planned], is_in_async_code: bool) -> Option<Message> {
    if cfg!(feature = "tokio") || !has_async(planned) {
        return None;
    }
    const HELP: &str = "help: cargo add scheduler --features tokio";
    if Context::is_beside_runtime() {
        let text = "a Tokio runtime is running, but the scheduler is built without it: async tasks cannot use its \
                    timers and sockets";
        return Some(Message::warn(text).note(HELP));
    }
    let text =
        "async tasks run on the built-in executor; Tokio's timers and sockets need a feature";
    is_in_async_code.then(|| Message::info(text).note(HELP))
}
