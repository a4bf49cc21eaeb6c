//! Errors of commands to a task, and of waits for it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::rule::ExactDuration;
use crate::base::metadata::Location;
use crate::define::settings::word;
use crate::observe::{TaskState, duration};

/// Why a task could not be found, run, paused, resumed, rescheduled, enabled or cancelled, or a wait failed.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler};
///
/// let scheduler = Scheduler::builder()
///     .task("report", Schedule::cron("@daily"), |_| {})
///     .spawn()?;
/// let error = scheduler.tasks().get("reprot").unwrap_err();
/// assert!(error.is_unknown());
/// assert_eq!(error.to_string(), "no task named `reprot`; did you mean `report`?");
/// assert!(scheduler.tasks().get("report")?.resume().unwrap_err().is_not_paused());
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ControlError {
    task: Arc<str>,
    kind: ControlErrorKind,
    /// The place of a refused schedule in the code; the reason names it.
    at: Option<Location>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ControlErrorKind {
    NotFound {
        why: String,
    },
    Refused {
        why: String,
    },
    Ended(TaskState),
    Disabled,
    Running(Duration),
    AlreadyAsked,
    NotPaused,
    NotRunning,
    Stopping,
    #[cfg(feature = "durable")]
    Unavailable {
        why: String,
    },
    #[cfg(feature = "durable")]
    Failed {
        why: String,
    },
    TooLate {
        limit: Duration,
        what: String,
    },
}

impl ControlError {
    pub(crate) fn new(task: &Arc<str>, kind: ControlErrorKind) -> Self {
        Self { task: Arc::clone(task), kind, at: None }
    }

    /// No task, or no single one, has this name.
    pub(crate) fn not_found(name: &str, why: &str) -> Self {
        Self::new(&name.into(), ControlErrorKind::NotFound { why: why.to_owned() })
    }

    /// The task refuses the command.
    pub(crate) fn refused(name: &str, why: &str) -> Self {
        Self::new(&name.into(), ControlErrorKind::Refused { why: why.to_owned() })
    }

    /// The task refuses a schedule that was given there.
    pub(crate) fn refused_at(name: &str, why: &str, location: Location) -> Self {
        Self { at: Some(location), ..Self::refused(name, why) }
    }

    pub(super) fn faulty(task: &Arc<str>, faults: &str) -> Self {
        let why = format!("it cannot be enabled, because its attributes are faulty:\n{faults}");
        Self::refused(task, &why)
    }

    pub(super) fn without_rule(task: &Arc<str>) -> Self {
        let why = "it has no rule to run by, so it cannot be enabled; give it one first: \
                   `.reschedule(Schedule::cron(\"0 0 9 * * *\"))`";
        Self::refused(task, why)
    }

    /// The start refuses the same values.
    pub(super) fn too_much_jitter(task: &Arc<str>, jitter: Duration, period: Duration) -> Self {
        let why = format!(
            "its `jitter`, which is {}, has to be shorter than `fixed_rate`, which would be {}, or a run \
             could be due after the next one; choose a longer rate, or start the task with less jitter",
            ExactDuration(jitter),
            ExactDuration(period)
        );
        Self::refused(task, &why)
    }

    pub(super) fn too_late(task: &Arc<str>, limit: Duration, what: String) -> Self {
        Self::new(task, ControlErrorKind::TooLate { limit, what })
    }

    /// The name that was given.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.task
    }

    /// The text for people who have not written the code: without the place of the schedule in it.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
    /// let scheduler = Scheduler::builder().task("report", hourly, |_| {}).spawn()?;
    /// let error = scheduler.tasks().get("report")?.reschedule(Schedule::fixed_rate("1x")).unwrap_err();
    /// assert!(error.to_string().contains(".rs:"));
    /// assert!(error.without_place().starts_with("task `report`: invalid"), "{error}");
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn without_place(&self) -> String {
        match (&self.kind, self.at) {
            (ControlErrorKind::Refused { why }, Some(location)) => {
                let place = format!("{location}: {}: ", word(&self.task));
                Self::refused(&self.task, &why.replace(&place, "")).to_string()
            }
            _ => self.to_string(),
        }
    }

    /// Returns true if no task has that name, or several may be meant.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self.kind, ControlErrorKind::NotFound { .. })
    }

    /// Returns true if the schedule does not fit the task, a gate refused the run, or the task cannot be enabled; the text
    /// says why.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self.kind, ControlErrorKind::Refused { .. })
    }

    /// Returns true if the task has ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self.kind, ControlErrorKind::Ended(_))
    }

    /// Returns true if the task is disabled, and has to be enabled first.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        matches!(self.kind, ControlErrorKind::Disabled)
    }

    /// Returns true if a run is in progress already, or about to start by another request.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.kind, ControlErrorKind::Running(_) | ControlErrorKind::AlreadyAsked)
    }

    /// Returns true if the task is not paused, so that there is nothing to resume.
    #[must_use]
    pub fn is_not_paused(&self) -> bool {
        matches!(self.kind, ControlErrorKind::NotPaused)
    }

    /// Returns true if no run is in progress, so that there is none to cancel.
    #[must_use]
    pub fn is_not_running(&self) -> bool {
        matches!(self.kind, ControlErrorKind::NotRunning)
    }

    /// Returns true if the scheduler is stopping, or has stopped.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        matches!(self.kind, ControlErrorKind::Stopping)
    }

    /// Returns true if the store of a durable task did not answer. It may have done it all the same.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        #[cfg(feature = "durable")]
        return matches!(self.kind, ControlErrorKind::Unavailable { .. });
        #[cfg(not(feature = "durable"))]
        false
    }

    /// Returns true if the store of a durable task has answered with an error, and has done nothing.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        #[cfg(feature = "durable")]
        return matches!(self.kind, ControlErrorKind::Failed { .. });
        #[cfg(not(feature = "durable"))]
        false
    }

    /// Returns true if a wait reached its time limit.
    #[must_use]
    pub fn is_too_late(&self) -> bool {
        matches!(self.kind, ControlErrorKind::TooLate { .. })
    }
}

