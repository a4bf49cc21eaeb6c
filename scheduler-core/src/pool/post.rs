//! A worker's post: where it waits, and what it has in hand.
//!
//! The core knows *that* a worker is busy, and with which task by its number; the task itself is in the hands of
//! its worker. So nobody touches a task's memory while the lock of the pool is held, and a worker
//! that takes one looks at nothing that others write. A request to stop a run finds the task on the desk, where it
//! is laid as soon as the request could matter to anybody: when the run is looked at.

use std::sync::Arc;

use super::item::AnyItem;
use super::turn::Turn;
use crate::sync::Mutex;
use crate::sync::planted;
use crate::task::current::Desk;
use crate::time::Gate;

/// Where a worker waits, and what it has in hand.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) gate: Arc<Gate>,
    pub(super) turn: Arc<Turn>,
    desk: Mutex<OnDesk>,
}

#[derive(Debug, Default)]
struct OnDesk {
    task: Option<AnyItem>,
    /// The number of a task that was to be asked to stop before it lay here.
    to_stop: Option<u64>,
}

impl Desk for Post {
    /// RACE: the core knows of the run before it lies here. A request to stop it that comes in between
    /// is left on the desk, and is found now.
    fn lay(&self, task: &AnyItem) {
        let is_to_stop = {
            let mut desk = self.desk.lock();
            desk.task = Some(Arc::clone(task));
            desk.to_stop.take_if(|number| *number == task.header().id().0).is_some()
        };
        if is_to_stop && !planted("L10 stop") {
            task.interrupt();
        }
    }

    fn clear(&self) {
        drop(self.take());
    }

    fn end_turn(&self) {
        self.turn.end(false);
    }
}

impl Post {
    pub(super) fn new(turn: Arc<Turn>) -> Self {
        Self { gate: Arc::new(Gate::new()), turn, desk: Mutex::new(OnDesk::default()) }
    }

    /// Takes away what lies on the desk.
    pub(super) fn take(&self) -> Option<AnyItem> {
        self.desk.lock().task.take()
    }

    /// Asks the run of a task to stop, which the core has given to the worker.
    pub(super) fn interrupt(&self, number: u64) {
        let task = {
            let mut desk = self.desk.lock();
            let task = desk.task.clone().filter(|task| task.header().id().0 == number);
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
