//! Static metadata of a task.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::trigger::Zone;
use scheduler_expr::RuleKind;

/// The facts of a task that do not depend on its runs: its name, its rule, its place in the source.
///
/// ```rust
/// use scheduler::{RuleKind, Schedule, Scheduler};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("sweep", Schedule::fixed_delay("30s"), |_| {})
///     .spawn()?;
/// let facts = &scheduler.tasks().list()[0].facts;
/// assert_eq!(facts.kind, RuleKind::FixedDelay);
/// assert_eq!(facts.period, Some(Duration::from_secs(30)));
/// assert_eq!(&*facts.rule, "30s after each run");
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskFacts {
    /// The name of the task.
    pub name: Arc<str>,
    /// The path of its function, such as `shop::jobs::report`; none for a closure.
    pub function: Option<Arc<str>>,
    /// The kind of its rule.
    pub kind: RuleKind,
    /// The rule as people read it, such as `every 1s` or `0 0 9 * * MON-FRI in Europe/Berlin`.
    pub rule: Arc<str>,
    /// The time from one fire time to the next, if the rule fixes it.
    pub period: Option<Duration>,
    /// The zone in which its times are shown: the one of its cron expression.
    pub zone: Zone,
    /// The name of its pool.
    pub pool: Arc<str>,
    /// The tags it was given, for operations on several tasks at once.
    pub tags: Arc<[Arc<str>]>,
    /// True if its runs are futures, which hold no thread while they wait.
    pub is_async: bool,
    /// True if a store keeps its runs, for all processes.
    pub is_durable: bool,
    /// Its place in the source.
    pub location: Option<Location>,
}

impl TaskFacts {
    /// The facts of a task that is known by its name and its pool alone.
    pub(crate) fn unknown(name: Arc<str>, pool: &Arc<str>) -> Self {
        Self {
            name,
            function: None,
            kind: RuleKind::Custom,
            rule: "unknown".into(),
            period: None,
            zone: Zone::UTC,
            pool: Arc::clone(pool),
            tags: Arc::default(),
            is_async: false,
            is_durable: false,
            location: None,
        }
    }
}

/// A place in the source, shown as `src/jobs.rs:12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Location {
    /// The source file, as the compiler names it.
    pub file: &'static str,
    /// The line of the annotation, from 1.
    pub line: u32,
}

impl Location {
    /// The place of things that are in no source file.
    pub(crate) const NONE: Self = Self::new("", 0);

    #[doc(hidden)]
    #[must_use]
    pub const fn new(file: &'static str, line: u32) -> Self {
        Self { file, line }
    }

    /// The place of the call of a function that tracks its caller.
    #[track_caller]
    pub(crate) fn caller() -> Self {
        let caller = std::panic::Location::caller();
        Self { file: caller.file(), line: caller.line() }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
