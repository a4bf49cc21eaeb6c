//! Combines and checks everything before a start.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;
use scheduler_core::{Clock, SystemClock};

use crate::base::metadata::Location;
use crate::define::entry::Definition;
use crate::define::schedule::Schedule;
use crate::define::settings::names::Names;
use crate::define::settings::{
    self, Application, Applied, Environment, Globals, Level, Remark, ResolvedAttributes, Settings,
    SettingsError, SettingsInput,
};
use crate::run::Shutdown;
use crate::run::inject::{Call, Resolver, States};
use crate::start::builder::Builder;
use crate::start::context::{default_zone, fallbacks};
#[cfg(feature = "durable")]
use crate::start::durable::Durable;
use crate::start::error::StartError;
use crate::start::pools::{self, Pool, PoolPlan};
use crate::start::registrar::{Crons, ResolveContext, collect_definitions, resolve};
use crate::start::report::{Message, Messages, durable_without_timeout, no_tasks, panics_abort};
use crate::start::task_table::ENDED_KEPT;
use crate::start::tasks::Tasks;
use crate::task::TaskSpec;

/// The time that a stop waits for running tasks by default.
const AWAIT_TERMINATION: Duration = Duration::from_secs(30);

/// Why a scheduler is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To start it, unless `SCHEDULER_DRY_RUN` asks for a dry run.
    Start,
    Report,
}

/// Prepares a scheduler. The error has everything that keeps it from starting.
pub(crate) fn prepare(builder: &mut Builder, purpose: Purpose) -> Result<Prepared, StartError> {
    let settings = load(builder)?;
    let mut preparation = Preparation::new(builder, &settings, purpose);
    let definitions = preparation.define();
    let (names, later) = preparation.names(settings.names(), &definitions);
    let mut application = settings.apply(&names, &preparation.pool_names());
    preparation.resolve_pools(&application);
    let context = preparation.context(&application.globals);
    let specs = preparation.resolve(&definitions, &mut application, &context);
    let applied = preparation.finish(application, &specs, &later);
    if !preparation.faults.is_empty() {
        print_warnings(preparation.builder, &applied.remarks);
        return Err(StartError::of_faults(preparation.faults));
    }
    let (remarks, zone_warning) = preparation.remarks(&specs, &applied);
    let warnings = warnings(&specs, preparation.builder, preparation.clock.wall());
    let limit = limit(preparation.builder, &applied.globals);
    let keep_ended = keep_ended(preparation.builder, &applied.globals);
    let Preparation { builder, tz, is_dry_run, pools, clock, shutdown, tasks, resolved, .. } =
        preparation;
    #[cfg(feature = "durable")]
    let durable = preparation.durable;
    let mut prepared = Prepared {
        specs,
        context,
        pools,
        zone_warning,
        limit,
        keep_ended,
        clock,
        shutdown,
        tasks,
        #[cfg(feature = "durable")]
        durable,
        settings,
        remarks,
        warnings,
        report: None,
    };
    if is_dry_run {
        let fallbacks = fallbacks(builder, &prepared, &tz);
        let report = settings::report(&applied, &resolved, &fallbacks);
        let messages = prepared.remarks.iter().chain(&prepared.warnings);
        prepared.report = Some(DryRun { text: with_messages(report, messages) });
    }
    Ok(prepared)
}

/// A scheduler while it is prepared, and the faults found so far.
struct Preparation<'a> {
    builder: &'a mut Builder,
    /// The value of the variable `TZ`.
    tz: String,
    is_dry_run: bool,
    clock: Arc<dyn Clock>,
    shutdown: Shutdown,
    tasks: Tasks,
    states: States,
    #[cfg(feature = "durable")]
    durable: Option<Durable>,
    pools: Vec<PoolPlan>,
    /// The warning that the zone was guessed.
    zone_warning: Option<Message>,
    faults: Vec<String>,
    /// The faults of attributes, which are sorted with those of settings.
    attribute_faults: Vec<SettingsError>,
    /// The faults of expected tasks that are missing.
    missing: Vec<String>,
    /// The faults of missing values of tasks that have other faults, too.
    missing_values: Vec<String>,
    /// The attributes of all tasks, for the report of a dry run.
    resolved: Vec<ResolvedAttributes>,
}

