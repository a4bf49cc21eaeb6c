//! The outcome of a run, why it failed, and contained user code.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::io::Write;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, Once};
use std::time::Duration;
use std::{fmt, io, thread};

use crate::base::drop_payload;
use crate::define::settings::word;
use crate::run::{JobErrorKind, Run, RunInfo, TaskError};

/// The remedy for an async function that blocks its thread.
pub(crate) const UNBLOCK: &str = if cfg!(feature = "tokio") {
    "call what blocks by `tokio::task::spawn_blocking`, or make the function a plain `fn`"
} else {
    "call what blocks on another thread (`spawn_blocking` of a runtime), or make the function a plain `fn`"
};

/// The outcome of a run, after its last attempt.
///
/// With the feature `serde` it serializes as its failure, or else as `{"kind": "success"}`.
///
/// ```
/// use scheduler::{Event, EventKind, Outcome};
///
/// fn listen(event: &Event) {
///     if let EventKind::RunFinished { outcome: Outcome::Panic(failure), .. } = &event.kind {
///         println!("{:?} panicked: {}", event.task_name(), failure.message());
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It ended well.
    Success,
    /// The function returned an error.
    Error(Failure),
    /// The function panicked.
    Panic(Failure),
    /// It did not end within the task's `timeout`.
    Timeout(Failure),
    /// It was cancelled, or the scheduler stopped.
    Cancelled,
    /// A hook refused it, for this reason: neither a success nor a failure.
    Refused(Arc<str>),
    /// A durable job asked to run again after this time: neither a success nor a failure.
    Snoozed(Duration),
    /// This process had lost the durable job before the run was over, and another one may run it: neither a success nor a
    /// failure.
    Lost,
}

impl Outcome {
    /// Returns true if the run ended well.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Success)
    }

    /// Returns true if the run failed: by an error, a panic or a timeout.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.failure().is_some()
    }

    /// Why the run failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Error(failure) | Self::Panic(failure) | Self::Timeout(failure) => Some(failure),
            Self::Success | Self::Cancelled | Self::Refused(_) | Self::Snoozed(_) | Self::Lost => {
                None
            }
        }
    }

    /// The outcome in one word: `success`, `error`, `panic`, `timeout`, `cancelled`, `refused`,
    /// `snoozed` or `lost`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error(_) => "error",
            Self::Panic(_) => "panic",
            Self::Timeout(_) => "timeout",
            Self::Cancelled => "cancelled",
            Self::Refused(_) => "refused",
            Self::Snoozed(_) => "snoozed",
            Self::Lost => "lost",
        }
    }
}

/// The name, with the text of a failure or the reason of a refusal.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Success | Self::Cancelled | Self::Snoozed(_) | Self::Lost => Ok(()),
            Self::Refused(reason) => write!(f, ": {reason}"),
            Self::Error(failure) | Self::Panic(failure) | Self::Timeout(failure) => {
                write!(f, ": {}", failure.message())
            }
        }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        match failure.0.kind {
            Kind::Error => Self::Error(failure),
            Kind::Panic => Self::Panic(failure),
            Kind::Timeout => Self::Timeout(failure),
        }
    }
}

