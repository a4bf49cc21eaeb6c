//! Starts a prepared scheduler, for a simulation with its parts replaced.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use scheduler_core::trigger::Zone;
use scheduler_core::{ScheduledThreadPool, ShutdownPolicy, VirtualWorkers};

use crate::base::sync::Mutex;
use crate::observe::{
    Bus, BusBuilder, Event, EventKind, Failure, Listener, LookUp, PoolEvents, catch, watch_panics,
};
use crate::run::inject::Call;
use crate::start::builder::{AfterStart, Builder};
use crate::start::context::Context;
use crate::start::entry_points::Annotated;
use crate::start::error::StartError;
use crate::start::pools::{PoolPlan, Pools, Watch};
use crate::start::prepare::Prepared;
use crate::start::report::{
    Banner, FiredBy, Message, Messages, PoolLine, ROWS_MAX, Reporter, TaskLine,
};
use crate::start::scheduler::{Running, Scheduler};
use crate::start::task_table::Made;
use crate::start::tasks::{TaskFactory, Tasks};
use crate::task::{Gates, TaskEnv, TaskSpec};

#[cfg(feature = "durable")]
use super::durable::{Durable, NodeLaunch};

/// The executor of async tasks without a Tokio runtime: the pools.
const BUILT_IN_EXECUTOR: &str = "built-in executor (no Tokio)";

/// The surroundings of the tasks of each pool, by its name.
type Envs = BTreeMap<Arc<str>, Arc<TaskEnv>>;

/// Starts all tasks, or none. Calls `before_start` once all are made, before the start message and the first run.
pub(super) fn launch(
    mut builder: Builder,
    prepared: Prepared,
    before_start: impl FnOnce() -> Result<(), StartError>,
) -> Result<Scheduler, StartError> {
    watch_panics();
    let runtime = runtime(&builder);
    let simulation = builder.simulation.clone();
    let messages = messages(&builder)?;
    let gates = Arc::new(std::mem::take(&mut builder.gates));
    let after_start = std::mem::take(&mut builder.after_start);
    let states = std::mem::take(&mut builder.states);
    let bus = Arc::new(bus(builder, &prepared, &messages)?);
    let (pools, envs) = pools(&prepared, (&runtime, simulation.as_deref()), &bus, &gates)?;
    let Prepared { specs, tasks, clock, settings, context, .. } = prepared;
    let watch = match simulation {
        None => Some(watch(&tasks, &prepared.pools)?),
        Some(_) => None,
    };
    let annotated = simulation.is_none().then(|| Annotated::enter(&specs));
    let (_annotated, twice) = annotated.unzip();
    let seed = context.seed;
    let start = StartMessage {
        remarks: prepared.remarks,
        warnings: prepared.warnings.into_iter().chain(twice.flatten()).collect(),
        pools: &prepared.pools,
        zone: context.zone,
    };
    let factory = TaskFactory {
        settings,
        context,
        zone_warning: Mutex::new(prepared.zone_warning),
        messages: messages.clone(),
        clock: Arc::clone(&clock),
        bus: Arc::clone(&bus),
        envs,
        runtime: runtime.clone(),
        simulation: simulation.clone(),
    };
    tasks.table.open(factory, prepared.keep_ended);
    let mut scheduler = Scheduler::new(Running {
        pools,
        bus,
        messages,
        limit: prepared.limit,
        clock,
        shutdown: prepared.shutdown,
        tasks,
        states,
        #[cfg(feature = "durable")]
        durable: prepared.durable,
        _annotated,
        _watch: watch,
        runtime,
    });
    let running = scheduler.running_mut();
    let simulated = simulation.as_deref().map(|simulation| (simulation, seed));
    if let Err(error) = begin(running, specs, start, simulated, before_start) {
        scheduler.give_up();
        return Err(error);
    }
    after_start.into_iter().for_each(|call| call_after_start(call, running));
    Ok(scheduler)
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
#[cfg_attr(not(feature = "durable"), expect(unused_variables, reason = "of the node"))]
fn begin(
    running: &mut Running,
    specs: Vec<TaskSpec>,
    start: StartMessage<'_>,
    simulation: Option<(&dyn Simulation, u64)>,
    before_start: impl FnOnce() -> Result<(), StartError>,
) -> Result<(), StartError> {
    let made = running.tasks.table.register(specs)?;
    before_start()?;
    let pools = start.pools;
    start.print(&made, running);
    #[cfg(feature = "durable")]
    if let Some(durable) = &mut running.durable {
        let Running { tasks, clock, bus, .. } = running;
        durable.launch(&NodeLaunch { made: &made, tasks, clock, bus, pools, simulation })?;
    }
    running.tasks.table.start(&made)?;
    #[cfg(feature = "durable")]
    running.durable.as_ref().map_or(Ok(()), Durable::start)?;
    let count = made.iter().filter(|(spec, _)| !spec.is_disabled()).count();
    let at = running.clock.wall();
    running.bus.emit(Event::global(at, EventKind::SchedulerStarted { tasks: count }));
    Ok(())
}

pub(super) fn has_async<'a>(mut specs: impl Iterator<Item = &'a TaskSpec>) -> bool {
    specs.any(|spec| spec.facts.is_async && !spec.is_disabled())
}

