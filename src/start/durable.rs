//! The durable part of a scheduler: store, jobs and node.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_store::Model;

use super::builder::Builder;
use super::error::StartError;
use super::in_store::paused;
use super::pools::PoolPlan;
use super::simulation::{SimulatedNode, Simulation};
use super::task_table::{Made, TaskTable};
use super::tasks::Tasks;
use crate::base::metadata::Location;
use crate::define::calendar::Calendar;
use crate::define::entry::Definition;
use crate::define::schedule::Schedule;
use crate::define::settings::NodeSettings;
use crate::durable::{
    Client, DurableSchedule, JobKinds, JobTask, Jobs, KnownTask, Node, NodeInput, NodeOptions,
    NodeSetup, OnPause, Schedules, Simulated, faults, options_of,
};
use crate::observe::{Bus, Event, EventKind};
use crate::run::inject::{Call, States};
use crate::task::TaskSpec;

/// The durable part of a scheduler with a store.
#[derive(Debug)]
pub(super) struct Durable {
    client: Client,
    jobs: Jobs,
    calendars: BTreeMap<String, Arc<Calendar>>,
    options: NodeOptions,
    /// True if the process has no node.
    is_enqueue_only: bool,
    /// The store of a simulation, whose idle time is skipped.
    simulated_store: Option<Model>,
    /// Present from the launch on.
    node: Option<Node>,
}

/// The parts of a scheduler that its node needs.
pub(super) struct NodeLaunch<'a> {
    pub(super) made: &'a [Made],
    pub(super) tasks: &'a Tasks,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) bus: &'a Arc<Bus>,
    pub(super) pools: &'a [PoolPlan],
    /// In a simulation, with its seed.
    pub(super) simulation: Option<(&'a dyn Simulation, u64)>,
}

impl Durable {
    /// The store of the builder, and the handle for it, which tasks may take as an argument. `None` without a store.
    pub(super) fn of(
        builder: &Builder,
        clock: &Arc<dyn Clock>,
        states: &mut States,
    ) -> Option<Self> {
        let client =
            Client::new(builder.store.clone()?, Arc::clone(clock), builder.simulation.is_some());
        let jobs = Jobs::new(client.clone());
        states.insert_own(jobs.clone());
        states.insert_own(Schedules::of(&jobs));
        let options = builder.node.clone();
        let simulated_store = builder.simulated_store.clone();
        Some(Self {
            client,
            jobs,
            calendars: BTreeMap::new(),
            options,
            is_enqueue_only: builder.enqueue_only,
            simulated_store,
            node: None,
        })
    }

    /// Tells the handle the tasks and their options. Returns the faults of the tasks.
    pub(super) fn know_tasks(
        &mut self,
        specs: &[TaskSpec],
        calendars: &BTreeMap<String, Arc<Calendar>>,
    ) -> Vec<String> {
        self.calendars.clone_from(calendars);
        let enabled = specs.iter().filter(|spec| !spec.is_disabled());
        let known = enabled.filter_map(|spec| {
            let former = spec.job.as_ref().map(|job| job.aliases);
            Some((Arc::clone(spec.name()), KnownTask { options: options_of(spec)?, former }))
        });
        self.jobs.know_tasks(known.collect(), calendars.clone());
        faults(specs).collect()
    }

    /// Applies the settings of the node. Returns the faults.
    pub(super) fn configure(
        &mut self,
        settings: &NodeSettings,
        specs: &[TaskSpec],
        pools: &[PoolPlan],
    ) -> Vec<String> {
        self.options = std::mem::take(&mut self.options).with_settings(settings.clone());
        self.options.config(kinds_of(specs, pools), "").err().unwrap_or_default()
    }

    /// Returns true if this process runs no jobs.
    pub(super) fn is_enqueue_only(&self) -> bool {
        self.is_enqueue_only
    }

    /// Returns true if this process runs the task, or its jobs.
    pub(super) fn runs(&self, spec: &TaskSpec) -> bool {
        spec.durable.as_ref().is_none_or(|durable| {
            !self.is_enqueue_only && !spec.is_disabled() && self.options.serves(&durable.queue)
        })
    }

    /// The values of the node, for a dry run; none without a store.
    pub(super) fn values(
        builder: &Builder,
        specs: &[TaskSpec],
        pools: &[PoolPlan],
    ) -> Vec<(&'static str, String, bool)> {
        if builder.store.is_none() || builder.enqueue_only {
            return Vec::new();
        }
        builder.node.shown(kinds_of(specs, pools), "the program and its number")
    }

