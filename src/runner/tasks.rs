//! The tasks of a running scheduler, to be looked at and controlled.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::PoisonError;
use std::time::Duration;

use scheduler_core::ScheduledThreadPool;
use scheduler_expr::Attribute;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

use super::gone::Gone;
use super::launcher::Launcher;
use super::task_control::Pause;
use super::task_control::TaskControl;
use crate::conduct::Control;
use crate::conduct::ControlError;
use crate::conduct::Rule;
use crate::conduct::Until;
use crate::entry::Location;
use crate::error::StartError;
use crate::inject::Call;
use crate::inject::Extract;
use crate::inject::TaskOutput;
use crate::inject::Wiring;
use crate::observe::TaskSnapshot;
use crate::registrar::Definition;
use crate::registrar::Planned;
use crate::run::Run;
use crate::schedule::Schedule;
use crate::settings::TaskWords;
use crate::settings::names::Names;

/// The tasks of a running scheduler, to be looked at and controlled while it runs.
///
/// [`Scheduler::tasks`](crate::Scheduler::tasks) gives it, and a task can take it as a parameter.
/// Clones are ends of the same scheduler; when it has stopped, or was dropped, there are no tasks.
///
/// ```rust,standalone_crate
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
    pub(super) board: Arc<Board>,
}

#[derive(Default)]
pub(super) struct Board {
    /// In the order in which they were added.
    controls: Mutex<Vec<Control>>,
    pub(super) gone: Gone,
    /// Present from the start of the scheduler to its end.
    pub(super) launcher: Mutex<Option<Arc<Launcher>>>,
}

