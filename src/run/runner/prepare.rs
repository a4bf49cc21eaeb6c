//! Combines annotations, code and settings, and checks everything before a start.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;
use scheduler_core::{Clock, SystemClock};
use scheduler_expr::RuleKind;

use super::builder::Builder;
use super::durable::Durable;
use super::fallbacks::{Values, fallbacks};
use super::pools;
use super::pools::{Pool, PoolPlan};
use super::registry::ENDED_KEPT;
use super::tasks::Tasks;
use super::zone::default_zone;
use crate::define::calendar::Calendar;
use crate::define::registrar::{Crons, Definition, Inputs, PlanContext, Planned, define, plan};
use crate::define::settings;
use crate::define::settings::names::Names;
use crate::define::settings::{
    Application, Applied, Environment, Globals, Level, Remark, Settings, SettingsError, TaskTexts,
};
use crate::error::StartError;
use crate::observe::report::{Message, Messages, no_tasks, panics_abort};
use crate::run::Shutdown;

/// How long a stop waits for running tasks by default.
const AWAIT_TERMINATION: Duration = Duration::from_secs(30);

/// A checked scheduler. Nothing has started.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) planned: Vec<Planned>,
    pub(crate) calendars: BTreeMap<String, Arc<Calendar>>,
    /// The cron rules of the planned tasks.
    pub(crate) crons: Crons,
    /// The default pool, and then the others.
    pub(crate) pools: Vec<PoolPlan>,
    pub(crate) zone: Zone,
    /// The warning that the zone was guessed, if no task goes by it yet.
    pub(super) zone_doubt: Option<Message>,
    /// How long a stop waits for running tasks.
    pub(crate) limit: Duration,
    /// How many tasks that have ended are kept in the list.
    pub(crate) keep_ended: usize,
    pub(crate) seed: u64,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shutdown: Shutdown,
    pub(crate) tasks: Tasks,
    pub(super) durable: Durable,
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
/// [`Builder::dry_run`] makes it. `Display` writes it for people; the text may change in any release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a dry run is for printing"]
pub struct DryRun {
    text: String,
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

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
    let clock = builder.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
    let (shutdown, tasks) = (Shutdown::new(), Tasks::new());
    let mut states = builder.states.clone();
    states.insert_own(tasks.clone());
    let mut durable = Durable::of(builder, &clock, &mut states);
    let (mut faults, mut unfit) = (Vec::new(), Vec::new());
    let inputs = Inputs { states: &states, clock: &clock, shutdown: &shutdown };
    let defined = in_code(builder);
    let definitions = define(builder.listed.as_ref(), defined, inputs, &mut faults);
    let names = names(&settings, &definitions);
    let missing = unexpected(&builder.expected, &names);
    let (names, announced) = announced(builder, names, definitions.len());
    let in_builder: Vec<&str> = named(builder).map(|(name, _)| name).collect();
    let mut application = settings.apply(&names, &in_builder);
    let variable = settings.environment().foreign("TZ");
    let (zone, doubt) = zone(builder, &application.globals, &variable, &mut faults);
    let pools = pools(builder, &application);
    faults.extend(pool_faults(builder, &pools));
    let known: Vec<Arc<str>> = pools.iter().map(|pool| pool.name.as_str().into()).collect();
    let calendars = std::mem::take(&mut builder.calendars);
    let (crons, seed, has_store) = (Crons::default(), builder.seed, builder.has_store());
    let context =
        PlanContext { zone, pools: &known, calendars: &calendars, crons: &crons, seed, has_store };
    let is_dry_run = purpose == Purpose::Report || settings.is_dry_run();
    let mut reported = Vec::new();
    let apply = |number, definition: &Definition| {
        let effective = application.task(number, &definition.written());
        if is_dry_run {
            reported.push(effective.clone());
        }
        effective
    };
    let planned = plan(definitions, apply, context, &mut unfit);
    faults.extend(durable.plan(&planned, &calendars));
    let applied = finish(application, &announced, unfit);
    faults.extend(applied.faults.iter().map(ToString::to_string));
    faults.extend(missing.into_iter().chain(durable.set(&applied.globals, &pools)));
    if !faults.is_empty() {
        print_warnings(builder, &applied.remarks);
        return Err(StartError::of_faults(faults));
    }
    let globals = &applied.globals;
    let (limit, keep_ended) = (limit(builder, globals), keep_ended(builder, globals));
    let (remarks, zone_doubt) = remarks(doubt, &planned, &applied);
    let warnings = warnings(&planned, clock.wall());
    let values = Values { zone, variable: &variable, pools: &pools, limit, keep_ended };
    let report = is_dry_run.then(|| {
        let report = settings::report(&applied, &reported, &fallbacks(builder, &values));
        DryRun { text: with_messages(report, remarks.iter().chain(&warnings)) }
    });
    Ok(Prepared {
        planned,
        calendars,
        crons,
        pools,
        zone,
        zone_doubt,
        limit,
        keep_ended,
        seed,
        clock,
        shutdown,
        tasks,
        durable,
        settings,
        remarks,
        warnings,
        report,
    })
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
    let given = settings::Given {
        set: std::mem::take(&mut builder.set),
        secrets: std::mem::take(&mut builder.secrets),
        environment: environment
            .map_or_else(Environment::of_process, |given| given.into_iter().collect()),
        text: builder.file.take(),
        defaults,
        ..settings::Given::of_process()
    };
    let faults =
        |faults: Vec<settings::SettingsError>| faults.iter().map(ToString::to_string).collect();
    Settings::load(given).map_err(|found| StartError::of_faults(faults(found)))
}

