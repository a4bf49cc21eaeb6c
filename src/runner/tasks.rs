//! The tasks of a running scheduler, to be looked at and controlled.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::PoisonError;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

use super::gone::Gone;
use super::launcher::Launcher;
use super::registry::Registry;
use super::task_control::Pause;
use super::task_control::Tagged;
use super::task_control::TaskControl;
use crate::error::AddError;
use crate::inject::Call;
use crate::inject::Extract;
use crate::inject::TaskOutput;
use crate::inject::Wiring;
use crate::observe::TaskFacts;
use crate::observe::{TaskSnapshot, ThreadUse};
use crate::run::Run;
use crate::schedule::Schedule;
use crate::task::Control;
use crate::task::ControlError;
use crate::task::OnEnd;
use crate::task::Until;

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
    registry: Mutex<Registry>,
    pub(super) gone: Gone,
    /// Present from the start of the scheduler to its end.
    pub(super) launcher: Mutex<Option<Arc<Launcher>>>,
}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self { board: Arc::default() }
    }

    /// All tasks at this moment, in the order in which they were added.
    ///
    /// Removed ones are not there, and of those that have ended the last: see
    /// [`Builder::keep_ended_tasks`](crate::Builder::keep_ended_tasks).
    #[must_use]
    pub fn list(&self) -> Vec<TaskSnapshot> {
        self.controls().iter().map(Control::snapshot).collect()
    }

    /// Returns a function that gives the threads that tasks have held at an instant or later. It keeps no task alive.
    pub(super) fn threads_since(
        &self,
    ) -> impl Fn(DateTime<Utc>) -> Vec<ThreadUse> + Send + Sync + use<> {
        let board = Arc::downgrade(&self.board);
        move |since| {
            let controls = board.upgrade().map(|board| Self { board }.controls());
            controls.into_iter().flatten().filter_map(|task| task.threads_since(since)).collect()
        }
    }

    /// Returns a function that gives the facts of a task by its full name. It keeps no task alive.
    pub(super) fn facts_by_name(
        &self,
    ) -> impl Fn(&str) -> Option<Arc<TaskFacts>> + Send + Sync + use<> {
        let board = Arc::downgrade(&self.board);
        move |name| {
            let tasks = Self { board: board.upgrade()? };
            let facts = tasks.registry().find(name).ok()?.facts();
            (&*facts.name == name).then_some(facts)
        }
    }

    /// A task by its name: the full one, or an unambiguous end of its path, such as `report` for
    /// `shop::jobs::report`.
    ///
    /// # Errors
    ///
    /// When no task has that name, or several may be meant.
    pub fn get(&self, name: &str) -> Result<TaskControl, ControlError> {
        match self.registry().find(name) {
            Ok(control) => Ok(TaskControl::new(control.clone(), self.clone())),
            Err(error) => Err(ControlError::not_found(name, &error.to_string())),
        }
    }

    /// The tasks that have this tag now, to be controlled together; none if no task has it.
    ///
    /// ```rust,standalone_crate
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
        let has_tag = |task: &Control| task.facts().tags.iter().any(|own| **own == *tag);
        let tasks = self.controls().into_iter().filter(has_tag);
        Tagged::new(tasks.map(|task| TaskControl::new(task, self.clone())).collect())
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
        for control in self.controls() {
            // One that has ended meanwhile needs no pause.
            let _ = control.pause(pause.note_text(), pause.end());
        }
    }

    /// Lets all paused tasks go on.
    pub fn resume_all(&self) {
        for control in self.controls() {
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
    /// let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
    /// let feed = scheduler.tasks().add("feed-7", hourly, |_| println!("fetching"))?;
    /// scheduler.tasks().remove("feed-7")?;
    /// assert_eq!(feed.snapshot().state, TaskState::Cancelled);
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The name of a task that has ended is free: the new one takes its place in the list.
    ///
    /// # Errors
    ///
    /// When the schedule is faulty, the name is taken, or the scheduler is stopping: [`AddError`] says which.
    #[track_caller]
    pub fn add<R: TaskOutput>(
        &self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(&Run) -> R + Send + Sync + 'static,
    ) -> Result<TaskControl, AddError> {
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
    ) -> Result<TaskControl, AddError>
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
    /// As [`get`](Self::get), and when another thread removes the same task at the same time.
    pub fn remove(&self, name: &str) -> Result<(), ControlError> {
        let task = self.get(name)?;
        self.remove_found(&task)
    }

    /// RACE: between the look for a task and this, another one may have removed it, and added a task of the
    /// same name.
    fn remove_found(&self, task: &TaskControl) -> Result<(), ControlError> {
        // First of all, as one that ends while it is here may make another one leave.
        let taken = self.registry().take_out(task.control());
        // It may have ended by itself.
        let _ = task.cancel();
        let Some(taken) = taken else {
            let why = format!("task `{}` was removed already", task.name());
            return Err(ControlError::not_found(task.name(), &why));
        };
        self.board.gone.take_in(&taken);
        Ok(())
    }

    /// What to report of the end of each task, by its name. It keeps none of them.
    pub(super) fn on_end(&self) -> Arc<OnEnd> {
        let board = Arc::downgrade(&self.board);
        Arc::new(move |name| {
            if let Some(board) = board.upgrade() {
                let tasks = Self { board };
                let leaving = tasks.registry().note_end(name);
                tasks.see_off(leaving);
            }
        })
    }

    /// Lets go of a task that has ended and is not in the list any more.
    pub(super) fn see_off(&self, leaving: Option<Control>) {
        if let Some(leaving) = leaving {
            self.board.gone.take_in(&leaving);
        }
    }

    /// All tasks, in the order in which they were added. Nothing of theirs is called under the lock.
    pub(super) fn controls(&self) -> Vec<Control> {
        self.registry().all().cloned().collect()
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.board.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        // The writer may call user code, which must not run under the lock.
        let controls = self.controls();
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
