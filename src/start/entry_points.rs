//! The ways to start, and tasks that two schedulers share.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Weak};

use scheduler_core::Run;

use crate::base::sync::Mutex;
use crate::start::builder::Builder;
use crate::start::context::Context;
use crate::start::error::StartError;
use crate::start::launch::{has_async, launch};
use crate::start::prepare::{DryRun, Prepared, Purpose, prepare};
use crate::start::report::{Message, tasks_shared_with_other_schedulers};
use crate::start::scheduler::Scheduler;
use crate::start::signals::Signals;
use crate::task::TaskSpec;

/// Printed when a stop takes long.
const HINT: &str = "Ctrl-C again to quit now";

/// Starts all annotated tasks, blocks until Ctrl-C or SIGTERM, and lets running tasks finish.
///
/// A second Ctrl-C ends the process at once, with exit code 130. A signal within 250 ms of the first counts as the same
/// one: `timeout -s INT`, for example, signals a program twice. Before all tasks are checked, and after the return,
/// signals do what they did before.
///
/// ```no_run,standalone_crate
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

impl Builder {
    /// Starts all tasks, blocks until Ctrl-C or SIGTERM, and lets running tasks finish.
    ///
    /// With `SCHEDULER_DRY_RUN=1` in the environment it prints the [`DryRun`] to stdout and returns; nothing is started.
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
            return Err(StartError::inside_runtime());
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
    /// Keep the result: dropping it stops the tasks.
    ///
    /// With `SCHEDULER_DRY_RUN=1` in the environment it prints the [`DryRun`] to stdout and returns
    /// [an error](StartError::is_dry_run); nothing is started.
    ///
    /// ```rust
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
    /// When a task cannot be started; then none is, and all faults are in the error. After a dry run.
    pub fn spawn(mut self) -> Result<Scheduler, StartError> {
        match self.prepare_to_start(false)? {
            Some(prepared) => launch(self, prepared, || Ok(())),
            None => Err(StartError::dry_run()),
        }
    }

    /// Checks everything that a start checks, and collects every effective value with its source. Starts nothing.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let builder = Scheduler::builder()
    ///     .task("purge", Schedule::fixed_delay("30s"), |_| {})
    ///     .environment([("SCHEDULER_TASKS_PURGE_FIXED_DELAY", "1m")]);
    /// let report = builder.dry_run()?.to_string();
    /// assert!(report.contains("env SCHEDULER_TASKS_PURGE_FIXED_DELAY"));
    /// # Ok::<(), scheduler::StartError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn dry_run(mut self) -> Result<DryRun, StartError> {
        Ok(prepare(&mut self, Purpose::Report)?.report.unwrap_or_default())
    }

    /// Returns `None` if `SCHEDULER_DRY_RUN` asks for a dry run, which is then printed.
    fn prepare_to_start(&mut self, is_in_async_code: bool) -> Result<Option<Prepared>, StartError> {
        let mut prepared = prepare(self, Purpose::Start)?;
        let Some(report) = &prepared.report else {
            prepared.remarks.extend(without_tokio(&prepared.specs, is_in_async_code));
            return Ok(Some(prepared));
        };
        // A closed stdout is no reason to fail.
        let mut stdout = io::stdout().lock();
        drop(write!(stdout, "{report}").and_then(|()| stdout.flush()));
        Ok(None)
    }
}

fn reserve_signals() -> Result<Signals, StartError> {
    if Run::current().is_some() {
        return Err(StartError::inside_task());
    }
    Signals::reserve()
}

/// A message if there are async tasks, the feature `tokio` is off, and a Tokio runtime probably runs.
fn without_tokio(specs: &[TaskSpec], is_in_async_code: bool) -> Option<Message> {
    if cfg!(feature = "tokio") || !has_async(specs.iter()) {
        return None;
    }
    const HELP: &str = "help: cargo add scheduler-rs --features tokio";
    if Context::is_beside_runtime() {
        let text = "a Tokio runtime is running, but the scheduler is built without it: async tasks cannot use its \
                    timers and sockets";
        return Some(Message::warn(text).note(HELP));
    }
    let text =
        "async tasks run on the built-in executor; Tokio's timers and sockets need a feature";
    is_in_async_code.then(|| Message::info(text).note(HELP))
}

/// The tasks of each running scheduler.
static RUNNING: Mutex<Vec<Weak<Annotated>>> = Mutex::new(Vec::new());

/// The names of the annotated tasks of a scheduler, registered until this is dropped.
#[derive(Debug)]
pub(super) struct Annotated {
    names: BTreeSet<Arc<str>>,
}

impl Annotated {
    /// Registers the tasks of a new scheduler. Returns a warning if other schedulers run some of them.
    pub(super) fn enter(specs: &[TaskSpec]) -> (Arc<Self>, Option<Message>) {
        let annotated = specs.iter().filter(|spec| spec.facts.function.is_some());
        let names = annotated.map(|spec| Arc::clone(spec.name())).collect();
        let entered = Arc::new(Self { names });
        let mut running = RUNNING.lock();
        let others: Vec<Arc<Self>> = running.iter().filter_map(Weak::upgrade).collect();
        running.retain(|other| other.strong_count() > 0);
        if !entered.names.is_empty() {
            running.push(Arc::downgrade(&entered));
        }
        drop(running);
        let is_shared = |name: &&Arc<str>| others.iter().any(|other| other.names.contains(*name));
        let shared: Vec<&str> =
            entered.names.iter().filter(is_shared).map(|name| &**name).collect();
        let warning = (!shared.is_empty()).then(|| tasks_shared_with_other_schedulers(&shared));
        (entered, warning)
    }
}
