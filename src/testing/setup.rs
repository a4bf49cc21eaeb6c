//! Configures a simulation before its first step, and starts it.

use std::any::{Any, type_name};
use std::cell::{OnceCell, RefCell};
use std::future::Future;
use std::sync::{Arc, Weak};

use scheduler_core::VirtualWorkers;

use crate::define::entry::TaskList;
use crate::define::schedule::Schedule;
use crate::define::settings::names::Names;
use crate::observe::{Event, Listener};
use crate::run::Run;
use crate::run::inject::{Call, Managed, States, TaskReturn};
use crate::start::{
    Builder, Pool, Scheduler, SimulatedNode, Simulation, StartError, TaskControl, Tasks,
};
use crate::testing::moment::{IntoMoment, Moment, moment};
use crate::testing::or_panic;
use crate::testing::record::Record;
use crate::testing::script::wrap_call;
use crate::testing::sim::Sim;
use crate::testing::world::World;

/// Configuration, before the first step.
impl Sim {
    /// A simulation that begins at an instant, such as `"2026-03-27T08:59:59[Europe/Berlin]"`.
    ///
    /// Its zone is the one of cron expressions that name none, and the one in which the event log shows
    /// times; UTC if the instant names none.
    ///
    /// # Panics
    ///
    /// When this is no instant: see [`moment`].
    #[track_caller]
    pub fn at(start: impl IntoMoment) -> Self {
        Self::of(Setup::new(moment(start)))
    }

