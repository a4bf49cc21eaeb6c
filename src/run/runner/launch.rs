//! Starts a prepared scheduler: the bus, the pools, the start message, the tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_core::trigger::Zone;
use scheduler_core::{ScheduledThreadPool, ShutdownPolicy};

use super::adding::Kept;
use super::annotated::Annotated;
use super::builder::{AfterStart, Builder};
use super::context::Context;
use super::durable::NodeLaunch;
use super::launcher::Launcher;
use super::pools::{PoolPlan, Pools};
use super::prepare::Prepared;
use super::running::Running;
use super::scheduler::Scheduler;
use super::simulation::Simulation;
use crate::define::registrar::Planned;
use crate::error::StartError;
use crate::observe::report::{Banner, Message, Messages, PoolLine, ROWS_MAX, Reporter, TaskLine};
use crate::observe::{
    Bus, BusBuilder, Event, EventKind, Failure, LookUp, PoolEvents, catch, meter, watch_panics,
};
use crate::run::inject::Call;
use crate::sync::Mutex;

/// The executor of async tasks without a Tokio runtime: the pools.
const BUILT_IN_EXECUTOR: &str = "built-in executor (no Tokio)";

/// Starts all planned tasks, or none. Calls `be_ready` once all are made, before the start message and the first run.
pub(super) fn launch(
    mut builder: Builder,
    prepared: Prepared,
    be_ready: impl FnOnce() -> Result<(), StartError>,
) -> Result<Scheduler, StartError> {
    watch_panics();
    let (context, has_store) = (context(&builder), builder.has_store());
    let simulation = builder.simulation.clone();
    let of_node = simulation.clone();
    let messages = messages(&builder)?;
    let gates = Arc::new(std::mem::take(&mut builder.gates));
    let after_start = std::mem::take(&mut builder.after_start);
    let states = std::mem::take(&mut builder.states);
    let bus = Arc::new(bus(builder, &prepared, &messages)?);
    let (pools, pool_events) = pools(&prepared, (&context, simulation.as_deref()), &bus)?;
    let Prepared { planned, tasks, clock, shutdown, limit, zone, seed, settings, durable, .. } =
        prepared;
    let zone_doubt = Mutex::new(prepared.zone_doubt);
    let annotated = simulation.is_none().then(|| Annotated::enter(&planned));
    let (_annotated, twice) = annotated.unzip();
    let launcher = Launcher {
        settings,
        zone,
        zone_doubt,
        messages: messages.clone(),
        seed,
        has_store,
        clock: Arc::clone(&clock),
        bus: Arc::clone(&bus),
        names: prepared.pools.iter().map(|pool| pool.name.as_str().into()).collect(),
        pools: pools.weak(),
        calendars: prepared.calendars,
        crons: prepared.crons,
        policy: Mutex::default(),
        on_end: tasks.all.on_end(),
        context: context.clone(),
        gates,
        pool_events,
        simulation,
    };
    tasks.all.launch_with(launcher, prepared.keep_ended);
    let running = Running {
        pools,
        bus,
        messages,
        limit,
        clock,
        shutdown,
        tasks,
        states,
        durable,
        _annotated,
        context,
    };
    let Prepared { remarks, mut warnings, pools, .. } = prepared;
    warnings.extend(twice.flatten());
    let start = StartMessage { remarks, warnings, pools: &pools, zone };
    let mut scheduler = Scheduler::new(running);
    let simulated = of_node.as_deref().map(|simulation| (simulation, seed));
    match begin(scheduler.running_mut(), planned, start, simulated, be_ready) {
        Ok(()) => {
            let running = scheduler.running_mut();
            after_start.into_iter().for_each(|call| call_after_start(call, running));
            Ok(scheduler)
        }
        Err(error) => {
            scheduler.give_up();
            Err(error)
        }
    }
}

fn call_after_start(call: AfterStart, running: &Running) {
    let called = catch(|| call(&running.tasks));
    let done = called.and_then(|result| result.map_err(|error| Failure::from_error(&error)));
    if let Err(failure) = done {
        let kind = EventKind::HookFailed { hook: "after_start", failure };
        running.bus.emit(Event::global(running.clock.wall(), kind));
    }
}

/// Makes all tasks, prints the start message, and starts the tasks.
fn begin(
    running: &mut Running,
    planned: Vec<Planned>,
    start: StartMessage<'_>,
    simulation: Option<(&dyn Simulation, u64)>,
    be_ready: impl FnOnce() -> Result<(), StartError>,
) -> Result<(), StartError> {
    let has_async = has_async(&planned);
    let made = running.tasks.all.make(planned)?;
    be_ready()?;
    let pools = start.pools;
    start.print(&made, has_async, running);
    let count = made.iter().filter(|task| !task.is_disabled).count();
    let Running { tasks, clock, bus, .. } = running;
    running.durable.launch(&made, &NodeLaunch { tasks, clock, bus, pools, simulation })?;
    running.tasks.all.start(made)?;
    running.durable.start()?;
    let at = running.clock.wall();
    running.bus.emit(Event::global(at, EventKind::SchedulerStarted { tasks: count }));
    Ok(())
}

