//! The configuration of a scheduler, before it runs.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Clock;

use super::launch::Simulation;
use super::pools::Pool;
use super::registrar::Registrar;
use super::report::Sink;
use super::tasks::Tasks;
use crate::define::calendar::Calendar;
use crate::define::entry::TaskList;
use crate::define::schedule::Schedule;
use crate::observe::Listener;
use crate::run::inject::{Managed, States, TaskReturn, into_task_result};
use crate::run::{Run, TaskResult};
use crate::task::{AsyncGate, Gate, Gates};

/// Defines tasks in code, at the start.
type Configurer = Box<dyn FnOnce(&mut Registrar) + Send>;

/// A function that is called with the tasks, once they have started.
pub(super) type AfterStart = Box<dyn FnOnce(&Tasks) -> TaskResult + Send>;

/// Configures a [`Scheduler`](crate::Scheduler).
///
/// Settings override these values as they override annotations. [`set`](Self::set) overrides all settings.
///
/// ```rust
/// use scheduler::Scheduler;
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .pool_size(4)
///     .zone("Europe/Berlin")
///     .await_termination(Duration::from_secs(10))
///     .spawn()?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until it starts"]
pub struct Builder {
    pub(super) pool: Pool,
    pub(super) pools: BTreeMap<String, Pool>,
    pub(super) defaults: Option<Schedule>,
    pub(super) calendars: BTreeMap<String, Arc<Calendar>>,
    pub(super) zone: Option<String>,
    pub(super) limit: Option<Duration>,
    pub(super) keep_ended: Option<usize>,
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) states: States,
    pub(super) listed: Option<TaskList>,
    pub(super) registrar: Registrar,
    pub(super) configurers: Vec<Configurer>,
    pub(super) expected: Vec<String>,
    pub(super) allowed_later: Vec<String>,
    pub(super) set: Vec<(String, String)>,
    /// The keys whose values no message shows.
    pub(super) secrets: Vec<String>,
    pub(super) environment: Option<Vec<(String, String)>>,
    pub(super) file: Option<(String, String)>,
    pub(super) listeners: Vec<Arc<dyn Listener>>,
    pub(super) gates: Gates,
    pub(super) after_start: Vec<AfterStart>,
    pub(crate) seed: u64,
    /// `None` in a real scheduler.
    pub(super) simulation: Option<Arc<dyn Simulation>>,
    #[cfg(feature = "tokio")]
    pub(super) runtime: Option<tokio::runtime::Handle>,
    #[cfg(feature = "durable")]
    pub(super) store: Option<crate::durable::StoreCell>,
    /// The store of a simulation, if that is the store.
    #[cfg(feature = "durable")]
    pub(super) simulated_store: Option<scheduler_store::Model>,
    #[cfg(feature = "durable")]
    pub(super) node: crate::durable::NodeOptions,
    #[cfg(feature = "durable")]
    pub(super) enqueue_only: bool,
    pub(super) sink: Sink,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            pool: Pool::new(),
            pools: BTreeMap::new(),
            defaults: None,
            calendars: BTreeMap::new(),
            zone: None,
            limit: None,
            keep_ended: None,
            clock: None,
            states: States::default(),
            listed: None,
            registrar: Registrar::default(),
            configurers: Vec::new(),
            expected: Vec::new(),
            allowed_later: Vec::new(),
            set: Vec::new(),
            secrets: Vec::new(),
            environment: None,
            file: None,
            listeners: Vec::new(),
            gates: Gates::default(),
            after_start: Vec::new(),
            seed: 0,
            simulation: None,
            #[cfg(feature = "tokio")]
            runtime: None,
            #[cfg(feature = "durable")]
            store: None,
            #[cfg(feature = "durable")]
            simulated_store: None,
            #[cfg(feature = "durable")]
            node: crate::durable::NodeOptions::default(),
            #[cfg(feature = "durable")]
            enqueue_only: false,
            sink: Sink::standard(),
        }
    }

    /// The number of threads that run tasks; by default one per processor, at least 2 and at most 8.
    ///
    /// Setting: `scheduler.pool.size`. (Spring: `spring.task.scheduling.pool.size`, by default 1, so
    /// that one slow task delays all others.)
    pub fn pool_size(mut self, threads: usize) -> Self {
        self.pool.size = Some(threads);
        self
    }

    /// The prefix of thread names; `scheduling-` by default, as in Spring Boot.
    ///
    /// Setting: `scheduler.thread-name-prefix`.
    #[doc(alias = "threadNamePrefix")]
    pub fn thread_name_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.pool.prefix = Some(prefix.into());
        self
    }

    /// Adds a pool that tasks choose by `pool = "name"`.
    ///
    /// Settings: `scheduler.pools.<name>.size`, `scheduler.pools.<name>.thread-name-prefix`.
    pub fn pool(mut self, name: impl Into<String>, pool: Pool) -> Self {
        self.pools.insert(name.into(), pool);
        self
    }

    /// The default options of all tasks, starting from [`Schedule::default`].
    ///
    /// A default that does not fit the other attributes of a task is ignored there. The settings
    /// `scheduler.defaults.<option>` override these defaults; the attributes of a task override both.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .defaults(Schedule::default().timeout("5m").retry(2, "1s", "1m"))
    ///     .task("import", Schedule::fixed_rate("1h"), |_| {})
    ///     .spawn()?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn defaults(mut self, options: Schedule) -> Self {
        self.defaults = Some(options);
        self
    }

    /// Adds a calendar that tasks choose by `skip_days = "name"`.
    ///
    /// ```rust
    /// use scheduler::chrono::Weekday;
    /// use scheduler::{Calendar, Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .calendar("weekends", Calendar::new().weekdays([Weekday::Sat, Weekday::Sun]))
    ///     .task("report", Schedule::cron("@daily").skip_days("weekends"), |_| {})
    ///     .spawn()?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn calendar(mut self, name: impl Into<String>, calendar: Calendar) -> Self {
        self.calendars.insert(name.into(), Arc::new(calendar));
        self
    }

    /// The time zone of cron expressions without one, such as `Europe/Berlin`.
    ///
    /// By default the zone of the variable `TZ`, or else the system's. Setting: `scheduler.zone`.
    pub fn zone(mut self, name: impl Into<String>) -> Self {
        self.zone = Some(name.into());
        self
    }

    /// The time that a stop waits for running tasks; 30 seconds by default.
    ///
    /// Then they are asked to stop, and futures are dropped at their next await. Setting:
    /// `scheduler.shutdown.await-termination-period`.
    #[doc(alias = "awaitTerminationSeconds")]
    pub fn await_termination(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The number of tasks that have completed or were cancelled and stay in [`Tasks::list`](crate::Tasks::list): the
    /// last 100 by default. Earlier ones are [removed](crate::Tasks::remove).
    ///
    /// A one-time task completes with its run. Tasks that ended in failure are counted apart, and at least 100 stay. Setting: `scheduler.keep-ended-tasks`.
    pub fn keep_ended_tasks(mut self, tasks: usize) -> Self {
        self.keep_ended = Some(tasks);
        self
    }

    /// The clock of the scheduler; the operating system's by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// The seed of jitter and of the waits between attempts; 0 by default.
    ///
    /// The same seed gives the same times in every process. Give each machine its own, so that they do not all call one
    /// server at the same moment.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Keeps a value for the tasks that take `&T` or [`State<T>`](crate::State), and for methods of
    /// its type that are scheduled.
    ///
    /// The scheduler drops it at the end of its stop, after the last message, also if no task takes it: a guard or a
    /// temporary folder lives as long as the tasks.
    ///
    /// ```rust,standalone_crate
    /// use scheduler::{Scheduler, scheduled};
    ///
    /// struct Greeting(String);
    ///
    /// #[scheduled(fixed_rate = "1h")]
    /// fn greet(greeting: &Greeting) {
    ///     println!("{}", greeting.0);
    /// }
    ///
    /// let scheduler = Scheduler::builder().manage(Greeting("hello".to_owned())).spawn()?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "bean")]
    pub fn manage<T: Managed>(self, value: T) -> Self {
        self.manage_shared(Arc::new(value))
    }

    /// As [`manage`](Self::manage), for a value that is shared with other parts of the program.
    ///
    /// With `Arc<dyn Trait>` it serves tasks that take `&dyn Trait`, and a test can give a fake.
    pub fn manage_shared<T: ?Sized + Managed>(mut self, value: Arc<T>) -> Self {
        self.states.insert(None, value);
        self
    }

    /// As [`manage`](Self::manage), for one of several values of a type.
    ///
    /// The scheduled methods of the type run once for each value, as tasks of their own: the task
    /// `shop::Reports::sweep` of the value `eu` is named `shop::Reports::sweep[eu]`. Tasks that take
    /// `&T` get the value without a name. (Spring: several beans of one class.)
    ///
    /// ```rust,standalone_crate
    /// use scheduler::{Scheduler, scheduled};
    ///
    /// struct Shop(&'static str);
    ///
    /// #[scheduled]
    /// impl Shop {
    ///     #[scheduled(cron = "@daily")]
    ///     fn report(&self) {
    ///         println!("the report of {}", self.0);
    ///     }
    /// }
    ///
    /// let builder = Scheduler::builder().manage_named("eu", Shop("Dublin"));
    /// let scheduler = builder.manage_named("us", Shop("Boston")).spawn()?;
    /// assert!(scheduler.tasks().get("Shop::report[us]").is_ok());
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn manage_named<T: Managed>(mut self, name: &str, value: T) -> Self {
        self.states.insert(Some(name), Arc::new(value));
        self
    }

    /// Runs only these annotated functions, instead of all that are linked: see
    /// [`tasks!`](crate::tasks).
    pub fn tasks(mut self, list: TaskList) -> Self {
        let listed = self.listed.get_or_insert_default();
        listed.entries.extend(list.entries);
        listed.unannotated.extend(list.unannotated);
        self
    }

    /// Adds a task that is a closure: see [`Schedule`].
    #[track_caller]
    pub fn task<R, Kind>(
        mut self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(&Run) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: TaskReturn<Kind>,
    {
        self.registrar.add(name, schedule, body);
        self
    }

    /// Adds a task that is a closure which returns a future.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .task_async("fetch", Schedule::fixed_delay("1m"), |run| async move {
    ///         println!("{} fetches", run.task_name());
    ///         Ok::<(), std::io::Error>(())
    ///     })
    ///     .spawn()?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn task_async<F, Kind>(
        mut self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(Run) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output: TaskReturn<Kind>> + Send + 'static,
    {
        self.registrar.add_async(name, schedule, body);
        self
    }

    /// Defines tasks in code when the scheduler starts, after the annotated ones: see [`Registrar`].
    ///
    /// (Spring: `SchedulingConfigurer`.)
    #[doc(alias = "SchedulingConfigurer")]
    pub fn configure(mut self, configure: impl FnOnce(&mut Registrar) + Send + 'static) -> Self {
        self.configurers.push(Box::new(configure));
        self
    }

    /// Makes the start fail if one of these tasks is missing.
    ///
    /// The linker drops tasks of crates that the binary does not mention. A task is named in full, or by an unambiguous end of its path: `report` for `shop::jobs::report`.
    ///
    /// ```rust
    /// use scheduler::Scheduler;
    ///
    /// let error = Scheduler::builder().expect_tasks(["report"]).spawn().unwrap_err();
    /// assert!(error.faults()[0].contains("no task named `report`"));
    /// ```
    pub fn expect_tasks<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.expected.extend(names.into_iter().map(Into::into));
        self
    }

    /// Allows settings to name tasks that will be [added](crate::Tasks::add) while the scheduler runs. Other unknown names
    /// are faults.
    pub fn allow_later_tasks<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        self.allowed_later.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets a setting, above the environment and all files.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .task("purge", Schedule::fixed_delay("${purge.every:30s}"), |_| {})
    ///     .set("purge.every", "1m")
    ///     .set("scheduler.tasks.purge.jitter", "5s")
    ///     .spawn()?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.set.push((key.into(), value.into()));
        self
    }

    /// Marks a key of the settings as secret: no error, message or [dry run](Self::dry_run) shows its value, also if that comes
    /// from a variable of the environment.
    ///
    /// Keys and variables with `secret`, `password`, `passwd`, `passphrase`, `token`, `key` or `credential` in their names
    /// are secret anyway.
    ///
    /// ```
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let error = Scheduler::builder()
    ///     .task("sync", Schedule::cron("${db.url}"), |_| {})
    ///     .set("db.url", "postgres://shop:hunter2@db/shop")
    ///     .secret("db.url")
    ///     .spawn()
    ///     .unwrap_err();
    /// assert!(error.to_string().contains("`db.url` is a secret"));
    /// assert!(!error.to_string().contains("hunter2"));
    /// ```
    pub fn secret(mut self, key: impl Into<String>) -> Self {
        self.secrets.push(key.into());
        self
    }

    /// Reads these variables in place of the process's environment, for tests.
    pub fn environment<K, V>(mut self, variables: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<String>,
        V: Into<String>,
    {
        let variables = variables.into_iter().map(|(key, value)| (key.into(), value.into()));
        self.environment.get_or_insert_default().extend(variables);
        self
    }

    /// Reads this TOML text in place of `./scheduler.toml`; messages show `name`.
    pub fn settings(mut self, name: impl Into<String>, toml: impl Into<String>) -> Self {
        self.file = Some((name.into(), toml.into()));
        self
    }

    /// Adds a listener, which gets every [`Event`](crate::Event).
    ///
    /// One thread calls all listeners in turn, so that a slow one delays no task. If they cannot keep up, events are
    /// dropped and counted ([`EventKind::Lost`](crate::EventKind::Lost)); so are those that they have not got a second
    /// after the last run of a scheduler that stops.
    ///
    /// ```
    /// use scheduler::{Event, Scheduler};
    ///
    /// let builder = Scheduler::builder().listener(|event: &Event| println!("{event:?}"));
    /// ```
    pub fn listener(mut self, listener: impl Listener + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Calls a function with the tasks once they have started, on the thread of the start: for what shows or controls them
    /// where [`start`](Self::start) returns no [`Scheduler`](crate::Scheduler).
    ///
    /// It may return what a task may return. An error or a panic is reported as
    /// [`HookFailed`](crate::EventKind::HookFailed), and the tasks run on.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .task("purge", Schedule::fixed_rate("1h"), |_| {})
    ///     .after_start(|tasks| println!("{} tasks", tasks.list().len()))
    ///     .spawn()?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after_start<R, Kind>(mut self, call: impl FnOnce(&Tasks) -> R + Send + 'static) -> Self
    where
        R: TaskReturn<Kind>,
    {
        self.after_start.push(Box::new(move |tasks| into_task_result(call(tasks))));
        self
    }

    /// Asks a [`Gate`] before each run: a lock, a feature flag, a rate limit. Gates are asked in the order in which they
    /// were added; the first one that refuses decides.
    pub fn gate(mut self, gate: impl Gate) -> Self {
        self.gates.push(gate);
        self
    }

    /// As [`gate`](Self::gate), with a gate that holds no thread while it waits.
    pub fn gate_async(mut self, gate: impl AsyncGate) -> Self {
        self.gates.push_async(gate);
        self
    }

    /// The Tokio runtime in whose context tasks run.
    ///
    /// By default the one in which the scheduler is started; without one, a small runtime is built if there is an async
    /// task.
    #[cfg(feature = "tokio")]
    pub fn runtime(mut self, runtime: tokio::runtime::Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Where messages go: the start message, failures, warnings.
    ///
    /// By default to the installed subscriber or logger, with the features `tracing` or `log`; otherwise to stderr.
    ///
    /// A text may have several lines; it does not end with a line break. The text of a call that panics is lost.
    ///
    /// The thread `scheduler-messages` makes all calls, so that none slows down a run. Up to 1,024 messages wait for it;
    /// further ones are dropped, and a message has their number. Only a start and the end of a stop wait until all are
    /// printed, for at most a second.
    pub fn messages(mut self, print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.sink = Sink::new(print);
        self
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values may be secrets.
        let keys: Vec<&str> = self.set.iter().map(|(key, _)| key.as_str()).collect();
        f.debug_struct("Builder")
            .field("pool", &self.pool)
            .field("pools", &self.pools)
            .field("zone", &self.zone)
            .field("await_termination", &self.limit)
            .field("managed", &self.states)
            .field("set", &keys)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "testing")]
impl Builder {
    /// Simulates the scheduler.
    pub(crate) fn simulated_by(mut self, simulation: Arc<dyn Simulation>) -> Self {
        self.listeners =
            self.listeners.into_iter().map(|one| simulation.wrap_listener(one)).collect();
        self.simulation = Some(simulation);
        self
    }

    /// Reads neither the process's environment, nor its settings file, nor the system's zone.
    pub(crate) fn sealed(mut self) -> Self {
        self.environment.get_or_insert_default();
        self.file.get_or_insert_with(|| ("no settings file".to_owned(), String::new()));
        self.zone.get_or_insert_with(|| "UTC".to_owned());
        self
    }

    pub(crate) fn states(&self) -> &States {
        &self.states
    }
}
