//! All tasks of a scheduler, the removed ones included.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::launcher::Launcher;
use super::registry::Registry;
use super::removed::RemovedTasks;
use crate::observe::report::StillRunning;
use crate::observe::{TaskFacts, ThreadUse, Totals};
use crate::run::task::{Control, ControlError, OnEnd};
use crate::sync::{Mutex, MutexGuard};

/// All tasks of a scheduler. [`Tasks`](super::Tasks) and [`TaskControl`](super::TaskControl) share it.
#[derive(Default)]
pub(super) struct AllTasks {
    registry: Mutex<Registry>,
    removed: RemovedTasks,
    /// Present from the start of the scheduler to its end.
    pub(super) launcher: Mutex<Option<Arc<Launcher>>>,
    #[cfg(feature = "durable")]
    pub(super) jobs: std::sync::OnceLock<crate::durable::Jobs>,
}

impl AllTasks {
    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn launcher(&self) -> Option<Arc<Launcher>> {
        self.launcher.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tasks that were not removed, in the order in which they were added.
    pub(super) fn controls(&self) -> Vec<Control> {
        self.registry().all().cloned().collect()
    }

    pub(super) fn find(&self, name: &str) -> Result<Control, ControlError> {
        let registry = self.registry();
        let not_found = |error: crate::define::settings::names::NotFound| error.to_string();
        let found = registry.find(name).map_err(not_found).cloned();
        found.map_err(|why| ControlError::not_found(name, &why))
    }

    /// Cancels a task and removes it.
    ///
    /// RACE: since `task` was found, another thread may have removed it, and added a task of the same name.
    pub(super) fn remove(&self, task: &Control) -> Result<(), ControlError> {
        task.check_in_memory()?;
        // Before the cancellation, because a task that ends may push another one out of the registry.
        let taken = self.registry().take_out(task);
        // It may have ended by itself.
        let _ = task.cancel();
        let Some(taken) = taken else {
            let why = format!("task `{}` was removed already", task.name());
            return Err(ControlError::not_found(task.name(), &why));
        };
        self.removed.add(&taken);
        Ok(())
    }

    /// Adds a task that left the registry because it has ended.
    pub(super) fn add_removed(&self, removed: Option<Control>) {
        if let Some(removed) = removed {
            self.removed.add(&removed);
        }
    }

    /// Returns a callback for the end of each task, by its name. It keeps no task alive.
    pub(super) fn on_end(self: &Arc<Self>) -> Arc<OnEnd> {
        let tasks = Arc::downgrade(self);
        Arc::new(move |name| {
            if let Some(tasks) = tasks.upgrade() {
                let removed = tasks.registry().note_end(name);
                tasks.add_removed(removed);
            }
        })
    }

    /// Returns a function that gives the threads that tasks have held at an instant or later. It keeps no task alive.
    pub(super) fn threads_since(
        self: &Arc<Self>,
    ) -> impl Fn(DateTime<Utc>) -> Vec<ThreadUse> + Send + Sync + use<> {
        let tasks = Arc::downgrade(self);
        move |since| {
            let controls = tasks.upgrade().map(|tasks| tasks.controls());
            controls.into_iter().flatten().filter_map(|task| task.threads_since(since)).collect()
        }
    }

    /// Returns a function that gives the facts of a task by its full name. It keeps no task alive.
    pub(super) fn facts_by_name(
        self: &Arc<Self>,
    ) -> impl Fn(&str) -> Option<Arc<TaskFacts>> + Send + Sync + use<> {
        let tasks = Arc::downgrade(self);
        move |name| {
            let facts = tasks.upgrade()?.registry().find(name).ok()?.facts();
            (&*facts.name == name).then_some(facts)
        }
    }
}

/// For the stop.
impl AllTasks {
    fn with_removed(&self) -> impl Iterator<Item = Control> {
        self.controls().into_iter().chain(self.removed.alive())
    }

    /// The runs in progress.
    pub(super) fn running(&self, now: DateTime<Utc>) -> Vec<StillRunning> {
        let running = self.with_removed().filter_map(|task| {
            let running_for = (now - task.running_since()?).to_std().unwrap_or_default();
            Some(StillRunning { task: task.name().to_string(), running_for })
        });
        running.collect()
    }

    /// Ends all tasks; runs in progress go on.
    pub(super) fn shut_down(&self) {
        self.with_removed().for_each(|task| task.shut_down());
    }

    /// Waits until the events of all tasks are delivered, for at most `limit` each.
    pub(super) fn await_events(&self, limit: Duration) {
        self.with_removed().for_each(|task| task.await_events(limit));
    }

    /// Reports the runs in progress that are asked to stop with their pools.
    pub(super) fn report_shutdown(&self) {
        self.with_removed().for_each(|task| task.report_shutdown());
    }

    /// Counts all runs so far.
    pub(super) fn totals(&self) -> Totals {
        // RACE: the removed tasks first: one that is removed meanwhile is missing, and not counted twice.
        let removed = self.removed.totals();
        self.controls().into_iter().fold(removed, |totals, task| totals.and(task.totals()))
    }

    /// Drops all tasks. Tasks whose values hold a [`Tasks`](super::Tasks) would otherwise keep themselves alive.
    pub(super) fn clear(&self) {
        let controls = self.registry().clear();
        drop(controls);
        let launcher = self.launcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(launcher);
    }
}
