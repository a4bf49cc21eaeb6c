//! Turns entries into tasks: the only room that understands both.
//!
//! # What this room is for
//!
//! [`plan`] takes the entries of the annotated functions, reads their words with the same parsers the
//! macro used, resolves zones, and makes a [`Plan`] of tasks that the pool can take. What is wrong is
//! collected: all faults of all functions come back in one error, each with its place in the source.
//!
//! # What it must never do
//!
//! Start anything. A plan is complete before the first task is submitted, so with one bad function
//! among a hundred nothing has run.

mod definition;
mod name;
mod planned;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use scheduler_core::Clock;
use scheduler_core::trigger::Zone;

pub use definition::Registrar;
pub(crate) use planned::Planned;
pub(crate) use planned::Rhythm;

use crate::entry::Entry;
use crate::error::StartError;
use crate::inject::States;
use crate::inject::Wiring;
use crate::run::Shutdown;

/// All tasks of a scheduler, ready to be submitted.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) tasks: Vec<Planned>,
    pub(crate) zone: Zone,
}

/// What tasks are made of besides their entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) states: &'a States,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) shutdown: &'a Shutdown,
    pub(crate) zone: Zone,
}

/// Plans all entries; `zone` is for cron expressions that name none.
pub(crate) fn plan(entries: &[&'static Entry], given: Given<'_>) -> Result<Plan, StartError> {
    let mut faults = name::duplicates(entries);
    let mut tasks = Vec::new();
    for entry in entries {
        let mut wiring = Wiring::new(given.states, given.clock, given.shutdown);
        let call = entry.wire(&mut wiring);
        let place = format!("{}: `{}`", entry.location(), entry.name());
        faults.extend(wiring.into_missing().iter().map(|missing| format!("{place} {missing}")));
        let Some(call) = call else { continue };
        match Planned::new(entry, call, given.zone) {
            Ok(task) => tasks.push(task),
            Err(fault) => faults.push(format!("{place}: {fault}")),
        }
    }
    if faults.is_empty() {
        Ok(Plan { tasks, zone: given.zone })
    } else {
        Err(StartError::of_faults(faults))
    }
}
