//! What other threads see of a worker: where it waits, what it runs, and the task that it shows.
//!
//! The core knows *that* a worker is busy, and with which task by its number; the task itself is in the hands of
//! its worker. So no thread touches a task's memory while the lock of the pool is held, and a worker
//! that takes one reads nothing that others write. A request to stop a run finds the task here, where it
//! is shown as soon as the request could matter: when the run is looked at.

use std::sync::Arc;

use super::activity::Activity;
use super::entry::AnyItem;
use crate::sync::{Mutex, planted};
use crate::task::current::ShownTask;
use crate::time::Gate;

/// What other threads see of a worker.
#[derive(Debug)]
pub(super) struct SharedWorker {
    pub(super) gate: Arc<Gate>,
    pub(super) activity: Arc<Activity>,
    shown: Mutex<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    task: Option<AnyItem>,
    /// The number of a task that was to be asked to stop before it was shown.
    to_stop: Option<u64>,
}

impl ShownTask for SharedWorker {
    /// RACE: the core knows of the run before it is shown. A request to stop it that comes in between
    /// is left here, and is found now.
    fn show_task(&self, task: &AnyItem) {
        let is_to_stop = {
            let mut shown = self.shown.lock();
            shown.task = Some(Arc::clone(task));
            shown.to_stop.take_if(|number| *number == task.header().id().0).is_some()
        };
        if is_to_stop && !planted("L10 stop") {
            task.interrupt();
        }
    }

    fn clear(&self) {
        drop(self.take());
    }

    fn end_activity(&self) {
        self.activity.end(false);
    }
}

impl SharedWorker {
    pub(super) fn new(activity: Arc<Activity>) -> Self {
        Self { gate: Arc::new(Gate::new()), activity, shown: Mutex::new(Shown::default()) }
    }

    /// Takes away the task that is shown.
    pub(super) fn take(&self) -> Option<AnyItem> {
        self.shown.lock().task.take()
    }

    /// Asks the run of a task to stop, which the core has given to the worker.
    pub(super) fn interrupt(&self, number: u64) {
        let task = {
            let mut shown = self.shown.lock();
            let task = shown.task.clone().filter(|task| task.header().id().0 == number);
            if task.is_none() {
                shown.to_stop = Some(number);
            }
            task
        };
        if let Some(task) = task {
            task.interrupt();
        }
    }
}
