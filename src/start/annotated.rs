//! The annotated tasks of each scheduler in this process.
//!
//! A task that runs in two schedulers is probably a mistake.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use super::report::{Message, tasks_shared_with_other_schedulers};
use crate::base::sync::Mutex;
use crate::task::TaskSpec;

/// The tasks of each running scheduler.
static RUNNING: Mutex<Vec<Weak<Annotated>>> = Mutex::new(Vec::new());

/// The names of the annotated tasks of a scheduler, registered until this is dropped.
#[derive(Debug)]
pub(super) struct Annotated {
    names: BTreeSet<Arc<str>>,
}

impl Annotated {
    /// Registers the tasks of a new scheduler. Returns a warning if other schedulers run some of them.
    pub(super) fn enter(specs: &[TaskSpec]) -> (Arc<Self>, Option<Message>) {
        let annotated = specs.iter().filter(|spec| spec.facts.function.is_some());
        let names = annotated.map(|spec| Arc::clone(spec.name())).collect();
        let entered = Arc::new(Self { names });
        let mut running = RUNNING.lock();
        let others: Vec<Arc<Self>> = running.iter().filter_map(Weak::upgrade).collect();
        running.retain(|other| other.strong_count() > 0);
        if !entered.names.is_empty() {
            running.push(Arc::downgrade(&entered));
        }
        drop(running);
        let is_shared = |name: &&Arc<str>| others.iter().any(|other| other.names.contains(*name));
        let shared: Vec<&str> =
            entered.names.iter().filter(is_shared).map(|name| &**name).collect();
        let warning = (!shared.is_empty()).then(|| tasks_shared_with_other_schedulers(&shared));
        (entered, warning)
    }
}