/// The failure of a run or of one attempt: texts only, cheap to clone.
///
/// With the feature `serde` it serializes as `kind`, `message`, `causes` and `place`.
///
/// ```
/// use scheduler::{Event, EventKind, Failure};
///
/// /// `disk full: no space left on device`
/// fn in_one_line(failure: &Failure) -> String {
///     let causes = failure.causes().map(|cause| format!(": {cause}"));
///     failure.message().to_owned() + &causes.collect::<String>()
/// }
///
/// fn listen(event: &Event) {
///     if let EventKind::AttemptFailed { run, failure, .. } = &event.kind {
///         println!("attempt {}: {}", run.attempt, in_one_line(failure));
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Failure(Arc<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Parts {
    kind: Kind,
    message: Box<str>,
    causes: Vec<Box<str>>,
    place: Option<PanicPlace>,
    /// The payload of a job could not be decoded, which is no attempt.
    #[cfg_attr(feature = "serde", serde(skip))]
    is_undecodable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
enum Kind {
    Error,
    Panic,
    Timeout,
}

impl Failure {
    /// The text of the error or of the panic.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The texts of the error's sources, the nearest first; at most 32.
    pub fn causes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.causes.iter().map(|cause| &**cause)
    }

    /// The texts of the sources, each after this separator.
    pub(crate) fn causes_after(&self, separator: &str) -> String {
        self.causes().map(|cause| format!("{separator}{cause}")).collect()
    }

    /// Returns true if the function panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.0.kind == Kind::Panic
    }

    /// Returns true if the function did not end within the task's `timeout`.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.0.kind == Kind::Timeout
    }

    /// The kind of failure in one word: `error`, `panic` or `timeout`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.0.kind {
            Kind::Error => "error",
            Kind::Panic => "panic",
            Kind::Timeout => "timeout",
        }
    }

    /// Where in the source the panic began; unknown where the program has a panic hook of its own.
    #[must_use]
    pub fn place(&self) -> Option<&PanicPlace> {
        self.0.place.as_ref()
    }

    /// Returns true if the payload of a job could not be decoded: the function was not called.
    pub(crate) fn is_undecodable(&self) -> bool {
        self.0.is_undecodable
    }

    /// The part of a run that has failed: `attempt 2 of 5`, with the job if it has one; the job alone if that was no attempt.
    pub(crate) fn part_of(&self, run: &RunInfo) -> String {
        match &run.job {
            Some(job) if self.is_undecodable() => job.to_string(),
            _ => run.attempt_text(),
        }
    }

    /// An error that the function returned.
    pub(crate) fn from_error(error: &TaskError) -> Self {
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        let causes = causes.map(|cause| cut(&cause.to_string())).collect();
        let is_undecodable = error.job_error_kind() == Some(JobErrorKind::Undecodable);
        let (kind, message) = (Kind::Error, cut(&error.to_string()));
        Self(Arc::new(Parts { kind, message, causes, place: None, is_undecodable }))
    }

    /// A panic with this text.
    pub(crate) fn from_panic(message: &str, place: Option<PanicPlace>) -> Self {
        Self::new(Kind::Panic, message, Vec::new(), place)
    }

    /// An attempt that was still in progress when its time was over, perhaps because its future blocks its thread.
    pub(crate) fn from_timeout(limit: Duration, is_blocking: bool) -> Self {
        let mut text = format!("it did not end within {limit:?}");
        if is_blocking {
            text.push_str(&format!("; it is async and blocks its thread: {UNBLOCK}"));
        }
        Self::new(Kind::Timeout, &text, Vec::new(), None)
    }

    /// A failure of the engine: of a trigger, or of a destructor.
    pub(crate) fn from_engine(failure: &scheduler_core::Failure) -> Self {
        let kind = if failure.is_panic() { Kind::Panic } else { Kind::Error };
        Self::new(kind, failure.message(), Vec::new(), None)
    }

    fn new(kind: Kind, message: &str, causes: Vec<Box<str>>, place: Option<PanicPlace>) -> Self {
        let (message, is_undecodable) = (cut(message), false);
        Self(Arc::new(Parts { kind, message, causes, place, is_undecodable }))
    }
}

/// The text without causes. The text of a panic begins with `panicked: `.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_panic() {
            f.write_str("panicked: ")?;
        }
        f.write_str(self.message())
    }
}

/// Where in the source a panic began.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PanicPlace {
    /// The file, as the compiler was given it.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl fmt::Display for PanicPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The beginning of a text, as much as the engine keeps of one.
fn cut(text: &str) -> Box<str> {
    let mut end = text.len().min(scheduler_core::Failure::MESSAGE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].into()
}

thread_local! {
    /// The number of calls of user code on this thread, to distinguish their panics from earlier ones.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    /// The number of calls at the latest panic of this thread, and its place.
    static PLACE: RefCell<Option<(u64, PanicPlace)>> = const { RefCell::new(None) };
}