fn runtime(builder: &Builder) -> Context {
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
    #[cfg(feature = "metrics")]
    let bus = bus.in_place(Arc::new(crate::observe::Meter::default()));
    let bus = builder.listeners.into_iter().fold(bus, BusBuilder::listener);
    let bus = bus.reporter(Arc::new(reporter)).build(Arc::clone(&prepared.clock));
    bus.map_err(|error| StartError::refused("no thread can be started for listeners", &error))
}

fn watch(tasks: &Tasks, pools: &[PoolPlan]) -> Result<Watch, StartError> {
    let sizes = pools.iter().map(|plan| (plan.name.clone(), plan.size.max(1)));
    Watch::start(&tasks.table, sizes.collect())
        .map_err(|error| StartError::refused("no thread can be started to watch the tasks", &error))
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
    fn print(self, made: &[Made], running: &Running) {
        let (now, messages) = (running.clock.wall(), &running.messages);
        self.remarks.into_iter().for_each(|remark| messages.print(remark));
        let (off, on): (Vec<_>, Vec<_>) = made.iter().partition(|(spec, _)| spec.is_disabled());
        let is_enqueue_only = running.is_enqueue_only();
        let line = |(spec, task): &&Made| {
            let fired_by = match task.is_durable() {
                true if is_enqueue_only => FiredBy::OtherProcesses,
                true => FiredBy::Store,
                false => FiredBy::ThisProcess,
            };
            let next = spec.next_in_store(now).or_else(|| task.first_start());
            TaskLine {
                facts: task.facts(),
                next: next.filter(|_| fired_by != FiredBy::OtherProcesses),
                has_trigger_failed: task.has_trigger_failed(),
                fired_by,
            }
        };
        let tasks: Vec<TaskLine> = on.iter().take(ROWS_MAX).map(line).collect();
        let pools: Vec<PoolLine> = self.pools.iter().map(PoolPlan::line).collect();
        let built_in = has_async(made.iter().map(|(spec, _)| spec)).then_some(BUILT_IN_EXECUTOR);
        let executor = running.runtime.describe().or(built_in);
        let executor = executor.map(|executor| format!("async tasks: {executor}"));
        let off = (!off.is_empty()).then(|| format!("disabled: {}", first_names(&off)));
        let enqueues = is_enqueue_only
            .then(|| "durable jobs: enqueued here, run by other processes".to_owned());
        let remarks = [executor, enqueues, off];
        let remarks: Vec<String> = remarks.into_iter().flatten().collect();
        let (tasks, pools, remarks) = (&*tasks, &*pools, &*remarks);
        let banner = Banner { tasks, count: on.len(), pools, zone: self.zone, now, remarks };
        banner.announce(messages);
        self.warnings.into_iter().for_each(|warning| messages.announce(warning));
        messages.flush();
    }
}

