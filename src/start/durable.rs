//! The durable part of a scheduler, and its tasks in the store.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_store::{Action, Model, Pause as StoredPause, StoreTime};

use crate::base::metadata::Location;
use crate::define::calendar::Calendar;
use crate::define::entry::Definition;
use crate::define::schedule::Schedule;
use crate::define::settings::NodeSettings;
use crate::durable::{
    Client, DurableSchedule, JobKinds, JobTask, Jobs, JobsError, KnownTask, Node, NodeInput,
    NodeOptions, NodeSetup, OnAction, OnPause, Schedules, Simulated, faults, options_of, process,
};
use crate::observe::{Bus, Event, EventKind, TaskSnapshot, TaskState};
use crate::run::Pause;
use crate::run::inject::{Call, States};
use crate::start::builder::Builder;
use crate::start::error::StartError;
use crate::start::launch::{SimulatedNode, Simulation};
use crate::start::pools::PoolPlan;
use crate::start::task_table::{Made, TaskTable};
use crate::start::tasks::Tasks;
use crate::task::{ControlError, ControlErrorKind, TaskSpec};

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
        self.jobs.on_action(on_action(launch));
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
        self.jobs.know_label(self.options.label_or(process()));
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

/// Reports actions. It keeps no listeners alive.
fn on_action(launch: &NodeLaunch<'_>) -> OnAction {
    let (bus, clock) = (Arc::downgrade(launch.bus), Arc::clone(launch.clock));
    Arc::new(move |action| {
        if let Some(bus) = bus.upgrade() {
            bus.emit(Event::global(clock.wall(), done_by_hand(action)));
        }
    })
}

/// The event of an action.
pub(super) fn done_by_hand(action: &Action) -> EventKind {
    let (by, reason) = (action.by.as_str().into(), text(&action.reason));
    EventKind::Action { by, what: action.to_string().into(), count: action.count, reason }
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

/// A durable schedule or a kind of job of this process, in the store.
pub(super) struct InStore {
    jobs: Jobs,
    schedules: Schedules,
    name: Arc<str>,
}

impl InStore {
    pub(super) fn new(jobs: Jobs, name: Arc<str>) -> Self {
        Self { schedules: Schedules::of(&jobs), jobs, name }
    }

    pub(super) fn pause(&self, pause: &Pause) -> Result<(), ControlError> {
        self.done(match self.is_kind_of_job() {
            true => self.jobs.pause_task(&self.name, pause),
            false => self.schedules.pause(&self.name, pause),
        })
    }

    pub(super) fn resume(&self) -> Result<(), ControlError> {
        if !self.done(self.is_paused())? {
            return Err(ControlError::new(&self.name, ControlErrorKind::NotPaused));
        }
        self.done(match self.is_kind_of_job() {
            true => self.jobs.resume_task(&self.name),
            false => self.schedules.resume(&self.name),
        })
    }

    pub(super) fn reschedule(&self, rule: Schedule) -> Result<(), ControlError> {
        if self.is_kind_of_job() {
            let why = "it is a kind of job, and has no rule; a schedule of its jobs is made by `Schedules::put`";
            return Err(ControlError::refused(&self.name, why));
        }
        self.done(self.schedules.reschedule(&self.name, rule))
    }

    fn is_kind_of_job(&self) -> bool {
        self.jobs.former_names(&self.name).is_some()
    }

    fn is_paused(&self) -> Result<bool, JobsError> {
        if self.is_kind_of_job() {
            return self.jobs.is_task_paused(&self.name);
        }
        let schedules = self.schedules.list()?;
        let mine = schedules.iter().find(|schedule| schedule.definition.name == *self.name);
        Ok(mine.is_some_and(|schedule| self.schedules.is_paused(schedule)))
    }

    fn done<R>(&self, answer: Result<R, JobsError>) -> Result<R, ControlError> {
        answer.map_err(|error| match error {
            error if error.is_unavailable() => {
                let why = error.to_string();
                ControlError::new(&self.name, ControlErrorKind::Unavailable { why })
            }
            error if error.is_failed() => {
                let why = error.to_string();
                ControlError::new(&self.name, ControlErrorKind::Failed { why })
            }
            error if error.is_not_found() => {
                ControlError::refused(&self.name, "its schedule is not in the store yet")
            }
            error => ControlError::refused(&self.name, &error.to_string()),
        })
    }
}

/// The event of a pause in the store. The store fires the next tick, or has the next job.
pub(super) fn paused(pause: &StoredPause) -> EventKind {
    let (by, reason) = (text(&pause.by), text(&pause.reason));
    EventKind::Paused { by, reason, until: pause.until.map(StoreTime::utc), next: None }
}

/// Shows a pause in the store in the snapshot of its task.
pub(super) fn show_pause(snapshot: &mut TaskSnapshot, pause: &StoredPause) {
    if snapshot.state.is_ended() || snapshot.state == TaskState::Disabled {
        return;
    }
    if snapshot.state == TaskState::Waiting {
        snapshot.state = TaskState::Paused;
    }
    snapshot.is_paused = true;
    (snapshot.paused_by, snapshot.pause_reason) = (text(&pause.by), text(&pause.reason));
    snapshot.paused_since = Some(pause.since.utc());
    snapshot.paused_until = pause.until.map(StoreTime::utc);
    snapshot.would_run_at = snapshot.next.take();
}

/// A text that stores keep empty if there is none.
fn text(text: &str) -> Option<Arc<str>> {
    (!text.is_empty()).then(|| text.into())
}