impl<'a> Preparation<'a> {
    fn new(builder: &'a mut Builder, settings: &Settings, purpose: Purpose) -> Self {
        let clock = builder.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
        let (shutdown, tasks) = (Shutdown::new(), Tasks::new());
        let mut states = builder.states.clone();
        states.insert_own(tasks.clone());
        Self {
            tz: settings.environment().foreign("TZ"),
            is_dry_run: purpose == Purpose::Report || settings.is_dry_run(),
            #[cfg(feature = "durable")]
            durable: Durable::of(builder, &clock, &mut states),
            builder,
            clock,
            shutdown,
            tasks,
            states,
            pools: Vec::new(),
            zone_warning: None,
            faults: Vec::new(),
            attribute_faults: Vec::new(),
            missing: Vec::new(),
            missing_values: Vec::new(),
            resolved: Vec::new(),
        }
    }

    /// The annotated tasks, and those defined in code, those of configurers last.
    fn define(&mut self) -> Vec<Definition> {
        for configure in self.builder.configurers.drain(..) {
            configure(&mut self.builder.registrar);
        }
        let in_code = std::mem::take(&mut self.builder.registrar.definitions);
        let resolver = Resolver::new(&self.states, &self.clock, &self.shutdown);
        let listed = self.builder.listed.as_ref();
        collect_definitions(listed, in_code, &resolver, &mut self.faults)
    }

    /// The names of all tasks, each with its index among the definitions. Tasks that may be added later get the numbers
    /// after them, and are returned, too.
    fn names(
        &mut self,
        mut names: Names,
        definitions: &[Definition],
    ) -> (Names, Vec<(usize, Arc<str>)>) {
        for (number, task) in definitions.iter().enumerate() {
            names.insert(&task.name, number);
        }
        let missing = self.builder.expected.iter().filter_map(|name| names.find(name).err());
        self.missing.extend(missing.map(|error| {
            format!(
                "expected tasks: {error}\n\
                 help: tasks in another crate are linked only if the crate is mentioned: \
                 `use jobs as _;`"
            )
        }));
        let mut later = Vec::new();
        for name in &self.builder.allowed_later {
            let (name, number) = (Arc::<str>::from(name.as_str()), definitions.len() + later.len());
            if names.insert(&name, number) {
                later.push((number, name));
            }
        }
        (names, later)
    }

    /// The names of the pools of the builder but the default one.
    fn pool_names(&self) -> Vec<&str> {
        self.builder.pools.keys().map(String::as_str).collect()
    }

    /// The default pool, and then the others.
    fn resolve_pools(&mut self, application: &Application<'_>) {
        self.pools = pools(self.builder, application);
    }

    /// The names and defaults that the attributes of tasks refer to.
    fn context(&mut self, globals: &Globals) -> ResolveContext {
        let zone = self.zone(globals);
        let faults = pool_faults(self.builder, &self.pools);
        self.faults.extend(faults);
        ResolveContext {
            zone,
            pools: self.pools.iter().map(|pool| pool.name.as_str().into()).collect(),
            calendars: std::mem::take(&mut self.builder.calendars),
            crons: Crons::default(),
            seed: self.builder.seed,
            has_store: self.builder.has_store(),
        }
    }

    /// The default zone. Keeps a warning if it was guessed.
    fn zone(&mut self, globals: &Globals) -> Zone {
        let name = globals.zone.as_deref().or(self.builder.zone.as_deref());
        match default_zone(name, &self.tz) {
            Ok((zone, warning)) => {
                self.zone_warning = warning;
                zone
            }
            Err(fault) => {
                self.faults.push(fault);
                Zone::UTC
            }
        }
    }

    /// Resolves all tasks; one with a fault is left out.
    fn resolve(
        &mut self,
        definitions: &[Definition],
        application: &mut Application<'_>,
        context: &ResolveContext,
    ) -> Vec<TaskSpec> {
        let mut specs = Vec::with_capacity(definitions.len());
        for (number, definition) in definitions.iter().enumerate() {
            let attributes = application.task(number, definition);
            match resolve(definition, &attributes, context) {
                Ok(spec) => specs.push(spec),
                Err(faults) => {
                    self.missing_values.extend(definition.missing.iter().cloned());
                    self.attribute_faults.extend(faults);
                }
            }
            if self.is_dry_run {
                self.resolved.push(attributes);
            }
        }
        #[cfg(feature = "durable")]
        if let Some(durable) = &mut self.durable {
            self.faults.extend(durable.know_tasks(&specs, &context.calendars));
        }
        specs
    }

