//! The node of a scheduler: made of what was planned, started, stopped.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::{Clock, VirtualWorkers};
use scheduler_node::{Policy, Rng, TaskConfig};
use scheduler_store::{LimitSpec, Model, OnLost, ScheduleSpec, Uuid};

use crate::define::calendar::Calendar;
use crate::durable::client::Client;
use crate::durable::driver::{DriverParts, NodeDriver, Reports, Rest, SimulatedNodes};
use crate::durable::jobs::Jobs;
use crate::durable::limits::limits_of;
use crate::durable::node_options::{ASYNC_JOBS, JobKinds, NodeOptions, program};
use crate::durable::rule::TextRules;
use crate::durable::rule::{definition_of, policy_of};
use crate::durable::schedules::Schedules;
use crate::observe::Bus;
use crate::run::inject::Call;
use crate::task::{Control, Retry, TaskSpec};

/// The parts of the scheduler that a node needs.
pub(crate) struct NodeSetup {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) bus: Arc<Bus>,
    /// The pools, and how many threads they have.
    pub(crate) pools: Vec<(String, usize)>,
    /// In a simulation, which has no threads.
    pub(crate) simulated: Option<Simulated>,
}

/// The stand-ins of a simulated node for threads and chance.
pub(crate) struct Simulated {
    pub(crate) seed: u128,
    pub(crate) workers: VirtualWorkers,
    /// The name of its process.
    pub(crate) label: String,
    /// The store in memory whose idle time is skipped; none for a store of the program.
    pub(crate) store: Option<Model>,
    /// All nodes of the simulation, and the number of its life among them.
    pub(crate) nodes: Arc<SimulatedNodes>,
    pub(crate) life: usize,
}

/// The node of this process, which claims jobs and gives them to their tasks. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Node {
    driver: Arc<NodeDriver>,
    simulated: Option<VirtualWorkers>,
}

impl Node {
    /// Makes a node that has asked nothing yet, or returns all that is wrong with the options.
    pub(crate) fn new(
        parts: NodeInput,
        options: &NodeOptions,
        setup: NodeSetup,
    ) -> Result<Self, Vec<String>> {
        let NodeInput { client, jobs, tasks, schedules, calendars } = parts;
        let NodeSetup { clock, bus, pools, simulated } = setup;
        let threads = |pool: &(String, usize)| u32::try_from(pool.1).unwrap_or(u32::MAX);
        let all = pools.iter().map(threads).fold(0, u32::saturating_add);
        let process = simulated.as_ref().map_or_else(process, |simulated| simulated.label.clone());
        let kinds = {
            let here = tasks.iter().filter(|task| task.is_run_here);
            JobKinds::new(all, here.map(JobTask::is_async))
        };
        let mut config = options.config(kinds, &process)?;
        jobs.know_label(config.label.clone());
        // Otherwise the threads of the only pool are all workers.
        let are_bounded = pools.len() > 1 || kinds.are_mixed();
        let pools = if are_bounded { pools } else { Vec::new() };
        config.pools = pools.iter().map(threads).collect();
        let of_async = (kinds.are_mixed() && !options.has_concurrency()).then(|| {
            config.pools.push(ASYNC_JOBS);
            pools.len()
        });
        config.definitions = schedules.iter().map(|schedule| schedule.definition.clone()).collect();
        config.limits = tasks.iter().map(|task| task.limits.clone()).collect();
        config.tasks = tasks.iter().flat_map(|task| configs(task, &pools, of_async)).collect();
        let rules = Arc::new(TextRules::new(&schedules, calendars));
        let seed =
            simulated.as_ref().map_or_else(|| Uuid::now_v7().as_u128(), |simulated| simulated.seed);
        let application = config.application.clone();
        let now = clock.boot_time();
        let simulated_store = simulated.as_ref().and_then(|simulated| simulated.store.clone());
        let rest = simulated_store.map(|store| Rest::new(store, config.lease));
        let (wall, rng) = (client.store_now(), Rng::new(seed));
        let node = scheduler_node::Node::new(Arc::new(config), rules, rng, now, wall);
        let by_name = tasks
            .into_iter()
            .flat_map(|task| task.names.clone().into_iter().map(move |name| (name, task.clone())));
        let driver = NodeDriver::new(DriverParts {
            client: client.clone(),
            tasks: by_name.collect(),
            reports: Reports::new(bus, Arc::clone(&clock), Schedules::of(&jobs), &application),
            clock,
            node,
            is_inline: simulated.is_some(),
            rest,
        });
        if let Some(simulated) = &simulated {
            let resting = Arc::<NodeDriver>::downgrade(&driver);
            simulated.nodes.add(simulated.life, resting);
        }
        client.know_node(Arc::downgrade(&driver));
        Ok(Self { driver, simulated: simulated.map(|simulated| simulated.workers) })
    }

