//! A worker's post: where it waits, and what it has in hand.
//!
//! The core knows *that* a worker is busy, and with which task by its number; the task itself lies on the
//! desk of its worker. So nobody touches a task's memory while the lock of the pool is held, and a worker
//! that takes one looks at nothing that others write.

use std::sync::Arc;

use super::shell::AnyItem;
use crate::sync::Mutex;
use crate::sync::planted;
use crate::time::Gate;

/// Where a worker waits, and what it has in hand.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) gate: Arc<Gate>,
    desk: Mutex<Desk>,
}

#[derive(Debug, Default)]
struct Desk {
    task: Option<AnyItem>,
    /// The number of a task that was to be asked to stop before it lay here.
    to_stop: Option<u64>,
}

impl Post {
    pub(super) fn new() -> Self {
        Self { gate: Arc::new(Gate::new()), desk: Mutex::new(Desk::default()) }
    }

    /// Lays the task on the desk that the worker is about to run.
    ///
    /// RACE: the core knows of the run before it lies here. A request to stop it that comes in between
    /// is left on the desk, and is found now.
    pub(super) fn lay(&self, task: &AnyItem) {
        let is_to_stop = {
            let mut desk = self.desk.lock();
            desk.task = Some(Arc::clone(task));
            desk.to_stop.take_if(|number| *number == task.header().id.0).is_some()
        };
        if is_to_stop && !planted("L10 stop") {
            task.interrupt();
        }
    }

    /// Takes away what lies on the desk.
    pub(super) fn clear(&self) -> Option<AnyItem> {
        self.desk.lock().task.take()
    }

    /// What the worker has in hand.
    pub(super) fn task(&self) -> Option<AnyItem> {
        self.desk.lock().task.clone()
    }

    /// Asks the run of a task to stop, which the core has given to the worker.
    pub(super) fn interrupt(&self, number: u64) {
        let task = {
            let mut desk = self.desk.lock();
            let task = desk.task.clone().filter(|task| task.header().id.0 == number);
            if task.is_none() {
                desk.to_stop = Some(number);
            }
            task
        };
        if let Some(task) = task {
            task.interrupt();
        }
    }
}
