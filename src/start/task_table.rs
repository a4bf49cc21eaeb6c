//! All tasks of a scheduler: registered and removed ones.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{Clock, Timer};

use super::error::{AddError, NO_RUNTIME, StartError};
use super::registrar::name_faults;
use super::report::StillRunning;
use super::tasks::TaskFactory;
use crate::base::metadata::Location;
use crate::base::sync::{Mutex, MutexGuard};
use crate::define::entry::Definition;
use crate::define::schedule::Schedule;
use crate::define::settings::names::{Names, NotFound};
use crate::observe::{SharedTotals, TaskFacts, TaskSnapshot, ThreadUse, Totals};
use crate::run::inject::Call;
use crate::task::{
    Control, ControlError, ControlErrorKind, NotBegun, OnEnd, Rule, ScheduledTask, TaskSpec,
};

/// The number of tasks that have completed or were cancelled that are kept by default.
pub(crate) const ENDED_KEPT: usize = 100;

/// The least number of failed tasks that are kept, apart from the others.
const FAILED_KEPT_MIN: usize = 100;

/// A task of the start: as it was resolved, and as it runs.
pub(super) type Made = (TaskSpec, Control);

/// All tasks of a scheduler. [`Tasks`](super::Tasks) and [`TaskControl`](super::TaskControl) share it.
#[derive(Default)]
pub(super) struct TaskTable {
    rows: Mutex<Rows>,
    #[cfg(feature = "durable")]
    pub(super) jobs: std::sync::OnceLock<crate::durable::Jobs>,
}

/// The registered tasks, the names that are taken, and the removed tasks: behind one lock, so that no task is missing while
/// it is removed.
///
/// INVARIANT: a returned task may be the last reference to it. It is dropped after the lock is released.
#[derive(Default)]
struct Rows {
    /// Present from the start of the scheduler to its end.
    factory: Option<Arc<TaskFactory>>,
    /// Numbers grow in the order in which tasks were added.
    names: Names,
    tasks: BTreeMap<usize, Control>,
    next: usize,
    /// The tasks that have ended, the latest at the back.
    ended: VecDeque<usize>,
    failed: VecDeque<usize>,
    ended_kept: usize,
    is_closed: bool,
    /// The tasks that were removed. Weak, so that the last run of a task drops it.
    removed: Vec<Weak<Timer<ScheduledTask>>>,
    /// The length at which dropped tasks are swept out of `removed`.
    removed_limit: usize,
    /// The counts of the runs of removed tasks, before the removal and since.
    removed_totals: SharedTotals,
}

/// The registration of tasks.
impl TaskTable {
    /// Allows tasks to be added from now on.
    pub(super) fn open(&self, factory: TaskFactory, ended_kept: usize) {
        let mut rows = self.rows();
        rows.names = factory.settings.names();
        rows.ended_kept = ended_kept;
        rows.factory = Some(Arc::new(factory));
    }

    pub(super) fn factory(&self) -> Option<Arc<TaskFactory>> {
        self.rows().factory.clone()
    }

    /// Makes and registers all tasks, and asks their triggers for the first fire time. Starts none.
    pub(super) fn register(&self, specs: Vec<TaskSpec>) -> Result<Vec<Made>, StartError> {
        let factory = self.factory().ok_or_else(StartError::not_running)?;
        let mut made = Vec::with_capacity(specs.len());
        for spec in specs {
            let pool = factory.pool(&spec).ok_or_else(StartError::not_running)?;
            let task = factory.make(spec.clone(), &pool);
            let task = task.map_err(|error| StartError::refused(NO_RUNTIME, &error))?;
            let registered = self.reserve(task.name()).and_then(|reserved| reserved.put(&task));
            registered.map_err(|error| StartError::of_faults(vec![error.to_string()]))?;
            factory.emit_added(&task);
            if !spec.is_disabled() {
                task.ask_trigger();
            }
            made.push((spec, task));
        }
        Ok(made)
    }

    /// Starts registered tasks. The first run of the first one finds all of them.
    pub(super) fn start(&self, made: &[Made]) -> Result<(), StartError> {
        let factory = self.factory().ok_or_else(StartError::not_running)?;
        // RACE: as resolved: a task that runs may have enabled another one since.
        for (spec, task) in made.iter().filter(|(spec, _)| !spec.is_disabled()) {
            let pool = factory.pool(spec).ok_or_else(StartError::not_running)?;
            task.begin(&pool).map_err(|error| {
                self.unregister(task);
                StartError::not_begun(format!("{}: {error}", spec.place()))
            })?;
        }
        Ok(())
    }

