//! Without the feature `durable` there is no store.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_core::Clock;

use super::adding::Kept;
use super::builder::Builder;
use super::tasks::Tasks;
use crate::calendar::Calendar;
use crate::inject::States;
use crate::registrar::Planned;

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

    pub(super) fn launch(&mut self, _tasks: &Tasks, _made: &[Kept]) {}
}
