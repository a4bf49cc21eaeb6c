//! Errors of the start, of the stop, and of added tasks.

use std::error::Error;
use std::fmt;

use crate::run::TaskError;

/// Why [`start`](crate::start()) or [`spawn`](crate::Builder::spawn) failed.
///
/// All faults of tasks and settings are in one error, and nothing has run. Only a settings file that cannot be read is
/// reported alone. An error after the runs is [`is_not_drained`](Self::is_not_drained).
///
/// `Debug` writes what `Display` writes and the causes, so that `fn main() -> Result<(), scheduler::StartError>` prints
/// text for people.
///
/// ```rust
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
    kind: StartErrorKind,
}

#[derive(Clone, PartialEq, Eq)]
enum StartErrorKind {
    /// Faults of tasks and settings, each with its place.
    Faults(Vec<String>),
    AlreadyRunning,
    DryRun,
    InsideTask,
    InsideRuntime,
    Refused(Refused),
    NotDrained(StopError),
}

/// The operating system refused something.
#[derive(Clone, PartialEq, Eq)]
struct Refused {
    what: String,
    help: &'static str,
    cause: Option<TaskError>,
}

/// The message of an async task without a runtime.
pub(crate) const NO_RUNTIME: &str = "no Tokio runtime can be built for async tasks";

const SIGNALS_HELP: &str = "\n  help: if the program has one of its own, use Scheduler::builder().spawn() and call \
                            shutdown() there";

impl StartError {
    /// All faults of tasks and settings, one text for each.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        match &self.kind {
            StartErrorKind::Faults(faults) => faults,
            _ => &[],
        }
    }

    /// Returns true if another scheduler of this process waits for the signals.
    #[must_use]
    pub fn is_already_running(&self) -> bool {
        self.kind == StartErrorKind::AlreadyRunning
    }

    /// Returns true if `SCHEDULER_DRY_RUN` is set: [`spawn`](crate::Builder::spawn) printed the
    /// [`DryRun`](crate::DryRun) and started nothing.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.kind == StartErrorKind::DryRun
    }

    /// Returns true if `start` was called inside a task, which would wait for itself.
    #[must_use]
    pub fn is_inside_task(&self) -> bool {
        self.kind == StartErrorKind::InsideTask
    }

    /// Returns true if `start` was called on the only thread of a Tokio runtime, which it would block.
    #[must_use]
    pub fn is_inside_runtime(&self) -> bool {
        self.kind == StartErrorKind::InsideRuntime
    }

    /// Returns true if the operating system refused a thread, a signal handler or a runtime;
    /// [`source`](Error::source) says why.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self.kind, StartErrorKind::Refused(_))
    }

    /// Returns true if the scheduler ran, and tasks were still running when the time to stop was over.
    #[must_use]
    pub fn is_not_drained(&self) -> bool {
        self.stop_error().is_some()
    }

    /// The error of the stop, if the scheduler ran and did not stop cleanly.
    #[must_use]
    pub fn stop_error(&self) -> Option<&StopError> {
        match &self.kind {
            StartErrorKind::NotDrained(error) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn of_faults(faults: Vec<String>) -> Self {
        Self { kind: StartErrorKind::Faults(faults) }
    }

    pub(crate) fn already_running() -> Self {
        Self { kind: StartErrorKind::AlreadyRunning }
    }

    pub(crate) fn dry_run() -> Self {
        Self { kind: StartErrorKind::DryRun }
    }

    pub(crate) fn inside_task() -> Self {
        Self { kind: StartErrorKind::InsideTask }
    }

    pub(crate) fn inside_runtime() -> Self {
        Self { kind: StartErrorKind::InsideRuntime }
    }

    pub(crate) fn signals(cause: impl Error) -> Self {
        let what = "no handler for Ctrl-C and SIGTERM can be installed".to_owned();
        let cause = Some(TaskError::from_error(&cause));
        Self { kind: StartErrorKind::Refused(Refused { what, help: SIGNALS_HELP, cause }) }
    }

    pub(crate) fn refused(what: impl Into<String>, cause: &dyn Error) -> Self {
        let cause = Some(TaskError::from_error(cause));
        Self { kind: StartErrorKind::Refused(Refused { what: what.into(), help: "", cause }) }
    }

    /// The pool of a task has no thread.
    pub(crate) fn not_begun(what: String) -> Self {
        Self { kind: StartErrorKind::Refused(Refused { what, help: "", cause: None }) }
    }

    /// Another thread stopped the scheduler during its start.
    pub(crate) fn not_running() -> Self {
        Self::not_begun("the scheduler is not running".to_owned())
    }
}

impl From<StopError> for StartError {
    fn from(error: StopError) -> Self {
        Self { kind: StartErrorKind::NotDrained(error) }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.kind {
            StartErrorKind::Faults(faults) => {
                return list(f, "cannot start", ", and nothing has run", faults);
            }
            StartErrorKind::Refused(Refused { what, help, .. }) => {
                return write!(f, "cannot start: {what}{help}");
            }
            StartErrorKind::NotDrained(error) => return error.fmt(f),
            StartErrorKind::AlreadyRunning => {
                "cannot start: a scheduler of this process is already running\n  \
                 help: `start` is for the one that ends with Ctrl-C; \
                 use Scheduler::builder().spawn() for others"
            }
            StartErrorKind::DryRun => "nothing was started: SCHEDULER_DRY_RUN asks for a dry run",
            StartErrorKind::InsideTask => {
                "cannot start: `start` was called inside a task, which would wait for itself\n  \
                 help: call it in main"
            }
            StartErrorKind::InsideRuntime => {
                "cannot start: `start` would block the only thread of this Tokio runtime, \
                 so that async tasks could never go on\n  \
                 help: write `scheduler::start_async().await`"
            }
        })
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            StartErrorKind::Refused(Refused { cause: Some(cause), .. }) => Some(cause),
            _ => None,
        }
    }
}

