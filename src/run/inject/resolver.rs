//! Resolves the arguments of one task: the trait, states, and what is missing.

use std::any::{TypeId, type_name};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use scheduler_core::Clock;

use crate::run::inject::state::{Managed, NearMiss, States, shown};
use crate::run::{Run, Shutdown};

/// The sources of a task's arguments: managed values, the clock, the request to stop.
///
/// [`Extract::resolve`](super::Extract::resolve) gets one.
#[derive(Debug)]
pub struct Resolver<'a> {
    states: &'a States,
    clock: &'a Arc<dyn Clock>,
    shutdown: &'a Shutdown,
    /// The name of the value for `&self`, where several are managed.
    instance: Option<&'a str>,
    missing: Vec<Missing>,
}

/// A value that an argument needs and that is not managed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    type_name: &'static str,
    near_miss: Option<NearMiss>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(
        states: &'a States,
        clock: &'a Arc<dyn Clock>,
        shutdown: &'a Shutdown,
    ) -> Self {
        Self { states, clock, shutdown, instance: None, missing: Vec::new() }
    }

    /// A resolver with the same sources, for methods of the managed value of this name.
    pub(crate) fn for_instance(&self, instance: Option<&'a str>) -> Self {
        Self { instance, missing: Vec::new(), ..*self }
    }

    pub(crate) fn states(&self) -> &'a States {
        self.states
    }

    /// The name of the value for `&self`.
    pub(crate) fn instance(&self) -> Option<&'a str> {
        self.instance
    }

    /// The managed value of this type. A missing value is recorded, and makes the start fail.
    pub fn state<T: ?Sized + Managed>(&mut self) -> Option<Arc<T>> {
        let found = self.states.find(None);
        self.note(found)
    }

    /// The managed value of this type, if there is one.
    #[must_use]
    pub fn optional_state<T: ?Sized + Managed>(&self) -> Option<Arc<T>> {
        self.states.find(None)
    }

    /// The managed value of this type, if there is one. A type that is never managed is recorded as missing: such a
    /// parameter would be `None` in every run.
    pub(crate) fn optional_parameter<T: ?Sized + Managed>(&mut self) -> Option<Option<Arc<T>>> {
        let found = self.states.find(None);
        if found.is_none() && by_value(TypeId::of::<T>()).is_some() {
            return self.note(found).map(Some);
        }
        Some(found)
    }

    /// The clock of the scheduler.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(self.clock)
    }

    /// The scheduler's request to stop.
    #[must_use]
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// The value for `&self`.
    pub(crate) fn receiver<T: ?Sized + Managed>(&mut self) -> Option<Arc<T>> {
        let found = self.states.find(self.instance);
        self.note(found)
    }

    /// The missing values.
    pub(crate) fn into_missing(self) -> Vec<Missing> {
        self.missing
    }

    fn note<T: ?Sized + Managed>(&mut self, found: Option<Arc<T>>) -> Option<Arc<T>> {
        if found.is_none() {
            let type_name = type_name::<T>();
            let near_miss = by_value(TypeId::of::<T>());
            let near_miss = near_miss.or_else(|| of_store(type_name));
            let near_miss = near_miss.or_else(|| self.named(TypeId::of::<T>()));
            let near_miss = near_miss.or_else(|| self.states.near_miss(type_name));
            let missing = Missing { type_name, near_miss };
            if !self.missing.contains(&missing) {
                self.missing.push(missing);
            }
        }
        found
    }

    /// The first name among the values of the type.
    fn named(&self, type_id: TypeId) -> Option<NearMiss> {
        let name = self.states.names_of(type_id).into_iter().flatten().next()?;
        Some(NearMiss::Named(name.escape_debug().to_string()))
    }
}