    /// Simulates an annotated function.
    ///
    /// # Panics
    ///
    /// At the first step, if the function is not annotated.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "functions are given by their names")]
    pub fn task<F: 'static>(self, function: F) -> Self {
        let named = type_name::<F>();
        self.tasks(TaskList::from_functions(&[(named, Any::type_id(&function))]))
    }

    /// Simulates annotated functions: see [`tasks!`](crate::tasks).
    #[track_caller]
    pub fn tasks(self, list: TaskList) -> Self {
        self.change(|setup| {
            setup.list.entries.extend(list.entries);
            setup.list.unannotated.extend(list.unannotated);
        })
    }

    /// Simulates all annotated functions that are linked.
    #[track_caller]
    pub fn discovered(self) -> Self {
        self.change(|setup| setup.includes_linked = true)
    }

    /// Simulates a task that is a closure.
    ///
    /// ```
    /// use scheduler::Schedule;
    /// use scheduler::testing::*;
    ///
    /// let mut sim = Sim::at("2026-01-01T00:00:00Z")
    ///     .define("tick", Schedule::fixed_rate("10s"), |run| run.note("here"));
    /// sim.advance(secs(25));
    /// assert_eq!(sim.starts("tick"), [0, 10, 20].map(secs));
    /// ```
    #[track_caller]
    pub fn define<R, Kind>(
        self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(&Run) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: TaskReturn<Kind>,
    {
        // Not in a closure, so that messages name the caller's place.
        let setup = self.take_setup();
        Self::of(Setup { builder: setup.builder.task(name, schedule, body), ..setup })
    }

    /// Simulates a task that is a closure which returns a future.
    #[track_caller]
    pub fn define_async<F, Kind>(
        self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(Run) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output: TaskReturn<Kind>> + Send + 'static,
    {
        let setup = self.take_setup();
        Self::of(Setup { builder: setup.builder.task_async(name, schedule, body), ..setup })
    }

    /// Keeps a value for the tasks, such as a fake database: see [`Builder::manage`]. [`get`](Self::get)
    /// returns it to the test.
    #[track_caller]
    pub fn manage<T: Managed>(self, value: T) -> Self {
        self.builder(|builder| builder.manage(value))
    }

    /// As [`manage`](Self::manage), for a value that the test holds too, or for an `Arc<dyn Trait>`.
    #[track_caller]
    pub fn manage_shared<T: ?Sized + Managed>(self, value: Arc<T>) -> Self {
        self.builder(|builder| builder.manage_shared(value))
    }

    /// As [`manage`](Self::manage), for one of several values of a type.
    #[track_caller]
    pub fn manage_named<T: Managed>(self, name: &str, value: T) -> Self {
        self.builder(|builder| builder.manage_named(name, value))
    }

    /// Gives the scheduler a store in memory, by the clock of the simulation: durable schedules and jobs run in it.
    ///
    /// ```standalone_crate
    /// use scheduler::testing::*;
    /// use scheduler::{Jobs, job, scheduled};
    ///
    /// #[scheduled(cron = "0 0 * * * *", zone = "UTC", name = "remind", durable)]
    /// fn remind(jobs: Jobs) {
    ///     jobs.enqueue(mail::job("Ada".to_owned()).after(minutes(5))).expect("it is stored");
    /// }
    ///
    /// #[job(name = "mail")]
    /// fn mail(#[payload] to: String) {
    ///     println!("dear {to}");
    /// }
    ///
    /// let mut sim = Sim::at("2026-01-01T00:30:00Z").with_store().discovered();
    /// sim.advance(hours(2));
    /// assert_eq!(sim.starts("remind"), [minutes(30), minutes(90)]);
    /// assert_eq!(sim.starts("mail"), [minutes(35), minutes(95)]);
    /// ```
    #[cfg(feature = "durable")]
    #[track_caller]
    pub fn with_store(self) -> Self {
        let setup = self.take_setup();
        let store = setup.shared.world.new_store();
        Self::of(Setup { builder: setup.builder.simulated_store(store), ..setup })
    }

    /// Sets a setting: see [`Builder::set`]. No other settings count: neither the environment nor
    /// `scheduler.toml` is read.
    #[track_caller]
    pub fn set(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.builder(|builder| builder.set(key, value))
    }

    /// Sets the number of workers of the default pool; 4 by default, on every machine.
    #[track_caller]
    pub fn pool_size(self, workers: usize) -> Self {
        self.builder(|builder| builder.pool_size(workers))
    }

    /// Adds a pool that tasks choose by `pool = "name"`.
    #[track_caller]
    pub fn pool(self, name: impl Into<String>, pool: Pool) -> Self {
        self.builder(|builder| builder.pool(name, pool))
    }

    /// The seed of jitter and waits, and of the identities of jobs, sessions and ticks. The same seed gives the same simulation.
    #[track_caller]
    pub fn seed(self, seed: u64) -> Self {
        self.builder(|builder| builder.seed(seed))
    }

    /// Does not fail the test when tasks, listeners or triggers panic. As in a running scheduler, the run has failed.
    ///
    /// ```
    /// use scheduler::Schedule;
    /// use scheduler::testing::*;
    ///
    /// let mut sim = Sim::at("2026-01-01T00:00:00Z")
    ///     .allow_panics()
    ///     .define("import", Schedule::fixed_rate("1h"), |run| {
    ///         assert!(run.number() > 1, "no luck");
    ///     });
    /// sim.advance(hours(1));
    /// assert_outcomes!(sim, "import", [Panic("no luck"), Success]);
    /// ```
    #[track_caller]
    pub fn allow_panics(self) -> Self {
        self.change(|setup| setup.shared.world.panics().ignore())
    }

    /// Changes the builder of the scheduler, for example its settings:
    /// `.builder(|builder| builder.settings("prod.toml", include_str!("../prod.toml")))`.
    ///
    /// Its clock and its Tokio runtime are those of the simulation, and listeners are called in place.
    ///
    /// ```no_run
    /// use scheduler::testing::Sim;
    ///
    /// let sim = Sim::at("2026-01-01T00:00:00Z")
    ///     .discovered()
    ///     .builder(|builder| builder.zone("Europe/Berlin").expect_tasks(["report"]));
    /// ```
    #[track_caller]
    pub fn builder(self, change: impl FnOnce(Builder) -> Builder) -> Self {
        let setup = self.take_setup();
        Self::of(Setup { builder: change(setup.builder), ..setup })
    }

    #[track_caller]
    fn change(self, change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = self.take_setup();
        change(&mut setup);
        Self::of(setup)
    }

    pub(super) fn of(setup: Setup) -> Self {
        setup.shared.world.set_seed(setup.builder.seed);
        #[cfg(feature = "durable")]
        setup.shared.world.provide_identities();
        Self { setup: RefCell::new(Some(setup)), started: OnceCell::new() }
    }

    #[track_caller]
    fn take_setup(&self) -> Setup {
        let setup = self.setup.borrow_mut().take();
        setup.expect("a simulation is configured before its first step")
    }

    /// The scheduler, which is started at the first call.
    #[track_caller]
    pub(super) fn started(&self) -> &Started {
        if let Some(started) = self.started.get() {
            #[cfg(feature = "durable")]
            started.shared.world.provide_identities();
            return started;
        }
        let started = self.take_setup().start();
        self.started.get_or_init(|| started)
    }
}

crate::base::opaque! { Sim { started } }

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
        wrap_call(&self.world, self.world.script(self.process, task), call)
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
