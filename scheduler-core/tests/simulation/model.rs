//! The reference model: what a scheduled thread pool does, obviously right and slow.
//!
//! A vector of tasks in the order of submission, searched from end to end for each question. It
//! knows no worker, no waiting and no code of the engine; time is handed in.

use super::words::{Due, Now, Outcome, Place, Rhythm, Task};
use scheduler_core::{RunState, ShutdownPolicy, TaskState};

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) tasks: Vec<Task>,
    pub(crate) state: RunState,
    pub(crate) policy: ShutdownPolicy,
    pub(crate) removes_on_cancel: bool,
    pub(crate) completed: u64,
}

impl Model {
    pub(crate) fn submit(&mut self, mut task: Task) {
        if self.state != RunState::Running {
            (task.place, task.end) = (Place::Gone, Some(TaskState::Cancelled));
        }
        self.tasks.push(task);
    }

    pub(crate) fn count(&self, places: &[Place]) -> usize {
        self.tasks.iter().filter(|task| places.contains(&task.place)).count()
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.count(&[Place::Queue, Place::Resumed, Place::Suspended]) == 0
    }

    /// What a worker gets to run, and how many ended tasks have surfaced before it.
    pub(crate) fn take(&mut self, now: Now) -> (Option<usize>, u64) {
        let mut surfaced = 0;
        while self.state <= RunState::ShuttingDown {
            let is_due = |task: &Task| task.is_queued() && task.due.is_reached(now);
            let due = (0..self.tasks.len()).filter(|id| is_due(&self.tasks[*id]));
            let first = due.min_by_key(|id| (self.tasks[*id].due.key(now), *id));
            let Some(id) = first else { break };
            let task = &mut self.tasks[id];
            if task.end.is_none() {
                task.fired = if task.place == Place::Queue { task.due } else { task.fired };
                (task.place, task.was_woken) = (Place::Worker, false);
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
        task.fired = if is_held { task.due } else { task.fired };
        let is_last = is_held || state >= RunState::Stopping;
        let counts = !is_held && outcome != Outcome::Pending;
        self.completed += u64::from(counts);
        task.place = Place::Gone;
        if task.end.is_some() {
            return;
        }
        if outcome == Outcome::Pending {
            match (is_last, task.was_woken) {
                (true, _) => task.end = Some(TaskState::Cancelled),
                (false, true) => (task.place, task.due) = (Place::Resumed, Due::Tick(now.tick)),
                (false, false) => task.place = Place::Suspended,
            }
            return;
        }
        let recurs = !matches!(task.rhythm, Rhythm::Once);
        let goes_on = state != RunState::ShuttingDown || policy.continue_recurring;
        match task.rhythm.next(task.fired, now) {
            _ if outcome == Outcome::Failed && !(recurs && task.survives_failure) => {
                task.end = Some(TaskState::Failed);
            }
            None => task.end = Some(TaskState::Completed),
            Some(next @ Due::Wall(_)) if next == task.fired => task.end = Some(TaskState::Failed),
            _ if is_last || !goes_on => task.end = Some(TaskState::Cancelled),
            Some(next) => (task.place, task.due) = (Place::Queue, next),
        }
    }

    pub(crate) fn wake(&mut self, id: usize, now: Now) {
        let task = &mut self.tasks[id];
        task.was_woken |= task.place == Place::Worker;
        if task.place == Place::Suspended {
            (task.place, task.due) = (Place::Resumed, Due::Tick(now.tick));
        }
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
            self.sweep(now);
        }
    }

    pub(crate) fn set_policy(&mut self, policy: ShutdownPolicy, now: Now) {
        self.policy = policy;
        if self.state == RunState::ShuttingDown {
            self.sweep(now);
        }
    }

    fn sweep(&mut self, now: Now) {
        let ShutdownPolicy { continue_recurring, execute_delayed, .. } = self.policy;
        let may_stay = |task: &Task| match task.rhythm {
            Rhythm::Once => execute_delayed || task.due.is_reached(now),
            _ => continue_recurring,
        };
        self.purge();
        self.drop_where(|task| task.place == Place::Queue && !may_stay(task));
    }

    /// Hands out what waits, the first due first; what is in progress but on no worker is dropped.
    pub(crate) fn shutdown_now(&mut self, now: Now) -> Vec<usize> {
        if self.state >= RunState::Stopping {
            return Vec::new();
        }
        self.state = RunState::Stopping;
        self.purge();
        self.drop_where(|task| matches!(task.place, Place::Resumed | Place::Suspended));
        let ids = 0..self.tasks.len();
        let mut out: Vec<usize> = ids.filter(|id| self.tasks[*id].is_queued()).collect();
        out.sort_by_key(|id| (self.tasks[*id].due.key(now), *id));
        out.iter().for_each(|id| self.tasks[*id].place = Place::Held);
        out
    }

    fn drop_where(&mut self, goes: impl Fn(&Task) -> bool) {
        for task in self.tasks.iter_mut().filter(|task| goes(task)) {
            task.place = Place::Gone;
            task.end = task.end.or(Some(TaskState::Cancelled));
        }
    }
}
