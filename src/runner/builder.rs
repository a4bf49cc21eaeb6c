//! The settings of a scheduler before it runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_core::Run;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::ShutdownPolicy;
use scheduler_core::SystemClock;

use super::Scheduler;
use super::pools::DEFAULT;
use super::signals::Signals;
use super::watch::Watch;
use super::watch::facts;
use super::zone::default_zone;
use crate::entry::entries;
use crate::error::StartError;
use crate::inject::Managed;
use crate::inject::States;
use crate::observe::Bus;
use crate::observe::BusBuilder;
use crate::observe::Event;
use crate::observe::Listener;
use crate::observe::meter;
use crate::observe::watch_panics;
use crate::registrar::Given;
use crate::registrar::Plan;
use crate::registrar::plan;
use crate::run::Shutdown;
use crate::speech::Banner;
use crate::speech::PoolWords;
use crate::speech::Reporter;
use crate::speech::TaskWords;
use crate::speech::Voice;
use crate::speech::panics_abort;

/// Configures a [`Scheduler`].
///
/// ```
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
    pool_size: usize,
    prefix: String,
    zone: Option<String>,
    limit: Duration,
    clock: Option<Arc<dyn Clock>>,
    states: States,
    voice: Voice,
    listeners: Vec<Arc<dyn Listener>>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            pool_size: default_pool_size(),
            prefix: "scheduling-".to_owned(),
            zone: None,
            limit: Duration::from_secs(30),
            clock: None,
            states: States::default(),
            voice: Voice::standard(),
            listeners: Vec::new(),
        }
    }

    /// How many threads run tasks; by default one per processor, at least 2 and at most 8.
    ///
    /// (Spring: `spring.task.scheduling.pool.size`, by default 1, so that one slow task delays all
    /// others.)
    pub fn pool_size(mut self, threads: usize) -> Self {
        self.pool_size = threads;
        self
    }

    /// What the names of threads begin with; `scheduling-` by default, as in Spring Boot.
    #[doc(alias = "threadNamePrefix")]
    pub fn thread_name_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// The time zone of cron expressions that name none, such as `Europe/Berlin`.
    ///
    /// By default the one in the variable `TZ`, or else the system's.
    pub fn zone(mut self, name: impl Into<String>) -> Self {
        self.zone = Some(name.into());
        self
    }

    /// How long to wait for running tasks when stopping; 30 seconds by default.
    ///
    /// After that they are asked to stop, and futures are dropped at their next await.
    #[doc(alias = "awaitTerminationSeconds")]
    pub fn await_termination(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Keeps a value for the tasks that take `&T` or [`State<T>`](crate::State), and for methods of
    /// its type that are scheduled.
    ///
    /// ```
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
    pub fn manage_named<T: Managed>(mut self, name: &str, value: T) -> Self {
        self.states.insert(Some(name), Arc::new(value));
        self
    }

    /// The clock by which everything goes; the operating system's by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where the scheduler's own words go — the banner, failures, warnings; stderr by default.
    ///
    /// A text may have several lines; it does not end with a line break. The words of a call that
    /// panics are lost, and the scheduler goes on.
    pub fn messages(mut self, say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.voice = Voice::new(say);
        self
    }

    /// Has a listener told of everything that happens, on a thread of its own.
    ///
    /// ```
    /// use scheduler::{Event, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .listener(|event: &Event| {
    ///         if let Event::RunFinished { run, outcome, .. } = event {
    ///             println!("{}: {}", run.task_name(), outcome.name());
    ///         }
    ///     })
    ///     .spawn()?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ApplicationListener")]
    pub fn listener(mut self, listener: impl Listener + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Starts all annotated tasks, blocks until Ctrl-C or SIGTERM, and lets running tasks finish.
    ///
    /// # Errors
    ///
    /// When nothing could be started, with everything that is wrong in one error; or when tasks had
    /// not ended within the [limit](Self::await_termination) ([`StartError::is_not_drained`]).
    pub fn start(self) -> Result<(), StartError> {
        let signals = self.take_signals()?;
        let scheduler = self.spawn()?;
        signals.first().wait();
        scheduler.stop("Ctrl-C again to quit now").map_err(StartError::from)
    }

    /// As [`start`](Self::start), inside an async `main`: holds no thread of the runtime.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_async(self) -> Result<(), StartError> {
        let signals = self.take_signals()?;
        let scheduler = self.spawn()?;
        signals.first().await;
        scheduler.stop_async("Ctrl-C again to quit now").await.map_err(StartError::from)
    }

    /// Starts all annotated tasks and returns; installs no signal handler.
    ///
    /// Keep the answer: dropping it stops the tasks.
    ///
    /// # Errors
    ///
    /// When a task cannot be started; then none is, and everything that is wrong is in the error.
    pub fn spawn(self) -> Result<Scheduler, StartError> {
        let zone = default_zone(self.zone.as_deref(), &self.voice)?;
        let clock = self.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
        let shutdown = Shutdown::new();
        let given = Given { states: &self.states, clock: &clock, shutdown: &shutdown, zone };
        let plan = plan(&entries(), given)?;
        watch_panics();
        let bus = Arc::new(self.bus(&clock)?);
        let watch = Arc::new(Watch::new(bus, Arc::clone(&clock), !plan.tasks.is_empty()));
        let pool = self.pool(Arc::clone(&clock), &watch)?;
        self.introduce(&plan, &watch);
        submit(&pool, &plan)?;
        Ok(Scheduler::new(pool, watch, self.voice, self.limit))
    }

    fn bus(&self, clock: &Arc<dyn Clock>) -> Result<Bus, StartError> {
        let reporter = Reporter::new(self.voice.clone());
        let mut builder = BusBuilder::new().every_event(reporter.wants_every_event());
        builder = meter().into_iter().fold(builder, BusBuilder::in_place);
        builder = self.listeners.iter().cloned().fold(builder, BusBuilder::listener);
        builder.reporter(Arc::new(reporter)).build(Arc::clone(clock)).map_err(StartError::pool)
    }

    /// Says the banner, and tells the listeners of the tasks.
    fn introduce(&self, plan: &Plan, watch: &Watch) {
        let now = watch.now();
        let words = |task| TaskWords {
            facts: Arc::new(facts(plan, task)),
            next: task.first_fire_time(now),
        };
        let tasks: Vec<TaskWords> = plan.tasks.iter().map(words).collect();
        let (threads, prefix) = (self.pool_size.max(1), self.prefix.clone());
        let pools = [PoolWords { name: DEFAULT.to_owned(), threads, prefix }];
        let banner = Banner { tasks: &tasks, pools: &pools, zone: plan.zone, now, remarks: &[] };
        self.voice.announce(&banner.to_string());
        let warnings = [banner.no_tasks(), panics_abort()];
        warnings.iter().flatten().for_each(|warning| self.voice.say(warning));
        for task in &tasks {
            watch.bus().emit(Event::TaskAdded { task: Arc::clone(&task.facts), at: now });
        }
        watch.bus().emit(Event::SchedulerStarted { at: now, tasks: tasks.len() });
    }

    fn take_signals(&self) -> Result<Signals, StartError> {
        if Run::current().is_some() {
            return Err(StartError::inside_task());
        }
        Signals::take()
    }

    fn pool(
        &self,
        clock: Arc<dyn Clock>,
        watch: &Arc<Watch>,
    ) -> Result<ScheduledThreadPool, StartError> {
        // After a shutdown nothing new is started: a one-time task an hour ahead would hold it up.
        let policy = ShutdownPolicy { continue_recurring: false, execute_delayed: false };
        ScheduledThreadPool::builder()
            .core_size(self.pool_size)
            .thread_name_prefix(self.prefix.as_str())
            .shutdown_policy(policy)
            .clock(clock)
            .listener(Arc::clone(watch))
            .build()
            .map_err(StartError::pool)
    }
}

fn submit(pool: &ScheduledThreadPool, plan: &Plan) -> Result<(), StartError> {
    for task in &plan.tasks {
        let submitted = pool.submit_task(task.task());
        submitted
            .map_err(|error| StartError::of_faults(vec![format!("{}: {error}", task.location)]))?;
    }
    Ok(())
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("pool_size", &self.pool_size)
            .field("zone", &self.zone)
            .field("await_termination", &self.limit)
            .finish_non_exhaustive()
    }
}

fn default_pool_size() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}
