//! Starts what was prepared: the bus, the pools, the conductors of all tasks; and says the banner.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_core::ScheduledThreadPool;
use scheduler_core::ShutdownPolicy;
use scheduler_core::trigger::Zone;

use super::Running;
use super::Scheduler;
use super::builder::Builder;
use super::context::Context;
use super::launcher::Launcher;
use super::pools::PoolPlan;
use super::pools::Pools;
use super::prepare::Prepared;
use super::simulation::Simulation;
use super::tasks::Kept;
use crate::error::StartError;
use crate::inject::Call;
use crate::observe::Bus;
use crate::observe::BusBuilder;
use crate::observe::EngineTrouble;
use crate::observe::Event;
use crate::observe::meter;
use crate::observe::watch_panics;
use crate::registrar::Plan;
use crate::registrar::Planned;
use crate::speech::Banner;
use crate::speech::Message;
use crate::speech::Messages;
use crate::speech::PoolWords;
use crate::speech::Reporter;
use crate::speech::TaskWords;

/// What polls async tasks where there is no Tokio runtime: the pools themselves.
const BUILT_IN_EXECUTOR: &str = "built-in executor (no Tokio)";

/// Starts all planned tasks; if one cannot be, none is left running.
pub(super) fn launch(builder: Builder, prepared: Prepared) -> Result<Scheduler, StartError> {
    watch_panics();
    let context = context(&builder);
    let simulation = builder.simulation.clone();
    let messages = messages(&builder)?;
    let bus = Arc::new(bus(builder, &prepared, &messages)?);
    let pools = pools(&prepared, (&context, simulation.as_deref()), &bus)?;
    let Prepared { plan, tasks, clock, shutdown, limit, zone, seed, settings, .. } = prepared;
    let Plan { tasks: planned, off } = plan;
    tasks.launch_with(Launcher {
        settings,
        zone,
        seed,
        clock: Arc::clone(&clock),
        bus: Arc::clone(&bus),
        names: prepared.pools.iter().map(|pool| pool.name.clone()).collect(),
        pools: pools.weak(),
        context: context.clone(),
        simulation,
    });
    let running = Running { pools, bus, messages, limit, clock, shutdown, tasks, context };
    let Prepared { remarks, warnings, pools, .. } = prepared;
    let news = News { remarks, warnings, pools: &pools, off: &off, zone };
    let scheduler = Scheduler::new(running);
    match begin(&scheduler.running, planned, news) {
        Ok(()) => Ok(scheduler),
        Err(error) => {
            scheduler.give_up();
            Err(error)
        }
    }
}

/// Starts the tasks, once all are known to be good and everything is said that is to be known before.
fn begin(running: &Running, planned: Vec<Planned>, news: News<'_>) -> Result<(), StartError> {
    let has_async = planned.iter().any(|task| matches!(task.call, Call::Async(_)));
    let made = running.tasks.make(planned)?;
    news.tell(&made, has_async, running);
    let count = made.len();
    running.tasks.start(made)?;
    running.pools.check_manned()?;
    let at = running.clock.wall();
    running.bus.emit(Event::SchedulerStarted { at, tasks: count });
    Ok(())
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
    let why = |error| format!("no thread can be started for messages: {error}");
    Messages::start(sink).map_err(|error| StartError::pool(why(error)))
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
    let why = |error| format!("no thread can be started for listeners: {error}");
    bus.map_err(|error| StartError::pool(why(error)))
}

/// What is to be known before the first run.
struct News<'a> {
    remarks: Vec<Message>,
    warnings: Vec<Message>,
    pools: &'a [PoolPlan],
    /// The tasks that are switched off.
    off: &'a [String],
    zone: Zone,
}

impl News<'_> {
    /// Says it, and the banner, and waits a moment until that is printed.
    fn tell(self, made: &[Kept], has_async: bool, running: &Running) {
        let (now, messages) = (running.clock.wall(), &running.messages);
        self.remarks.into_iter().for_each(|remark| messages.say(remark));
        let words = |task: &Kept| TaskWords {
            facts: task.control.facts(),
            next: task.control.first_start(),
        };
        let tasks: Vec<TaskWords> = made.iter().map(words).collect();
        let pools: Vec<PoolWords> = self.pools.iter().map(PoolPlan::words).collect();
        let built_in = has_async.then_some(BUILT_IN_EXECUTOR);
        let executor = running.context.describe().or(built_in);
        let executor = executor.map(|executor| format!("async tasks: {executor}"));
        let off = self.off;
        let off = (!off.is_empty()).then(|| format!("switched off: {}", off.join(", ")));
        let remarks: Vec<String> = executor.into_iter().chain(off).collect();
        let banner =
            Banner { tasks: &tasks, pools: &pools, zone: self.zone, now, remarks: &remarks };
        messages.announce(banner.to_string());
        self.warnings.into_iter().for_each(|warning| messages.announce(warning));
        messages.flush();
    }
}

fn pools(
    prepared: &Prepared,
    (context, simulation): (&Context, Option<&dyn Simulation>),
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
        let builder = context.surround(builder);
        let builder = match simulation {
            Some(simulation) => builder.virtual_crew(&simulation.crew()),
            None => builder,
        };
        let pool = builder.build().map_err(StartError::pool)?;
        by_name.insert(plan.name.clone(), Arc::new(pool));
    }
    Ok(Pools::new(by_name))
}