/// The parameter type that is taken by value, for a type that is never managed.
fn by_value(wanted: TypeId) -> Option<NearMiss> {
    let types = [
        (TypeId::of::<Run>(), "Run"),
        (TypeId::of::<Shutdown>(), "Shutdown"),
        (TypeId::of::<dyn Clock>(), "Arc<dyn Clock>"),
    ];
    let found = types.iter().find(|(known, _)| *known == wanted);
    found.map(|(_, name)| NearMiss::ByValue((*name).to_owned()))
}

/// The handle of durable jobs is there if there is a store.
fn of_store(type_name: &str) -> Option<NearMiss> {
    let is_handle = type_name.starts_with("scheduler::") && type_name.ends_with("::Jobs");
    is_handle.then_some(NearMiss::Store)
}

/// The missing value, and help if something similar is managed.
impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = shown(self.type_name);
        write!(f, "wants `&{wanted}`, which is not managed")?;
        let is_object = wanted.starts_with("dyn ");
        match &self.near_miss {
            None if is_object => by_manage_shared(f, &wanted, "Arc::new(…)"),
            None => write!(f, "\nhelp: before the start, .manage::<{wanted}>(…)"),
            Some(NearMiss::Store) => f.write_str(
                "\nhelp: give the builder a store: Scheduler::builder().store(Sqlite::open(\"jobs.db\")?)",
            ),
            Some(NearMiss::Named(name)) => write!(
                f,
                "\nnote: one named `{name}` is, which is for methods of the type: \
                 parameters get the one without a name, given by `manage`"
            ),
            Some(NearMiss::Wrapped(found)) if is_object => {
                write!(f, "\nnote: `{found}` is")?;
                let is_shared = found.starts_with("Arc<");
                by_manage_shared(f, &wanted, if is_shared { "…" } else { "Arc::from(…)" })
            }
            Some(NearMiss::Wrapped(found)) => write!(
                f,
                "\nnote: `{found}` is: give the `{wanted}` itself, `manage` shares it; \
                 or an `Arc` of it to `manage_shared`"
            ),
            Some(NearMiss::Bare(found)) => {
                write!(f, "\nnote: `{found}` is: write `&{found}` as the parameter")
            }
            Some(NearMiss::ByValue(found)) => {
                write!(f, "\nnote: take it by value: write `{found}` as the parameter")
            }
            Some(NearMiss::Namesake(found)) => {
                write!(f, "\nnote: `{found}` is, which is another type of that name")
            }
        }
    }
}

/// The line to paste for a trait object. Its type must be named, or the value is managed as its own type.
fn by_manage_shared(f: &mut fmt::Formatter<'_>, wanted: &str, value: &str) -> fmt::Result {
    write!(f, "\nhelp: before the start, .manage_shared::<{wanted}>({value})")
}

/// A type that a scheduled function can take by value.
///
/// When the scheduler starts, the source of the argument is [resolved](Self::resolve). Each run
/// [extracts](Self::extract) its argument from the source.
///
/// ```rust,no_run,standalone_crate
/// use scheduler::{Extract, Run, Resolver, scheduled};
/// use std::sync::Arc;
///
/// struct Config {
///     verbose: bool,
/// }
///
/// /// Whether to print details.
/// struct Verbose(bool);
///
/// impl Extract for Verbose {
///     type Source = Arc<Config>;
///
///     fn resolve(resolver: &mut Resolver<'_>) -> Option<Self::Source> {
///         resolver.state::<Config>()
///     }
///
///     fn extract(config: &Self::Source, _run: &Run) -> Self {
///         Self(config.verbose)
///     }
/// }
///
/// #[scheduled(fixed_rate = "1m")]
/// fn sweep(verbose: Verbose) {
///     if verbose.0 {
///         println!("sweeping");
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a scheduled function",
    label = "not a task parameter",
    note = "task parameters are: `&T` (a value given to `.manage(…)`), `Option<&T>`, `State<T>`, \
            `Run`, `Shutdown`, `Tasks`, `Jobs`, `Schedules`, `Arc<dyn Clock>`",
    note = "to pass a value of your own, write `&{Self}` and call `.manage(value)` before the start; \
            or, if the code that enqueues a `#[job]` gives it, mark it `#[payload]`"
)]
pub trait Extract: Sized {
    /// The source of the argument, resolved once.
    type Source: Send + Sync + 'static;