    /// Starts to claim jobs.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub(crate) fn start(&self) -> io::Result<()> {
        match &self.simulated {
            Some(workers) => self.driver.start_simulated(workers).map_err(io::Error::other),
            None => self.driver.start_threads(),
        }
    }

    /// Claims nothing more, and gives back what has not begun.
    pub(crate) fn stop(&self) {
        self.driver.stop();
    }

    /// Waits until the session has ended, for at most the limit; then the node is given up.
    pub(crate) fn await_stop(&self, limit: Duration) {
        if !self.driver.await_stop(limit) {
            self.driver.give_up();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.driver.stop();
    }
}

/// A task under each of its names. `of_async` is the pool of those that hold no thread.
fn configs<'a>(
    task: &'a JobTask,
    pools: &[(String, usize)],
    of_async: Option<usize>,
) -> impl Iterator<Item = TaskConfig> + use<'a> {
    let limit = task.max_concurrent.map(Into::into);
    let limit = if task.is_run_here { limit } else { Some(0) };
    let pool = match &task.blocking_pool {
        Some(pool) => pools.iter().position(|(name, _)| name == &**pool),
        None => of_async,
    };
    task.names.iter().map(move |name| TaskConfig {
        name: Arc::clone(name),
        task: Arc::clone(&task.names[0]),
        version: task.version,
        limit,
        pool,
        is_abandon: task.is_abandon,
    })
}

/// The name of this process: its program, and its number.
pub(crate) fn process() -> String {
    format!("{}-{}", program(), std::process::id())
}

/// All that a node needs of the facade.
#[derive(Debug)]
pub(crate) struct NodeInput {
    pub(crate) client: Client,
    pub(crate) jobs: Jobs,
    /// The tasks that run jobs here.
    pub(crate) tasks: Vec<JobTask>,
    /// The schedules in the code of this process, to be registered.
    pub(crate) schedules: Vec<DurableSchedule>,
    /// The calendars that rules of other schedules may name.
    pub(crate) calendars: BTreeMap<String, Arc<Calendar>>,
}

/// A task that runs jobs.
#[derive(Clone, Debug)]
pub(crate) struct JobTask {
    /// Its name, and those that it had before.
    pub(crate) names: Vec<Arc<str>>,
    /// The greatest version of payloads that it can read.
    pub(crate) version: u32,
    pub(crate) control: Control,
    /// The greatest number of its jobs that run at once in this process; none for any number.
    pub(crate) max_concurrent: Option<NonZeroU32>,
    /// The greatest number in all processes together, in all and in each partition.
    limits: LimitSpec,
    /// The pool whose threads its runs hold; none of an async function.
    blocking_pool: Option<Arc<str>>,
    /// After what time a failed job is tried again.
    pub(crate) retry: Retry,
    /// True if its jobs run at most once.
    is_abandon: bool,
    /// False if a value is missing for its arguments: then this process runs none of its jobs, and fires its ticks for others.
    pub(crate) is_run_here: bool,
}

/// A durable schedule in the code.
#[derive(Clone)]
pub(crate) struct DurableSchedule {
    pub(crate) definition: ScheduleSpec,
    pub(crate) policy: Policy,
}

impl JobTask {
    /// `None` if no store keeps the jobs of the task, or it is disabled.
    pub(crate) fn of(spec: &TaskSpec, control: &Control) -> Option<Self> {
        let durable = spec.durable.as_ref().filter(|_| !spec.is_disabled())?;
        let former = spec.job.iter().flat_map(|job| job.aliases).map(|name| Arc::from(*name));
        let holds_threads = matches!(spec.call, Call::Sync(_));
        Some(Self {
            names: std::iter::once(Arc::clone(spec.name())).chain(former).collect(),
            version: known_version(spec),
            control: control.clone(),
            max_concurrent: spec.policy.max_concurrent,
            limits: limits_of(spec, durable),
            blocking_pool: holds_threads.then(|| Arc::clone(&spec.facts.pool)),
            retry: spec.policy.retry,
            is_abandon: durable.on_lost == OnLost::Abandon,
            is_run_here: spec.missing.is_empty(),
        })
    }
}

/// A function without a payload reads none, and so runs jobs of every version.
fn known_version(spec: &TaskSpec) -> u32 {
    let version = spec.job.as_ref().map_or(0, |job| job.version);
    if version == 0 { u32::MAX } else { version }
}

impl JobTask {
    /// Returns true if its runs hold no threads.
    pub(crate) fn is_async(&self) -> bool {
        self.blocking_pool.is_none()
    }
}

impl DurableSchedule {
    /// `None` if no store keeps the schedule of the task, or it is disabled.
    pub(crate) fn of(spec: &TaskSpec) -> Option<Self> {
        let durable = spec.durable.as_ref().filter(|_| !spec.is_disabled())?;
        Some(Self { definition: definition_of(spec)?, policy: policy_of(spec, durable) })
    }
}

crate::base::opaque! { DurableSchedule { definition, policy } }
