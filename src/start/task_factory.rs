//! Makes tasks of their definitions, at the start and later.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use scheduler_core::{Clock, ScheduledThreadPool};

use super::context::Context;
use super::registrar::{ResolveContext, resolve};
use super::report::{Message, Messages};
use super::simulation::Simulation;
use crate::base::sync::Mutex;
use crate::define::entry::Definition;
use crate::define::settings::{ResolvedAttributes, Settings, SettingsError};
use crate::observe::{Bus, Event, EventKind, PoolSnapshot};
use crate::task::{Control, TaskEnv, TaskSpec};

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
    pub(super) fn pool_snapshots(&self) -> Vec<PoolSnapshot> {
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
