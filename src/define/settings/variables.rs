//! Finds the tasks that variables of the environment name.
//!
//! There may be very many tasks, so their names are compared with the few variables that have the prefix.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_expr::Attribute;

use super::{Environment, key};

/// The prefix of the variables of tasks.
pub(super) const PREFIX: &str = "SCHEDULER_TASKS_";

/// The tasks by the parts of variables that may be their names.
#[derive(Debug, Default)]
pub(super) struct Variables(BTreeMap<String, Meant>);

/// Names and numbers of tasks.
#[derive(Debug, Default)]
struct Meant {
    /// The tasks whose full name it is.
    full: Vec<Task>,
    /// The tasks of whose name it is an end.
    tails: Vec<Task>,
}

type Task = (Arc<str>, usize);

/// The ways to split a variable, without [`PREFIX`], into a name and an attribute.
pub(super) fn splits(rest: &str) -> impl Iterator<Item = (&str, Attribute)> {
    Attribute::ALL.iter().flat_map(move |attribute| {
        let suffixes = key::variables(attribute.name()).into_iter();
        suffixes.filter_map(move |suffix| {
            let name = rest.strip_suffix(&suffix)?.strip_suffix('_')?;
            Some((name, *attribute))
        })
    })
}

impl Variables {
    /// The variables of an environment; no tasks yet.
    pub(super) fn of(environment: &Environment) -> Self {
        let rests = environment.names_with(PREFIX).map(|variable| &variable[PREFIX.len()..]);
        let names = rests.flat_map(splits).map(|(name, _)| (name.to_owned(), Meant::default()));
        Self(names.collect())
    }

    pub(super) fn insert(&mut self, task: &Arc<str>, number: usize) {
        self.change(task, |tasks| tasks.push((Arc::clone(task), number)));
    }

    pub(super) fn remove(&mut self, task: &Arc<str>, number: usize) {
        self.change(task, |tasks| tasks.retain(|(_, known)| *known != number));
    }

    fn change(&mut self, task: &str, change: impl Fn(&mut Vec<Task>)) {
        if self.0.is_empty() {
            return;
        }
        for tail in key::tails(task) {
            for variable in key::variables(tail) {
                if let Some(Meant { full, tails }) = self.0.get_mut(&variable) {
                    change(if tail == task { full } else { tails });
                }
            }
        }
    }

    /// All pairs of a task and an attribute whose variable is [`PREFIX`] and `rest`.
    pub(super) fn meant(&self, rest: &str) -> Vec<(&Task, Attribute)> {
        let pairs = |tasks: fn(&Meant) -> &Vec<Task>| {
            let found = splits(rest).filter_map(|(name, attribute)| {
                let tasks = tasks(self.0.get(name)?);
                Some(tasks.iter().map(move |task| (task, attribute)))
            });
            let mut found: Vec<(&Task, Attribute)> = found.flatten().collect();
            found.sort_unstable_by_key(|((_, number), attribute)| (*number, *attribute));
            found.dedup();
            found
        };
        let full = pairs(|meant| &meant.full);
        if full.is_empty() { pairs(|meant| &meant.tails) } else { full }
    }
}
