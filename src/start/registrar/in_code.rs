//! Definitions of tasks in code and of annotated functions; their names.

use std::fmt::Write;
use std::future::Future;

use scheduler_expr::check_name;

use crate::base::metadata::Location;
use crate::define::entry::{Definition, Entry};
use crate::define::schedule::Schedule;
use crate::define::settings::word;
use crate::run::Run;
use crate::run::inject::{Call, Resolver, TaskReturn};

/// Collects the tasks that code defines.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler};
///
/// let regions = ["eu", "us"];
/// let scheduler = Scheduler::builder()
///     .configure(move |tasks| {
///         for region in regions {
///             tasks.add(&format!("sync-{region}"), Schedule::fixed_rate("1h"), move |_| {
///                 println!("{region} is in sync");
///             });
///         }
///     })
///     .spawn()?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
#[doc(alias = "ScheduledTaskRegistrar")]
pub struct Registrar {
    pub(crate) definitions: Vec<Definition>,
}

impl Registrar {
    /// Adds a task that is a closure.
    #[track_caller]
    pub fn add<R, Kind>(
        &mut self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(&Run) -> R + Send + Sync + 'static,
    ) -> &mut Self
    where
        R: TaskReturn<Kind>,
    {
        self.define(name, schedule, Call::of(body))
    }

    /// Adds a task that is a closure which makes a future.
    #[track_caller]
    pub fn add_async<F, Kind>(
        &mut self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(Run) -> F + Send + Sync + 'static,
    ) -> &mut Self
    where
        F: Future<Output: TaskReturn<Kind>> + Send + 'static,
    {
        self.define(name, schedule, Call::of_async(body))
    }

    #[track_caller]
    fn define(&mut self, name: &str, schedule: Schedule, call: Call) -> &mut Self {
        let here = Location::caller();
        self.definitions.push(Definition::in_code(name, schedule, call, here));
        self
    }
}

/// The tasks of an annotation: one, or one for each managed value that a method is called on.
pub(super) fn definitions(entry: &Entry, resolver: &Resolver<'_>) -> Vec<Definition> {
    let instances = match entry.receiver {
        Some(receiver) if entry.job.is_none() => resolver.states().names_of(receiver()),
        // A job names no value: a method is called on the one without a name.
        _ => Vec::new(),
    };
    // Without a value there still is a task, whose missing value is a fault.
    let instances = if instances.is_empty() { vec![None] } else { instances };
    let resolvers = instances.into_iter().map(|instance| resolver.for_instance(instance));
    resolvers.filter_map(|resolver| definition(entry, resolver)).collect()
}

fn definition(entry: &Entry, mut resolver: Resolver<'_>) -> Option<Definition> {
    let name = match resolver.instance() {
        None => entry.name.to_owned(),
        Some(instance) => format!("{}[{instance}]", entry.name),
    };
    let call = entry.resolve(&mut resolver);
    let place = format!("{}: {}", entry.location, word(&name));
    let missing = resolver.into_missing();
    let missing: Vec<String> = missing.iter().map(|missing| format!("{place} {missing}")).collect();
    // INVARIANT: a task that misses a value is never called: either nothing is launched, or this process runs none of its
    // jobs. It is kept so that its attributes are checked.
    let call = call.or_else(|| (!missing.is_empty()).then(Call::noop));
    Some(Definition { name: name.into(), missing, ..Definition::of_entry(entry, call?) })
}

/// One fault for each name that is empty, hard to read, or that several tasks have.
pub(crate) fn faults(definitions: &[Definition]) -> Vec<String> {
    let mut sorted: Vec<&Definition> = definitions.iter().collect();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    let by_name = || sorted.chunk_by(|one, other| one.name == other.name);
    let unreadable = by_name().filter_map(|tasks| unreadable(&tasks[0].name, tasks[0]));
    let doubled = by_name().filter(|tasks| tasks.len() > 1);
    unreadable.chain(doubled.map(|tasks| describe(&tasks[0].name, tasks))).collect()
}

/// The macro checks the names of annotations by the same rules.
fn unreadable(name: &str, task: &Definition) -> Option<String> {
    let error = check_name(name).err()?;
    let (location, shown) = (task.location, word(name));
    Some(format!(
        "{location}: the name {shown} of a task {error}\n\
         help: names are keys of settings and stand in messages; write for example `nightly-report`"
    ))
}

fn describe(name: &str, tasks: &[&Definition]) -> String {
    let mut text = format!("{} tasks are named {}", tasks.len(), word(name));
    for task in tasks {
        let what = task.function.as_deref().unwrap_or("a closure");
        let _ = write!(text, "\n  {what} ({})", task.location);
    }
    let _ = write!(text, "\nhelp: give one another name: {}", remedy(name, tasks));
    text
}

/// Where the name of one of the tasks can be changed: in code, or in an annotation.
fn remedy(name: &str, tasks: &[&Definition]) -> String {
    const ANNOTATION: &str = "#[scheduled(name = \"…\", …)]";
    let other = Some(format!("{name}-2")).filter(|other| check_name(other).is_ok());
    let in_code = format!(".task({:?}, …)", other.as_deref().unwrap_or("…"));
    match tasks.iter().filter(|task| task.function.is_none()).count() {
        0 => ANNOTATION.to_owned(),
        count if count == tasks.len() => in_code,
        _ => format!("{in_code} or {ANNOTATION}"),
    }
}