    /// Checks the settings of tasks that may be added later, and collects all faults.
    fn finish(
        &mut self,
        mut application: Application<'_>,
        specs: &[TaskSpec],
        later: &[(usize, Arc<str>)],
    ) -> Applied {
        for (number, name) in later {
            let schedule = Schedule::default();
            let task = Definition::in_code(name, schedule, Call::noop(), Location::NONE);
            application.task(*number, &task);
        }
        let mut applied = application.finish();
        applied.faults.append(&mut self.attribute_faults);
        SettingsError::sort(&mut applied.faults);
        self.faults.extend(applied.faults.iter().map(ToString::to_string));
        self.faults.append(&mut self.missing);
        #[cfg(feature = "durable")]
        if let Some(durable) = &mut self.durable {
            self.faults.extend(durable.configure(&applied.node, specs, &self.pools));
        }
        #[cfg(not(feature = "durable"))]
        if applied.node != settings::NodeSettings::default() {
            let fault = "`scheduler.node` needs a store, and the program is built without\n\
                         help: cargo add scheduler-rs --features sqlite";
            self.faults.push(fault.to_owned());
        }
        if self.builder.is_enqueue_only() && !self.builder.has_store() {
            let fault = "enqueue_only() needs a store, in which jobs are kept\n\
                         help: Scheduler::builder().store(Postgres::connect(\"postgres://…\")?)";
            self.faults.push(fault.to_owned());
        }
        self.check_values(specs);
        applied
    }

    /// Adds the faults of missing values, before all others. A task whose jobs run elsewhere needs no values here.
    fn check_values(&mut self, specs: &[TaskSpec]) {
        let here = specs.iter().filter(|spec| self.runs_here(spec));
        let missing = here.flat_map(|spec| &spec.missing).chain(&self.missing_values);
        let mut missing: Vec<String> = missing.cloned().collect();
        if let Some(last) = missing.last_mut() {
            last.push_str(&self.states.managed_note());
        }
        self.faults.splice(0..0, missing);
    }

    #[cfg(feature = "durable")]
    fn runs_here(&self, spec: &TaskSpec) -> bool {
        self.durable.as_ref().is_none_or(|durable| durable.runs(spec))
    }

    #[cfg(not(feature = "durable"))]
    #[expect(clippy::unused_self, reason = "as with a store")]
    fn runs_here(&self, _: &TaskSpec) -> bool {
        true
    }

    /// The messages before the start message; and the warning about the zone, if no task goes by it yet.
    fn remarks(
        &mut self,
        specs: &[TaskSpec],
        applied: &Applied,
    ) -> (Vec<Message>, Option<Message>) {
        let mut later = self.zone_warning.take();
        let now = later.take_if(|_| specs.iter().any(|spec| spec.is_zone_default));
        (now.into_iter().chain(applied.remarks.iter().map(message)).collect(), later)
    }
}

#[cfg(feature = "testing")]
impl Builder {
    /// Prepares a scheduler without starting it.
    pub(crate) fn prepared(mut self) -> Result<Prepared, StartError> {
        prepare(&mut self, Purpose::Start)
    }
}

/// Prints warnings of settings where the start fails. They may explain it: a misspelled variable is not set.
fn print_warnings(builder: &Builder, remarks: &[Remark]) {
    let messages = Messages::in_place(builder.sink.clone());
    let warnings = remarks.iter().filter(|remark| remark.level == Level::Warning);
    warnings.map(message).for_each(|warning| messages.print(warning));
}

fn keep_ended(builder: &Builder, globals: &Globals) -> usize {
    globals.keep_ended_tasks.or(builder.keep_ended).unwrap_or(ENDED_KEPT)
}

fn load(builder: &mut Builder) -> Result<Settings, StartError> {
    let environment = builder.environment.take();
    let (defaults, trigger) = builder.defaults.take().unwrap_or_default().into_parts();
    if trigger.is_some() {
        let fault = "builder.defaults(…): each task has its own rule, so a trigger has no \
                     default\nhelp: begin with `Schedule::default()`";
        return Err(StartError::of_faults(vec![fault.to_owned()]));
    }
    let input = SettingsInput {
        set: std::mem::take(&mut builder.set),
        secrets: std::mem::take(&mut builder.secrets),
        environment: environment
            .map_or_else(Environment::of_process, |variables| variables.into_iter().collect()),
        text: builder.file.take(),
        defaults,
        ..SettingsInput::of_process()
    };
    let faults = |faults: Vec<SettingsError>| faults.iter().map(ToString::to_string).collect();
    Settings::load(input).map_err(|found| StartError::of_faults(faults(found)))
}

