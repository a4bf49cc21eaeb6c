//! Turns annotated functions, tasks in code and settings into resolved tasks.
//!
//! [`collect_definitions`] collects the definitions of annotations and of code. Settings replace some of their attributes, and
//! [`resolve()`] parses the texts that remain with `scheduler_expr`, which the macro also uses. The result is a [`TaskSpec`]:
//! a task with its rule, its policies, its pool and its arguments. Nothing starts here: all tasks are resolved before the
//! first one starts, so that one fault prevents the whole start, and all faults are reported together.
//!
//! A task that is added to a running scheduler, or gets another rule, goes through [`resolve()`] alone.
//!
//! [`TaskSpec`]: crate::task::TaskSpec

mod in_code;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

pub use in_code::Registrar;
pub(crate) use in_code::faults as name_faults;
pub(crate) use resolve::{Crons, ResolveContext, resolve};

use crate::define::entry::Definition;
use crate::define::entry::{Entry, TaskList, entries};
use crate::run::inject::Resolver;

/// The definitions of the annotated functions, all linked ones or those of `listed`, and of the tasks in code.
///
/// Adds to `faults`: values that are managed twice; invalid and duplicate names; functions of the list without an annotation.
pub(crate) fn collect_definitions(
    listed: Option<&TaskList>,
    in_code: Vec<Definition>,
    resolver: &Resolver<'_>,
    faults: &mut Vec<String>,
) -> Vec<Definition> {
    let entries = match listed {
        None => entries(),
        Some(list) => deduplicated(&list.entries),
    };
    faults.extend(listed.into_iter().flat_map(|list| &list.unannotated).map(|function| {
        format!(
            "`{function}` has no `#[scheduled(…)]`, so it has no schedule\n\
             help: annotate it, or define it in code: Scheduler::builder().task(…)"
        )
    }));
    let entries = entries.iter();
    let mut definitions: Vec<Definition> =
        entries.flat_map(|entry| in_code::definitions(entry, resolver)).collect();
    definitions.extend(in_code);
    faults.extend(in_code::faults(&definitions));
    faults.extend(resolver.states().duplicates().iter().map(|duplicate| {
        format!(
            "two values of `{duplicate}` are managed\n\
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
