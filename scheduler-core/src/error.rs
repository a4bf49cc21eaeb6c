//! The error of the engine: opaque, with private kinds of plain data.
//!
//! [`Error`] is the answer of every fallible call of the engine: of a submission that is refused, of
//! a wait that ends without a value, of an argument that cannot be used. Callers ask it questions
//! ([`is_cancelled`](Error::is_cancelled), [`is_timeout`](Error::is_timeout), …) instead of matching
//! on kinds, so that kinds can be added freely.
//
// This is the lowest module: its kinds hold no type of another one.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

/// Why a call of the engine did not succeed.
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let handle = pool.schedule(Duration::from_secs(3600), || 42)?;
/// assert!(handle.cancel());
/// assert!(handle.wait().unwrap_err().is_cancelled());
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ErrorKind {
    Argument { what: &'static str, why: String },
    Rejected { task: String, run_state: &'static str },
    Cancelled,
    Failed(Failure),
    Timeout(Duration),
    Interrupted,
    WouldDeadlock { call: &'static str },
    WrongState { wanted: &'static str, found: &'static str },
    NoThread { task: String, reason: String },
}

/// Why a run of a task failed: its panic, or the error it returned, as text.
///
/// The text of a panic is its message if that is a string, and otherwise a note that it is not text.
/// It is cut at a character boundary to at most [`Failure::MESSAGE_BYTES_MAX`] bytes. The panic
/// payload itself is not kept: it belongs to the task, and dropping it is the task's code.
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
///
/// let pool = ScheduledThreadPool::new(1);
/// let error = pool.submit(|| -> u32 { panic!("no luck") })?.wait().unwrap_err();
/// let failure = error.failure().expect("it failed");
/// assert!(failure.is_panic());
/// assert_eq!(failure.message(), "no luck");
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    /// One word, so that the outcome of a run, which is rarely a failure, moves in registers.
    text: Arc<Text>,
}

#[derive(PartialEq, Eq)]
struct Text {
    message: Box<str>,
    is_panic: bool,
}

impl Failure {
    /// The longest message that is kept, in bytes.
    pub const MESSAGE_BYTES_MAX: usize = 16 * 1024;

    /// A failure by an error that the task returned.
    #[must_use]
    pub fn from_error(message: &str) -> Self {
        Self::new(message, false)
    }

    /// A failure by a panic with this message.
    #[must_use]
    pub fn from_panic(message: &str) -> Self {
        Self::new(message, true)
    }

    fn new(message: &str, is_panic: bool) -> Self {
        Self { text: Arc::new(Text { message: cut(message).into(), is_panic }) }
    }

    /// The text of the panic or of the returned error.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.text.message
    }

    /// Returns true if the task panicked, rather than returned an error.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.text.is_panic
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Text { message, is_panic } = &*self.text;
        f.debug_struct("Failure").field("message", message).field("is_panic", is_panic).finish()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_panic() {
            write!(f, "panicked: {}", self.message())
        } else {
            f.write_str(self.message())
        }
    }
}

fn cut(message: &str) -> &str {
    let mut end = message.len().min(Failure::MESSAGE_BYTES_MAX);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}