/// Records the places of panics from now on, in this process.
///
/// A panic hook that is set later, and does not call the previous one, disables this.
pub(crate) fn watch_panics() {
    static HOOK: Once = Once::new();
    // A panicking thread cannot set a hook.
    if thread::panicking() {
        return;
    }
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            record(panic.location());
            if cfg!(panic = "abort") {
                print_end();
            }
            before(panic);
        }));
    });
}

/// Prints on stderr that the current run of this thread, if any, ends the process.
fn print_end() {
    if let Some(run) = Run::current() {
        // A panic hook must not panic, so ignore a closed stderr.
        let _ = io::stderr().write_all(end_text(run.task_name(), run.number()).as_bytes());
    }
}

fn end_text(task: &str, run: u64) -> String {
    let task = word(task);
    format!(
        "ERROR task {task} panics in its run {run}, and ends the process: this build aborts on panic\n"
    )
}

fn record(location: Option<&Location<'_>>) {
    let place = location.map(|location| PanicPlace {
        file: location.file().into(),
        line: location.line(),
        column: location.column(),
    });
    // The thread-local may be destroyed, and a panic hook must not panic.
    let _ = PLACE.try_with(|latest| {
        if let Ok(mut latest) = latest.try_borrow_mut() {
            *latest = place.map(|place| (CALLS.get(), place));
        }
    });
}

/// The place of a panic in this call, or in one inside it.
fn place_of(call: u64) -> Option<PanicPlace> {
    let latest = PLACE.try_with(|latest| latest.try_borrow_mut().ok()?.take()).ok().flatten();
    latest.filter(|(began_in, _)| *began_in >= call).map(|(_, place)| place)
}

/// Calls user code. A panic becomes a failure, with its place if the hook was called.
///
/// Asserts unwind safety: the author of a task is responsible for state shared between runs.
pub(crate) fn catch<R>(call: impl FnOnce() -> R) -> Result<R, Failure> {
    let number = CALLS.get().wrapping_add(1);
    CALLS.set(number);
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let place = place_of(number);
        let failure = Failure::from_panic(text(payload.as_ref()), place);
        drop_payload(payload);
        failure
    })
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    let text = literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("non-text panic payload")
}

#[cfg(test)]
mod tests {
    use super::{catch, end_text, watch_panics};
    use std::panic::panic_any;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Bomb);
        }
    }

    #[test]
    fn a_caught_panic_knows_its_text_and_its_place() {
        watch_panics();
        watch_panics();
        let line = line!() + 1;
        let failure = catch(|| panic!("no {}", 1)).unwrap_err();
        assert_eq!(failure.message(), "no 1");
        assert!(failure.is_panic());
        let place = failure.place().expect("the hook was called").to_string();
        assert!(place.starts_with(&format!("{}:{line}:", file!())), "{place}");
        assert_eq!(catch(|| panic_any(7)).unwrap_err().message(), "non-text panic payload");
        assert_eq!(catch(|| 7), Ok(7));
    }

    /// `cargo run -p programs --bin failing --config 'profile.dev.panic="abort"'` shows it.
    #[test]
    fn a_panic_that_ends_the_process_is_printed_with_task_and_run_on_one_line() {
        let expected = "ERROR task `a\\nb` panics in its run 7, and ends the process: \
                        this build aborts on panic\n";
        assert_eq!(end_text("a\nb", 7), expected);
    }

    #[test]
    fn an_inner_panic_does_not_lend_its_place_to_an_outer_one() {
        watch_panics();
        let outer = catch(|| {
            let inner = catch(|| panic!("inner")).unwrap_err();
            assert!(inner.place().is_some());
            std::panic::resume_unwind(Box::new("resumed, so that no hook is called"));
        });
        assert_eq!(outer.unwrap_err().place(), None);
    }

    #[test]
    fn a_panic_that_the_task_caught_itself_does_not_lend_its_place_to_a_later_run() {
        watch_panics();
        let run = catch(|| drop(std::panic::catch_unwind(|| panic!("caught by the task"))));
        assert_eq!(run, Ok(()));
        let later = catch(|| std::panic::resume_unwind(Box::new("no hook is called")));
        assert_eq!(later.unwrap_err().place(), None);
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        assert!(catch(|| panic_any(Bomb)).unwrap_err().is_panic());
    }
}