impl PartialEq for ControlError {
    fn eq(&self, other: &Self) -> bool {
        (&self.task, &self.kind) == (&other.task, &other.kind)
    }
}

impl Eq for ControlError {}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = &self.task;
        match &self.kind {
            ControlErrorKind::NotFound { why } => f.write_str(why),
            ControlErrorKind::Refused { why } => write!(f, "task `{task}`: {why}"),
            #[cfg(feature = "durable")]
            ControlErrorKind::Unavailable { why } => {
                write!(f, "task `{task}` is durable, and its store did not answer: {why}")
            }
            #[cfg(feature = "durable")]
            ControlErrorKind::Failed { why } => write!(f, "task `{task}` is durable, and {why}"),
            ControlErrorKind::Ended(state) => {
                write!(f, "task `{task}` has ended: it is {}", state.name())
            }
            ControlErrorKind::Disabled => {
                write!(f, "task `{task}` is disabled; enable it first: `.enable()`")
            }
            ControlErrorKind::Running(length) => write!(
                f,
                "task `{task}` is already running, for {}; with `overlap = \"queue_one\"` or \
                 `\"allow\"` it could be run all the same",
                duration(*length)
            ),
            ControlErrorKind::AlreadyAsked => write!(f, "task `{task}` is about to be run already"),
            ControlErrorKind::NotPaused => write!(f, "task `{task}` is not paused"),
            ControlErrorKind::NotRunning => write!(f, "no run of task `{task}` is in progress"),
            ControlErrorKind::TooLate { limit, what } => {
                write!(f, "task `{task}`: within {}, {what}", ExactDuration(*limit))
            }
            ControlErrorKind::Stopping => {
                write!(f, "task `{task}`: the scheduler is stopping, or has stopped")
            }
        }
    }
}

impl fmt::Debug for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for ControlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_is_in_the_way() {
        let task: Arc<str> = "report".into();
        let second = Duration::from_secs(1);
        let cases = [
            (ControlError::not_found("reprot", "no task named `reprot`"), "no task named `reprot`"),
            (ControlError::refused("report", "it is too late"), "task `report`: it is too late"),
            (
                ControlError::new(&task, ControlErrorKind::Ended(TaskState::Cancelled)),
                "task `report` has ended: it is cancelled",
            ),
            (
                ControlError::new(
                    &task,
                    ControlErrorKind::Running(second * 72 + Duration::new(0, 477_475_913)),
                ),
                "task `report` is already running, for 1m 12s; with `overlap = \"queue_one\"` or \
                 `\"allow\"` it could be run all the same",
            ),
            (ControlError::new(&task, ControlErrorKind::NotPaused), "task `report` is not paused"),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }
}