impl Error {
    /// Returns true if the task was cancelled, or dropped before it could run.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.kind, ErrorKind::Cancelled)
    }

    /// Returns true if the task itself failed; [`failure`](Self::failure) has the reason.
    #[must_use]
    #[doc(alias = "ExecutionException")]
    pub fn is_failed(&self) -> bool {
        matches!(self.kind, ErrorKind::Failed(_))
    }

    /// Returns true if a timed wait ran out of time.
    #[must_use]
    #[doc(alias = "TimeoutException")]
    pub fn is_timeout(&self) -> bool {
        matches!(self.kind, ErrorKind::Timeout(_))
    }

    /// Returns true if the pool refused a task because it is shut down.
    #[must_use]
    #[doc(alias = "RejectedExecutionException")]
    pub fn is_rejected(&self) -> bool {
        matches!(self.kind, ErrorKind::Rejected { .. })
    }

    /// Returns true if the pool refused a task because it has no worker, and no thread could be started.
    #[must_use]
    #[doc(alias = "OutOfMemoryError")]
    pub fn is_no_thread(&self) -> bool {
        matches!(self.kind, ErrorKind::NoThread { .. })
    }

    /// Returns true if a wait inside a task ended early because that task was asked to stop.
    #[must_use]
    #[doc(alias = "InterruptedException")]
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind, ErrorKind::Interrupted)
    }

    /// Returns true if an argument cannot be used, such as a period of zero.
    #[must_use]
    #[doc(alias = "IllegalArgumentException")]
    pub fn is_argument(&self) -> bool {
        matches!(self.kind, ErrorKind::Argument { .. })
    }

    /// Returns true if the question does not fit the state of the task, such as asking a running task for
    /// its value without waiting.
    #[must_use]
    #[doc(alias = "IllegalStateException")]
    pub fn is_wrong_state(&self) -> bool {
        matches!(self.kind, ErrorKind::WrongState { .. })
    }

    /// Returns true if the call would have waited for what cannot end before the call returns: the task or the pool
    /// that has called it.
    #[must_use]
    pub fn is_deadlock(&self) -> bool {
        matches!(self.kind, ErrorKind::WouldDeadlock { .. })
    }

    /// The failure of the task, where [`is_failed`](Self::is_failed).
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match &self.kind {
            ErrorKind::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    pub(crate) fn argument(what: &'static str, why: impl Into<String>) -> Self {
        ErrorKind::Argument { what, why: why.into() }.into()
    }

    pub(crate) fn rejected(task: String, run_state: &'static str) -> Self {
        ErrorKind::Rejected { task, run_state }.into()
    }

    pub(crate) fn cancelled() -> Self {
        ErrorKind::Cancelled.into()
    }

    pub(crate) fn failed(failure: Failure) -> Self {
        ErrorKind::Failed(failure).into()
    }

    pub(crate) fn timeout(limit: Duration) -> Self {
        ErrorKind::Timeout(limit).into()
    }

    pub(crate) fn interrupted() -> Self {
        ErrorKind::Interrupted.into()
    }

    pub(crate) fn would_deadlock(call: &'static str) -> Self {
        ErrorKind::WouldDeadlock { call }.into()
    }

    pub(crate) fn wrong_state(wanted: &'static str, found: &'static str) -> Self {
        ErrorKind::WrongState { wanted, found }.into()
    }

    pub(crate) fn no_thread(task: String, reason: String) -> Self {
        ErrorKind::NoThread { task, reason }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { kind }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Argument { what, why } => write!(f, "invalid {what}: {why}"),
            ErrorKind::Rejected { task, run_state } => {
                write!(f, "{task} was rejected: the pool is {run_state} and takes no new tasks")
            }
            ErrorKind::Cancelled => f.write_str("the task was cancelled"),
            ErrorKind::Failed(failure) => write!(f, "the task failed: {failure}"),
            ErrorKind::Timeout(limit) => write!(f, "the task was not done within {limit:?}"),
            ErrorKind::Interrupted => {
                f.write_str("the wait was interrupted: the waiting task was asked to stop")
            }
            ErrorKind::WouldDeadlock { call } => {
                write!(
                    f,
                    "`{call}` would wait for the task or pool that has called it, which cannot end \
                     meanwhile"
                )
            }
            ErrorKind::WrongState { wanted, found } => {
                write!(f, "the task is {found}, but only a {wanted} task can answer this")
            }
            ErrorKind::NoThread { task, reason } => {
                write!(f, "{task} was refused: the pool has no worker, and {reason}")?;
                if is_limit_of_system(reason) {
                    f.write_str(
                        "\nhelp: allow the process more threads: see `ulimit -u`, and `pids.max` of its container",
                    )?;
                }
                Ok(())
            }
        }
    }
}

/// Returns true if the system has refused a thread, and not a thread factory of the program for reasons of its own. The
/// number of an error of the system stands at the end of its text.
fn is_limit_of_system(reason: &str) -> bool {
    let number = reason.rsplit_once("(os error ").and_then(|(_, number)| number.strip_suffix(')'));
    let Some(number) = number.and_then(|number| number.parse().ok()) else { return false };
    let kind = io::Error::from_raw_os_error(number).kind();
    cfg!(unix) && matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory)
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::{Error, Failure};
    use std::time::Duration;

    #[test]
    fn an_error_is_of_one_kind() {
        let errors = [
            Error::cancelled(),
            Error::failed(Failure::from_error("no")),
            Error::timeout(Duration::ZERO),
            Error::rejected("task 7".to_owned(), "terminated"),
            Error::interrupted(),
            Error::argument("period", "zero"),
            Error::wrong_state("completed", "running"),
            Error::would_deadlock("wait"),
            Error::no_thread("task 7".to_owned(), "no memory".to_owned()),
        ];
        let questions = [
            Error::is_cancelled,
            Error::is_failed,
            Error::is_timeout,
            Error::is_rejected,
            Error::is_interrupted,
            Error::is_argument,
            Error::is_wrong_state,
            Error::is_deadlock,
            Error::is_no_thread,
        ];
        for (of, error) in errors.iter().enumerate() {
            for (kind, is) in questions.iter().enumerate() {
                assert_eq!(is(error), kind == of, "{error}");
            }
            assert_eq!(error.failure().is_some(), error.is_failed(), "{error}");
        }
        assert_eq!(format!("{:?}", errors[0]), "the task was cancelled");
    }

    #[test]
    fn a_long_message_is_cut_at_a_character_boundary() {
        let long = "ä".repeat(Failure::MESSAGE_BYTES_MAX);
        let odd = format!("x{long}");
        assert_eq!(Failure::from_panic(&long).message().len(), Failure::MESSAGE_BYTES_MAX);
        assert_eq!(Failure::from_panic(&odd).message().len(), Failure::MESSAGE_BYTES_MAX - 1);
    }

    #[test]
    fn messages_name_what_why_and_state() {
        let cases = [
            (
                Error::argument("period", "it must be longer than zero"),
                "invalid period: it must be longer than zero",
            ),
            (
                Error::rejected("task 7".into(), "shutting down"),
                "task 7 was rejected: the pool is shutting down and takes no new tasks",
            ),
            (
                Error::no_thread("task 7".into(), "no thread could be started: full".into()),
                "task 7 was refused: the pool has no worker, and no thread could be started: full",
            ),
            (Error::failed(Failure::from_panic("boom")), "the task failed: panicked: boom"),
            (
                Error::wrong_state("completed", "running"),
                "the task is running, but only a completed task can answer this",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(error.to_string(), expected);
        }
    }
}
