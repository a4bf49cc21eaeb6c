//! How tasks come: all at the start, or one by one while the scheduler runs.

use std::sync::Arc;
use std::sync::PoisonError;

use scheduler_core::ScheduledThreadPool;

use super::launcher::Launcher;
use super::registry::Refused;
use super::registry::Registry;
use super::registry::Reservation;
use super::task_control::TaskControl;
use super::tasks::Tasks;
use crate::error::AddError;
use crate::error::StartError;
use crate::facts::Location;
use crate::inject::Call;
use crate::registrar::Definition;
use crate::registrar::Planned;
use crate::registrar::name_faults;
use crate::schedule::Schedule;
use crate::task::Control;
use crate::task::ControlError;
use crate::task::NotBegun;
use crate::task::Rule;

/// A task that is in the list, and still to be submitted.
pub(super) struct Kept {
    pub(super) control: Control,
    pool: Arc<ScheduledThreadPool>,
    /// RACE: as it was planned; what runs already may have enabled it since.
    pub(super) is_disabled: bool,
}

/// A name that was reserved, for as long as no task was put under it.
struct Reserved<'a> {
    tasks: &'a Tasks,
    reservation: Reservation,
}

impl Tasks {
    #[track_caller]
    pub(super) fn define(
        &self,
        name: &str,
        schedule: Schedule,
        call: Call,
    ) -> Result<TaskControl, AddError> {
        let definition = Definition::in_code(name, schedule, call, Location::caller());
        let control = self.add_task(&definition)?;
        Ok(TaskControl::new(control, self.clone()))
    }

    fn add_task(&self, definition: &Definition) -> Result<Control, AddError> {
        let name = &*definition.name;
        let faults = name_faults(std::slice::from_ref(definition));
        if !faults.is_empty() {
            return Err(AddError::of_faults(faults));
        }
        let launcher = self.launcher().ok_or_else(|| AddError::stopping(name))?;
        let reserved = self.reserve(&definition.name)?;
        let written = definition.written();
        let effective = launcher.settings.apply_to(&written, self.registry().names());
        let planned = launcher.resolve(definition, effective).map_err(AddError::of_faults)?;
        let is_disabled = planned.disabled.is_some();
        let pool = launcher.pool(&planned).ok_or_else(|| AddError::stopping(name))?;
        let control =
            launcher.make(planned, &pool).map_err(|error| AddError::of_start(name, error))?;
        reserved.put(&control)?;
        launcher.tell_added(&control);
        if is_disabled {
            return Ok(control);
        }
        control.begin(&pool).map_err(|error| {
            self.take_back(&control);
            match error {
                NotBegun::Stopping => AddError::stopping(name),
                NotBegun::NoThread => AddError::of_faults(vec![error.to_string()]),
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

    fn launcher(&self) -> Option<Arc<Launcher>> {
        self.board.launcher.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        let definition = Definition::in_code(name, schedule, call, Location::caller());
        let effective = launcher.settings.resolve(&definition.written());
        match launcher.resolve(&definition, effective) {
            Ok(planned) if planned.disabled.is_some() => {
                Err(ControlError::refused(name, "`-` is no rule; cancel the task instead"))
            }
            Ok(planned) => Ok(planned.rule),
            Err(faults) => Err(ControlError::refused(name, &faults.join("; "))),
        }
    }

    /// Makes all planned tasks, and asks their triggers when they fire first. Nothing has started yet.
    pub(super) fn make(&self, planned: Vec<Planned>) -> Result<Vec<Kept>, StartError> {
        let launcher = self.launcher().ok_or_else(StartError::not_running)?;
        let mut made = Vec::with_capacity(planned.len());
        for task in planned {
            let (pool, is_disabled) = (launcher.pool(&task), task.disabled.is_some());
            let pool = pool.ok_or_else(StartError::not_running)?;
            let control = launcher.make(task, &pool)?;
            let kept = self.reserve(control.name()).and_then(|reserved| reserved.put(&control));
            kept.map_err(|error| StartError::of_faults(vec![error.to_string()]))?;
            launcher.tell_added(&control);
            if !is_disabled {
                control.ask_trigger();
            }
            made.push(Kept { control, pool, is_disabled });
        }
        Ok(made)
    }

    /// Starts them. The first run of the first one finds all of them here.
    pub(super) fn start(&self, made: Vec<Kept>) -> Result<(), StartError> {
        for Kept { control, pool, .. } in made.into_iter().filter(|it| !it.is_disabled) {
            if let Err(error) = control.begin(&pool) {
                let error = StartError::pool(format!("{}: {error}", place(&control)));
                self.take_back(&control);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes a task out that its pool has refused.
    fn take_back(&self, control: &Control) {
        let taken = self.registry().take_out(control);
        drop(taken);
    }

    /// From now on tasks can be added.
    pub(super) fn launch_with(&self, launcher: Launcher, ended_kept: usize) {
        *self.registry() = Registry::new(launcher.settings.names(), ended_kept);
        let mut place = self.board.launcher.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::new(launcher));
    }
}

impl Reserved<'_> {
    fn put(self, control: &Control) -> Result<(), AddError> {
        let put = self.tasks.registry().put(&self.reservation, control);
        let ended = put.map_err(|_| AddError::stopping(control.name()))?;
        self.tasks.see_off(ended);
        Ok(())
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.tasks.registry().free(&self.reservation);
    }
}

/// Where a task is defined, and its name.
fn place(task: &Control) -> String {
    let facts = task.facts();
    let location = facts.location.map_or_else(String::new, |location| format!("{location}: "));
    format!("{location}`{}`", facts.name)
}
