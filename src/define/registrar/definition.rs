//! A task as an annotation or code defines it, before settings are applied.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use scheduler_core::{Clock, Trigger};
use scheduler_expr::{Attribute, RuleKind};

use crate::define::entry::{Entry, JobFacts};
use crate::define::metadata::Location;
use crate::define::schedule::Schedule;
use crate::define::settings::{TaskTexts, word};
use crate::run::inject::{Call, Resolver, States, TaskReturn};
use crate::run::{Run, Shutdown};

/// A task as it was defined.
#[derive(Clone)]
pub(crate) struct Definition {
    pub(crate) name: Arc<str>,
    /// The path of the function; none for a closure.
    pub(crate) function: Option<Arc<str>>,
    pub(crate) location: Location,
    pub(crate) texts: Vec<(Attribute, String)>,
    pub(crate) trigger: Option<Arc<dyn Trigger>>,
    /// Of a function that runs jobs: what the annotation says of them.
    pub(crate) job: Option<JobFacts>,
    pub(crate) call: Call,
}

/// What arguments are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) states: &'a States,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) shutdown: &'a Shutdown,
}

impl Definition {
    /// The tasks of an annotation: one, or one for each managed value that a method is called on.
    /// What is missing is added to `faults`.
    pub(super) fn of_entry(
        entry: &Entry,
        inputs: &Inputs<'_>,
        faults: &mut Vec<String>,
    ) -> Vec<Self> {
        let instances = match entry.receiver() {
            // A job names no value: those of a method run on the one without a name.
            _ if entry.job().is_some() => vec![None],
            None => vec![None],
            Some(receiver) => inputs.states.names_of(receiver.type_id()),
        };
        // Without a value there still is a task, which then misses its value.
        let instances = if instances.is_empty() { vec![None] } else { instances };
        let tasks = instances.into_iter().filter_map(|instance| {
            let name = match instance {
                None => entry.name().to_owned(),
                Some(instance) => format!("{}[{instance}]", entry.name()),
            };
            let resolver = Resolver::new(inputs.states, inputs.clock, inputs.shutdown);
            let mut resolver = resolver.with_instance(instance);
            let call = entry.wire(&mut resolver);
            let missing = resolver.into_missing();
            let place = format!("{}: {}", entry.location(), word(&name));
            let texts = entry.attributes().iter().map(|(own, text)| (*own, (*text).to_owned()));
            faults.extend(missing.iter().map(|missing| format!("{place} {missing}")));
            // INVARIANT: with a fault nothing is launched, so a task that misses a value is never called. It is
            // kept so that its attributes are checked.
            let call = call.or_else(|| (!missing.is_empty()).then(|| Call::of(|_| {})));
            Some(Self {
                name: name.into(),
                function: Some(format!("{}::{}", entry.module_path(), entry.function()).into()),
                location: entry.location(),
                texts: texts.collect(),
                trigger: None,
                job: entry.job(),
                call: call?,
            })
        });
        tasks.collect()
    }

    /// The attributes as they were written, for settings to be applied to.
    pub(crate) fn written(&self) -> TaskTexts<'_> {
        let texts = self.texts.iter().map(|(attribute, text)| (*attribute, text.as_str()));
        let (name, place) = (&*self.name, self.location.to_string());
        TaskTexts { name, place, rule: self.rule_alone(), attributes: texts.collect() }
    }

    /// The kind of its rule, if no attribute is a rule.
    pub(super) fn rule_alone(&self) -> RuleKind {
        match self.trigger {
            _ if self.job.is_some() => RuleKind::Job,
            Some(_) => RuleKind::Custom,
            None => RuleKind::Once,
        }
    }

    pub(crate) fn in_code(name: &str, schedule: Schedule, call: Call, location: Location) -> Self {
        let (texts, trigger) = schedule.into_parts();
        Self { name: name.into(), function: None, location, texts, trigger, job: None, call }
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("name", &self.name)
            .field("location", &self.location)
            .field("texts", &self.texts)
            .finish_non_exhaustive()
    }
}

/// Takes the tasks that are defined in code.
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
    pub(crate) defined: Vec<Definition>,
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
        self.defined.push(Definition::in_code(name, schedule, call, here));
        self
    }
}
