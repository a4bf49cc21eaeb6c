//! Turns annotated functions, tasks in code and settings into planned tasks.
//!
//! # What this room is for
//!
//! Tasks are defined by annotations and in code ([`define`]). Settings replace attributes, and [`plan`] parses the effective
//! texts with `scheduler_expr`, which the macro also uses. The result is [`Planned`] tasks, each with its rule, its policies,
//! its pool and its arguments. Faults are collected, so that the runner can report all of them together; a task with a fault
//! is not planned.
//!
//! # What it must never do
//!
//! Start anything. All tasks are planned before the first one starts, so one faulty definition prevents the whole start.
//!
//! # How a neighbour uses it
//!
//! The runner calls [`define`], applies settings, calls [`plan`], and launches the planned tasks. A task that is added to a
//! running scheduler, or gets another rule, goes through [`resolve()`] alone.

mod crons;
mod definition;
mod name;
mod planned;
mod resolve;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

pub(crate) use crons::Crons;
pub use definition::Registrar;
pub(crate) use definition::{Definition, Inputs};
pub(crate) use name::faults as name_faults;
pub(crate) use planned::Planned;
#[cfg(feature = "durable")]
pub(crate) use planned::Stored;
pub(crate) use resolve::{PlanContext, resolve};
#[cfg(feature = "durable")]
pub(crate) use stored::length as length_text;

use crate::define::entry::{Entry, TaskList, entries};
use crate::define::settings::{ResolvedTask, SettingsError};
use crate::run::inject::States;
use crons::Cron;

/// The definitions of the annotated functions, all linked ones or those of `listed`, and of the tasks in code.
///
/// Adds to `faults`: missing managed values, and those that are managed twice; invalid and duplicate names; functions of the
/// list without an annotation.
pub(crate) fn define(
    listed: Option<&TaskList>,
    in_code: Vec<Definition>,
    inputs: Inputs<'_>,
    faults: &mut Vec<String>,
) -> Vec<Definition> {
    let found = match listed {
        None => entries(),
        Some(list) => deduplicated(&list.entries),
    };
    faults.extend(listed.into_iter().flat_map(|list| &list.unannotated).map(|function| {
        format!(
            "`{function}` has no `#[scheduled(…)]`, so nothing says when it is to run\n\
             help: annotate it, or define it in code: Scheduler::builder().task(…)"
        )
    }));
    let before = faults.len();
    let mut definitions = Vec::new();
    for entry in found {
        definitions.extend(Definition::of_entry(entry, &inputs, faults));
    }
    if faults.len() > before
        && let Some(last) = faults.last_mut()
    {
        last.push_str(&managed_note(inputs.states));
    }
    definitions.extend(in_code);
    faults.extend(name::faults(&definitions));
    faults.extend(inputs.states.doubled().iter().map(|what| {
        format!(
            "two values of `{what}` are managed\n\
             help: give each a name: Scheduler::builder().manage_named(\"…\", …)"
        )
    }));
    definitions
}

/// The entries, each once, in the order in which they were first named.
fn deduplicated(listed: &[&'static Entry]) -> Vec<&'static Entry> {
    let mut known = HashSet::new();
    let is_new = |entry: &&'static Entry| known.insert(std::ptr::from_ref(*entry));
    listed.iter().copied().filter(is_new).collect()
}

fn managed_note(states: &States) -> String {
    let managed = states.described();
    let list = if managed.is_empty() { "nothing".to_owned() } else { managed.join(", ") };
    format!("\nnote: managed so far: {list}")
}

/// Plans all definitions, each with the attributes that `effective_of` returns for it.
pub(crate) fn plan(
    definitions: Vec<Definition>,
    mut effective_of: impl FnMut(usize, &Definition) -> ResolvedTask,
    context: PlanContext<'_>,
    faults: &mut Vec<SettingsError>,
) -> Vec<Planned> {
    let mut planned = Vec::new();
    for (number, definition) in definitions.into_iter().enumerate() {
        let effective = effective_of(number, &definition);
        match resolve(&definition, &effective, context) {
            Ok(task) => planned.push(task),
            Err(found) => faults.extend(found),
        }
    }
    planned
}
