//! Controls the tasks of a simulation.

use std::time::Duration;

use super::or_panic;
use super::sim::Sim;
use crate::start::{StopError, TaskControl, Tasks};

/// Controls tasks, as a program does with [`Tasks`].
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

    /// Resumes a paused task.
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

    /// All other controls of a task: pausing with a reason, rescheduling, cancelling.
    ///
    /// # Panics
    ///
    /// When there is no such task.
    #[must_use]
    #[track_caller]
    pub fn control(&self, task: &str) -> TaskControl {
        or_panic(self.started().control(task))
    }

    /// All tasks, for example to add and remove some.
    #[must_use]
    #[track_caller]
    pub fn running_tasks(&self) -> Tasks {
        self.started().tasks.clone()
    }

    /// Stops the scheduler: starts no new runs, and waits for those in progress.
    ///
    /// # Errors
    ///
    /// When runs were in progress for longer than the limit.
    #[track_caller]
    pub fn shutdown(&mut self) -> Result<(), StopError> {
        self.started();
        let Some(started) = self.started.get_mut() else { return Ok(()) };
        started.controls = started.controls();
        let scheduler = started.scheduler.take();
        let stopped = scheduler.map_or(Ok(()), crate::start::Scheduler::shutdown);
        self.world().panics().rethrow();
        stopped
    }
}
