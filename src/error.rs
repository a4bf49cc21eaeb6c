//! Why the scheduler did not start, or did not stop cleanly.

use std::fmt;

/// Why [`start`](crate::start) or [`spawn`](crate::Builder::spawn) failed.
///
/// Everything that is wrong with tasks and settings is in one error, and nothing has run then; a settings file that
/// cannot be read is told of alone. See [`is_not_drained`](Self::is_not_drained) for an error after the runs.
/// `Debug` shows the same text as `Display`, so that `fn main() -> Result<(), scheduler::StartError>` prints it for
/// people.
///
/// ```rust,standalone_crate
/// use scheduler::{Schedule, Scheduler};
///
/// let error = Scheduler::builder()
///     .task("report", Schedule::cron("0 0 25 * * *"), |_| {})
///     .task("sweep", Schedule::fixed_rate("0s"), |_| {})
///     .spawn()
///     .unwrap_err();
/// assert_eq!(error.faults().len(), 2);
/// assert!(error.faults()[0].contains("hour `25` is out of range 0-23"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StartError {
    kind: Kind,
}

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    /// Faults of tasks and settings, each with its place.
    Faults(Vec<String>),
    AlreadyRunning,
    InsideTask,
    Signals(String),
    Pool(String),
    #[cfg_attr(not(feature = "tokio"), expect(dead_code, reason = "only Tokio has runtimes"))]
    Runtime(String),
    BlocksRuntime,
    NotDrained(StopError),
}

/// Tasks that were still running when the time to stop was over.
///
/// They were asked to stop then; whatever still runs ends with the process. Also the answer to a
/// [`shutdown`](crate::Scheduler::shutdown) that does not wait at all: inside a
/// [task of the scheduler](Self::is_inside_task), and on the only thread of a Tokio runtime.
///
/// ```rust,standalone_crate
/// use scheduler::{Schedule, Scheduler};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .await_termination(Duration::from_secs(5))
///     .task("tick", Schedule::fixed_rate("1s"), |_| {})
///     .spawn()?;
/// if let Err(error) = scheduler.shutdown() {
///     eprintln!("these did not end: {:?}", error.running());
/// }
/// # Ok::<(), scheduler::StartError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StopError {
    why: NotEnded,
    running: Vec<String>,
    /// The same in backticks.
    shown: String,
}

#[derive(Clone, PartialEq, Eq)]
enum NotEnded {
    /// They have had so much time.
    Within(String),
    /// The stop was asked for inside this task, which cannot wait for itself.
    Inside,
    /// To wait would block the only thread of a Tokio runtime.
    BlocksRuntime,
}

impl StopError {
    /// The names of the tasks that had not ended.
    #[must_use]
    pub fn running(&self) -> &[String] {
        &self.running
    }

    /// Whether a task asked its own scheduler to shut down: that stops without the task waiting for it.
    #[must_use]
    pub fn is_inside_task(&self) -> bool {
        self.why == NotEnded::Inside
    }

    /// The names of the tasks, and how they are shown.
    pub(crate) fn new(limit: String, (running, shown): (Vec<String>, String)) -> Self {
        Self { why: NotEnded::Within(limit), running, shown }
    }

    pub(crate) fn inside_task((running, shown): (Vec<String>, String)) -> Self {
        Self { why: NotEnded::Inside, running, shown }
    }

    pub(crate) fn blocks_runtime() -> Self {
        Self { why: NotEnded::BlocksRuntime, running: Vec::new(), shown: String::new() }
    }
}

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = &self.shown;
        match &self.why {
            NotEnded::Within(limit) => write!(f, "stopped after waiting {limit}: ")?,
            NotEnded::Inside => {
                return write!(
                    f,
                    "the scheduler stops, and its task {tasks}, which has asked for that, cannot wait for it\n  \
                     help: shut it down in main, or on a thread that is none of its own"
                );
            }
            NotEnded::BlocksRuntime => {
                return f.write_str(
                    "the scheduler stops, but to wait for it would block the only thread of this Tokio \
                     runtime, so that async tasks could never end\n  \
                     help: write `scheduler.shutdown_async().await`",
                );
            }
        }
        match self.running.len() {
            1 => write!(f, "1 task had not ended: {tasks}"),
            count => write!(f, "{count} tasks had not ended: {tasks}"),
        }
    }
}

impl fmt::Debug for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for StopError {}

impl From<StopError> for StartError {
    fn from(error: StopError) -> Self {
        Self { kind: Kind::NotDrained(error) }
    }
}

impl StartError {
    /// Whether another scheduler of this process waits for the signals.
    #[must_use]
    pub fn is_already_running(&self) -> bool {
        matches!(self.kind, Kind::AlreadyRunning)
    }

    /// Whether the scheduler ran, but tasks were still running when the time to stop was over.
    #[must_use]
    pub fn is_not_drained(&self) -> bool {
        matches!(self.kind, Kind::NotDrained(_))
    }

