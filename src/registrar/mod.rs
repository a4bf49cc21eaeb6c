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

mod name;
mod planned;
#[cfg(test)]
mod tests;

use scheduler_core::trigger::Zone;

pub(crate) use planned::Planned;
pub(crate) use planned::Rhythm;

use crate::entry::Entry;
use crate::error::StartError;

/// All tasks of a scheduler, ready to be submitted.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) tasks: Vec<Planned>,
    pub(crate) zone: Zone,
}

/// Plans all entries; `zone` is for cron expressions that name none.
pub(crate) fn plan(entries: &[&'static Entry], zone: Zone) -> Result<Plan, StartError> {
    let mut faults = name::duplicates(entries);
    let mut tasks = Vec::new();
    for entry in entries {
        match Planned::from_entry(entry, zone) {
            Ok(task) => tasks.push(task),
            Err(fault) => faults.push(format!("{}: `{}`: {fault}", entry.location(), entry.name())),
        }
    }
    if faults.is_empty() { Ok(Plan { tasks, zone }) } else { Err(StartError::tasks(faults)) }
}
