//! Starts what was prepared: the bus, the pools, the conductors of all tasks; and says the banner.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_core::ScheduledThreadPool;
use scheduler_core::ShutdownPolicy;

use super::Running;
use super::Scheduler;
use super::builder::Builder;
use super::context::Context;
use super::launcher::Launcher;
use super::pools::PoolPlan;
use super::pools::Pools;
use super::prepare::Prepared;
use super::simulation::Simulation;
use crate::error::StartError;
use crate::inject::Call;
use crate::observe::Bus;
use crate::observe::BusBuilder;
use crate::observe::EngineTrouble;
use crate::observe::Event;
use crate::observe::meter;
use crate::observe::watch_panics;
use crate::registrar::Planned;
use crate::settings::Level;
use crate::speech::Banner;
use crate::speech::Message;
use crate::speech::PoolWords;
use crate::speech::Reporter;
use crate::speech::TaskWords;
use crate::speech::Voice;
use crate::speech::panics_abort;

/// What polls async tasks where there is no Tokio runtime: the pools themselves.
const BUILT_IN_EXECUTOR: &str = "built-in executor (no Tokio)";

/// Starts all planned tasks; if one cannot be, none is left running.
pub(super) fn launch(builder: Builder, prepared: Prepared) -> Result<Scheduler, StartError> {
    watch_panics();
    let context = context(&builder, &prepared)?;
    let voice = builder.voice.clone();
    let simulation = builder.simulation.clone();
    let bus = Arc::new(bus(builder, &prepared)?);
    let pools = pools(&prepared, (context.as_ref(), simulation.as_deref()), &bus)?;
    introduce(&prepared, context.as_ref(), &voice);
    let Prepared { plan, pools: names, tasks, clock, shutdown, limit, zone, seed, .. } = prepared;
    tasks.launch_with(Launcher {
        settings: prepared.settings,
        zone,
        seed,
        clock: Arc::clone(&clock),
        bus: Arc::clone(&bus),
        names: names.into_iter().map(|pool| pool.name).collect(),
        pools: pools.weak(),
        simulation,
    });
    let running = Running { pools, bus, voice, limit, clock, shutdown, tasks, _context: context };
    let count = plan.tasks.len();
    // From here on dropping the scheduler stops whatever has been started.
    let scheduler = Scheduler::new(running);
    scheduler.start(plan.tasks)?;
    let at = scheduler.running.clock.wall();
    scheduler.running.bus.emit(Event::SchedulerStarted { at, tasks: count });
    Ok(scheduler)
}

fn context(builder: &Builder, prepared: &Prepared) -> Result<Option<Context>, StartError> {
    let has_async = prepared.plan.tasks.iter().any(|task| matches!(task.call, Call::Async(_)));
    #[cfg(feature = "tokio")]
    let runtime = builder.runtime.as_ref();
    #[cfg(not(feature = "tokio"))]
    let (runtime, _) = (None, builder);
    Context::find(runtime, has_async)
}

fn bus(builder: Builder, prepared: &Prepared) -> Result<Bus, StartError> {
    let reporter = Reporter::new(builder.voice);
    let bus = BusBuilder::new().every_event(reporter.wants_every_event());
    let bus = match &builder.simulation {
        Some(simulation) => bus.in_place(simulation.listener()).synchronous(),
        None => bus,
    };
    let bus = meter().into_iter().fold(bus, BusBuilder::in_place);
    let bus = builder.listeners.into_iter().fold(bus, BusBuilder::listener);
    let bus = bus.reporter(Arc::new(reporter)).build(Arc::clone(&prepared.clock));
    bus.map_err(StartError::pool)
}

/// Says the banner, and what is to be known before the first run.
fn introduce(prepared: &Prepared, context: Option<&Context>, voice: &Voice) {
    let now = prepared.clock.wall();
    for remark in &prepared.remarks {
        voice.say(&match remark.level {
            Level::Note => Message::info(&remark.text),
            Level::Warning => Message::warn(&remark.text),
        });
    }
    let words = |task: &Planned| TaskWords {
        facts: Arc::new(task.facts()),
        next: task.first_fire_time(now),
    };
    let tasks: Vec<TaskWords> = prepared.plan.tasks.iter().map(words).collect();
    let pools: Vec<PoolWords> = prepared.pools.iter().map(PoolPlan::words).collect();
    let mut remarks: Vec<String> = Vec::new();
    let has_async = prepared.plan.tasks.iter().any(|task| matches!(task.call, Call::Async(_)));
    let executor = context.map(Context::describe).or(has_async.then_some(BUILT_IN_EXECUTOR));
    remarks.extend(executor.map(|executor| format!("async tasks: {executor}")));
    let off = &prepared.plan.off;
    remarks.extend((!off.is_empty()).then(|| format!("switched off: {}", off.join(", "))));
    let zone = prepared.zone;
    let banner = Banner { tasks: &tasks, pools: &pools, zone, now, remarks: &remarks };
    voice.announce(&banner.to_string());
    let nothing = if off.is_empty() { banner.no_tasks() } else { None };
    [nothing, panics_abort()].iter().flatten().for_each(|warning| voice.say(warning));
}

fn pools(
    prepared: &Prepared,
    (context, simulation): (Option<&Context>, Option<&dyn Simulation>),
    bus: &Arc<Bus>,
) -> Result<Pools, StartError> {
    // After a shutdown nothing new is started: a one-time task an hour ahead would hold it up.
    let policy = ShutdownPolicy { continue_recurring: false, execute_delayed: false };
    let mut by_name = BTreeMap::new();
    for plan in &prepared.pools {
        let clock = Arc::clone(&prepared.clock);
        let (pool, tasks) = ((&*plan.name, plan.size.max(1)), prepared.tasks.lister());
        let trouble = EngineTrouble::new(pool, tasks, Arc::clone(&clock), Arc::clone(bus));
        let builder = ScheduledThreadPool::builder()
            .core_size(plan.size)
            .thread_name_prefix(plan.prefix.as_str())
            .shutdown_policy(policy)
            .clock(clock)
            .listener(trouble);
        let builder = match context {
            Some(context) => context.surround(builder),
            None => builder,
        };
        let builder = match simulation {
            Some(simulation) => builder.virtual_crew(&simulation.crew()),
            None => builder,
        };
        let pool = builder.build().map_err(StartError::pool)?;
        by_name.insert(plan.name.clone(), Arc::new(pool));
    }
    Ok(Pools::new(by_name))
}
