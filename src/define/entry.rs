//! The facts of each annotated function, collected when the program is linked.
//!
//! `#[scheduled]` and `#[job]` leave one [`Entry`] per annotation in the binary: the texts of the annotation, its place, and
//! a function that resolves the arguments and returns a [`Call`]. [`entries`] returns all of them, in an order that does not
//! depend on the linker. Only generated code makes entries.
//!
//! An entry decides nothing: it keeps texts, which the macro has checked. They are parsed again by the same parser, after
//! settings have replaced some.

use std::any::TypeId;

use scheduler_expr::Attribute;

use crate::define::metadata::Location;
use crate::run::inject::{Call, Resolver};

/// Resolves the arguments of a function. `None` if one is missing, which the resolver has recorded.
pub(crate) type Wire = fn(&mut Resolver<'_>) -> Option<Call>;

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
/// assert_eq!(entry.name(), "sales-report");
/// assert_eq!(entry.function(), "report");
/// assert_eq!(entry.attribute(Attribute::Cron), Some("@daily"));
/// println!("it stands at {}", entry.location());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    name: &'static str,
    origin: Origin,
    attributes: &'static [(Attribute, &'static str)],
    receiver: Option<Receiver>,
    job: Option<JobFacts>,
    wire: Wire,
}

impl Entry {
    /// Makes the entry of an annotation on a function without `self`.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        name: &'static str,
        origin: Origin,
        attributes: &'static [(Attribute, &'static str)],
        wire: Wire,
    ) -> Self {
        Self { name, origin, attributes, receiver: None, job: None, wire }
    }

    /// The same entry for a method, which is called on managed values.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_receiver(self, receiver: Receiver) -> Self {
        Self { receiver: Some(receiver), ..self }
    }

    /// The same entry for a function that runs jobs.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_job(self, job: JobFacts) -> Self {
        Self { job: Some(job), ..self }
    }

    /// The options of `#[job]` alone; `None` for `#[scheduled]`.
    #[doc(hidden)]
    #[must_use]
    pub fn job(&self) -> Option<JobFacts> {
        self.job
    }

    /// The task's name: `name = "…"`, or else the function's path, such as `shop::jobs::report`,
    /// with `-2`, `-3`… when the function has more than one annotation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The function's own name, without `r#`; a method has its type in front, `Reports::sweep`.
    #[must_use]
    pub fn function(&self) -> &'static str {
        self.origin.function
    }

    /// The path of the module in which the function stands, such as `shop::jobs`.
    #[must_use]
    pub fn module_path(&self) -> &'static str {
        self.origin.module_path
    }

    /// The place of the annotation.
    #[must_use]
    pub fn location(&self) -> Location {
        self.origin.location
    }

    /// The text of an attribute, as the annotation has it.
    #[must_use]
    pub fn attribute(&self, attribute: Attribute) -> Option<&'static str> {
        self.attributes.iter().find(|(known, _)| *known == attribute).map(|(_, text)| *text)
    }

    /// All attributes of the annotation with their texts.
    #[must_use]
    pub fn attributes(&self) -> &'static [(Attribute, &'static str)] {
        self.attributes
    }

    /// The managed type of a method; `None` for a free function.
    pub(crate) fn receiver(&self) -> Option<Receiver> {
        self.receiver
    }

    /// Resolves the function's arguments.
    pub(crate) fn wire(&self, resolver: &mut Resolver<'_>) -> Option<Call> {
        (self.wire)(resolver)
    }

    /// Returns true if the annotation is of that function.
    pub(crate) fn belongs_to(&self, function: FunctionId) -> bool {
        (self.origin.id)() == function
    }

    fn order(&self) -> impl Ord + use<> {
        let Location { file, line } = self.origin.location;
        (self.origin.module_path, line, self.name, file)
    }
}

/// The options of `#[job]` that settings cannot override.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFacts {
    /// The version of the payload's type; 0 if there is no payload.
    pub version: u32,
    /// The names that the job had before.
    pub aliases: &'static [&'static str],
}

/// The identity and the place of an annotated function.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    function: &'static str,
    module_path: &'static str,
    location: Location,
    id: fn() -> FunctionId,
}

impl Origin {
    #[must_use]
    pub const fn new(
        function: &'static str,
        module_path: &'static str,
        location: Location,
        id: fn() -> FunctionId,
    ) -> Self {
        Self { function, module_path, location, id }
    }
}

/// Identifies a function by its type.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionId(TypeId);

impl FunctionId {
    /// The id of a function.
    pub fn of<F: 'static>(_function: &F) -> Self {
        Self(TypeId::of::<F>())
    }
}

/// The type on whose managed values a method is called.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    id: fn() -> TypeId,
}

impl Receiver {
    /// The receiver of methods of `T`.
    #[must_use]
    pub const fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T> }
    }

    pub(crate) fn type_id(self) -> TypeId {
        (self.id)()
    }
}

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
    pub fn from_functions(functions: &[(&'static str, FunctionId)]) -> Self {
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
            $(($crate::__private::stringify!($function), $crate::__private::FunctionId::of(&$function))),*
        ])
    };
}