    /// Resolves the source. `None` if it is missing, which the resolver has recorded.
    fn resolve(resolver: &mut Resolver<'_>) -> Option<Self::Source>;

    /// The argument for one run.
    fn extract(source: &Self::Source, run: &Run) -> Self;
}

impl Extract for Run {
    type Source = ();

    fn resolve(_resolver: &mut Resolver<'_>) -> Option<()> {
        Some(())
    }

    fn extract((): &(), run: &Run) -> Self {
        run.clone()
    }
}

impl Extract for Shutdown {
    type Source = Self;

    fn resolve(resolver: &mut Resolver<'_>) -> Option<Self> {
        Some(resolver.shutdown())
    }

    fn extract(source: &Self, _run: &Run) -> Self {
        source.clone()
    }
}

/// The clock of the scheduler; in a test, the clock of the test.
///
/// ```rust,no_run,standalone_crate
/// use scheduler::{Clock, scheduled};
/// use std::sync::Arc;
///
/// #[scheduled(cron = "@daily", zone = "UTC")]
/// fn report(clock: Arc<dyn Clock>) {
///     println!("the report of {}", clock.wall().date_naive());
/// }
/// ```
impl Extract for Arc<dyn Clock> {
    type Source = Self;

    fn resolve(resolver: &mut Resolver<'_>) -> Option<Self> {
        Some(resolver.clock())
    }

    fn extract(source: &Self, _run: &Run) -> Self {
        Self::clone(source)
    }
}

/// A managed value that can be moved into a thread or a spawned future.
///
/// Otherwise `&T` is shorter.
///
/// ```rust,no_run,standalone_crate
/// use scheduler::{State, scheduled};
///
/// struct Mailer;
///
/// #[scheduled(fixed_rate = "1h")]
/// fn remind(mailer: State<Mailer>) {
///     std::thread::spawn(move || {
///         let _mailer: &Mailer = &mailer;
///     });
/// }
/// ```
#[derive(Debug)]
pub struct State<T: ?Sized>(Arc<T>);

impl<T: ?Sized> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized + Managed> Extract for State<T> {
    type Source = Arc<T>;

    fn resolve(resolver: &mut Resolver<'_>) -> Option<Arc<T>> {
        resolver.state::<T>()
    }

    fn extract(source: &Arc<T>, _run: &Run) -> Self {
        Self(Arc::clone(source))
    }
}

impl<T: ?Sized + Managed> Extract for Option<State<T>> {
    type Source = Option<Arc<T>>;

    fn resolve(resolver: &mut Resolver<'_>) -> Option<Option<Arc<T>>> {
        resolver.optional_parameter::<T>()
    }

    fn extract(source: &Option<Arc<T>>, _run: &Run) -> Self {
        source.clone().map(State)
    }
}

/// A handle of the scheduler, which the builder gives to the states.
macro_rules! handle {
    ($name:ident) => {
        impl $crate::run::inject::Extract for $name {
            type Source = std::sync::Arc<Self>;

            fn resolve(resolver: &mut $crate::run::inject::Resolver<'_>) -> Option<Self::Source> {
                resolver.state::<Self>()
            }

            fn extract(source: &Self::Source, _run: &$crate::run::Run) -> Self {
                Self::clone(source)
            }
        }
    };
}
pub(crate) use handle;

#[cfg(test)]
mod tests {
    use super::super::{Extract, State};
    use super::*;
    use scheduler_core::ManualClock;

