//! Brings together what annotations, code and settings say, before anything is started.

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_core::SystemClock;
use scheduler_core::trigger::Zone;
use scheduler_expr::Attribute;

use super::builder::Builder;
use super::fallbacks::Values;
use super::fallbacks::fallbacks;
use super::pools;
use super::pools::Pool;
use super::pools::PoolPlan;
use super::tasks::Tasks;
use super::zone::default_zone;
use crate::error::StartError;
use crate::registrar::Definition;
use crate::registrar::Given;
use crate::registrar::Ground;
use crate::registrar::Plan;
use crate::registrar::define;
use crate::registrar::plan;
use crate::run::Shutdown;
use crate::settings;
use crate::settings::Applied;
use crate::settings::Environment;
use crate::settings::Known;
use crate::settings::Level;
use crate::settings::Remark;
use crate::settings::Settings;
use crate::settings::TaskWords;
use crate::settings::names::Names;
use crate::speech::Message;
use crate::speech::no_tasks;
use crate::speech::panics_abort;

/// How long a stop waits for running tasks, unless somebody says otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// A scheduler of which everything is known, and nothing has begun.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    /// The default pool, and then the others.
    pub(crate) pools: Vec<PoolPlan>,
    pub(crate) zone: Zone,
    /// How long a stop waits for running tasks.
    pub(crate) limit: Duration,
    pub(crate) seed: u64,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shutdown: Shutdown,
    pub(crate) tasks: Tasks,
    pub(crate) settings: Settings,
    /// What is to be known before the banner, and below it.
    pub(crate) remarks: Vec<Message>,
    pub(crate) warnings: Vec<Message>,
    /// Every value that counts, and where it comes from; and all remarks and warnings.
    pub(crate) report: String,
    /// Whether the report is all that is wanted.
    pub(crate) is_dry_run: bool,
}

/// Prepares a scheduler, or says everything that keeps it from starting.
pub(crate) fn prepare(builder: &mut Builder) -> Result<Prepared, StartError> {
    let settings = load(builder)?;
    let clock = builder.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
    let (shutdown, tasks) = (Shutdown::new(), Tasks::new());
    let mut states = builder.states.clone();
    states.insert_own(tasks.clone());
    let mut faults = Vec::new();
    let given = Given { states: &states, clock: &clock, shutdown: &shutdown };
    let defined = in_code(builder);
    let definitions = define(builder.listed.as_ref(), defined, given, &mut faults);
    let applied = apply(&settings, builder, &definitions);
    faults.extend(applied.faults.iter().map(ToString::to_string));
    let variable = settings.environment().foreign("TZ");
    let (zone, doubt) = zone(builder, &applied, &variable, &mut faults);
    let pools = pools(builder, &applied);
    let in_code = std::iter::once((pools::DEFAULT, &builder.pool)).chain(named(builder));
    faults.extend(in_code.flat_map(|(name, pool)| pool.faults(name)));
    faults.extend(pools[1..].iter().filter_map(PoolPlan::fault));
    let names: Vec<String> = pools.iter().map(|pool| pool.name.clone()).collect();
    let ground = Ground { zone, pools: &names, seed: builder.seed };
    let plan = plan(&definitions, &applied.tasks, ground, &mut faults);
    faults.extend(unexpected(&builder.expected, &definitions));
    if !faults.is_empty() {
        return Err(StartError::of_faults(faults));
    }
    let limit = limit(builder, &applied);
    let remarks: Vec<Message> = doubt.into_iter().chain(applied.remarks.iter().map(said)).collect();
    let warnings = warnings(&plan);
    let mut report = settings::report(
        &applied,
        &fallbacks(builder, &Values { zone, variable: &variable, pools: &pools, limit }),
    );
    for (index, message) in remarks.iter().chain(&warnings).enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        report.push_str(&format!("{gap}{message}\n"));
    }
    let is_dry_run = settings.is_dry_run();
    let seed = builder.seed;
    Ok(Prepared {
        plan,
        pools,
        zone,
        limit,
        seed,
        clock,
        shutdown,
        tasks,
        settings,
        remarks,
        warnings,
        report,
        is_dry_run,
    })
}

