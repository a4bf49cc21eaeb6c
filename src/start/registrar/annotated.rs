//! Definitions of annotated functions, with their arguments resolved.

use crate::define::entry::Definition;
use crate::define::entry::Entry;
use crate::define::settings::word;
use crate::run::inject::{Call, Resolver};

/// The tasks of an annotation: one, or one for each managed value that a method is called on.
pub(super) fn definitions(entry: &Entry, resolver: &Resolver<'_>) -> Vec<Definition> {
    let instances = match entry.receiver {
        Some(receiver) if entry.job.is_none() => resolver.states().names_of(receiver()),
        // A job names no value: a method is called on the one without a name.
        _ => Vec::new(),
    };
    // Without a value there still is a task, whose missing value is a fault.
    let instances = if instances.is_empty() { vec![None] } else { instances };
    let resolvers = instances.into_iter().map(|instance| resolver.for_instance(instance));
    resolvers.filter_map(|resolver| definition(entry, resolver)).collect()
}

fn definition(entry: &Entry, mut resolver: Resolver<'_>) -> Option<Definition> {
    let name = match resolver.instance() {
        None => entry.name.to_owned(),
        Some(instance) => format!("{}[{instance}]", entry.name),
    };
    let call = entry.resolve(&mut resolver);
    let place = format!("{}: {}", entry.location, word(&name));
    let missing = resolver.into_missing();
    let missing: Vec<String> = missing.iter().map(|missing| format!("{place} {missing}")).collect();
    // INVARIANT: a task that misses a value is never called: either nothing is launched, or this process runs none of its
    // jobs. It is kept so that its attributes are checked.
    let call = call.or_else(|| (!missing.is_empty()).then(Call::noop));
    Some(Definition { name: name.into(), missing, ..Definition::of_entry(entry, call?) })
}