    /// Adds a task while the scheduler runs.
    pub(super) fn add(&self, definition: &Definition) -> Result<Control, AddError> {
        let name = &*definition.name;
        let refuse = |faults| AddError::of_faults(name, faults);
        let faults = name_faults(std::slice::from_ref(definition));
        if !faults.is_empty() {
            return Err(refuse(faults));
        }
        let factory = self.factory().ok_or_else(|| AddError::stopping(name))?;
        let reserved = self.reserve(&definition.name)?;
        let attributes = factory.settings.apply_to(definition, &self.rows().names);
        let spec = factory.resolve(definition, attributes).map_err(refuse)?;
        if spec.durable.is_some() {
            let fault = "a schedule that is added while the program runs is no task of its own if it is durable\n\
                         help: let it enqueue the jobs of a function: scheduler.schedules()?.put(…)";
            return Err(refuse(vec![fault.to_owned()]));
        }
        let is_disabled = spec.is_disabled();
        let pool = factory.pool(&spec).ok_or_else(|| AddError::stopping(name))?;
        let no_runtime = |cause| AddError::refused(name, NO_RUNTIME.to_owned(), Some(&cause));
        let task = factory.make(spec, &pool).map_err(no_runtime)?;
        reserved.put(&task)?;
        factory.emit_added(&task);
        if is_disabled {
            return Ok(task);
        }
        let error = match task.begin(&pool) {
            Ok(()) if !self.is_closed() => return Ok(task),
            // RACE: the stop has not come to its pool yet, or to the task.
            Ok(()) => {
                task.shut_down();
                AddError::stopping(name)
            }
            Err(NotBegun::Stopping) => AddError::stopping(name),
            Err(error @ NotBegun::NoThread) => AddError::refused(name, error.to_string(), None),
        };
        self.unregister(&task);
        Err(error)
    }

    /// Reserves a name. An ended task of that name stays until [`Reserved::put`].
    fn reserve(&self, name: &Arc<str>) -> Result<Reserved<'_>, AddError> {
        let mut rows = self.rows();
        let ended = match rows.names.number(name) {
            _ if rows.is_closed => return Err(AddError::stopping(name)),
            Some(number) if !rows.tasks.get(&number).is_some_and(Control::has_ended) => {
                return Err(AddError::name_taken(name));
            }
            ended => ended,
        };
        let number = rows.next;
        rows.next += 1;
        rows.names.remove(name);
        rows.names.insert(name, number);
        Ok(Reserved { table: self, name: Arc::clone(name), number, ended })
    }

    /// Removes a task that its pool has refused.
    fn unregister(&self, task: &Control) {
        // A statement of its own: the task must not be dropped under the lock.
        let taken = self.rows().take_out(task);
        drop(taken);
    }

    /// Cancels a task and removes it.
    ///
    /// RACE: since `task` was found, another thread may have removed it, and added a task of the same name.
    pub(super) fn remove(&self, task: &Control) -> Result<(), ControlError> {
        task.check_in_memory()?;
        // Before the cancellation, because a task that ends may push another one out of the table.
        let taken = self.rows().take_out(task);
        // It may have ended by itself.
        let _ = task.cancel();
        match taken {
            Some(_) => Ok(()),
            None => {
                let why = format!("task `{}` was removed already", task.name());
                Err(ControlError::not_found(task.name(), &why))
            }
        }
    }

    /// Enables a registered task.
    pub(super) fn enable(&self, task: &Control) -> Result<(), ControlError> {
        let factory = self
            .factory()
            .ok_or_else(|| ControlError::new(task.name(), ControlErrorKind::Stopping))?;
        if task.facts().is_async {
            let why = |error| format!("{NO_RUNTIME}: {error}");
            let ensured = factory.runtime.ensure();
            ensured.map_err(|error| ControlError::refused(task.name(), &why(error)))?;
        }
        task.enable()
    }

    /// The rule of a new schedule for a registered task. Placeholders are replaced, other settings do not apply.
    #[track_caller]
    pub(super) fn rule(&self, name: &Arc<str>, schedule: Schedule) -> Result<Rule, ControlError> {
        let factory =
            self.factory().ok_or_else(|| ControlError::new(name, ControlErrorKind::Stopping))?;
        if let Some(policy) = schedule.policy() {
            let why = format!("`{policy}` is no part of a rule; only the rule can be changed");
            return Err(ControlError::refused(name, &why));
        }
        let location = Location::caller();
        let definition = Definition::in_code(name, schedule, Call::noop(), location);
        match factory.resolve(&definition, factory.settings.resolve(&definition)) {
            Ok(spec) if spec.is_disabled() => {
                Err(ControlError::refused(name, "`-` is no rule; cancel the task instead"))
            }
            Ok(spec) => Ok(spec.rule),
            Err(faults) => Err(ControlError::refused_at(name, &faults.join("; "), location)),
        }
    }

    /// Returns a callback for the end of each task, by its name. It keeps no task alive.
    pub(super) fn on_end(self: &Arc<Self>) -> Arc<OnEnd> {
        let table = Arc::downgrade(self);
        Arc::new(move |name| {
            let Some(table) = table.upgrade() else { return };
            // A statement of its own: the task must not be dropped under the lock.
            let oldest = table.rows().record_end(name);
            drop(oldest);
        })
    }

    /// Takes no further tasks.
    pub(super) fn close(&self) {
        self.rows().is_closed = true;
    }

    /// Returns true once no further tasks are taken.
    pub(super) fn is_closed(&self) -> bool {
        self.rows().is_closed
    }

    /// Drops all tasks. Tasks whose values hold a [`Tasks`](super::Tasks) would otherwise keep themselves alive.
    pub(super) fn clear(&self) {
        let mut rows = self.rows();
        rows.is_closed = true;
        (rows.names, rows.ended, rows.failed) = <_>::default();
        let dropped = (std::mem::take(&mut rows.tasks), rows.factory.take());
        drop(rows);
        drop(dropped);
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock()
    }
}

