//! The entry: static facts of one annotated function, and the link-time list of them.
//!
//! # What this room is for
//!
//! `#[scheduled]` leaves one [`Entry`] per annotation in the binary: the words of the annotation as
//! they were written, the place where they stand, and a way to get the function's arguments and call
//! it. [`entries`] reads them all, in an order that does not depend on the linker.
//!
//! # What it must never do
//!
//! Judge, resolve or schedule. An entry keeps *texts*; the macro has checked them at compile time,
//! and the registrar parses them again with the same parser after settings had their say.
//!
//! # How a neighbour uses it
//!
//! The registrar walks [`entries`], asks settings for the effective texts, and lets the entry's wire
//! function make a [`Call`]. Only generated code makes entries.

use std::any::TypeId;

use scheduler_expr::Attribute;

use crate::facts::Location;
use crate::inject::Call;
use crate::inject::Wiring;

/// Looks up the arguments of a function; none if one of them is missing, which the wiring has noted.
pub type Wire = fn(&mut Wiring<'_>) -> Option<Call>;

/// Static facts of one `#[scheduled]` annotation.
///
/// A function with two annotations has two entries. Times are kept as the text of the annotation.
///
/// ```rust,standalone_crate
/// use scheduler::{Attribute, entries, scheduled};
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
        Self { name, origin, attributes, receiver: None, wire }
    }

    /// The same entry for a method, which is called on managed values.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_receiver(self, receiver: Receiver) -> Self {
        Self { receiver: Some(receiver), ..self }
    }

    /// The task's name: `name = "…"`, or else the function's path, such as `shop::jobs::report`,
    /// with `-2`, `-3`… when the function has more than one annotation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The function's own name, without `r#`; that of a method with its type, `Reports::sweep`.
    #[must_use]
    pub fn function(&self) -> &'static str {
        self.origin.function
    }

    /// The path of the module in which the function stands, such as `shop::jobs`.
    #[must_use]
    pub fn module_path(&self) -> &'static str {
        self.origin.module_path
    }

    /// Where the annotation stands.
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

    /// The managed type that a method is called on; none for a free function.
    pub(crate) fn receiver(&self) -> Option<Receiver> {
        self.receiver
    }

    /// Looks up the function's arguments.
    pub(crate) fn wire(&self, wiring: &mut Wiring<'_>) -> Option<Call> {
        (self.wire)(wiring)
    }

    /// Whether this is an annotation of that function.
    pub(crate) fn is_of(&self, function: FunctionId) -> bool {
        (self.origin.id)() == function
    }

    fn order(&self) -> impl Ord + use<> {
        let Location { file, line } = self.origin.location;
        (self.origin.module_path, line, self.name, file)
    }
}

/// Where an annotated function comes from, and which one it is.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    function: &'static str,
    module_path: &'static str,
    location: Location,
    id: fn() -> FunctionId,
}

impl Origin {
    /// Puts the facts together.
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

/// Tells functions apart: each has a type of its own.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionId(TypeId);

impl FunctionId {
    /// That of a function, given by its name.
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
    /// That of `&self` in an `impl` block of `T`.
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
///
/// ```rust,standalone_crate
/// use scheduler::{Attribute, entries, scheduled};
///
/// #[scheduled(fixed_rate = "1s")]
/// fn tick() {}
///
/// let entries = entries();
/// let tick = entries.iter().find(|entry| entry.function() == "tick").expect("it is linked");
/// assert_eq!(tick.attribute(Attribute::FixedRate), Some("1s"));
/// ```
#[must_use]
pub fn entries() -> Vec<&'static Entry> {
    let mut entries: Vec<&'static Entry> = inventory::iter::<Entry>().collect();
    entries.sort_by_key(|entry| entry.order());
    entries
}

/// Annotated functions that were named in code: see [`tasks!`](crate::tasks).
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
    /// Functions without an annotation, as they were named.
    pub(crate) unannotated: Vec<&'static str>,
}

impl TaskList {
    #[doc(hidden)]
    pub fn from_functions(functions: &[(&'static str, FunctionId)]) -> Self {
        let all = entries();
        let mut list = Self::default();
        for (named, function) in functions {
            let mut own = all.iter().filter(|entry| entry.is_of(*function)).peekable();
            if own.peek().is_none() {
                list.unannotated.push(named);
            }
            list.entries.extend(own);
        }
        list
    }
}

/// Names annotated functions, for [`Builder::tasks`](crate::Builder::tasks).
///
/// A function that is named is linked, whatever crate it is in.
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