/// A task that is kept, and still to be submitted.
pub(super) struct Kept {
    /// Where it is defined, and its name.
    place: String,
    pub(super) control: Control,
    pool: Arc<ScheduledThreadPool>,
    /// RACE: as it was planned; what runs already may have enabled it since.
    pub(super) is_disabled: bool,
}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self { board: Arc::default() }
    }

    /// All tasks at this moment, in the order in which they were added; removed ones are not there.
    #[must_use]
    pub fn list(&self) -> Vec<TaskSnapshot> {
        let controls = self.controls().clone();
        controls.iter().map(Control::snapshot).collect()
    }

    /// As [`list`](Self::list), for one whom the tasks keep: it keeps none of them, and asks no trigger.
    pub(super) fn lister(&self) -> impl Fn() -> Vec<TaskSnapshot> + Send + Sync + use<> {
        let board = Arc::downgrade(&self.board);
        move || {
            let tasks = board.upgrade().map(|board| Self { board });
            let controls = tasks.map(|tasks| tasks.controls().clone()).unwrap_or_default();
            controls.iter().map(Control::snapshot_without_asking).collect()
        }
    }

    /// A task by its name: the full one, or an unambiguous end of its path, such as `report` for
    /// `shop::jobs::report`.
    ///
    /// # Errors
    ///
    /// When no task has that name, or several may be meant.
    pub fn get(&self, name: &str) -> Result<TaskControl, ControlError> {
        let controls = self.controls().clone();
        let all: Vec<&str> = controls.iter().map(|control| &**control.name()).collect();
        match Names::new(&all).find(name) {
            Ok(index) => Ok(TaskControl::new(controls[index].clone(), self.clone())),
            Err(error) => Err(ControlError::not_found(name, &error.to_string())),
        }
    }

    /// Blocks until a task has had so many runs: see [`TaskControl::wait_for`].
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get) and [`TaskControl::wait_for`].
    pub fn wait_for(&self, name: &str, until: Until, limit: Duration) -> Result<(), ControlError> {
        self.get(name)?.wait_for(until, limit)
    }

    /// Pauses all tasks that have not ended; see [`TaskControl::pause_with`].
    pub fn pause_all(&self, pause: &Pause) {
        for control in self.controls().clone() {
            // One that has ended meanwhile needs no pause.
            let _ = control.pause(pause.note_text(), pause.end());
        }
    }

    /// Lets all paused tasks go on.
    pub fn resume_all(&self) {
        for control in self.controls().clone() {
            // One that is not paused goes on anyway.
            let _ = control.resume();
        }
    }

    /// Adds a task while the scheduler runs. One that settings disable does not run before it is
    /// [enabled](TaskControl::enable).
    /// Settings count for it as for any other, those of files and of
    /// [`set`](crate::Builder::set) if it was [announced](crate::Builder::announce_tasks).
    ///
    /// ```rust,standalone_crate
    /// use scheduler::{Schedule, Scheduler, TaskState};
    ///
    /// let scheduler = Scheduler::builder().spawn()?;
    /// let feed = scheduler.tasks().add("feed-7", Schedule::fixed_rate("1h"), |_| println!("fetching"))?;
    /// feed.run_now().ok(); // unless its first run is in progress
    /// scheduler.tasks().remove("feed-7")?;
    /// assert_eq!(feed.snapshot().state, TaskState::Cancelled);
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the schedule is faulty, the name is taken, or the scheduler is stopping.
    #[track_caller]
    pub fn add<R: TaskOutput>(
        &self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(&Run) -> R + Send + Sync + 'static,
    ) -> Result<TaskControl, StartError> {
        self.define(name, schedule, Call::of(body))
    }

    /// Adds a task whose body makes a future; see [`add`](Self::add).
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    #[track_caller]
    pub fn add_async<F>(
        &self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(Run) -> F + Send + Sync + 'static,
    ) -> Result<TaskControl, StartError>
    where
        F: Future<Output: TaskOutput> + Send + 'static,
    {
        self.define(name, schedule, Call::of_async(body))
    }

    /// Cancels a task and forgets it, so that its name is free. A run in progress is asked to stop, and the
    /// end of the scheduler waits for it as for any other.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and when somebody else removes the same task at the same time.
    pub fn remove(&self, name: &str) -> Result<(), ControlError> {
        let task = self.get(name)?;
        let removed = self.remove_found(&task);
        task.into_control().let_go();
        removed
    }

    /// RACE: between the look for a task and this, another one may have removed it, and added a task of the
    /// same name.
    fn remove_found(&self, task: &TaskControl) -> Result<(), ControlError> {
        // It may have ended by itself.
        let _ = task.cancel();
        if !self.take_out(task.control()) {
            let why = format!("task `{}` was removed already", task.name());
            return Err(ControlError::not_found(task.name(), &why));
        }
        self.board.gone.take_in(task.control());
        Ok(())
    }

    /// Takes a task off the list, and says whether it was there.
    fn take_out(&self, task: &Control) -> bool {
        let mut controls = self.controls();
        let index = controls.iter().position(|known| known.is_same(task));
        // The caller has an end of it, too, so that nothing of the user's is dropped under the lock.
        index.map(|index| controls.remove(index)).is_some()
    }

    #[track_caller]
    fn define(
        &self,
        name: &str,
        schedule: Schedule,
        call: Call,
    ) -> Result<TaskControl, StartError> {
        let definition = Definition::in_code(name.to_owned(), schedule, call, Location::caller());
        let control = self.add_task(&definition).map_err(StartError::of_addition)?;
        Ok(TaskControl::new(control, self.clone()))
    }

    fn add_task(&self, definition: &Definition) -> Result<Control, StartError> {
        let launcher = self.launcher().ok_or_else(StartError::not_running)?;
        let planned = self.plan(&launcher, definition)?;
        let (pool, is_disabled) = (launcher.pool(&planned)?, planned.disabled.is_some());
        let control = launcher.make(planned, &pool)?;
        self.keep(control.clone())?;
        launcher.tell_added(&control);
        if !is_disabled {
            self.submit(&control, &pool).map_err(|error| StartError::of_faults(vec![error]))?;
        }
        Ok(control)
    }

    fn launcher(&self) -> Option<Arc<Launcher>> {
        self.board.launcher.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn plan(&self, launcher: &Launcher, task: &Definition) -> Result<Planned, StartError> {
        let faults = crate::registrar::name_faults(std::slice::from_ref(task));
        if !faults.is_empty() {
            return Err(StartError::of_faults(faults));
        }
        let controls = self.controls().clone();
        let others: Vec<&str> = controls.iter().map(|control| &**control.name()).collect();
        if others.contains(&task.name.as_str()) {
            return Err(StartError::name_taken(&task.name));
        }
        let texts = task.words();
        let words = words(task, &texts);
        let effective = launcher.settings.apply_to(&words, &others);
        launcher.judge(task, effective)
    }

    /// Enables a task that is there.
    pub(super) fn enable(&self, task: &Control) -> Result<(), ControlError> {
        let stopping = || ControlError::refused(task.name(), "the scheduler is not running");
        let launcher = self.launcher().ok_or_else(stopping)?;
        if task.facts().is_async {
            let ensured = launcher.context.ensure();
            ensured.map_err(|error| ControlError::refused(task.name(), &error.to_string()))?;
        }
        task.enable()
    }

    /// The rule of a schedule for a task that is there; settings do not count, placeholders do.
    #[track_caller]
    pub(super) fn rule(&self, name: &str, schedule: Schedule) -> Result<Rule, ControlError> {
        let stopping = || ControlError::refused(name, "the scheduler is not running");
        let launcher = self.launcher().ok_or_else(stopping)?;
        if let Some(policy) = schedule.policy() {
            let why = format!("`{policy}` is no part of a rule; only the rule can be changed");
            return Err(ControlError::refused(name, &why));
        }
        let call = Call::of(|_| ());
        let definition = Definition::in_code(name.to_owned(), schedule, call, Location::caller());
        let texts = definition.words();
        let effective = launcher.settings.resolve(&words(&definition, &texts));
        match launcher.judge(&definition, effective) {
            Ok(planned) if planned.disabled.is_some() => {
                Err(ControlError::refused(name, "`-` is no rule; cancel the task instead"))
            }
            Ok(planned) => Ok(planned.rule),
            Err(error) => Err(ControlError::refused(name, &error.faults().join("; "))),
        }
    }

    /// Makes all planned tasks, and asks their triggers when they fire first. Nothing has started yet.
    pub(super) fn make(&self, planned: Vec<Planned>) -> Result<Vec<Kept>, StartError> {
        let launcher = self.launcher().ok_or_else(StartError::not_running)?;
        let mut made = Vec::new();
        for task in planned {
            let (pool, is_disabled) = (launcher.pool(&task)?, task.disabled.is_some());
            let place = format!("{}: `{}`", task.location, task.name);
            let control = launcher.make(task, &pool)?;
            self.keep(control.clone())?;
            launcher.tell_added(&control);
            if !is_disabled {
                control.ask_trigger();
            }
            made.push(Kept { place, control, pool, is_disabled });
        }
        Ok(made)
    }

    /// Starts them. The first run of the first one finds all of them here.
    pub(super) fn start(&self, made: Vec<Kept>) -> Result<(), StartError> {
        for Kept { place, control, pool, .. } in made.into_iter().filter(|it| !it.is_disabled) {
            self.submit(&control, &pool)
                .map_err(|error| StartError::pool(format!("{place}: {error}")))?;
        }
        Ok(())
    }

    /// Submits a task that is kept already; one that is refused is let go of.
    fn submit(&self, control: &Control, pool: &ScheduledThreadPool) -> Result<(), String> {
        control.submit(pool).map_err(|error| {
            let _ = control.cancel();
            self.take_out(control);
            error.to_string()
        })
    }

    pub(super) fn launch_with(&self, launcher: Launcher) {
        let mut place = self.board.launcher.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::new(launcher));
    }

    /// RACE: two may add tasks of one name at the same time; of the later one nobody has heard.
    fn keep(&self, control: Control) -> Result<(), StartError> {
        let mut controls = self.controls();
        if controls.iter().any(|known| known.name() == control.name()) {
            drop(controls);
            let error = StartError::name_taken(control.name());
            control.let_go();
            return Err(error);
        }
        controls.push(control);
        Ok(())
    }

    pub(super) fn controls(&self) -> MutexGuard<'_, Vec<Control>> {
        self.board.controls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn words<'a>(task: &'a Definition, attributes: &'a [(Attribute, &'a str)]) -> TaskWords<'a> {
    TaskWords { name: &task.name, place: task.location.to_string(), attributes }
}

/// Lets a task look at and control the tasks of its scheduler.
impl Extract for Tasks {
    type Source = Arc<Self>;

    fn resolve(wiring: &mut Wiring<'_>) -> Option<Arc<Self>> {
        wiring.state::<Self>()
    }

    fn extract(source: &Arc<Self>, _run: &Run) -> Self {
        Self::clone(source)
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever writes may be code of the user's.
        let controls = self.controls().clone();
        f.debug_list().entries(controls.iter().map(Control::name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use scheduler_core::ManualClock;

    use super::*;
    use crate::runner::Scheduler;

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
        let error = tasks.remove_found(&found).unwrap_err();
        assert!(error.is_unknown());
        assert_eq!(error.to_string(), "task `x` was removed already");
        assert!(!tasks.get("x").unwrap().snapshot().state.is_ended());
        scheduler.shutdown().unwrap();
    }

    #[test]
    fn of_two_removals_one_wins_and_a_stop_names_the_task_once() {
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
        assert!(tasks.remove_found(&found[0]).is_ok());
        assert!(tasks.remove_found(&found[1]).unwrap_err().is_unknown());
        let running = tasks.running(scheduler.running.clock.wall());
        finish.send(()).unwrap();
        assert_eq!(running.len(), 1);
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
