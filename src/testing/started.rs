//! A simulated scheduler, before and after its start.

use std::sync::{Arc, Weak};

use scheduler_core::VirtualWorkers;

use super::moment::Moment;
use super::record::Record;
use super::world::World;
use super::{calls, or_panic};
use crate::define::entry::TaskList;
use crate::define::settings::names::Names;
use crate::observe::{Event, Listener};
use crate::run::inject::{Call, States};
use crate::start::{Builder, Scheduler, SimulatedNode, Simulation, StartError, TaskControl, Tasks};

/// The number of workers of a pool without a size.
const POOL_SIZE: usize = 4;

/// A simulation before its first step.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) builder: Builder,
    pub(super) list: TaskList,
    /// True for all linked tasks, false for those of the list.
    pub(super) includes_linked: bool,
    pub(super) start: Moment,
    pub(super) shared: Shared,
}

/// The world of a simulation, the process in it, and the record of what happens there.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) world: Arc<World>,
    pub(super) process: usize,
    /// One of the lives of the process.
    pub(super) life: usize,
    pub(super) record: Arc<Record>,
}

/// A simulation after its first step.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) shared: Shared,
    /// `None` after its shutdown.
    pub(super) scheduler: Option<Scheduler>,
    pub(super) tasks: Tasks,
    #[cfg(feature = "durable")]
    pub(super) jobs: Option<crate::Jobs>,
    /// The tasks at the shutdown, which removes them.
    pub(super) controls: Vec<TaskControl>,
    pub(super) states: States,
    pub(super) start: Moment,
}

impl Setup {
    /// The only process of a simulation.
    pub(super) fn new(start: Moment) -> Self {
        Self::of_process(start, World::new(start.instant()), 0)
    }

    /// A new life of a process.
    pub(super) fn of_process(start: Moment, world: Arc<World>, process: usize) -> Self {
        let record = Arc::new(Record::new(Arc::clone(&world)));
        let life = world.lives().begin();
        let shared = Shared { world, process, life, record };
        let record = Arc::clone(&shared.record);
        let builder = Scheduler::builder()
            .zone(start.zone().name())
            .messages(move |text| record.add_message(text))
            .sealed();
        Self { builder, list: TaskList::default(), includes_linked: false, start, shared }
    }

    /// Starts the scheduler. Nothing runs before the first step.
    #[track_caller]
    pub(super) fn start(self) -> Started {
        let Self { builder, list, includes_linked, start, shared } = self;
        let builder = if includes_linked { builder } else { builder.tasks(list) };
        let clock = Arc::clone(&shared.world);
        let builder = builder.clock(clock).simulated_by(Arc::new(shared.clone()));
        let states = builder.states().clone();
        #[cfg(feature = "tokio")]
        let builder = shared.world.driver().lend(builder);
        let started = builder.spawn();
        let scheduler = or_panic(started.map_err(|error| start_failure(&error)));
        let tasks = scheduler.tasks();
        #[cfg(feature = "durable")]
        let jobs = scheduler.jobs().ok();
        Started {
            shared,
            scheduler: Some(scheduler),
            tasks,
            #[cfg(feature = "durable")]
            jobs,
            controls: Vec::new(),
            states,
            start,
        }
    }
}

/// The message of a failed start, with help for a simulation in place of the builder.
fn start_failure(error: &StartError) -> String {
    let text = error.to_string().replace("Scheduler::builder().task(", "Sim::at(…).define(");
    let text = text.replace("Scheduler::builder()", "Sim::at(…)");
    format!("the simulated scheduler cannot start: {text}")
}

impl Started {
    /// The tasks as they are, or as they were at the shutdown.
    pub(super) fn controls(&self) -> Vec<TaskControl> {
        if self.scheduler.is_none() {
            return self.controls.clone();
        }
        let all = self.tasks.list();
        all.iter().filter_map(|task| self.tasks.get(task.name()).ok()).collect()
    }

    /// A task by its name, or an unambiguous end of it.
    pub(super) fn control(&self, name: &str) -> Result<TaskControl, String> {
        if self.scheduler.is_some() {
            return self.tasks.get(name).map_err(|error| error.to_string());
        }
        let names = Names::from_iter(self.controls.iter().map(TaskControl::name));
        let (_, found) = names.find(name).map_err(|error| error.to_string())?;
        Ok(self.controls[found].clone())
    }
}

impl Simulation for Shared {
    fn workers(&self) -> VirtualWorkers {
        self.world.new_workers(self.life, false)
    }

    fn node(&self) -> SimulatedNode {
        SimulatedNode {
            workers: self.world.new_workers(self.life, true),
            life: self.life,
            label: format!("process-{}", self.process),
            #[cfg(feature = "durable")]
            nodes: self.world.nodes(),
        }
    }

    fn pool_size(&self) -> usize {
        POOL_SIZE
    }

    fn wrap_call(&self, task: &Arc<str>, call: Call) -> Call {
        calls::wrap_call(&self.world, self.world.script(self.process, task), call)
    }

    fn listener(&self) -> Arc<dyn Listener> {
        Arc::<Record>::clone(&self.record)
    }

    fn wrap_listener(&self, listener: Arc<dyn Listener>) -> Arc<dyn Listener> {
        Arc::new(WatchedListener { listener, world: Arc::downgrade(&self.world) })
    }
}

/// A listener of the program, whose panics fail the test.
struct WatchedListener {
    listener: Arc<dyn Listener>,
    world: Weak<World>,
}

impl Listener for WatchedListener {
    fn on_event(&self, event: &Event) {
        let tell = || self.listener.on_event(event);
        match self.world.upgrade() {
            Some(world) => world.panics().watch(|| "a listener".to_owned(), tell),
            None => tell(),
        }
    }
}

/// Breaks reference cycles: runs in progress hold their pools, events hold tasks, and both hold the world.
impl Drop for Started {
    fn drop(&mut self) {
        drop(self.scheduler.take());
        self.shared.world.clear();
    }
}
