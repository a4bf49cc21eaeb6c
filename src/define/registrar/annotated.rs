//! Definitions of annotated functions, with their arguments resolved.

use std::sync::Arc;

use scheduler_core::Clock;

use crate::define::definition::Definition;
use crate::define::entry::Entry;
use crate::define::settings::word;
use crate::run::Shutdown;
use crate::run::inject::{Call, Resolver, States};

/// The sources of arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) states: &'a States,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) shutdown: &'a Shutdown,
}

/// The tasks of an annotation: one, or one for each managed value that a method is called on.
pub(super) fn definitions(entry: &Entry, inputs: &Inputs<'_>) -> Vec<Definition> {
    let instances = match entry.receiver() {
        Some(receiver) if entry.job().is_none() => inputs.states.names_of(receiver.type_id()),
        // A job names no value: a method is called on the one without a name.
        _ => Vec::new(),
    };
    // Without a value there still is a task, whose missing value is a fault.
    let instances = if instances.is_empty() { vec![None] } else { instances };
    instances.into_iter().filter_map(|instance| definition(entry, instance, inputs)).collect()
}

fn definition(entry: &Entry, instance: Option<&str>, inputs: &Inputs<'_>) -> Option<Definition> {
    let name = match instance {
        None => entry.name().to_owned(),
        Some(instance) => format!("{}[{instance}]", entry.name()),
    };
    let resolver = Resolver::new(inputs.states, inputs.clock, inputs.shutdown);
    let mut resolver = resolver.with_instance(instance);
    let call = entry.wire(&mut resolver);
    let place = format!("{}: {}", entry.location(), word(&name));
    let missing = resolver.into_missing();
    let missing: Vec<String> = missing.iter().map(|missing| format!("{place} {missing}")).collect();
    // INVARIANT: a task that misses a value is never called: either nothing is launched, or this process runs none of its
    // jobs. It is kept so that its attributes are checked.
    let call = call.or_else(|| (!missing.is_empty()).then(Call::noop));
    Some(Definition { name: name.into(), missing, ..Definition::of_entry(entry, call?) })
}
