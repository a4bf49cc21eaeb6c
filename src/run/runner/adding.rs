//! Adds tasks: all at the start, or one while the scheduler runs.

use std::sync::{Arc, PoisonError};

use chrono::{DateTime, Utc};
use scheduler_core::ScheduledThreadPool;

use super::all_tasks::AllTasks;
use super::launcher::Launcher;
use super::registry::{Refused, Registry, Reservation};
use crate::define::metadata::Location;
use crate::define::registrar::{Definition, Planned, name_faults};
use crate::define::schedule::Schedule;
use crate::error::{AddError, NO_RUNTIME, StartError};
use crate::run::inject::Call;
use crate::run::task::{Control, ControlError, NotBegun, Rule};

/// A task that is registered, and not started yet.
pub(super) struct Kept {
    pub(super) control: Control,
    pool: Arc<ScheduledThreadPool>,
    /// RACE: as planned; a task that runs may have enabled it since.
    pub(super) is_disabled: bool,
    /// Of a durable task: when it runs next by its rule.
    pub(super) next_in_store: Option<DateTime<Utc>>,
}

/// A reserved name. Dropping it frees the name, unless a task has it.
struct Reserved<'a> {
    tasks: &'a AllTasks,
    reservation: Reservation,
}

impl AllTasks {
    /// Adds a task while the scheduler runs.
    pub(super) fn add(&self, definition: &Definition) -> Result<Control, AddError> {
        let name = &*definition.name;
        let faults = name_faults(std::slice::from_ref(definition));
        if !faults.is_empty() {
            return Err(AddError::of_faults(name, faults));
        }
        let launcher = self.launcher().ok_or_else(|| AddError::stopping(name))?;
        let reserved = self.reserve(&definition.name)?;
        let written = definition.written();
        let effective = launcher.settings.apply_to(&written, self.registry().names());
        let planned = launcher
            .resolve(definition, effective)
            .map_err(|faults| AddError::of_faults(name, faults))?;
        if planned.stored.is_some() {
            let why = "a schedule that is added while the program runs is no task of its own if it is durable\n\
                       help: let it enqueue the jobs of a function: scheduler.jobs()?.put(…)";
            return Err(AddError::of_faults(name, vec![why.to_owned()]));
        }
        let is_disabled = planned.disabled.is_some();
        let pool = launcher.pool(&planned).ok_or_else(|| AddError::stopping(name))?;
        let no_runtime = |cause| AddError::refused(name, NO_RUNTIME.to_owned(), Some(&cause));
        let control = launcher.make(planned, &pool).map_err(no_runtime)?;
        reserved.put(&control)?;
        launcher.emit_added(&control);
        if is_disabled {
            return Ok(control);
        }
        control.begin(&pool).map_err(|error| {
            self.take_back(&control);
            match error {
                NotBegun::Stopping => AddError::stopping(name),
                NotBegun::NoThread => AddError::refused(name, error.to_string(), None),
            }
        })?;
        Ok(control)
    }

    fn reserve(&self, name: &Arc<str>) -> Result<Reserved<'_>, AddError> {
        let reserved = self.registry().reserve(name);
        let reservation = reserved.map_err(|why| match why {
            Refused::Taken => AddError::name_taken(name),
            Refused::Closed => AddError::stopping(name),
        })?;
        Ok(Reserved { tasks: self, reservation })
    }

    /// Enables a registered task.
    pub(super) fn enable(&self, task: &Control) -> Result<(), ControlError> {
        let launcher = self.launcher().ok_or_else(|| ControlError::stopping(task.name()))?;
        if task.facts().is_async {
            let why = |error| format!("{NO_RUNTIME}: {error}");
            let ensured = launcher.context.ensure();
            ensured.map_err(|error| ControlError::refused(task.name(), &why(error)))?;
        }
        task.enable()
    }

    /// The rule of a new schedule for a registered task. Placeholders are replaced, other settings do not apply.
    #[track_caller]
    pub(super) fn rule(&self, name: &Arc<str>, schedule: Schedule) -> Result<Rule, ControlError> {
        let launcher = self.launcher().ok_or_else(|| ControlError::stopping(name))?;
        if let Some(policy) = schedule.policy() {
            let why = format!("`{policy}` is no part of a rule; only the rule can be changed");
            return Err(ControlError::refused(name, &why));
        }
        let definition = Definition::in_code(name, schedule, Call::noop(), Location::caller());
        let effective = launcher.settings.resolve(&definition.written());
        match launcher.resolve(&definition, effective) {
            Ok(planned) if planned.disabled.is_some() => {
                Err(ControlError::refused(name, "`-` is no rule; cancel the task instead"))
            }
            Ok(planned) => Ok(planned.rule),
            Err(faults) => Err(ControlError::refused(name, &faults.join("; "))),
        }
    }

    /// Makes all planned tasks, and asks their triggers for the first fire time. Starts none.
    pub(super) fn make(&self, planned: Vec<Planned>) -> Result<Vec<Kept>, StartError> {
        let launcher = self.launcher().ok_or_else(StartError::not_running)?;
        let mut made = Vec::with_capacity(planned.len());
        for task in planned {
            let (pool, is_disabled) = (launcher.pool(&task), task.disabled.is_some());
            let pool = pool.ok_or_else(StartError::not_running)?;
            let next_in_store = task.next_in_store(launcher.clock.wall());
            let no_runtime = |error| StartError::refused(NO_RUNTIME, &error);
            let control = launcher.make(task, &pool).map_err(no_runtime)?;
            let kept = self.reserve(control.name()).and_then(|reserved| reserved.put(&control));
            kept.map_err(|error| StartError::of_faults(vec![error.to_string()]))?;
            launcher.emit_added(&control);
            if !is_disabled {
                control.ask_trigger();
            }
            made.push(Kept { control, pool, is_disabled, next_in_store });
        }
        Ok(made)
    }

    /// Starts tasks. The first run of the first one finds all of them registered.
    pub(super) fn start(&self, made: Vec<Kept>) -> Result<(), StartError> {
        for Kept { control, pool, .. } in made.into_iter().filter(|it| !it.is_disabled) {
            if let Err(error) = control.begin(&pool) {
                let error = StartError::not_begun(format!("{}: {error}", place(&control)));
                self.take_back(&control);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes a task that its pool has refused.
    fn take_back(&self, control: &Control) {
        // A statement of its own: the task must not be dropped under the lock.
        let taken = self.registry().take_out(control);
        drop(taken);
    }

    /// Allows tasks to be added from now on.
    pub(super) fn launch_with(&self, launcher: Launcher, ended_kept: usize) {
        *self.registry() = Registry::new(launcher.settings.names(), ended_kept);
        let mut place = self.launcher.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::new(launcher));
    }
}

impl Reserved<'_> {
    fn put(self, control: &Control) -> Result<(), AddError> {
        let put = self.tasks.registry().put(&self.reservation, control);
        let ended = put.map_err(|_| AddError::stopping(control.name()))?;
        self.tasks.add_removed(ended);
        Ok(())
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.tasks.registry().free(&self.reservation);
    }
}

/// The place of a task's definition, and its name.
fn place(task: &Control) -> String {
    let facts = task.facts();
    let location = facts.location.map_or_else(String::new, |location| format!("{location}: "));
    format!("{location}`{}`", facts.name)
}
