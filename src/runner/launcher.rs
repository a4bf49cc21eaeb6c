//! Makes the tasks of a running scheduler out of what is defined, at the start and later.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Weak;

use scheduler_core::Clock;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::trigger::Zone;

use super::context::Context;
use super::simulation::Simulation;
use crate::conduct::Conductor;
use crate::conduct::Control;
use crate::conduct::Parts;
use crate::error::StartError;
use crate::inject::Call;
use crate::observe::Bus;
use crate::observe::Event;
use crate::registrar::Definition;
use crate::registrar::Ground;
use crate::registrar::Planned;
use crate::registrar::judge;
use crate::settings::Effective;
use crate::settings::Fault;
use crate::settings::Settings;

/// What it takes to plan and start a task.
pub(super) struct Launcher {
    pub(super) settings: Settings,
    pub(super) zone: Zone,
    pub(super) seed: u64,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) bus: Arc<Bus>,
    /// The names of the pools, the default one first.
    pub(super) names: Vec<String>,
    /// RACE: weak, because a pool keeps its tasks, and a task may keep the end of all tasks.
    pub(super) pools: BTreeMap<String, Weak<ScheduledThreadPool>>,
    pub(super) context: Context,
    pub(super) simulation: Option<Arc<dyn Simulation>>,
}

impl Launcher {
    pub(super) fn judge(
        &self,
        task: &Definition,
        effective: Result<Effective, Vec<Fault>>,
    ) -> Result<Planned, StartError> {
        let refuse = |faults: Vec<Fault>| {
            StartError::of_faults(faults.iter().map(ToString::to_string).collect())
        };
        let ground = Ground { zone: self.zone, pools: &self.names, seed: self.seed };
        let effective = effective.map_err(refuse)?;
        judge(task, &effective, ground).map_err(refuse)
    }

    pub(super) fn pool(&self, planned: &Planned) -> Result<Arc<ScheduledThreadPool>, StartError> {
        let pool = self.pools.get(&*planned.pool).and_then(Weak::upgrade);
        pool.ok_or_else(StartError::not_running)
    }

    pub(super) fn make(
        &self,
        planned: Planned,
        pool: &Arc<ScheduledThreadPool>,
    ) -> Result<Control, StartError> {
        if matches!(planned.call, Call::Async(_)) && planned.disabled.is_none() {
            self.context.ensure()?;
        }
        let facts = planned.facts();
        let Planned { rule, policy, call, disabled, .. } = planned;
        let disabled = disabled.map(|disabled| disabled.faults);
        let call = match &self.simulation {
            Some(simulation) => simulation.stand_in(&facts.name, call),
            None => call,
        };
        let (clock, bus) = (Arc::clone(&self.clock), Arc::clone(&self.bus));
        let pool = Arc::clone(pool);
        Ok(Conductor::make(Parts { facts, rule, policy, call, pool, clock, bus, disabled }))
    }

    /// Tells of a task that is kept, and not submitted yet.
    pub(super) fn tell_added(&self, control: &Control) {
        let (task, is_disabled, at) = (control.facts(), control.is_disabled(), self.clock.wall());
        let next = if is_disabled { None } else { control.first_start() };
        self.bus.emit(Event::TaskAdded { task, is_disabled, next, at });
    }
}