/// Tasks were still running when the time to stop was over, or the stop could not be waited for.
///
/// The tasks were asked to stop; what still runs ends with the process. [`shutdown`](crate::Scheduler::shutdown) does
/// not wait inside a [task of the scheduler](Self::is_inside_task), nor on the
/// [only thread of a Tokio runtime](Self::is_inside_runtime).
///
/// ```rust
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
    kind: StopErrorKind,
    running: Vec<String>,
    /// The same in backticks.
    shown: String,
}

#[derive(Clone, PartialEq, Eq)]
enum StopErrorKind {
    /// The time limit, as text.
    TooLate(String),
    InsideTask,
    InsideRuntime,
}

impl StopError {
    /// The names of the tasks that had not ended.
    #[must_use]
    pub fn running(&self) -> &[String] {
        &self.running
    }

    /// Returns true if tasks had not ended within the [limit](crate::Builder::await_termination).
    #[must_use]
    pub fn is_too_late(&self) -> bool {
        matches!(self.kind, StopErrorKind::TooLate(_))
    }

    /// Returns true if a task shut down its own scheduler, which stops without waiting for that task.
    #[must_use]
    pub fn is_inside_task(&self) -> bool {
        self.kind == StopErrorKind::InsideTask
    }

    /// Returns true if `shutdown` was called on the only thread of a Tokio runtime. The scheduler stops without it.
    #[must_use]
    pub fn is_inside_runtime(&self) -> bool {
        self.kind == StopErrorKind::InsideRuntime
    }

    /// `running` has the names of the tasks, and how they are shown.
    pub(crate) fn too_late(limit: String, (running, shown): (Vec<String>, String)) -> Self {
        Self { kind: StopErrorKind::TooLate(limit), running, shown }
    }

    pub(crate) fn inside_task((running, shown): (Vec<String>, String)) -> Self {
        Self { kind: StopErrorKind::InsideTask, running, shown }
    }

    pub(crate) fn inside_runtime() -> Self {
        Self { kind: StopErrorKind::InsideRuntime, running: Vec::new(), shown: String::new() }
    }
}

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = &self.shown;
        match (&self.kind, self.running.len()) {
            (StopErrorKind::TooLate(limit), 1) => {
                write!(f, "stopped after waiting {limit}: 1 task had not ended: {tasks}")
            }
            (StopErrorKind::TooLate(limit), count) => {
                write!(f, "stopped after waiting {limit}: {count} tasks had not ended: {tasks}")
            }
            (StopErrorKind::InsideTask, _) => write!(
                f,
                "the scheduler stops, and its task {tasks}, which has asked for that, cannot wait for it\n  \
                 help: shut it down in main, or on another thread"
            ),
            (StopErrorKind::InsideRuntime, _) => f.write_str(
                "the scheduler stops, but to wait for it would block the only thread of this Tokio \
                 runtime, so that async tasks could never end\n  \
                 help: write `scheduler.shutdown_async().await`",
            ),
        }
    }
}

impl Error for StopError {}

/// Why a task could not be [added](crate::Tasks::add) to a running scheduler.
///
/// ```rust
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
    task: String,
    kind: AddErrorKind,
}

