//! The tasks of a running scheduler, and how they are made.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use scheduler_core::trigger::Zone;
use scheduler_core::{Clock, ScheduledThreadPool};

use crate::base::metadata::Location;
use crate::base::sync::Mutex;
use crate::define::entry::Definition;
use crate::define::schedule::Schedule;
use crate::define::settings::{ResolvedAttributes, Settings, SettingsError};
use crate::observe::{Bus, Event, EventKind, PoolSnapshot, TaskSnapshot};
use crate::run::inject::{Call, TaskReturn};
use crate::run::{Pause, Run};
use crate::start::context::Context;
use crate::start::error::AddError;
use crate::start::launch::Simulation;
use crate::start::registrar::{ResolveContext, resolve};
use crate::start::report::{Message, Messages};
use crate::start::task_control::{Tagged, TaskControl};
use crate::start::task_table::TaskTable;
use crate::task::{Control, ControlError, TaskEnv, TaskSpec, Until};

/// The tasks of a running scheduler.
///
/// [`Scheduler::tasks`](crate::Scheduler::tasks) returns it, and a task can take it as a parameter. Clones belong to
/// the same scheduler; once that has stopped or was dropped, there are no tasks.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler};
///
/// let scheduler = Scheduler::builder()
///     .task("report", Schedule::cron("0 0 9 * * MON-FRI"), |_| println!("the report"))
///     .spawn()?;
/// let tasks = scheduler.tasks();
/// for task in tasks.list() {
///     println!("{}: next at {:?}", task.name(), task.next);
/// }
/// tasks.get("report")?.run_now()?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Tasks {
    pub(super) table: Arc<TaskTable>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self { table: Arc::default() }
    }

    /// All tasks at this moment, in the order in which they were added.
    ///
    /// Without removed tasks. Of tasks that have ended the last
    /// [`keep_ended_tasks`](crate::Builder::keep_ended_tasks) are there.
    #[must_use]
    pub fn list(&self) -> Vec<TaskSnapshot> {
        self.table.all().iter().map(|task| self.table.snapshot(task)).collect()
    }

    /// A task by its name: the full one, or an unambiguous end of its path, such as `report` for
    /// `shop::jobs::report`.
    ///
    /// # Errors
    ///
    /// When no task has that name, or several may be meant.
    pub fn get(&self, name: &str) -> Result<TaskControl, ControlError> {
        Ok(self.control(self.table.find(name)?))
    }

    /// The tasks with this tag, for controlling them together; empty if no task has it.
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler};
    ///
    /// let hourly = || Schedule::fixed_rate("1h").initial_delay("1h");
    /// let scheduler = Scheduler::builder()
    ///     .task("invoice", hourly().tags(["billing", "nightly"]), |_| {})
    ///     .task("collect", hourly().tags(["billing"]), |_| {})
    ///     .task("purge", hourly(), |_| {})
    ///     .spawn()?;
    /// let billing = scheduler.tasks().tagged("billing");
    /// assert_eq!(billing.pause(), 2);
    /// assert_eq!(billing.resume(), 2);
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "GroupMatcher")]
    pub fn tagged(&self, tag: &str) -> Tagged {
        let has_tag = |task: &Control| task.facts().tags.iter().any(|known| **known == *tag);
        let tasks = self.table.all().into_iter().filter(has_tag);
        Tagged::new(tasks.map(|task| self.control(task)).collect())
    }

    /// Blocks until a task has had some number of runs: see [`TaskControl::wait_for`].
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get) and [`TaskControl::wait_for`].
    pub fn wait_for(&self, name: &str, until: Until, limit: Duration) -> Result<(), ControlError> {
        self.get(name)?.wait_for(until, limit)
    }

    /// Returns true once the scheduler stops: no new runs begin, and those in progress end.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.table.is_closed()
    }

    /// Notes a change by hand that no signed command has made, such as the pause of a task in memory: the log has a line, and
    /// the store an [action](crate::Jobs::actions), as soon as it takes it, if there is one. So much of its number is there
    /// already, by commands of the same action.
    ///
    /// ```
    /// use scheduler::store::{Action, Model, Signature, TargetKind};
    /// use scheduler::{Pause, Schedule, Scheduler};
    ///
    /// let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
    /// let scheduler = Scheduler::builder().store(Model::new()).task("purge", hourly, |_| {}).spawn()?;
    /// scheduler.tasks().get("purge")?.pause_with(&Pause::new().by("anna"))?;
    /// let action = Action::new(&Signature::by("anna"), "pause", TargetKind::Task, "purge");
    /// scheduler.tasks().note_action(action, 0);
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn note_action(&self, mut action: scheduler_store::Action, kept: u64) {
        if let Some(factory) = self.table.factory() {
            let kind = super::durable::done_by_hand(&action);
            factory.bus.emit(Event::global(factory.clock.wall(), kind));
        }
        if action.id.as_uuid().is_nil() {
            action.id = crate::durable::new_action();
        }
        if let Some(jobs) = self.table.jobs.get() {
            jobs.note(action, kept);
        }
    }

    /// The pools at this moment, the default one first; empty once the scheduler has stopped.
    #[must_use]
    pub fn pools(&self) -> Vec<PoolSnapshot> {
        self.table.factory().map(|factory| factory.pool_snapshots()).unwrap_or_default()
    }

    /// The zone of cron expressions without one; UTC once the scheduler has stopped.
    #[must_use]
    pub fn zone(&self) -> Zone {
        self.table.factory().map_or(Zone::UTC, |factory| factory.context.zone)
    }

    /// The durable jobs of the scheduler's store.
    ///
    /// # Errors
    ///
    /// The scheduler has no [store](crate::Builder::store), or has not started.
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn jobs(&self) -> Result<crate::Jobs, crate::JobsError> {
        self.table.jobs.get().cloned().ok_or_else(crate::JobsError::no_store)
    }

    /// The durable schedules in the scheduler's store, those that are data among them.
    ///
    /// # Errors
    ///
    /// As [`jobs`](Self::jobs).
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn schedules(&self) -> Result<crate::Schedules, crate::JobsError> {
        self.jobs().map(|jobs| crate::Schedules::of(&jobs))
    }

    /// Pauses all tasks that have not ended and are not disabled, durable ones for all processes; see
    /// [`TaskControl::pause_with`].
    ///
    /// # Errors
    ///
    /// The store has not paused all durable tasks. All others are paused.
    pub fn pause_all(&self, pause: &Pause) -> Result<(), ControlError> {
        self.each(|task| task.pause_with(pause))
    }

    /// Resumes all paused tasks.
    ///
    /// # Errors
    ///
    /// The store has not resumed all durable tasks. All others are resumed.
    pub fn resume_all(&self) -> Result<(), ControlError> {
        self.each(TaskControl::resume)
    }

    fn each(
        &self,
        command: impl Fn(&TaskControl) -> Result<(), ControlError>,
    ) -> Result<(), ControlError> {
        let tasks = self.table.all().into_iter().map(|task| self.control(task));
        // A task that has ended meanwhile needs no pause, and one that is not paused goes on anyway.
        let errors: Vec<ControlError> = tasks
            .filter_map(|task| command(&task).err())
            .filter(|error| error.is_unavailable() || error.is_failed() || error.is_refused())
            .collect();
        errors.into_iter().next().map_or(Ok(()), Err)
    }

    /// Adds a task while the scheduler runs. A task that settings disable runs once it is
    /// [enabled](TaskControl::enable). Settings of files and of [`set`](crate::Builder::set) apply if the task was
    /// [announced](crate::Builder::allow_later_tasks).
    ///
    /// ```rust
    /// use scheduler::{Schedule, Scheduler, TaskState};
    ///
    /// let scheduler = Scheduler::builder().spawn()?;
    /// let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
    /// let feed = scheduler.tasks().add("feed-7", hourly, |_| println!("fetching"))?;
    /// scheduler.tasks().remove("feed-7")?;
    /// assert_eq!(feed.snapshot().state, TaskState::Cancelled);
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The name of a task that has ended is free. The new task replaces it in the list.
    ///
    /// # Errors
    ///
    /// When the schedule is faulty, the name is taken, or the scheduler is stopping; see [`AddError`].
    #[track_caller]
    pub fn add<R, Kind>(
        &self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(&Run) -> R + Send + Sync + 'static,
    ) -> Result<TaskControl, AddError>
    where
        R: TaskReturn<Kind>,
    {
        self.define(name, schedule, Call::of(body))
    }

    /// Adds a task whose body returns a future; see [`add`](Self::add).
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    #[track_caller]
    pub fn add_async<F, Kind>(
        &self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(Run) -> F + Send + Sync + 'static,
    ) -> Result<TaskControl, AddError>
    where
        F: Future<Output: TaskReturn<Kind>> + Send + 'static,
    {
        self.define(name, schedule, Call::of_async(body))
    }

    #[track_caller]
    fn define(&self, name: &str, schedule: Schedule, call: Call) -> Result<TaskControl, AddError> {
        let definition = Definition::in_code(name, schedule, call, Location::caller());
        Ok(self.control(self.table.add(&definition)?))
    }

    /// Cancels a task and removes it, so that its name is free. A run in progress is asked to stop, and the stop of the
    /// scheduler waits for it as for any other.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and when another thread removes the same task at the same time.
    pub fn remove(&self, name: &str) -> Result<(), ControlError> {
        self.table.remove(&self.table.find(name)?)
    }

    fn control(&self, task: Control) -> TaskControl {
        TaskControl::new(task, Arc::clone(&self.table))
    }
}

