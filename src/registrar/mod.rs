//! Turns entries, tasks in code and settings into planned tasks.
//!
//! # What this room is for
//!
//! Tasks are defined by annotations and in code ([`define`]). Settings replace attributes, and [`plan`] parses
//! the texts that count, with the parsers of the macro. The result is all tasks as [`Planned`], each with its rule,
//! its policies, its pool and its arguments. All faults of all tasks are returned together, each with its place.
//!
//! # What it must never do
//!
//! Start anything. A plan is complete before the first task is submitted, so with one bad function
//! among a hundred nothing has run.
//!
//! # How a neighbour uses it
//!
//! The runner defines, lets settings apply, plans, and launches what was planned. The control of a
//! running scheduler plans single tasks that are added or rescheduled.

mod crons;
mod definition;
mod name;
mod planned;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

pub(crate) use crons::Crons;
pub use definition::Registrar;
pub(crate) use definition::{Definition, Inputs};
pub(crate) use name::faults as name_faults;
pub(crate) use planned::Planned;
pub(crate) use resolve::{PlanContext, resolve};

use crate::entry::{Entry, TaskList, entries};
use crate::inject::States;
use crate::settings::{Effective, Fault};
use crons::Cron;

/// The definitions of the annotated functions, all that are linked or those of a list, and of the
/// tasks that code defines. What is missing, named twice or not annotated is added to `faults`.
pub(crate) fn define(
    listed: Option<&TaskList>,
    in_code: Vec<Definition>,
    inputs: Inputs<'_>,
    faults: &mut Vec<String>,
) -> Vec<Definition> {
    let found = match listed {
        None => entries(),
        Some(list) => without_doubles(&list.entries),
    };
    for function in listed.into_iter().flat_map(|list| &list.unannotated) {
        faults.push(format!(
            "`{function}` has no `#[scheduled(…)]`, so nothing says when it is to run\n\
             help: annotate it, or define it in code: Scheduler::builder().task(…)"
        ));
    }
    let mut missing = 0;
    let mut definitions = Vec::new();
    for entry in found {
        let before = faults.len();
        definitions.extend(Definition::of_entry(entry, &inputs, faults));
        missing += faults.len() - before;
    }
    if missing > 0
        && let Some(last) = faults.last_mut()
    {
        last.push_str(&what_is_managed(inputs.states));
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
fn without_doubles(listed: &[&'static Entry]) -> Vec<&'static Entry> {
    let mut known = HashSet::new();
    let is_new = |entry: &&'static Entry| known.insert(std::ptr::from_ref(*entry));
    listed.iter().copied().filter(is_new).collect()
}

fn what_is_managed(states: &States) -> String {
    let managed = states.described();
    let list = if managed.is_empty() { "nothing".to_owned() } else { managed.join(", ") };
    format!("\nnote: managed so far: {list}")
}

/// Plans all definitions, each with the attributes that `apply` returns for it.
pub(crate) fn plan(
    definitions: Vec<Definition>,
    mut apply: impl FnMut(usize, &Definition) -> Effective,
    context: PlanContext<'_>,
    faults: &mut Vec<Fault>,
) -> Vec<Planned> {
    let mut planned = Vec::new();
    for (number, definition) in definitions.into_iter().enumerate() {
        let effective = apply(number, &definition);
        match resolve(&definition, &effective, context) {
            Ok(task) => planned.push(task),
            Err(found) => faults.extend(found),
        }
    }
    planned
}
