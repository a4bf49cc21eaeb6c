//! Makes tasks of their definitions, at the start and later.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, PoisonError, Weak};

use scheduler_core::trigger::Zone;
use scheduler_core::{Clock, ScheduledThreadPool};

use super::context::Context;
use super::simulation::Simulation;
use crate::define::calendar::Calendar;
use crate::define::registrar::{Crons, Definition, PlanContext, Planned, resolve};
use crate::define::settings::{ResolvedTask, Settings, SettingsError};
use crate::observe::report::{Message, Messages};
use crate::observe::{Bus, Event, EventKind, PoolEvents, PoolSnapshot};
use crate::run::inject::Call;
use crate::run::task::{Control, Gates, OnEnd, Policy, TaskParts};
use crate::sync::Mutex;

/// All that planning and starting a task needs.
pub(super) struct Launcher {
    pub(super) settings: Settings,
    pub(super) zone: Zone,
    /// The warning that the zone was guessed, for the first task that goes by it.
    pub(super) zone_doubt: Mutex<Option<Message>>,
    pub(super) messages: Messages,
    pub(super) seed: u64,
    pub(super) has_store: bool,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) bus: Arc<Bus>,
    /// The names of the pools, the default one first.
    pub(super) names: Vec<Arc<str>>,
    /// RACE: weak, because a pool keeps its tasks, and a task may keep a `Tasks`.
    pub(super) pools: BTreeMap<String, Weak<ScheduledThreadPool>>,
    pub(super) calendars: BTreeMap<String, Arc<Calendar>>,
    pub(super) crons: Crons,
    /// The policies of the last task, which the next one mostly shares.
    pub(super) policy: Mutex<Arc<Policy>>,
    /// Called when a task has ended.
    pub(super) on_end: Arc<OnEnd>,
    pub(super) context: Context,
    pub(super) gates: Arc<Gates>,
    pub(super) pool_events: BTreeMap<String, Arc<PoolEvents>>,
    pub(super) simulation: Option<Arc<dyn Simulation>>,
}

impl Launcher {
    pub(super) fn resolve(
        &self,
        task: &Definition,
        effective: Result<ResolvedTask, Vec<SettingsError>>,
    ) -> Result<Planned, Vec<String>> {
        let refuse = |faults: Vec<SettingsError>| -> Vec<String> {
            faults.iter().map(ToString::to_string).collect()
        };
        let context = PlanContext {
            zone: self.zone,
            pools: &self.names,
            calendars: &self.calendars,
            crons: &self.crons,
            seed: self.seed,
            has_store: self.has_store,
        };
        let planned = resolve(task, &effective.map_err(refuse)?, context).map_err(refuse)?;
        if planned.is_zone_default {
            self.doubt_zone();
        }
        Ok(planned)
    }

    /// Warns, once, that the zone was guessed.
    fn doubt_zone(&self) {
        let doubt = self.zone_doubt.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(doubt) = doubt {
            self.messages.print(doubt);
        }
    }

    /// The pool of a task. `None` if the scheduler has stopped.
    pub(super) fn pool(&self, planned: &Planned) -> Option<Arc<ScheduledThreadPool>> {
        self.pools.get(&*planned.pool).and_then(Weak::upgrade)
    }

    pub(super) fn make(
        &self,
        mut planned: Planned,
        pool: &Arc<ScheduledThreadPool>,
    ) -> io::Result<Control> {
        if matches!(planned.call, Call::Async(_)) && planned.disabled.is_none() {
            self.context.ensure()?;
        }
        let facts = planned.facts();
        planned.leave_to_store();
        let Planned { rule, policy, call, disabled, .. } = planned;
        let policy = self.shared(policy);
        let call = match &self.simulation {
            Some(simulation) => simulation.wrap_call(&facts.name, call),
            None => call,
        };
        let (clock, bus) = (Arc::clone(&self.clock), Arc::clone(&self.bus));
        let pool_events = self.pool_events.get(&*facts.pool).cloned();
        let (gates, on_end) = (Arc::clone(&self.gates), Some(Arc::clone(&self.on_end)));
        let pool = Arc::clone(pool);
        Ok(Control::make(TaskParts {
            facts,
            rule,
            policy,
            call,
            pool,
            clock,
            bus,
            gates,
            pool_events,
            disabled,
            on_end,
        }))
    }

    /// The pools at this moment, the default one first.
    pub(super) fn pool_snapshots(&self) -> Vec<PoolSnapshot> {
        let snapshot = |name: &Arc<str>| {
            let stats = self.pools.get(&**name)?.upgrade()?.stats();
            Some(PoolSnapshot {
                name: Arc::clone(name),
                core_size: stats.core_size,
                threads: stats.pool_size,
                active: stats.active,
                queued: stats.queued,
                completed: stats.completed,
            })
        };
        self.names.iter().filter_map(snapshot).collect()
    }

    fn shared(&self, policy: Policy) -> Arc<Policy> {
        let mut last = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        if **last != policy {
            *last = Arc::new(policy);
        }
        Arc::clone(&last)
    }

    /// Emits the event of a task that was registered.
    pub(super) fn emit_added(&self, control: &Control) {
        let is_disabled = control.is_disabled();
        let next = if is_disabled { None } else { control.first_start() };
        let kind = EventKind::TaskAdded { is_disabled, next };
        self.bus.emit(Event::of(self.clock.wall(), &control.facts(), kind));
    }
}