/// The names of the first disabled tasks, and how many more there are.
fn first_names(disabled: &[&Made]) -> String {
    const SHOWN_MAX: usize = 10;
    let shown = disabled.iter().take(SHOWN_MAX).map(|(spec, _)| spec.name().to_string());
    let more = disabled.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0);
    let more = more.map(|more| format!("and {more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// Makes the pools, and the surroundings of the tasks of each.
fn pools(
    prepared: &Prepared,
    (runtime, simulation): (&Context, Option<&dyn Simulation>),
    bus: &Arc<Bus>,
    gates: &Arc<Gates>,
) -> Result<(Pools, Envs), StartError> {
    // A stop must not wait for a one-time task that is an hour ahead.
    let policy = ShutdownPolicy { continue_recurring: false, execute_delayed: false };
    let (mut by_name, mut envs) = (BTreeMap::new(), BTreeMap::new());
    let table = &prepared.tasks.table;
    let on_end = table.on_end();
    for plan in &prepared.pools {
        let clock = Arc::clone(&prepared.clock);
        let look_up = LookUp::new(table.threads_since(), table.facts_by_name());
        let pool = (&*plan.name, plan.size.max(1));
        let events = PoolEvents::new(pool, look_up, Arc::clone(&clock), Arc::clone(bus));
        let events = Arc::new(events);
        let builder = ScheduledThreadPool::builder()
            .core_size(plan.size)
            .thread_name_prefix(plan.prefix.as_str())
            .shutdown_policy(policy)
            .clock(Arc::clone(&clock))
            .listener(Arc::clone(&events));
        let builder = runtime.surround(builder);
        let builder = match simulation {
            Some(simulation) => builder.virtual_workers(&simulation.workers()),
            None => builder,
        };
        let pool = builder.build();
        let pool = pool.map_err(|error| StartError::refused("a pool cannot be built", &error))?;
        let pool = Arc::new(pool);
        let env = TaskEnv {
            pool: Arc::downgrade(&pool),
            clock,
            bus: Arc::clone(bus),
            gates: Arc::clone(gates),
            pool_events: Some(events),
            on_end: Some(Arc::clone(&on_end)),
        };
        by_name.insert(plan.name.clone(), pool);
        envs.insert(plan.name.as_str().into(), Arc::new(env));
    }
    Ok((Pools::new(by_name), envs))
}

/// The worker, the number and the name of a simulated node.
#[derive(Debug)]
#[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there is no node"))]
pub(crate) struct SimulatedNode {
    /// Its worker, for which `run_until_idle` does not wait.
    pub(crate) workers: VirtualWorkers,
    /// The life of a process to which it belongs. Each draws other numbers.
    pub(crate) life: usize,
    /// The name of its process.
    pub(crate) label: String,
    /// All nodes of the simulation.
    #[cfg(feature = "durable")]
    pub(crate) nodes: Arc<crate::durable::SimulatedNodes>,
}

/// Runs a scheduler on one thread, by a clock of its own.
pub(crate) trait Simulation: fmt::Debug + Send + Sync {
    /// The workers of one more pool.
    fn workers(&self) -> VirtualWorkers;

    /// The worker, the number and the name of the node.
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there is no node"))]
    fn node(&self) -> SimulatedNode;

    /// The size of a pool without a size. It must not depend on the machine.
    fn pool_size(&self) -> usize;

    /// The function to call in place of a task.
    fn wrap_call(&self, task: &Arc<str>, call: Call) -> Call;

    /// A listener that is called in place.
    fn listener(&self) -> Arc<dyn Listener>;

    /// The listener to call in place of one of the program's.
    #[cfg(feature = "testing")]
    fn wrap_listener(&self, listener: Arc<dyn Listener>) -> Arc<dyn Listener>;
}