fn message(remark: &Remark) -> Message {
    match remark.level {
        Level::Note => Message::info(&remark.text),
        Level::Warning => Message::warn(&remark.text),
    }
}

/// A report, and messages below it.
fn with_messages<'a>(mut report: String, messages: impl Iterator<Item = &'a Message>) -> String {
    for (index, message) in messages.enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        report.push_str(&format!("{gap}{message}\n"));
    }
    report
}

fn warnings(specs: &[TaskSpec], builder: &Builder, now: DateTime<Utc>) -> Vec<Message> {
    let of_tasks = specs.iter().filter_map(|spec| spec.warning(now)).map(Message::warn);
    let no_tasks = (specs.is_empty() && !builder.is_enqueue_only()).then(no_tasks);
    let has_no_timeout = |spec: &&TaskSpec| {
        spec.durable.is_some() && spec.policy.timeout.is_none() && !spec.is_disabled()
    };
    let names: Vec<&str> = specs.iter().filter(has_no_timeout).map(|spec| &**spec.name()).collect();
    let names: &[&str] = if builder.is_enqueue_only() { &[] } else { &names };
    let unlimited = durable_without_timeout(names);
    no_tasks.into_iter().chain(panics_abort()).chain(unlimited).chain(of_tasks).collect()
}

/// The pools of the builder but the default one.
fn named(builder: &Builder) -> impl Iterator<Item = (&str, &Pool)> {
    builder.pools.iter().map(|(name, pool)| (name.as_str(), pool))
}

fn pool_faults(builder: &Builder, pools: &[PoolPlan]) -> Vec<String> {
    let in_code = std::iter::once((pools::DEFAULT, &builder.pool)).chain(named(builder));
    let faults = in_code.flat_map(|(name, pool)| pool.faults(name));
    faults.chain(pools[1..].iter().filter_map(PoolPlan::fault)).collect()
}

fn pools(builder: &Builder, applied: &Application<'_>) -> Vec<PoolPlan> {
    let globals = &applied.globals;
    let size = globals.pool_size.or(builder.pool.size);
    let prefix = globals.thread_name_prefix.clone().or_else(|| builder.pool.prefix.clone());
    let default_size = || match &builder.simulation {
        Some(simulation) => simulation.pool_size(),
        None => pools::default_size(),
    };
    let default = PoolPlan {
        name: pools::DEFAULT.to_owned(),
        size: size.unwrap_or_else(default_size).max(1),
        prefix: prefix.unwrap_or_else(|| "scheduling-".to_owned()),
    };
    let others = applied.pools.iter().map(|(name, settings)| {
        let Pool { size, prefix } = builder.pools.get(name).cloned().unwrap_or_default();
        let prefix = settings.thread_name_prefix.clone().or(prefix);
        PoolPlan {
            name: name.clone(),
            size: settings.size.or(size).unwrap_or_else(default_size).max(1),
            prefix: prefix.unwrap_or_else(|| format!("{name}-")),
        }
    });
    std::iter::once(default).chain(others).collect()
}

fn limit(builder: &Builder, globals: &Globals) -> Duration {
    if globals.await_termination == Some(false) {
        return Duration::ZERO;
    }
    globals.await_termination_period.or(builder.limit).unwrap_or(AWAIT_TERMINATION)
}

/// A checked scheduler. Nothing has started.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) specs: Vec<TaskSpec>,
    /// The names that tasks may refer to, also those that are added later.
    pub(crate) context: ResolveContext,
    /// The default pool, and then the others.
    pub(crate) pools: Vec<PoolPlan>,
    /// The warning that the zone was guessed, if no task goes by it yet.
    pub(super) zone_warning: Option<Message>,
    /// The time that a stop waits for running tasks.
    pub(crate) limit: Duration,
    /// The number of ended tasks that are kept in the list.
    pub(crate) keep_ended: usize,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shutdown: Shutdown,
    pub(crate) tasks: Tasks,
    #[cfg(feature = "durable")]
    pub(super) durable: Option<Durable>,
    pub(crate) settings: Settings,
    /// Printed before the start message.
    pub(crate) remarks: Vec<Message>,
    /// Printed after it.
    pub(crate) warnings: Vec<Message>,
    /// Only of a dry run.
    pub(crate) report: Option<DryRun>,
}

/// A start that runs nothing: every effective value with its source, then all remarks and warnings.
///
/// [`Builder::dry_run`](crate::Builder::dry_run) makes it. `Display` writes it for people; the text may change in any release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a dry run is for printing"]
pub struct DryRun {
    pub(super) text: String,
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