pub(super) fn has_async(planned: &[Planned]) -> bool {
    let mut enabled = planned.iter().filter(|task| task.disabled.is_none());
    enabled.any(|task| matches!(task.call, Call::Async(_)))
}

fn context(builder: &Builder) -> Context {
    #[cfg(feature = "tokio")]
    let runtime = builder.runtime.as_ref();
    #[cfg(not(feature = "tokio"))]
    let (runtime, _) = (None, builder);
    Context::find(runtime)
}

fn messages(builder: &Builder) -> Result<Messages, StartError> {
    let sink = builder.sink.clone();
    if builder.simulation.is_some() {
        return Ok(Messages::in_place(sink));
    }
    let refused = |error| StartError::refused("no thread can be started for messages", &error);
    Messages::start(sink).map_err(refused)
}

fn bus(builder: Builder, prepared: &Prepared, messages: &Messages) -> Result<Bus, StartError> {
    let reporter = Reporter::new(messages.clone());
    let bus = BusBuilder::new().every_event(messages.is_debug_wanted());
    let bus = match &builder.simulation {
        Some(simulation) => bus.in_place(simulation.listener()).synchronous(),
        None => bus,
    };
    let bus = meter().into_iter().fold(bus, BusBuilder::in_place);
    let bus = builder.listeners.into_iter().fold(bus, BusBuilder::listener);
    let bus = bus.reporter(Arc::new(reporter)).build(Arc::clone(&prepared.clock));
    bus.map_err(|error| StartError::refused("no thread can be started for listeners", &error))
}

/// The start message, and what is printed around it.
struct StartMessage<'a> {
    remarks: Vec<Message>,
    warnings: Vec<Message>,
    pools: &'a [PoolPlan],
    zone: Zone,
}

impl StartMessage<'_> {
    /// Prints it, and waits a moment for that.
    fn print(self, made: &[Kept], has_async: bool, running: &Running) {
        let (now, messages) = (running.clock.wall(), &running.messages);
        self.remarks.into_iter().for_each(|remark| messages.print(remark));
        let (off, on): (Vec<&Kept>, Vec<&Kept>) = made.iter().partition(|task| task.is_disabled);
        let line = |task: &&Kept| TaskLine {
            facts: task.control.facts(),
            next: task.next_in_store.or_else(|| task.control.first_start()),
            has_trigger_failed: task.control.has_trigger_failed(),
            is_durable: task.control.check_in_memory().is_err(),
        };
        let tasks: Vec<TaskLine> = on.iter().take(ROWS_MAX).map(line).collect();
        let pools: Vec<PoolLine> = self.pools.iter().map(PoolPlan::line).collect();
        let built_in = has_async.then_some(BUILT_IN_EXECUTOR);
        let executor = running.context.describe().or(built_in);
        let executor = executor.map(|executor| format!("async tasks: {executor}"));
        let off = (!off.is_empty()).then(|| format!("disabled: {}", some_of(&off)));
        let remarks: Vec<String> = executor.into_iter().chain(off).collect();
        let (tasks, pools, remarks) = (&*tasks, &*pools, &*remarks);
        let banner = Banner { tasks, count: on.len(), pools, zone: self.zone, now, remarks };
        banner.announce(messages);
        self.warnings.into_iter().for_each(|warning| messages.announce(warning));
        messages.flush();
    }
}

/// The names of the first disabled tasks, and how many more there are.
fn some_of(disabled: &[&Kept]) -> String {
    const SHOWN_MAX: usize = 10;
    let shown = disabled.iter().take(SHOWN_MAX).map(|task| task.control.name().to_string());
    let more = disabled.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0);
    let more = more.map(|more| format!("and {more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

fn pools(
    prepared: &Prepared,
    (context, simulation): (&Context, Option<&dyn Simulation>),
    bus: &Arc<Bus>,
) -> Result<(Pools, BTreeMap<String, Arc<PoolEvents>>), StartError> {
    // A stop must not wait for a one-time task that is an hour ahead.
    let policy = ShutdownPolicy { continue_recurring: false, execute_delayed: false };
    let (mut by_name, mut pool_events) = (BTreeMap::new(), BTreeMap::new());
    let tasks = &prepared.tasks.all;
    for plan in &prepared.pools {
        let clock = Arc::clone(&prepared.clock);
        let look_up = LookUp::new(tasks.threads_since(), tasks.facts_by_name());
        let pool = (&*plan.name, plan.size.max(1));
        let events = PoolEvents::new(pool, look_up, Arc::clone(&clock), Arc::clone(bus));
        let events = Arc::new(events);
        let builder = ScheduledThreadPool::builder()
            .core_size(plan.size)
            .thread_name_prefix(plan.prefix.as_str())
            .shutdown_policy(policy)
            .clock(clock)
            .listener(Arc::clone(&events));
        let builder = context.surround(builder);
        let builder = match simulation {
            Some(simulation) => builder.virtual_workers(&simulation.workers()),
            None => builder,
        };
        let pool = builder.build();
        let pool = pool.map_err(|error| StartError::refused("a pool cannot be built", &error))?;
        by_name.insert(plan.name.clone(), Arc::new(pool));
        pool_events.insert(plan.name.clone(), events);
    }
    Ok((Pools::new(by_name), pool_events))
}