/// The tasks defined in code, those of configurers last.
fn in_code(builder: &mut Builder) -> Vec<Definition> {
    for configure in builder.configurers.drain(..) {
        configure(&mut builder.registrar);
    }
    std::mem::take(&mut builder.registrar.defined)
}

/// The names of all tasks, each with its index among the definitions.
fn names(settings: &Settings, definitions: &[Definition]) -> Names {
    let mut names = settings.names();
    for (number, task) in definitions.iter().enumerate() {
        names.insert(&task.name, number);
    }
    names
}

/// Adds the tasks that are announced and not defined to the names. Returns them with their numbers.
fn announced(
    builder: &Builder,
    mut names: Names,
    defined: usize,
) -> (Names, Vec<(usize, Arc<str>)>) {
    let mut announced = Vec::new();
    for name in &builder.announced {
        let (name, number) = (Arc::<str>::from(name.as_str()), defined + announced.len());
        if names.insert(&name, number) {
            announced.push((number, name));
        }
    }
    (names, announced)
}

/// Checks the settings of announced tasks, and sorts all faults of settings, the `unfit` ones of attributes included.
fn finish(
    mut application: Application<'_>,
    announced: &[(usize, Arc<str>)],
    mut unfit: Vec<SettingsError>,
) -> Applied {
    for (number, name) in announced {
        let (place, rule, attributes) = (String::new(), RuleKind::Once, Vec::new());
        let silent = TaskTexts { name, place, rule, attributes };
        application.task(*number, &silent);
    }
    let mut applied = application.finish();
    applied.faults.append(&mut unfit);
    SettingsError::sort(&mut applied.faults);
    applied
}

/// The default zone, and a warning if it was guessed.
fn zone(
    builder: &Builder,
    globals: &Globals,
    variable: &str,
    faults: &mut Vec<String>,
) -> (Zone, Option<Message>) {
    let name = globals.zone.as_deref().or(builder.zone.as_deref());
    default_zone(name, variable).unwrap_or_else(|fault| {
        faults.push(fault);
        (Zone::UTC, None)
    })
}

/// What is printed before the start message; and the doubt about the zone, if no task goes by it yet.
fn remarks(
    mut doubt: Option<Message>,
    planned: &[Planned],
    applied: &Applied,
) -> (Vec<Message>, Option<Message>) {
    let told = doubt.take_if(|_| planned.iter().any(|task| task.is_zone_default));
    (told.into_iter().chain(applied.remarks.iter().map(message)).collect(), doubt)
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

fn warnings(planned: &[Planned], now: DateTime<Utc>) -> Vec<Message> {
    let is_empty = planned.is_empty();
    let own = planned.iter().filter_map(|task| task.warning(now)).map(Message::warn);
    is_empty.then(no_tasks).into_iter().chain(panics_abort()).chain(own).collect()
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
    let others = applied.pools.iter().map(|settings| {
        let given = builder.pools.get(&settings.name).cloned().unwrap_or_default();
        let size = settings.size.or(given.size);
        let prefix = settings.thread_name_prefix.clone();
        PoolPlan {
            name: settings.name.clone(),
            size: size.unwrap_or_else(default_size).max(1),
            prefix: prefix.or(given.prefix).unwrap_or_else(|| format!("{}-", settings.name)),
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

/// One fault for each task that is expected and not there.
fn unexpected(expected: &[String], names: &Names) -> Vec<String> {
    let missing = expected.iter().filter_map(|name| names.find(name).err());
    missing
        .map(|error| {
            format!(
                "expected tasks: {error}\n\
                 help: tasks in another crate are linked only if the crate is mentioned: \
                 `use jobs as _;`"
            )
        })
        .collect()
}
