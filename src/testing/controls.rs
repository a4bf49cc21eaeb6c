//! What a test does to the tasks of a simulation.

use std::time::Duration;

use super::or_panic;
use super::sim::Sim;
use crate::error::StopError;
use crate::runner::{TaskControl, Tasks};

/// Controls tasks, as a person at the running scheduler does.
impl Sim {
    /// Pauses a task.
    ///
    /// # Panics
    ///
    /// When it has ended.
    #[track_caller]
    pub fn pause(&mut self, task: &str) {
        or_panic(self.control(task).pause());
    }

    /// Lets a paused task go on.
    ///
    /// # Panics
    ///
    /// When it is not paused, or has ended.
    #[track_caller]
    pub fn resume(&mut self, task: &str) {
        or_panic(self.control(task).resume());
    }

    /// Runs a task now, beside its schedule.
    ///
    /// # Panics
    ///
    /// When it is running already, and its `overlap` is `skip`; or when it has ended.
    #[track_caller]
    pub fn run_now(&mut self, task: &str) {
        or_panic(self.control(task).run_now());
        self.advance(Duration::ZERO);
    }

    /// All other controls of a task: pausing with a note, rescheduling, cancelling.
    ///
    /// # Panics
    ///
    /// When there is no such task.
    #[must_use]
    #[track_caller]
    pub fn control(&self, task: &str) -> TaskControl {
        or_panic(self.started().control(task))
    }

    /// All tasks, also to add and remove some.
    #[must_use]
    #[track_caller]
    pub fn running_tasks(&self) -> Tasks {
        self.started().tasks.clone()
    }

    /// Stops the scheduler: no new runs; those in progress have the time that it waits for them.
    ///
    /// # Errors
    ///
    /// When runs were in progress for longer than that.
    #[track_caller]
    pub fn shutdown(&mut self) -> Result<(), StopError> {
        self.started();
        let Some(started) = self.started.get_mut() else { return Ok(()) };
        started.kept = started.controls();
        let scheduler = started.scheduler.take();
        let stopped = scheduler.map_or(Ok(()), crate::runner::Scheduler::shutdown);
        self.world().panics().rethrow();
        stopped
    }
}