    #[test]
    fn missing_values_are_recorded_once_with_similar_ones() {
        let mut states = States::default();
        states.insert(None, Arc::new(Arc::new(7_u32)));
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
        let shutdown = Shutdown::new();
        let mut resolver = Resolver::new(&states, &clock, &shutdown);
        assert_eq!(resolver.state::<u8>(), None);
        assert_eq!(resolver.state::<u8>(), None);
        assert_eq!(resolver.state::<u32>(), None);
        assert!(resolver.state::<Run>().is_none());
        assert_eq!(resolver.optional_state::<u64>(), None);
        assert!(resolver.state::<Arc<u32>>().is_some());
        let texts: Vec<String> = resolver.into_missing().iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 3);
        assert!(texts[2].ends_with("note: take it by value: write `Run` as the parameter"));
        let help = "\nhelp: before the start, .manage::<u8>(…)";
        assert_eq!(texts[0], format!("wants `&u8`, which is not managed{help}"));
        assert!(texts[1].contains("note: `Arc<u32>` is: give the `u32` itself"), "{}", texts[1]);
    }

    #[test]
    fn a_missing_trait_object_has_a_line_to_paste() {
        use std::fmt::Display;
        type Shown = dyn Display + Send + Sync;
        let message = |states: &States| {
            let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
            let shutdown = Shutdown::new();
            let mut resolver = Resolver::new(states, &clock, &shutdown);
            assert!(resolver.state::<Shown>().is_none());
            resolver.into_missing()[0].to_string()
        };
        let (name, mut states) = (std::any::type_name::<Shown>(), States::default());
        states.insert(None, Arc::new(7_u8));
        let line =
            |value: &str| format!("\nhelp: before the start, .manage_shared::<{name}>({value})");
        assert_eq!(
            message(&states),
            format!("wants `&{name}`, which is not managed{}", line("Arc::new(…)"))
        );
        let mut boxed = states.clone();
        boxed.insert::<Box<Shown>>(None, Arc::new(Box::new(7)));
        let note = format!("\nnote: `Box<{name}>` is{}", line("Arc::from(…)"));
        assert!(message(&boxed).ends_with(&note), "{}", message(&boxed));
        states.insert::<Arc<Shown>>(None, Arc::new(Arc::new(7)));
        assert!(message(&states).ends_with(&format!("\nnote: `Arc<{name}>` is{}", line("…"))));
    }

    #[test]
    fn an_option_of_what_is_never_managed_is_refused() {
        let states = States::default();
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
        let shutdown = Shutdown::new();
        let mut resolver = Resolver::new(&states, &clock, &shutdown);
        assert_eq!(resolver.optional_parameter::<u8>(), Some(None));
        assert!(resolver.optional_parameter::<Run>().is_none());
        assert!(<Option<State<Shutdown>>>::resolve(&mut resolver).is_none());
        let texts: Vec<String> = resolver.into_missing().iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].ends_with("note: take it by value: write `Run` as the parameter"));
        assert!(texts[1].ends_with("note: take it by value: write `Shutdown` as the parameter"));
    }

    #[test]
    fn a_value_that_has_a_name_is_not_for_parameters() {
        let mut states = States::default();
        states.insert(Some("eu"), Arc::new(7_u32));
        states.insert_own(7_u8);
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
        let shutdown = Shutdown::new();
        let mut resolver = Resolver::new(&states, &clock, &shutdown);
        assert_eq!(resolver.state::<u32>(), None);
        let text = resolver.into_missing()[0].to_string();
        assert!(text.contains("\nnote: one named `eu` is, which is for methods"), "{text}");
        assert_eq!(states.described(), ["u32 named `eu`"]);
    }

    #[test]
    fn a_receiver_is_the_named_instance_and_other_arguments_are_not() {
        let mut states = States::default();
        states.insert(None, Arc::new("default"));
        states.insert(Some("eu"), Arc::new("eu"));
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
        let shutdown = Shutdown::new();
        let mut resolver = Resolver::new(&states, &clock, &shutdown).for_instance(Some("eu"));
        assert_eq!(resolver.receiver::<&str>().as_deref(), Some(&"eu"));
        assert_eq!(resolver.state::<&str>().as_deref(), Some(&"default"));
        assert!(resolver.into_missing().is_empty());
    }
}
