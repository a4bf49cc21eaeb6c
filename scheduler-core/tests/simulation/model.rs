//! The reference model of a scheduled thread pool: obviously right, and slow.
//!
//! A vector of tasks, searched from end to end for each question; no worker, no waiting, no clock.

use super::words::{Now, Outcome, Place, Rhythm, Task};
use scheduler_core::{RunState, ShutdownPolicy, TaskState};

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) tasks: Vec<Task>,
    pub(crate) state: RunState,
    pub(crate) policy: ShutdownPolicy,
    pub(crate) removes_on_cancel: bool,
    pub(crate) completed: u64,
    /// By how much the wall clock was ahead when a worker looked, or when a timer was armed for it since then.
    pub(crate) lead_max: Option<i128>,
}

impl Model {
    pub(crate) fn submit(&mut self, mut task: Task, now: Now) {
        if self.state != RunState::Running {
            (task.place, task.end) = (Place::Gone, Some(TaskState::Cancelled));
        }
        task.enter(task.due, now);
        self.tasks.push(task);
    }

    pub(crate) fn count(&self, places: &[Place]) -> usize {
        self.tasks.iter().filter(|task| places.contains(&task.place)).count()
    }

    /// Takes the task that a worker gets to run; also returns the number of ended tasks before it.
    pub(crate) fn take(&mut self, now: Now) -> (Option<usize>, u64) {
        let mut surfaced = 0;
        while self.state <= RunState::ShuttingDown {
            let is_due = |task: &Task| task.is_queued() && task.turn.is_reached(now);
            let due = (0..self.tasks.len()).filter(|id| is_due(&self.tasks[*id]));
            let first = due.min_by_key(|id| (self.tasks[*id].turn.key(now), *id));
            let Some(id) = first else { break };
            let task = &mut self.tasks[id];
            if task.end.is_none() {
                if task.place == Place::Queue {
                    task.fire();
                }
                let place = if task.is_timer() { Place::Idle } else { Place::Worker };
                (task.place, task.was_woken) = (place, false);
                return (Some(id), surfaced);
            }
            task.place = Place::Gone;
            surfaced += 1;
        }
        (None, surfaced)
    }

    /// A step of a body has ended: on a worker, or by the hand of the client.
    pub(crate) fn finish(&mut self, id: usize, outcome: Outcome, now: Now) {
        let (state, policy) = (self.state, self.policy);
        let task = &mut self.tasks[id];
        let is_held = task.place == Place::Held;
        if is_held {
            task.fire();
        }
        task.place = Place::Gone;
        self.completed += u64::from(!is_held && outcome != Outcome::Pending);
        let is_last = is_held || state >= RunState::Stopping;
        let recurs = !matches!(task.rhythm, Rhythm::Once);
        let survives = state != RunState::ShuttingDown || policy.continue_recurring;
        let next = task.rhythm.next(task.fired, now);
        match (outcome, next) {
            _ if task.end.is_some() => {}
            (Outcome::Pending, _) if is_last => task.end = Some(TaskState::Cancelled),
            (Outcome::Pending, _) if task.was_woken => task.resume(now),
            (Outcome::Pending, _) => task.place = Place::Suspended,
            (Outcome::Failed, _) if !(recurs && task.survives_failure) => {
                task.end = Some(TaskState::Failed);
            }
            (_, None) => task.end = Some(TaskState::Completed),
            _ if is_last || !survives => task.end = Some(TaskState::Cancelled),
            (_, Some(due)) => {
                task.place = Place::Queue;
                task.enter(due, now);
            }
        }
    }

    pub(crate) fn wake(&mut self, id: usize, now: Now) {
        let task = &mut self.tasks[id];
        task.was_woken |= task.place == Place::Worker;
        if task.place == Place::Suspended {
            task.resume(now);
        }
    }

    /// Asks a run in progress to stop. If it waits for its waker, it is polled on.
    pub(crate) fn ask_to_stop(&mut self, id: usize, now: Now) {
        let task = &mut self.tasks[id];
        task.stop_asked |= matches!(task.place, Place::Worker | Place::Suspended | Place::Resumed);
        self.wake(id, now);
    }

    pub(crate) fn cancel(&mut self, id: usize) -> bool {
        let task = &mut self.tasks[id];
        let wins = task.end.is_none();
        task.end = task.end.or(Some(TaskState::Cancelled));
        let leaves = matches!(task.place, Place::Suspended | Place::Resumed)
            || task.place == Place::Queue && self.removes_on_cancel;
        if wins && leaves {
            task.place = Place::Gone;
        }
        wins
    }

    /// Takes a task out for the client, unless it is a run that wants to be polled on.
    pub(crate) fn remove(&mut self, id: usize) -> bool {
        let is_there = self.tasks[id].place == Place::Queue;
        if is_there {
            self.tasks[id].place = Place::Held;
        }
        is_there
    }

    pub(crate) fn purge(&mut self) {
        self.drop_where(|task| task.is_queued() && task.end.is_some());
    }

    pub(crate) fn shutdown(&mut self, now: Now) {
        if self.state == RunState::Running {
            self.state = RunState::ShuttingDown;
            self.set_policy(self.policy, now);
        }
    }

    pub(crate) fn set_policy(&mut self, policy: ShutdownPolicy, now: Now) {
        self.policy = policy;
        let may_stay = |task: &Task| match task.rhythm {
            Rhythm::Once => policy.execute_delayed || task.due.is_reached(now),
            Rhythm::Timer => true,
            _ => policy.continue_recurring,
        };
        if self.state == RunState::ShuttingDown {
            self.purge();
            self.drop_where(|task| task.place == Place::Queue && !may_stay(task));
        }
    }

    /// Hands out what waits, the first due first; what is in progress but on no worker is dropped.
    pub(crate) fn shutdown_now(&mut self, now: Now) -> Vec<usize> {
        if self.state >= RunState::Stopping {
            return Vec::new();
        }
        self.state = RunState::Stopping;
        self.purge();
        self.drop_where(|task| matches!(task.place, Place::Resumed | Place::Suspended));
        self.drop_timers();
        let ids = 0..self.tasks.len();
        let mut out: Vec<usize> = ids.filter(|id| self.tasks[*id].is_queued()).collect();
        out.sort_by_key(|id| (self.tasks[*id].turn.key(now), *id));
        out.iter().for_each(|id| self.tasks[*id].place = Place::Held);
        out
    }

    /// No worker is left to run what waits, and none can be started.
    pub(crate) fn abandon(&mut self) {
        self.drop_timers();
        self.drop_where(|task| task.is_queued() || task.place == Place::Suspended);
    }

    fn drop_where(&mut self, goes: impl Fn(&Task) -> bool) {
        for task in self.tasks.iter_mut().filter(|task| goes(task)) {
            task.place = Place::Gone;
            task.end = task.end.or(Some(TaskState::Cancelled));
        }
    }
}
