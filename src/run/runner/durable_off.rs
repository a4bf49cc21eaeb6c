//! Without the feature `durable` there is no store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Clock;

use super::adding::Kept;
use super::builder::Builder;
use super::pools::PoolPlan;
use super::simulation::Simulation;
use super::tasks::Tasks;
use crate::define::calendar::Calendar;
use crate::define::registrar::Planned;
use crate::define::settings::{Globals, NodeSettings};
use crate::error::StartError;
use crate::observe::Bus;
use crate::run::inject::States;

/// What a node would need.
#[expect(dead_code, reason = "there is none")]
pub(super) struct NodeLaunch<'a> {
    pub(super) tasks: &'a Tasks,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) bus: &'a Arc<Bus>,
    pub(super) pools: &'a [PoolPlan],
    pub(super) simulation: Option<(&'a dyn Simulation, u64)>,
}

/// Nothing is durable.
#[derive(Debug, Default)]
pub(super) struct Durable {}

impl Durable {
    pub(super) fn of(_builder: &Builder, _clock: &Arc<dyn Clock>, _states: &mut States) -> Self {
        Self {}
    }

    pub(super) fn plan(
        &mut self,
        _planned: &[Planned],
        _calendars: &BTreeMap<String, Arc<Calendar>>,
    ) -> Vec<String> {
        Vec::new()
    }

    /// Refuses settings of a node, which is none.
    pub(super) fn set(&mut self, settings: &Globals, _pools: &[PoolPlan]) -> Vec<String> {
        let fault = "settings under `scheduler.node` are of a store, and the program is built without\n\
                     help: cargo add scheduler-rs --features sqlite";
        let is_set = settings.node != NodeSettings::default();
        is_set.then(|| fault.to_owned()).into_iter().collect()
    }

    pub(super) fn values(
        _builder: &Builder,
        _pools: &[PoolPlan],
    ) -> Vec<(&'static str, String, bool)> {
        Vec::new()
    }

    pub(super) fn launch(
        &mut self,
        _made: &[Kept],
        _launch: &NodeLaunch<'_>,
    ) -> Result<(), StartError> {
        Ok(())
    }

    pub(super) fn start(&self) -> Result<(), StartError> {
        Ok(())
    }

    pub(super) fn stop(&self) {}

    pub(super) fn await_stop(&self, _limit: Duration) {}
}