fn load(builder: &mut Builder) -> Result<Settings, StartError> {
    let environment = builder.environment.take();
    let given = settings::Given {
        set: std::mem::take(&mut builder.set),
        environment: environment
            .map_or_else(Environment::of_process, |given| given.into_iter().collect()),
        text: builder.file.take(),
        ..settings::Given::of_process()
    };
    let faults = |faults: Vec<settings::Fault>| faults.iter().map(ToString::to_string).collect();
    Settings::load(given).map_err(|found| StartError::of_faults(faults(found)))
}

/// The tasks that code defines, those of configurers last.
fn in_code(builder: &mut Builder) -> Vec<Definition> {
    for configure in builder.configurers.drain(..) {
        configure(&mut builder.registrar);
    }
    std::mem::take(&mut builder.registrar.defined)
}

fn apply(settings: &Settings, builder: &Builder, definitions: &[Definition]) -> Applied {
    let texts: Vec<Vec<(Attribute, &str)>> = definitions.iter().map(Definition::words).collect();
    let mut words: Vec<TaskWords<'_>> = definitions
        .iter()
        .zip(&texts)
        .map(|(task, attributes)| TaskWords {
            name: &task.name,
            place: task.location.to_string(),
            attributes,
        })
        .collect();
    let announced = builder.announced.iter().filter(|name| !is_defined(name, definitions));
    words.extend(announced.map(|name| TaskWords { name, place: String::new(), attributes: &[] }));
    let pools: Vec<&str> = named(builder).map(|(name, _)| name).collect();
    let mut applied = settings.apply(&Known { tasks: &words, pools: &pools });
    applied.tasks.truncate(definitions.len());
    applied
}

fn is_defined(name: &str, definitions: &[Definition]) -> bool {
    definitions.iter().any(|task| task.name == name)
}

/// The default zone, and a warning if it had to be guessed.
fn zone(
    builder: &Builder,
    applied: &Applied,
    variable: &str,
    faults: &mut Vec<String>,
) -> (Zone, Option<Message>) {
    let set = applied.globals.zone.as_ref().map(|set| set.value.as_str());
    default_zone(set.or(builder.zone.as_deref()), variable).unwrap_or_else(|fault| {
        faults.push(fault);
        (Zone::UTC, None)
    })
}

fn said(remark: &Remark) -> Message {
    match remark.level {
        Level::Note => Message::info(&remark.text),
        Level::Warning => Message::warn(&remark.text),
    }
}

fn warnings(plan: &Plan) -> Vec<Message> {
    let is_empty = plan.tasks.is_empty() && plan.off.is_empty();
    is_empty.then(no_tasks).into_iter().chain(panics_abort()).collect()
}

/// The pools of the builder but the default one.
fn named(builder: &Builder) -> impl Iterator<Item = (&str, &Pool)> {
    builder.pools.iter().map(|(name, pool)| (name.as_str(), pool))
}

fn pools(builder: &Builder, applied: &Applied) -> Vec<PoolPlan> {
    let globals = &applied.globals;
    let size = globals.pool_size.as_ref().map(|set| set.value).or(builder.pool.size);
    let prefix = globals.thread_name_prefix.as_ref().map(|set| set.value.clone());
    let prefix = prefix.or_else(|| builder.pool.prefix.clone());
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
        let size = settings.size.as_ref().map(|set| set.value).or(given.size);
        let prefix = settings.thread_name_prefix.as_ref().map(|set| set.value.clone());
        PoolPlan {
            name: settings.name.clone(),
            size: size.unwrap_or_else(default_size).max(1),
            prefix: prefix.or(given.prefix).unwrap_or_else(|| format!("{}-", settings.name)),
        }
    });
    std::iter::once(default).chain(others).collect()
}

fn limit(builder: &Builder, applied: &Applied) -> Duration {
    let globals = &applied.globals;
    if globals.await_termination.as_ref().is_some_and(|set| !set.value) {
        return Duration::ZERO;
    }
    let period = globals.await_termination_period.as_ref().map(|set| set.value);
    period.or(builder.limit).unwrap_or(PATIENCE)
}

/// One fault for each task that is expected and not there.
fn unexpected(expected: &[String], definitions: &[Definition]) -> Vec<String> {
    let all: Vec<&str> = definitions.iter().map(|task| task.name.as_str()).collect();
    let names = Names::new(&all);
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