/// Questions about the tasks.
impl TaskTable {
    /// The tasks that were not removed, in the order in which they were added.
    pub(super) fn all(&self) -> Vec<Control> {
        self.rows().tasks.values().cloned().collect()
    }

    /// A task at this moment; a durable one with its pause in the store, as far as this process knows it.
    pub(super) fn snapshot(&self, task: &Control) -> TaskSnapshot {
        #[cfg_attr(not(feature = "durable"), expect(unused_mut, reason = "no store has a pause"))]
        let mut snapshot = task.snapshot();
        #[cfg(feature = "durable")]
        if task.is_durable()
            && let Some(pause) = self.jobs.get().and_then(|jobs| jobs.known_pause(task.name()))
        {
            super::durable::show_pause(&mut snapshot, &pause);
        }
        snapshot
    }

    pub(super) fn find(&self, name: &str) -> Result<Control, ControlError> {
        let rows = self.rows();
        let task = rows.find(name).map_err(|error| error.to_string()).cloned();
        task.map_err(|why| ControlError::not_found(name, &why))
    }

    /// Returns a function that gives the threads that tasks have held at an instant or later. It keeps no task alive.
    pub(super) fn threads_since(
        self: &Arc<Self>,
    ) -> impl Fn(DateTime<Utc>) -> Vec<ThreadUse> + Send + Sync + use<> {
        let table = Arc::downgrade(self);
        move |since| {
            let tasks = table.upgrade().map(|table| table.all());
            tasks.into_iter().flatten().filter_map(|task| task.threads_since(since)).collect()
        }
    }

    /// Returns a function that gives the facts of a task by its full name. It keeps no task alive.
    pub(super) fn facts_by_name(
        self: &Arc<Self>,
    ) -> impl Fn(&str) -> Option<Arc<TaskFacts>> + Send + Sync + use<> {
        let table = Arc::downgrade(self);
        move |name| {
            let table = table.upgrade()?;
            let rows = table.rows();
            Some(rows.tasks.get(&rows.names.number(name)?)?.facts())
        }
    }
}

/// The stop.
impl TaskTable {
    /// The tasks, and those removed ones that a run keeps alive.
    fn with_removed(&self) -> Vec<Control> {
        let rows = self.rows();
        let removed = rows.removed.iter().filter_map(Control::upgrade);
        rows.tasks.values().cloned().chain(removed).collect()
    }