#[derive(Clone, PartialEq, Eq)]
enum AddErrorKind {
    /// Faults of the task, each with its place.
    Faults(Vec<String>),
    NameTaken,
    Stopping,
    Refused(Refused),
}

impl AddError {
    /// The name that was given.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.task
    }

    /// All faults of the name, the schedule and the settings of the task, one text for each.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        match &self.kind {
            AddErrorKind::Faults(faults) => faults,
            _ => &[],
        }
    }

    /// Returns true if there is a task of this name that has not ended.
    #[must_use]
    pub fn is_name_taken(&self) -> bool {
        self.kind == AddErrorKind::NameTaken
    }

    /// Returns true if the scheduler is stopping, or has stopped.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.kind == AddErrorKind::Stopping
    }

    /// Returns true if the operating system refused a thread or a runtime; [`source`](Error::source) says why.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self.kind, AddErrorKind::Refused(_))
    }

    pub(crate) fn of_faults(task: &str, faults: Vec<String>) -> Self {
        Self { task: task.to_owned(), kind: AddErrorKind::Faults(faults) }
    }

    pub(crate) fn name_taken(task: &str) -> Self {
        Self { task: task.to_owned(), kind: AddErrorKind::NameTaken }
    }

    pub(crate) fn stopping(task: &str) -> Self {
        Self { task: task.to_owned(), kind: AddErrorKind::Stopping }
    }

    pub(crate) fn refused(task: &str, what: String, cause: Option<&dyn Error>) -> Self {
        let refused = Refused { what, help: "", cause: cause.map(TaskError::from_error) };
        Self { task: task.to_owned(), kind: AddErrorKind::Refused(refused) }
    }
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = &self.task;
        match &self.kind {
            AddErrorKind::Faults(faults) => list(f, "cannot add the task", "", faults),
            AddErrorKind::NameTaken => write!(
                f,
                "cannot add task `{task}`: there is a task of this name\n  \
                 help: remove it before, or choose another name"
            ),
            AddErrorKind::Stopping => {
                write!(f, "cannot add task `{task}`: the scheduler is stopping, or has stopped")
            }
            AddErrorKind::Refused(Refused { what, .. }) => {
                write!(f, "cannot add task `{task}`: {what}")
            }
        }
    }
}

impl Error for AddError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            AddErrorKind::Refused(Refused { cause: Some(cause), .. }) => Some(cause),
            _ => None,
        }
    }
}

/// Writes an error and its causes for people.
fn with_causes(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{error}")?;
    let mut cause = error.source();
    while let Some(error) = cause {
        write!(f, "\n  caused by: {error}")?;
        cause = error.source();
    }
    Ok(())
}

impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_causes(self, f)
    }
}

impl fmt::Debug for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_causes(self, f)
    }
}

impl fmt::Debug for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_causes(self, f)
    }
}

/// A heading, and all faults below it.
fn list(f: &mut fmt::Formatter<'_>, start: &str, end: &str, faults: &[String]) -> fmt::Result {
    match faults.len() {
        1 => write!(f, "{start}: 1 fault was found{end}")?,
        count => write!(f, "{start}: {count} faults were found{end}")?,
    }
    for fault in faults {
        for (index, line) in fault.lines().enumerate() {
            write!(f, "\n{}{line}", if index == 0 { "  - " } else { "    " })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_cause_as_the_source_and_in_debug() {
        let cause = std::io::Error::other("no file descriptors");
        let error = StartError::signals(&cause);
        assert!(error.is_refused() && !error.to_string().contains("descriptors"));
        assert_eq!(error.source().expect("a source").to_string(), "no file descriptors");
        assert!(format!("{error:?}").ends_with("\n  caused by: no file descriptors"));
        let error = AddError::refused("feed", NO_RUNTIME.to_owned(), Some(&cause));
        assert_eq!(error.to_string(), format!("cannot add task `feed`: {NO_RUNTIME}"));
        assert_eq!(error.source().expect("a source").to_string(), "no file descriptors");
    }

    #[test]
    fn the_error_of_a_stop_is_kept_by_the_error_of_the_start() {
        let names = (vec!["a".to_owned()], "`a`".to_owned());
        let stop = StopError::too_late("5s".to_owned(), names);
        let start = StartError::from(stop.clone());
        assert!(start.is_not_drained() && stop.is_too_late());
        assert_eq!(start.stop_error(), Some(&stop));
        assert_eq!(start.to_string(), "stopped after waiting 5s: 1 task had not ended: `a`");
    }
}
