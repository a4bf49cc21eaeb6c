//! The facts of each annotated function, and tasks as they are defined.
//!
//! `#[scheduled]` and `#[job]` leave one [`Entry`] per annotation in the binary: the texts of the annotation, its place, and
//! a function that resolves the arguments and returns a [`Call`]. [`entries`] returns all of them, in an order that does not
//! depend on the linker. Only generated code makes entries.
//!
//! An entry decides nothing: it keeps texts, which the macro has checked. They are parsed again by the same parser, after
//! settings have replaced some.

use std::any::TypeId;
use std::sync::Arc;

use scheduler_core::Trigger;
use scheduler_expr::{Attribute, RuleKind};

use crate::base::metadata::Location;
use crate::define::schedule::Schedule;
use crate::run::inject::{Call, Resolver};

/// Static facts of one `#[scheduled]` annotation.
///
/// A function with two annotations has two entries.
///
/// ```rust,standalone_crate
/// use scheduler::__private::entries;
/// use scheduler::{Attribute, scheduled};
///
/// #[scheduled(cron = "@daily", name = "sales-report")]
/// fn report() {}
///
/// let entry = entries()[0];
/// assert_eq!(entry.name, "sales-report");
/// assert_eq!(entry.function, "report");
/// assert_eq!(entry.attribute(Attribute::Cron), Some("@daily"));
/// println!("it stands at {}", entry.location);
/// ```
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The task's name: `name = "…"`, or else the function's path, such as `shop::jobs::report`,
    /// with `-2`, `-3`… when the function has more than one annotation.
    pub name: &'static str,
    /// The function's own name, without `r#`; a method has its type in front, `Reports::sweep`.
    pub function: &'static str,
    /// The path of the module in which the function stands, such as `shop::jobs`.
    pub module_path: &'static str,
    /// The place of the annotation.
    pub location: Location,
    /// The function, by its type.
    pub id: fn() -> TypeId,
    /// All attributes of the annotation with their texts.
    pub attributes: &'static [(Attribute, &'static str)],
    /// The managed type of a method; `None` for a free function.
    pub receiver: Option<fn() -> TypeId>,
    /// The options of `#[job]` alone; `None` for `#[scheduled]`.
    pub job: Option<JobFacts>,
    /// Resolves the arguments. `None` if one is missing, which the resolver has recorded.
    pub resolve: fn(&mut Resolver<'_>) -> Option<Call>,
}

impl Entry {
    /// The text of an attribute, as the annotation has it.
    #[must_use]
    pub fn attribute(&self, attribute: Attribute) -> Option<&'static str> {
        self.attributes.iter().find(|(known, _)| *known == attribute).map(|(_, text)| *text)
    }

    /// Resolves the function's arguments.
    pub(crate) fn resolve(&self, resolver: &mut Resolver<'_>) -> Option<Call> {
        (self.resolve)(resolver)
    }

    /// Returns true if the annotation is of that function.
    pub(crate) fn belongs_to(&self, function: TypeId) -> bool {
        (self.id)() == function
    }

    fn order(&self) -> impl Ord + use<> {
        let Location { file, line } = self.location;
        (self.module_path, line, self.name, file)
    }
}

/// The options of `#[job]` that settings cannot override.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct JobFacts {
    /// The version of the payload's type; 0 if there is no payload.
    pub version: u32,
    /// The names that the job had before.
    pub aliases: &'static [&'static str],
    /// Why a payload of a version with these bytes could not be decoded; `None` if there is no payload.
    pub check: Option<CheckPayload>,
    /// True if there is an expression for the partition.
    pub is_partitioned: bool,
}

type CheckPayload = fn((u32, &[u8])) -> Result<(), String>;

inventory::collect!(Entry);

/// Every entry linked into this binary, sorted by module path, line and name.
///
/// The tasks of a crate that the binary never mentions are not linked: write `use jobs as _;`.
#[must_use]
pub fn entries() -> Vec<&'static Entry> {
    let mut entries: Vec<&'static Entry> = inventory::iter::<Entry>().collect();
    entries.sort_by_key(|entry| entry.order());
    entries
}