    /// The runs in progress.
    pub(super) fn running(&self, now: DateTime<Utc>) -> Vec<StillRunning> {
        let running = self.with_removed().into_iter().filter_map(|task| {
            let running_for = (now - task.running_since()?).to_std().unwrap_or_default();
            Some(StillRunning { task: task.name().to_string(), running_for })
        });
        running.collect()
    }

    /// Ends all tasks; runs in progress go on.
    pub(super) fn shut_down(&self) {
        self.with_removed().iter().for_each(Control::shut_down);
    }

    /// Waits until the events of all tasks are delivered, for at most `limit` in all.
    pub(super) fn await_events(&self, clock: &dyn Clock, limit: Duration) {
        Control::await_events(&self.with_removed(), clock, limit);
    }

    /// Reports the runs in progress that are asked to stop with their pools.
    pub(super) fn report_shutdown(&self) {
        self.with_removed().iter().for_each(Control::report_shutdown);
    }

    /// Counts all runs so far.
    pub(super) fn totals(&self) -> Totals {
        let rows = self.rows();
        // RACE: both at once: a task that is removed meanwhile is counted once.
        let (removed, tasks) = (rows.removed_totals.sum(), rows.tasks.clone());
        drop(rows);
        tasks.values().fold(removed, |totals, task| totals.and(task.totals()))
    }
}

/// A reserved name. Dropping it frees the name, unless a task has it.
struct Reserved<'a> {
    table: &'a TaskTable,
    name: Arc<str>,
    number: usize,
    /// The ended task that still has the name.
    ended: Option<usize>,
}

impl Reserved<'_> {
    /// Adds a task under the name, in place of the ended task that had it.
    fn put(self, task: &Control) -> Result<(), AddError> {
        let mut rows = self.table.rows();
        if rows.is_closed {
            drop(rows);
            return Err(AddError::stopping(task.name()));
        }
        rows.tasks.insert(self.number, task.clone());
        let ended = self.ended.and_then(|ended| rows.remove(ended));
        drop(rows);
        drop(ended);
        Ok(())
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut rows = self.table.rows();
        if rows.tasks.contains_key(&self.number)
            || rows.names.number(&self.name) != Some(self.number)
        {
            return;
        }
        rows.names.remove(&self.name);
        if let Some(ended) = self.ended.filter(|ended| rows.tasks.contains_key(ended)) {
            rows.names.insert(&self.name, ended);
        }
    }
}

impl Rows {
    fn find(&self, name: &str) -> Result<&Control, NotFound> {
        let (_, number) = self.names.find(name)?;
        let unknown = || NotFound::Unknown { name: name.to_owned(), nearest: None };
        self.tasks.get(&number).ok_or_else(unknown)
    }

    /// Removes exactly this task, and no other of its name.
    fn take_out(&mut self, task: &Control) -> Option<Control> {
        let number = self.names.number(task.name())?;
        let is_same = self.tasks.get(&number)?.is_same(task);
        if is_same { self.remove(number) } else { None }
    }

    fn remove(&mut self, number: usize) -> Option<Control> {
        for ended in [&mut self.ended, &mut self.failed] {
            ended.retain(|known| *known != number);
        }
        let removed = self.tasks.remove(&number)?;
        // Another task may have the name already.
        if self.names.number(removed.name()) == Some(number) {
            self.names.remove(removed.name());
        }
        removed.count_in(&self.removed_totals);
        if self.removed.len() >= self.removed_limit {
            self.removed.retain(|task| task.strong_count() > 0);
            self.removed_limit = 16 + 2 * self.removed.len();
        }
        self.removed.push(removed.downgrade());
        Some(removed)
    }

    /// Records that a task has ended, by the `Arc` of its name. Returns the oldest ended task if too many are kept.
    fn record_end(&mut self, name: &Arc<str>) -> Option<Control> {
        let number = self.names.number(name)?;
        let task = self.tasks.get(&number).filter(|task| Arc::ptr_eq(task.name(), name))?;
        // Tasks that end during the stop are kept, because the stop reports them.
        if self.is_closed {
            return None;
        }
        let (ended, limit) = match task.has_failed() {
            true => (&mut self.failed, self.ended_kept.max(FAILED_KEPT_MIN)),
            false => (&mut self.ended, self.ended_kept),
        };
        ended.push_back(number);
        if ended.len() <= limit {
            return None;
        }
        let oldest = *ended.front()?;
        self.remove(oldest)
    }
}
