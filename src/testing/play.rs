//! A scheduler that is being played.

use std::sync::Arc;
use std::sync::Weak;

use scheduler_core::VirtualCrew;

use super::moment::Moment;
use super::or_panic;
use super::record::Record;
use super::script;
use super::world::World;
use crate::entry::TaskList;
use crate::error::StartError;
use crate::inject::Call;
use crate::inject::States;
use crate::observe::Event;
use crate::observe::Listener;
use crate::runner::Builder;
use crate::runner::Scheduler;
use crate::runner::Simulation;
use crate::runner::TaskControl;
use crate::runner::Tasks;
use crate::settings::names::Names;

/// How many workers a pool has of which nobody says it.
const POOL_SIZE: usize = 4;

/// All that is known before the first step.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) builder: Builder,
    pub(super) list: TaskList,
    /// Whether all linked tasks are played, and not only those of the list.
    pub(super) is_discovered: bool,
    pub(super) start: Moment,
    pub(super) cast: Cast,
}

/// Who plays: the world, and whoever writes down what happens.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    pub(super) world: Arc<World>,
    pub(super) record: Arc<Record>,
}

/// A scheduler that is being played.
#[derive(Debug)]
pub(super) struct Play {
    pub(super) cast: Cast,
    /// None after its shutdown.
    pub(super) scheduler: Option<Scheduler>,
    pub(super) tasks: Tasks,
    /// The tasks at the shutdown, which forgets them.
    pub(super) kept: Vec<TaskControl>,
    pub(super) states: States,
    pub(super) start: Moment,
}

impl Setup {
    pub(super) fn new(start: Moment) -> Self {
        let world = World::new(start.instant());
        let record = Arc::new(Record::new(Arc::clone(&world)));
        let cast = Cast { world, record };
        let said = Arc::clone(&cast.record);
        let builder = Scheduler::builder()
            .zone(start.zone().name())
            .messages(move |text| said.add_message(text))
            .sealed();
        Self { builder, list: TaskList::default(), is_discovered: false, start, cast }
    }

    /// Starts the scheduler; nothing runs before the first step.
    #[track_caller]
    pub(super) fn start(self) -> Play {
        let Self { builder, list, is_discovered, start, cast } = self;
        let builder = if is_discovered { builder } else { builder.tasks(list) };
        let clock = Arc::clone(&cast.world);
        let builder = builder.clock(clock).simulated_by(Arc::new(cast.clone()));
        let states = builder.states().clone();
        let started = cast.world.driver().lend(builder).spawn();
        let scheduler = or_panic(started.map_err(|error| in_words_of_a_simulation(&error)));
        let tasks = scheduler.tasks();
        Play { cast, scheduler: Some(scheduler), tasks, kept: Vec::new(), states, start }
    }
}

/// Why a simulation does not start: faults advise the builder, which a test mostly does not see.
fn in_words_of_a_simulation(error: &StartError) -> String {
    let text = error.to_string().replace("Scheduler::builder().task(", "Sim::at(…).define(");
    let text = text.replace("Scheduler::builder()", "Sim::at(…)");
    format!("the simulated scheduler cannot start: {text}")
}

impl Play {
    /// The tasks as they are, or as they were at the shutdown.
    pub(super) fn controls(&self) -> Vec<TaskControl> {
        if self.scheduler.is_none() {
            return self.kept.clone();
        }
        let all = self.tasks.list();
        all.iter().filter_map(|task| self.tasks.get(task.name()).ok()).collect()
    }

    /// A task by its name, or an unambiguous end of it.
    pub(super) fn control(&self, name: &str) -> Result<TaskControl, String> {
        if self.scheduler.is_some() {
            return self.tasks.get(name).map_err(|error| error.to_string());
        }
        let names = Names::from_iter(self.kept.iter().map(TaskControl::name));
        let (_, found) = names.find(name).map_err(|error| error.to_string())?;
        Ok(self.kept[found].clone())
    }
}

impl Simulation for Cast {
    fn crew(&self) -> VirtualCrew {
        self.world.new_crew()
    }

    fn pool_size(&self) -> usize {
        POOL_SIZE
    }

    fn stand_in(&self, task: &Arc<str>, call: Call) -> Call {
        script::stand_in(&self.world, self.world.part(task), call)
    }

    fn listener(&self) -> Arc<dyn Listener> {
        Arc::<Record>::clone(&self.record)
    }

    fn attend(&self, listener: Arc<dyn Listener>) -> Arc<dyn Listener> {
        Arc::new(Attended { listener, world: Arc::downgrade(&self.world) })
    }
}

/// A listener of the program's, with panics that the test is told of.
struct Attended {
    listener: Arc<dyn Listener>,
    world: Weak<World>,
}

impl Listener for Attended {
    fn on_event(&self, event: &Event) {
        let tell = || self.listener.on_event(event);
        match self.world.upgrade() {
            Some(world) => world.alarm().watch(|| "a listener".to_owned(), tell),
            None => tell(),
        }
    }
}

/// Runs in progress hold their pools, events their tasks, and both the world.
impl Drop for Play {
    fn drop(&mut self) {
        drop(self.scheduler.take());
        self.cast.world.clear();
    }
}
