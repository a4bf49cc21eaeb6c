//! The durable part of a scheduler: from the store of the builder to what the node is given.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use scheduler_core::Clock;

use super::adding::Kept;
use super::all_tasks::AllTasks;
use super::builder::Builder;
use super::pools::PoolPlan;
use super::simulation::{SimulatedNode, Simulation};
use super::tasks::Tasks;
use crate::define::calendar::Calendar;
use crate::define::metadata::Location;
use crate::define::registrar::{Definition, Planned};
use crate::define::schedule::Schedule;
use crate::define::settings::Globals;
use crate::durable::{
    Client, Jobs, Node, NodeOptions, NodeParts, NodeSetup, PlannedJobs, Simulated, faults,
};
use crate::error::StartError;
use crate::observe::Bus;
use crate::run::inject::{Call, States};

/// The durable part of a scheduler, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Durable {
    known: Option<(Client, Jobs)>,
    planned: Vec<PlannedJobs>,
    calendars: BTreeMap<String, Arc<Calendar>>,
    options: NodeOptions,
    node: Option<Node>,
}

/// What the node needs of a scheduler that starts.
pub(super) struct NodeLaunch<'a> {
    pub(super) tasks: &'a Tasks,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) bus: &'a Arc<Bus>,
    pub(super) pools: &'a [PoolPlan],
    /// In a simulation, with its seed.
    pub(super) simulation: Option<(&'a dyn Simulation, u64)>,
}

impl Durable {
    /// The store of the builder, and the handle for it, which tasks may take as an argument.
    pub(super) fn of(builder: &Builder, clock: &Arc<dyn Clock>, states: &mut States) -> Self {
        let known = builder.store.clone().map(|store| {
            let client = Client::new(store, Arc::clone(clock));
            let jobs = Jobs::new(client.clone());
            states.insert_own(jobs.clone());
            (client, jobs)
        });
        Self { known, options: builder.node.clone(), ..Self::default() }
    }

    /// Takes what the planned tasks say. Returns the faults.
    pub(super) fn plan(
        &mut self,
        planned: &[Planned],
        calendars: &BTreeMap<String, Arc<Calendar>>,
    ) -> Vec<String> {
        let Some((_, jobs)) = &self.known else { return Vec::new() };
        self.calendars.clone_from(calendars);
        self.planned = planned.iter().filter_map(PlannedJobs::of).collect();
        let options = self.planned.iter().map(|jobs| (jobs.name().clone(), jobs.options().clone()));
        jobs.know_tasks(options.collect(), calendars.clone());
        faults(planned).collect()
    }

    /// Takes the settings of the node. Returns the faults.
    pub(super) fn set(&mut self, settings: &Globals, pools: &[PoolPlan]) -> Vec<String> {
        if self.known.is_none() {
            return Vec::new();
        }
        self.options = std::mem::take(&mut self.options).with_settings(settings.node.clone());
        self.options.config(threads_of(pools), "").err().unwrap_or_default()
    }

    /// The values of the node, for a dry run; none without a store.
    pub(super) fn values(
        builder: &Builder,
        pools: &[PoolPlan],
    ) -> Vec<(&'static str, String, bool)> {
        if builder.store.is_none() {
            return Vec::new();
        }
        builder.node.shown(threads_of(pools), "the program and its number")
    }

    /// Makes the node, once the tasks are made.
    pub(super) fn launch(
        &mut self,
        made: &[Kept],
        launch: &NodeLaunch<'_>,
    ) -> Result<(), StartError> {
        let Some((client, jobs)) = &self.known else { return Ok(()) };
        let all = Arc::downgrade(&launch.tasks.all);
        drop(launch.tasks.all.jobs.set(jobs.clone()));
        jobs.know_rules(Arc::new(move |name, schedule| plan(&all, name, schedule)));
        let control = |name: &Arc<str>| made.iter().find(|task| task.control.name() == name);
        let (mut tasks, mut schedules) = (Vec::new(), Vec::new());
        for planned in std::mem::take(&mut self.planned) {
            let Some(task) = control(planned.name()) else { continue };
            let (task, schedule) = planned.with(task.control.clone());
            tasks.push(task);
            schedules.extend(schedule);
        }
        let calendars = std::mem::take(&mut self.calendars);
        let (client, jobs) = (client.clone(), jobs.clone());
        let parts = NodeParts { client, jobs, tasks, schedules, calendars };
        let setup = NodeSetup {
            clock: Arc::clone(launch.clock),
            bus: Arc::clone(launch.bus),
            pools: launch.pools.iter().map(|pool| (pool.name.clone(), pool.size)).collect(),
            simulated: launch.simulation.map(|(simulation, seed)| {
                let SimulatedNode { workers, number, label } = simulation.node();
                Simulated { seed: u128::from(number) << 64 | u128::from(seed), workers, label }
            }),
        };
        let node = Node::new(parts, &self.options, setup).map_err(StartError::of_faults)?;
        self.node = Some(node);
        Ok(())
    }

    /// Starts the node, once the tasks take jobs.
    pub(super) fn start(&self) -> Result<(), StartError> {
        let started = self.node.as_ref().map_or(Ok(()), Node::start);
        started
            .map_err(|error| StartError::refused("no thread can be started for the store", &error))
    }

    /// Claims no more jobs, and gives back what has not begun.
    pub(super) fn stop(&self) {
        if let Some(node) = &self.node {
            node.stop();
        }
    }

    /// Waits until all outcomes are stored and the session has ended, for at most the limit; then it is given up.
    pub(super) fn await_stop(&self, limit: Duration) {
        if let Some(node) = &self.node {
            node.await_stop(limit);
        }
    }
}

fn threads_of(pools: &[PoolPlan]) -> u32 {
    u32::try_from(pools.iter().map(|pool| pool.size).sum::<usize>()).unwrap_or(u32::MAX)
}

/// Plans a schedule that code gives while the scheduler runs. Placeholders are replaced, other settings do not apply.
fn plan(all: &Weak<AllTasks>, name: &str, schedule: Schedule) -> Result<Planned, String> {
    let stopped = || "the scheduler has stopped".to_owned();
    let launcher = all.upgrade().and_then(|all| all.launcher()).ok_or_else(stopped)?;
    let location = Location::caller();
    let definition = Definition::in_code(name, schedule, Call::noop(), location);
    let effective = launcher.settings.resolve(&definition.written());
    launcher.resolve(&definition, effective).map_err(|faults| faults.join("; "))
}