crate::run::inject::handle!(Tasks);

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The writer may call user code, which must not run under the lock.
        let controls = self.table.all();
        f.debug_list().entries(controls.iter().map(Control::name)).finish()
    }
}

/// Resolves definitions, and makes tasks of them.
pub(super) struct TaskFactory {
    pub(super) settings: Settings,
    pub(super) context: ResolveContext,
    /// The warning that the zone was guessed, for the first task that goes by it.
    pub(super) zone_warning: Mutex<Option<Message>>,
    pub(super) messages: Messages,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) bus: Arc<Bus>,
    /// The surroundings of the tasks of each pool, by its name.
    pub(super) envs: BTreeMap<Arc<str>, Arc<TaskEnv>>,
    pub(super) runtime: Context,
    pub(super) simulation: Option<Arc<dyn Simulation>>,
}

impl TaskFactory {
    pub(super) fn resolve(
        &self,
        definition: &Definition,
        attributes: Result<ResolvedAttributes, Vec<SettingsError>>,
    ) -> Result<TaskSpec, Vec<String>> {
        let resolved =
            attributes.and_then(|attributes| resolve(definition, &attributes, &self.context));
        let spec = resolved
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<String>>())?;
        if spec.is_zone_default {
            self.warn_of_zone();
        }
        Ok(spec)
    }

    /// Warns, once, that the zone was guessed.
    fn warn_of_zone(&self) {
        let warning = self.zone_warning.lock().take();
        if let Some(warning) = warning {
            self.messages.print(warning);
        }
    }

    /// The pool of a task. `None` if the scheduler has stopped.
    pub(super) fn pool(&self, spec: &TaskSpec) -> Option<Arc<ScheduledThreadPool>> {
        self.envs.get(&*spec.facts.pool)?.pool.upgrade()
    }

    /// Makes a task in its pool.
    pub(super) fn make(
        &self,
        mut spec: TaskSpec,
        pool: &Arc<ScheduledThreadPool>,
    ) -> io::Result<Control> {
        if spec.facts.is_async && !spec.is_disabled() {
            self.runtime.ensure()?;
        }
        if let Some(simulation) = &self.simulation {
            spec.call = simulation.wrap_call(&spec.facts.name, spec.call);
        }
        let env = Arc::clone(&self.envs[&*spec.facts.pool]);
        Ok(Control::make(spec, env, pool))
    }

    /// The pools at this moment, the default one first.
    fn pool_snapshots(&self) -> Vec<PoolSnapshot> {
        let snapshot = |name: &Arc<str>| {
            let stats = self.envs.get(name)?.pool.upgrade()?.stats();
            Some(PoolSnapshot {
                name: Arc::clone(name),
                core_size: stats.core_size,
                threads: stats.pool_size,
                active: stats.active,
                queued: stats.queued,
                completed: stats.completed,
            })
        };
        self.context.pools.iter().filter_map(snapshot).collect()
    }

    /// Emits the event of a task that was registered.
    pub(super) fn emit_added(&self, task: &Control) {
        let is_disabled = task.is_disabled();
        let next = if is_disabled { None } else { task.first_start() };
        let kind = EventKind::TaskAdded { is_disabled, next };
        self.bus.emit(Event::of(self.clock.wall(), &task.facts(), kind));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use scheduler_core::ManualClock;

    use super::*;
    use crate::start::Scheduler;

    fn scheduler() -> Scheduler {
        let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
        let builder = Scheduler::builder().environment([("PATH", "")]).settings("none.toml", "");
        let builder = builder.zone("UTC").clock(Arc::new(clock)).messages(|_| {});
        builder.spawn().unwrap()
    }

    #[test]
    fn a_removal_takes_the_task_it_has_found_and_no_other_of_its_name() {
        let scheduler = scheduler();
        let tasks = scheduler.tasks();
        let hourly = || Schedule::fixed_rate("1h").initial_delay("1h");
        tasks.add("x", hourly(), |_| {}).unwrap();
        let found = tasks.get("x").unwrap();
        tasks.remove("x").unwrap();
        tasks.add("x", hourly(), |_| {}).unwrap();
        let error = tasks.table.remove(found.control()).unwrap_err();
        assert!(error.is_unknown());
        assert_eq!(error.to_string(), "task `x` was removed already");
        assert!(!tasks.get("x").unwrap().snapshot().state.is_ended());
        scheduler.shutdown().unwrap();
    }

    #[test]
    fn one_of_two_removals_wins_and_a_stop_names_the_task_once() {
        let scheduler = scheduler();
        let tasks = scheduler.tasks();
        let ((begin, begun), (finish, finished)) = (mpsc::channel(), mpsc::channel());
        let finished = Mutex::new(finished);
        let body = move |_: &Run| {
            begin.send(()).unwrap();
            finished.lock().unwrap().recv().unwrap();
        };
        tasks.add("x", Schedule::fixed_rate("1h"), body).unwrap();
        begun.recv().unwrap();
        let found = [tasks.get("x").unwrap(), tasks.get("x").unwrap()];
        assert!(tasks.table.remove(found[0].control()).is_ok());
        assert!(tasks.table.remove(found[1].control()).unwrap_err().is_unknown());
        let running = tasks.table.running(scheduler.wall());
        finish.send(()).unwrap();
        assert_eq!(running.len(), 1);
        scheduler.shutdown().unwrap();
    }

    #[test]
    fn the_place_of_a_refused_schedule_is_left_out_whatever_the_name() {
        let scheduler = scheduler();
        let tasks = scheduler.tasks();
        for name in ["report", "re\u{301}port", "re'port"] {
            let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
            let task = tasks.add(name, hourly, |_| {}).unwrap();
            let error = task.reschedule(Schedule::fixed_rate("1x")).unwrap_err();
            assert!(error.to_string().contains(file!()), "{error}");
            assert!(!error.without_place().contains(file!()), "{}", error.without_place());
        }
        scheduler.shutdown().unwrap();
    }

    struct Heavy;

    impl Drop for Heavy {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "too heavy");
        }
    }

    #[test]
    fn functions_that_panic_when_they_are_dropped_disturb_no_removal_and_no_stop() {
        let scheduler = scheduler();
        let tasks = scheduler.tasks();
        for name in ["a", "b", "c"] {
            let heavy = Heavy;
            let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
            let body = move |_: &Run| {
                let _ = &heavy;
            };
            tasks.add(name, hourly, body).unwrap();
        }
        tasks.remove("a").unwrap();
        scheduler.shutdown().unwrap();
        assert!(tasks.list().is_empty());
    }
}
