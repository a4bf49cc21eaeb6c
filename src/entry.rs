//! The entry: static facts of one annotated function, and the link-time list of them.
//!
//! # What this room is for
//!
//! `#[scheduled]` leaves one [`Entry`] per annotation in the binary: the words of the annotation as
//! they were written, the place where they stand, and a way to call the function. [`entries`] reads
//! them all, in an order that does not depend on the linker.
//!
//! # What it must never do
//!
//! Judge, resolve or schedule. An entry keeps *texts*; the macro has checked them at compile time,
//! and the registrar parses them again with the same parser after settings had their say.
//!
//! # How a neighbour uses it
//!
//! The registrar walks [`entries`], turns each [`Rule`] into a trigger or a period, and hands the
//! [`Body`] to the pool. Only generated code makes entries.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use scheduler_expr::DurationUnit;

/// What one run of a scheduled function came to.
pub type TaskResult = Result<(), TaskError>;

/// The run of an async scheduled function, ready to be polled.
pub type BoxFuture = Pin<Box<dyn Future<Output = TaskResult> + Send>>;

/// Static facts of one `#[scheduled]` annotation.
///
/// A function with two annotations has two entries. Times are kept as the text of the annotation.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    name: &'static str,
    function: &'static str,
    module_path: &'static str,
    location: Location,
    rule: Rule,
    initial_delay: Option<&'static str>,
    time_unit: Option<DurationUnit>,
    body: Body,
}

impl Entry {
    /// Makes the entry of an annotation that has neither an initial delay nor a time unit.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(name: &'static str, origin: Origin, rule: Rule, body: Body) -> Self {
        Self {
            name,
            function: origin.function,
            module_path: origin.module_path,
            location: origin.location,
            rule,
            initial_delay: None,
            time_unit: None,
            body,
        }
    }

    /// The same entry with the text of `initial_delay`.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_initial_delay(self, text: &'static str) -> Self {
        Self { initial_delay: Some(text), ..self }
    }

    /// The same entry with the unit of its bare numbers.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_time_unit(self, unit: DurationUnit) -> Self {
        Self { time_unit: Some(unit), ..self }
    }

    /// The task's name: `name = "…"`, or else the function's path, such as `shop::jobs::report`,
    /// with `-2`, `-3`… when the function has more than one annotation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The function's own name, without `r#`.
    #[must_use]
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// The path of the module in which the function stands, such as `shop::jobs`.
    #[must_use]
    pub fn module_path(&self) -> &'static str {
        self.module_path
    }

    /// Where the annotation stands.
    #[must_use]
    pub fn location(&self) -> Location {
        self.location
    }

    /// What makes the function run.
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The text of `initial_delay`, if there is one.
    #[must_use]
    pub fn initial_delay(&self) -> Option<&'static str> {
        self.initial_delay
    }

    /// The unit of a duration that is written as a bare number, if there is one.
    #[must_use]
    pub fn time_unit(&self) -> Option<DurationUnit> {
        self.time_unit
    }

    /// How the function is called.
    #[must_use]
    pub fn body(&self) -> Body {
        self.body
    }

    fn order(&self) -> impl Ord + use<> {
        (self.module_path, self.location.line, self.name, self.location.file)
    }
}

/// Where an annotated function comes from.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    function: &'static str,
    module_path: &'static str,
    location: Location,
}

impl Origin {
    /// Puts the facts together.
    #[must_use]
    pub const fn new(
        function: &'static str,
        module_path: &'static str,
        file: &'static str,
        line: u32,
    ) -> Self {
        Self { function, module_path, location: Location { file, line } }
    }
}

/// A place in the source, shown as `src/jobs.rs:12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The source file, as the compiler names it.
    pub file: &'static str,
    /// The line of the annotation, from 1.
    pub line: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What makes an annotated function run, in the words of the annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// `cron = "…"`, in the zone of `zone = "…"` or else the scheduler's.
    Cron {
        /// The cron expression.
        expression: &'static str,
        /// The name of the time zone.
        zone: Option<&'static str>,
    },
    /// `fixed_rate = "…"`.
    FixedRate {
        /// From one fire time to the next.
        period: &'static str,
    },
    /// `fixed_delay = "…"`.
    FixedDelay {
        /// From the end of a run to the start of the next.
        delay: &'static str,
    },
    /// `initial_delay = "…"` alone: a one-time task.
    Once,
}

/// How an annotated function is called.
#[derive(Clone, Copy)]
pub enum Body {
    /// A plain function: the call is the run.
    Sync(fn() -> TaskResult),
    /// An `async fn`: the call only makes the future, polling it is the run.
    Async(fn() -> BoxFuture),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync(_) => "Sync",
            Self::Async(_) => "Async",
        })
    }
}

inventory::collect!(Entry);

/// Every entry linked into this binary, sorted by module path, line and name.
///
/// The tasks of a crate that the binary never mentions are not linked: write `use jobs as _;`.
///
/// ```
/// use scheduler::{Rule, entries, scheduled};
///
/// #[scheduled(fixed_rate = "1s")]
/// fn tick() {}
///
/// let entries = entries();
/// let tick = entries.iter().find(|entry| entry.function() == "tick").expect("it is linked");
/// assert_eq!(tick.rule(), Rule::FixedRate { period: "1s" });
/// ```
#[must_use]
pub fn entries() -> Vec<&'static Entry> {
    let mut entries: Vec<&'static Entry> = inventory::iter::<Entry>().collect();
    entries.sort_by_key(|entry| entry.order());
    entries
}

/// How many causes of an error are kept: `Error::source` may lead round in a circle.
const CAUSES_KEPT: usize = 32;

/// Why a run failed: the text of the error that the function returned, and of its causes.
///
/// The original error is not kept, so that it need not be `Send`, `Sync` or `'static`. The causes
/// are found through [`Error::source`], which again gives a `TaskError`.
///
/// ```
/// use scheduler::TaskError;
/// use std::error::Error;
///
/// let error = TaskError::from_error(&"x".parse::<u8>().unwrap_err());
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// assert!(error.source().is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskError {
    message: Box<str>,
    cause: Option<Box<TaskError>>,
}

impl TaskError {
    /// Keeps the text of something that can only be shown and has no causes.
    #[must_use]
    pub fn from_display(error: &(impl fmt::Display + ?Sized)) -> Self {
        Self { message: error.to_string().into(), cause: None }
    }

    /// Keeps the text of an error and of its causes, at most 32 of them.
    #[must_use]
    pub fn from_error(error: &(impl Error + ?Sized)) -> Self {
        let causes: Vec<String> = std::iter::successors(error.source(), |&cause| cause.source())
            .take(CAUSES_KEPT)
            .map(ToString::to_string)
            .collect();
        let cause = causes
            .into_iter()
            .rev()
            .fold(None, |cause, message| Some(Box::new(Self { message: message.into(), cause })));
        Self { message: error.to_string().into(), cause }
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for TaskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}
