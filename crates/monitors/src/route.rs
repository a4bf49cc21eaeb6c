//! A monitor with the tasks that it is for.

use std::sync::{Arc, Mutex, PoisonError};

use scheduler::TaskFacts;

use crate::inbox::Inbox;

/// The tasks that are reported to a monitor.
#[derive(Debug)]
pub(crate) enum Scope {
    All,
    /// By the whole name, or by an end of it that no other task has.
    Task(Box<str>),
    Tagged(Arc<str>),
}

/// One monitor's tasks, and the queue of its sender.
#[derive(Debug)]
pub(crate) struct Route {
    scope: Scope,
    /// The tasks in scope, by name. Of a [`Scope::Task`] two are as ambiguous as more.
    tasks: Mutex<Vec<Arc<str>>>,
    pub(crate) inbox: Arc<Inbox>,
}

impl Route {
    pub(crate) fn new(scope: Scope, inbox: Arc<Inbox>) -> Self {
        Self { scope, tasks: Mutex::default(), inbox }
    }

    /// Notes that there is a task.
    pub(crate) fn add(&self, task: &TaskFacts) {
        let is_in_scope = match &self.scope {
            Scope::All => true,
            Scope::Task(name) => ends_with(&task.name, name),
            Scope::Tagged(tag) => task.tags.contains(tag),
        };
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if is_in_scope && tasks.len() < 2 && !tasks.contains(&task.name) {
            tasks.push(Arc::clone(&task.name));
        }
    }

    pub(crate) fn takes(&self, task: &TaskFacts) -> bool {
        match &self.scope {
            Scope::All => true,
            Scope::Tagged(tag) => task.tags.contains(tag),
            Scope::Task(name) => {
                let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
                let is_only = || tasks.iter().all(|other| *other == task.name);
                **name == *task.name || ends_with(&task.name, name) && is_only()
            }
        }
    }

    /// Why nothing will be reported, once all tasks of the start are known.
    pub(crate) fn problem(&self) -> Option<String> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        match (&self.scope, &tasks[..]) {
            (Scope::Task(name), []) => Some(format!("there is no task `{name}`")),
            (Scope::Task(name), [first, second])
                if ![first, second].iter().any(|task| ***task == **name) =>
            {
                Some(format!("`{name}` may be `{first}` or `{second}`: write more of the name"))
            }
            (Scope::Tagged(tag), []) => Some(format!("no task has the tag `{tag}`")),
            _ => None,
        }
    }
}

fn ends_with(task: &str, name: &str) -> bool {
    let before = task.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
}