    /// Everything that is wrong, one text for each fault.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        match &self.kind {
            Kind::Faults(faults) => faults,
            _ => &[],
        }
    }

    pub(crate) fn of_faults(faults: Vec<String>) -> Self {
        Self { kind: Kind::Faults(faults) }
    }

    pub(crate) fn already_running() -> Self {
        Self { kind: Kind::AlreadyRunning }
    }

    pub(crate) fn inside_task() -> Self {
        Self { kind: Kind::InsideTask }
    }

    pub(crate) fn signals(reason: impl fmt::Display) -> Self {
        Self { kind: Kind::Signals(reason.to_string()) }
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn runtime(reason: impl fmt::Display) -> Self {
        Self { kind: Kind::Runtime(reason.to_string()) }
    }

    pub(crate) fn blocks_runtime() -> Self {
        Self { kind: Kind::BlocksRuntime }
    }

    /// The start was given up meanwhile.
    pub(crate) fn not_running() -> Self {
        Self::pool("the scheduler is not running")
    }

    pub(crate) fn pool(reason: impl fmt::Display) -> Self {
        Self { kind: Kind::Pool(reason.to_string()) }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Faults(faults) => list(f, ("cannot start", ", and nothing has run"), faults),
            Kind::AlreadyRunning => f.write_str(
                "cannot start: a scheduler of this process is already running\n  \
                 help: `start` is for the one that ends with Ctrl-C; \
                 use Scheduler::builder().spawn() for others",
            ),
            Kind::InsideTask => f.write_str(
                "cannot start: `start` was called inside a task, which would wait for itself\n  \
                 help: call it in main",
            ),
            Kind::Signals(reason) => write!(
                f,
                "cannot start: no handler for Ctrl-C and SIGTERM can be installed: {reason}\n  \
                 help: if the program has one of its own, use Scheduler::builder().spawn() and \
                 call shutdown() there"
            ),
            Kind::Runtime(reason) => {
                write!(f, "cannot start: no Tokio runtime can be built for async tasks: {reason}")
            }
            Kind::BlocksRuntime => f.write_str(
                "cannot start: `start` would block the only thread of this Tokio runtime, \
                 so that async tasks could never go on\n  \
                 help: write `scheduler::start_async().await`",
            ),
            Kind::Pool(reason) => write!(f, "cannot start: {reason}"),
            Kind::NotDrained(error) => error.fmt(f),
        }
    }
}

/// Why a task could not be [added](crate::Tasks::add) to a running scheduler.
///
/// ```rust,standalone_crate
/// use scheduler::{Schedule, Scheduler};
///
/// let scheduler = Scheduler::builder().spawn()?;
/// let tasks = scheduler.tasks();
/// tasks.add("feed-7", Schedule::fixed_rate("1h"), |_| {})?;
/// let error = tasks.add("feed-7", Schedule::fixed_rate("1h"), |_| {}).unwrap_err();
/// assert!(error.is_name_taken());
/// let error = tasks.add("feed-8", Schedule::fixed_rate("soon"), |_| {}).unwrap_err();
/// assert_eq!(error.faults().len(), 1);
/// scheduler.shutdown()?;
/// assert!(tasks.add("feed-9", Schedule::once("0s"), |_| {}).unwrap_err().is_stopping());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct AddError {
    kind: Refusal,
}

#[derive(Clone, PartialEq, Eq)]
enum Refusal {
    /// What is wrong with the task, each with its place.
    Faults(Vec<String>),
    NameTaken(String),
    Stopping(String),
    /// What an async task needs could not be had: the task, and why.
    Start(String, StartError),
}

impl AddError {
    /// Returns true if there is a task of this name that has not ended.
    #[must_use]
    pub fn is_name_taken(&self) -> bool {
        matches!(self.kind, Refusal::NameTaken(_))
    }

    /// Returns true if the scheduler is stopping, or has stopped.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        matches!(self.kind, Refusal::Stopping(_))
    }

    /// What is wrong with the name, the schedule or the settings of the task, one text for each fault; nothing
    /// where the task is as it should be.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        match &self.kind {
            Refusal::Faults(faults) => faults,
            _ => &[],
        }
    }

    pub(crate) fn of_faults(faults: Vec<String>) -> Self {
        Self { kind: Refusal::Faults(faults) }
    }

    pub(crate) fn name_taken(task: &str) -> Self {
        Self { kind: Refusal::NameTaken(task.to_owned()) }
    }

    pub(crate) fn stopping(task: &str) -> Self {
        Self { kind: Refusal::Stopping(task.to_owned()) }
    }

    pub(crate) fn of_start(task: &str, error: StartError) -> Self {
        Self { kind: Refusal::Start(task.to_owned(), error) }
    }
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Refusal::Faults(faults) => list(f, ("cannot add the task", ""), faults),
            Refusal::NameTaken(task) => write!(
                f,
                "cannot add task `{task}`: there is a task of this name\n  \
                 help: remove it before, or choose another name"
            ),
            Refusal::Stopping(task) => {
                write!(f, "cannot add task `{task}`: the scheduler is stopping, or has stopped")
            }
            Refusal::Start(task, error) => write!(f, "cannot add task `{task}`: {error}"),
        }
    }
}

impl fmt::Debug for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for AddError {}

/// A heading of a beginning and an end, and all faults below it.
fn list(
    f: &mut fmt::Formatter<'_>,
    (beginning, end): (&str, &str),
    faults: &[String],
) -> fmt::Result {
    match faults.len() {
        1 => write!(f, "{beginning}: 1 fault was found{end}")?,
        count => write!(f, "{beginning}: {count} faults were found{end}")?,
    }
    for fault in faults {
        for (index, line) in fault.lines().enumerate() {
            write!(f, "\n{}{line}", if index == 0 { "  - " } else { "    " })?;
        }
    }
    Ok(())
}

impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for StartError {}
