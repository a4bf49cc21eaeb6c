//! Starts what was prepared: pools, conductors, the banner.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use scheduler_core::Body;
use scheduler_core::MisfirePolicy;
use scheduler_core::OnError;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::ShutdownPolicy;
use scheduler_core::Task;
use scheduler_core::trigger::CronTrigger;

use super::Running;
use super::Scheduler;
use super::builder::Builder;
use super::context::Context;
use super::pools::PoolPlan;
use super::pools::Pools;
use super::prepare::Prepared;
use super::watch::Watch;
use crate::conduct::Rule;
use crate::error::StartError;
use crate::inject::Call;
use crate::observe::BusBuilder;
use crate::observe::Event;
use crate::observe::meter;
use crate::observe::watch_panics;
use crate::registrar::Planned;
use crate::run::TaskError;
use crate::settings::Level;
use crate::speech::Banner;
use crate::speech::Message;
use crate::speech::PoolWords;
use crate::speech::Reporter;
use crate::speech::TaskWords;
use crate::speech::Voice;
use crate::speech::panics_abort;

/// Starts all planned tasks; if one cannot be, none is left running.
pub(super) fn launch(builder: Builder, prepared: Prepared) -> Result<Scheduler, StartError> {
    watch_panics();
    let has_async = prepared.plan.tasks.iter().any(|task| matches!(task.call, Call::Async(_)));
    #[cfg(feature = "tokio")]
    let runtime = builder.runtime.as_ref();
    #[cfg(not(feature = "tokio"))]
    let runtime = None;
    let context = Context::find(runtime, has_async)?;
    let voice = builder.voice;
    let clock = Arc::clone(&prepared.clock);
    let reporter = Reporter::new(voice.clone());
    let bus = BusBuilder::new().every_event(reporter.wants_every_event());
    let bus = meter().into_iter().fold(bus, BusBuilder::in_place);
    let bus = builder.listeners.into_iter().fold(bus, BusBuilder::listener);
    let bus = bus.reporter(Arc::new(reporter)).build(Arc::clone(&clock));
    let bus = Arc::new(bus.map_err(StartError::pool)?);
    let watch = Arc::new(Watch::new(bus, clock, !prepared.plan.tasks.is_empty()));
    let pools = pools(&prepared, context.as_ref(), &watch)?;
    introduce(&prepared, context.as_ref(), &voice, &watch);
    submit(&pools, &prepared)?;
    Ok(Scheduler::new(Running {
        pools,
        watch,
        voice,
        limit: prepared.limit,
        clock: prepared.clock,
        shutdown: prepared.shutdown,
        tasks: prepared.tasks,
        _context: context,
    }))
}

/// Says the banner, and tells the listeners of the tasks.
fn introduce(prepared: &Prepared, context: Option<&Context>, voice: &Voice, watch: &Watch) {
    let now = watch.now();
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
    remarks.extend(context.map(|context| format!("async tasks: {}", context.describe())));
    let off = &prepared.plan.off;
    remarks.extend((!off.is_empty()).then(|| format!("switched off: {}", off.join(", "))));
    let zone = prepared.zone;
    let banner = Banner { tasks: &tasks, pools: &pools, zone, now, remarks: &remarks };
    voice.announce(&banner.to_string());
    let nothing = if off.is_empty() { banner.no_tasks() } else { None };
    [nothing, panics_abort()].iter().flatten().for_each(|warning| voice.say(warning));
    for task in &tasks {
        watch.bus().emit(Event::TaskAdded { task: Arc::clone(&task.facts), at: now });
    }
    watch.bus().emit(Event::SchedulerStarted { at: now, tasks: tasks.len() });
}

fn pools(
    prepared: &Prepared,
    context: Option<&Context>,
    watch: &Arc<Watch>,
) -> Result<Pools, StartError> {
    // After a shutdown nothing new is started: a one-time task an hour ahead would hold it up.
    let policy = ShutdownPolicy { continue_recurring: false, execute_delayed: false };
    let mut by_name = BTreeMap::new();
    for plan in &prepared.pools {
        let builder = ScheduledThreadPool::builder()
            .core_size(plan.size)
            .thread_name_prefix(plan.prefix.as_str())
            .shutdown_policy(policy)
            .clock(Arc::clone(&prepared.clock))
            .listener(Arc::clone(watch));
        let builder = match context {
            Some(context) => context.surround(builder),
            None => builder,
        };
        by_name.insert(plan.name.clone(), builder.build().map_err(StartError::pool)?);
    }
    Ok(Pools::new(by_name))
}

fn submit(pools: &Pools, prepared: &Prepared) -> Result<(), StartError> {
    for task in &prepared.plan.tasks {
        let Some(pool) = pools.get(&task.pool) else { continue };
        pool.submit_task(engine_task(task)).map_err(|error| {
            StartError::of_faults(vec![format!("{}: `{}`: {error}", task.location, task.name)])
        })?;
    }
    Ok(())
}

fn engine_task(planned: &Planned) -> Task<()> {
    let call = planned.call.clone();
    let name = Arc::clone(&planned.name);
    let body = match call {
        Call::Sync(call) => Body::new(move || call(&super::watch::present(&name)).map_err(Chain)),
        Call::Async(begin) => Body::new_async(move || {
            let run = begin(&super::watch::present(&name));
            async move { run.await.map_err(Chain) }
        }),
    };
    let task = match &planned.rule {
        Rule::Cron(trigger) => Task::on_trigger(CronTrigger::clone(trigger), body),
        Rule::FixedRate { period, initial_delay } => Task::at_fixed_rate(*period, body)
            .initial_delay(*initial_delay)
            .misfire(MisfirePolicy::RunOnce),
        Rule::FixedDelay { delay, initial_delay } => {
            Task::with_fixed_delay(*delay, body).initial_delay(*initial_delay)
        }
        Rule::Once { delay } => Task::once_fallible(body).initial_delay(*delay),
        Rule::Custom(_) => Task::once_fallible(body),
    };
    task.name(Arc::clone(&planned.name)).on_error(OnError::Continue)
}

/// An error shown with its causes, in one line.
struct Chain(TaskError);

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, "; caused by: {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