    /// Makes the node, once the tasks are made.
    pub(super) fn launch(&mut self, launch: &NodeLaunch<'_>) -> Result<(), StartError> {
        let table = Arc::downgrade(&launch.tasks.table);
        drop(launch.tasks.table.jobs.set(self.jobs.clone()));
        self.jobs.know_rules(Arc::new(move |name, schedule| resolve(&table, name, schedule)));
        self.jobs.on_pause(on_pause(launch));
        if self.is_enqueue_only {
            return self.open_without_node(launch);
        }
        let specs = launch.made.iter().map(|(spec, _)| spec);
        let parts = NodeInput {
            client: self.client.clone(),
            jobs: self.jobs.clone(),
            tasks: launch.made.iter().filter_map(|(spec, task)| JobTask::of(spec, task)).collect(),
            schedules: specs.filter_map(DurableSchedule::of).collect(),
            calendars: std::mem::take(&mut self.calendars),
        };
        let setup = NodeSetup {
            clock: Arc::clone(launch.clock),
            bus: Arc::clone(launch.bus),
            pools: launch.pools.iter().map(|pool| (pool.name.clone(), pool.size)).collect(),
            simulated: launch.simulation.map(|(simulation, seed)| {
                let SimulatedNode { workers, life, label, nodes } = simulation.node();
                let seed = (life as u128) << 64 | u128::from(seed);
                let store = self.simulated_store.take();
                Simulated { seed, workers, label, store, nodes, life }
            }),
        };
        let node = Node::new(parts, &self.options, setup).map_err(StartError::of_faults)?;
        self.node = Some(node);
        Ok(())
    }

    /// Without a node nothing else opens a store that is opened after the start.
    fn open_without_node(&self, launch: &NodeLaunch<'_>) -> Result<(), StartError> {
        let store = self.client.store();
        if launch.simulation.is_some() {
            store.try_open();
            return Ok(());
        }
        store.open_on_thread(Arc::clone(launch.clock)).map_err(|error| no_thread(&error))
    }

    /// Starts the node, once the tasks take jobs.
    pub(super) fn start(&self) -> Result<(), StartError> {
        let started = self.node.as_ref().map_or(Ok(()), Node::start);
        started.map_err(|error| no_thread(&error))
    }

    /// Claims no more jobs, and gives back those that have not begun.
    pub(super) fn stop(&self) {
        self.client.store().stop();
        if let Some(node) = &self.node {
            node.stop();
        }
    }

    /// Waits until all outcomes are stored and the session has ended, for at most the limit.
    pub(super) fn await_stop(&self, limit: Duration) {
        if let Some(node) = &self.node {
            node.await_stop(limit);
        }
    }
}

/// Reports pauses in the store as those of tasks in memory. It keeps neither tasks nor listeners alive.
fn on_pause(launch: &NodeLaunch<'_>) -> OnPause {
    let facts = launch.tasks.table.facts_by_name();
    let (bus, clock) = (Arc::downgrade(launch.bus), Arc::clone(launch.clock));
    Arc::new(move |task, pause| {
        let Some((bus, facts)) = bus.upgrade().zip(facts(task)) else { return };
        let kind = match pause {
            Some(pause) => paused(pause),
            None => EventKind::Resumed { next: None },
        };
        bus.emit(Event::of(clock.wall(), &facts, kind));
    })
}

fn no_thread(error: &std::io::Error) -> StartError {
    StartError::refused("no thread can be started for the store", error)
}

fn kinds_of(specs: &[TaskSpec], pools: &[PoolPlan]) -> JobKinds {
    let threads = pools.iter().map(|pool| pool.size).sum::<usize>();
    let is_run_here =
        |spec: &&TaskSpec| spec.durable.is_some() && !spec.is_disabled() && spec.missing.is_empty();
    let durable = specs.iter().filter(is_run_here);
    let are_async = durable.map(|spec| spec.facts.is_async);
    JobKinds::new(u32::try_from(threads).unwrap_or(u32::MAX), are_async)
}

/// Resolves a schedule that code gives while the scheduler runs. Placeholders are replaced, other settings do not apply.
fn resolve(table: &Weak<TaskTable>, name: &str, schedule: Schedule) -> Result<TaskSpec, String> {
    let stopped = || "the scheduler has stopped".to_owned();
    let factory = table.upgrade().and_then(|table| table.factory()).ok_or_else(stopped)?;
    let definition = Definition::in_code(name, schedule, Call::noop(), Location::caller());
    let attributes = factory.settings.resolve(&definition);
    factory.resolve(&definition, attributes).map_err(|faults| faults.join("; "))
}
