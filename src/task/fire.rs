//! The timer of a task re-arms itself before it starts a run.
//!
//! The timer fires; the planner decides; the timer is armed for the next look; then the run is called in place, on the same
//! worker. So a run that hangs does not hold back its schedule.

use std::sync::Arc;

use scheduler_core::{Fire, Fired, Now, Timer};

use super::attempt;
use super::locked_task::LockedTask;
use super::scheduled_task::ScheduledTask;
use crate::observe::TaskState;

impl Fire for ScheduledTask {
    fn fire(task: &Arc<Timer<Self>>, firing: &scheduler_core::Run) -> Fired {
        let mut locked = LockedTask::lock(task, firing.started());
        locked.state.armed = None;
        let (locked, begun) = locked.next_attempt(firing);
        locked.commit();
        match begun {
            Some(begun) => attempt::execute(task, begun, firing),
            None => Fired::NothingToFinish,
        }
    }

    fn finish(task: &Arc<Timer<Self>>, firing: &scheduler_core::Run, now: Now) {
        LockedTask::lock(task, now).end_attempt_of_firing(firing.number()).commit();
    }

    fn clock_set_back(task: &Arc<Timer<Self>>, now: Now) {
        let mut locked = LockedTask::lock(task, now);
        locked.state.armed = None;
        locked.state.planner.look(now);
        locked.commit();
    }

    fn dropped(task: &Arc<Timer<Self>>) {
        let mut locked = LockedTask::lock(task, task.now());
        locked.state.armed = None;
        locked.end(TaskState::Cancelled);
        locked.commit();
    }
}