/// Annotated functions by name: see [`tasks!`](crate::tasks).
///
/// ```rust,standalone_crate
/// use scheduler::{Scheduler, scheduled, tasks};
///
/// #[scheduled(fixed_rate = "1s")]
/// fn tick() {}
///
/// #[scheduled(fixed_rate = "1s")]
/// fn not_today() {}
///
/// let scheduler = Scheduler::builder().tasks(tasks![tick]).spawn()?;
/// assert_eq!(scheduler.tasks().list().len(), 1);
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a list does nothing until a builder has it"]
pub struct TaskList {
    pub(crate) entries: Vec<&'static Entry>,
    /// The names of functions without an annotation.
    pub(crate) unannotated: Vec<&'static str>,
}

impl TaskList {
    #[doc(hidden)]
    pub fn from_functions(functions: &[(&'static str, TypeId)]) -> Self {
        let all = entries();
        let mut list = Self::default();
        for (named, function) in functions {
            let mut annotations = all.iter().filter(|entry| entry.belongs_to(*function)).peekable();
            if annotations.peek().is_none() {
                list.unannotated.push(named);
            }
            list.entries.extend(annotations);
        }
        list
    }
}

/// Names annotated functions, for [`Builder::tasks`](crate::Builder::tasks).
///
/// A named function is linked, also from another crate.
///
/// ```rust,standalone_crate
/// use scheduler::{Scheduler, scheduled, tasks};
///
/// mod jobs {
///     #[scheduler::scheduled(fixed_rate = "1h")]
///     pub fn report() {}
/// }
///
/// #[scheduled(fixed_rate = "1s")]
/// fn tick() {}
///
/// let scheduler = Scheduler::builder().tasks(tasks![tick, jobs::report]).spawn()?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! tasks {
    ($($function:path),* $(,)?) => {
        $crate::TaskList::from_functions(&[
            $(($crate::__private::stringify!($function), $crate::__private::Any::type_id(&$function))),*
        ])
    };
}

/// A task as it is written, before settings are applied.
#[derive(Clone)]
pub(crate) struct Definition {
    pub(crate) name: Arc<str>,
    /// The path of the function; `None` for a closure.
    pub(crate) function: Option<Arc<str>>,
    pub(crate) location: Location,
    /// The texts of its attributes, with placeholders.
    pub(crate) attributes: Vec<(Attribute, String)>,
    pub(crate) trigger: Option<Arc<dyn Trigger>>,
    /// The version and the former names of a `#[job]`.
    pub(crate) job: Option<JobFacts>,
    pub(crate) call: Call,
    /// The faults of arguments that are not managed. They keep the task from running.
    pub(crate) missing: Vec<String>,
}

impl Definition {
    /// The task of an annotation, with its arguments in the call.
    pub(crate) fn of_entry(entry: &Entry, call: Call) -> Self {
        let attributes = entry.attributes.iter();
        Self {
            name: entry.name.into(),
            function: Some(format!("{}::{}", entry.module_path, entry.function).into()),
            location: entry.location,
            attributes: attributes
                .map(|(attribute, text)| (*attribute, (*text).to_owned()))
                .collect(),
            trigger: None,
            job: entry.job,
            call,
            missing: Vec::new(),
        }
    }

    pub(crate) fn in_code(name: &str, schedule: Schedule, call: Call, location: Location) -> Self {
        let (attributes, trigger) = schedule.into_parts();
        Self {
            name: name.into(),
            function: None,
            location,
            attributes,
            trigger,
            job: None,
            call,
            missing: Vec::new(),
        }
    }

    /// The kind of its rule, if no attribute is a rule.
    pub(crate) fn rule_alone(&self) -> RuleKind {
        match self.trigger {
            _ if self.job.is_some() => RuleKind::Job,
            Some(_) => RuleKind::Custom,
            None => RuleKind::Once,
        }
    }
}

crate::base::opaque! { Definition { name, location, attributes } }
