//! The end of the core: dropped tasks, tasks handed out, termination.

use std::sync::Arc;

use super::core::PoolCore;
use super::effects::Effects;
use super::entry::{Entry, due_of, kind_of};
use super::shutdown::{Kind, RunState, ShutdownPolicy, may_run};
use super::wall_queue::on_monotonic_clock;
use crate::task::AnyTask;
use crate::time::{Due, Now};

impl PoolCore {
    /// Changes what may still run.
    pub(super) fn set_policy(&mut self, policy: ShutdownPolicy, now: Now, effects: &mut Effects) {
        self.policy = policy;
        if self.state == RunState::ShuttingDown {
            self.drop_what_may_not_run(now, effects);
            self.after_removal(effects);
        }
    }

    /// Takes no more tasks, and drops those that shall not run any more.
    pub(super) fn shutdown(&mut self, now: Now, effects: &mut Effects) {
        if self.state != RunState::Running {
            return;
        }
        self.state = RunState::ShuttingDown;
        self.drop_what_may_not_run(now, effects);
        if self.workers.live() == 0 && self.queued() > 0 {
            self.start_worker(effects);
        }
        self.sleepers.wake_all(&mut effects.wake);
        self.try_terminate(effects);
    }

    /// Takes no more tasks, starts no more runs, and hands out the tasks that wait, the next first.
    pub(super) fn shutdown_now(
        &mut self,
        now: Now,
        effects: &mut Effects,
    ) -> Vec<Arc<dyn AnyTask>> {
        if self.state >= RunState::Stopping {
            return Vec::new();
        }
        self.state = RunState::Stopping;
        effects.stop = true;
        let mut drained = Vec::new();
        for entry in self.take_all(now) {
            let is_internal = kind_of(entry.key).is_internal();
            match self.withdraw(entry) {
                Ok(task) if is_internal => self.cancel(task, effects),
                Ok(task) => drained.extend(task.into_task()),
                Err(item) => effects.release.push(item),
            }
        }
        for task in std::mem::take(&mut self.suspended).into_values() {
            self.cancel(task, effects);
        }
        self.sleepers.wake_all(&mut effects.wake);
        self.try_terminate(effects);
        drained
    }

    /// Takes all entries, the next first.
    fn take_all(&mut self, now: Now) -> Vec<Entry> {
        let mut all = Vec::new();
        self.queue.extract(|_| true, |entry| all.push(entry));
        self.wall_queue.extract(|_| true, |entry| all.push(entry));
        all.sort_by_key(|entry| match kind_of(entry.key) {
            Kind::WallTimer => on_monotonic_clock(entry.key, now),
            _ => entry.key,
        });
        all
    }

    /// Drops what may not run any more, and entries that are dead.
    fn drop_what_may_not_run(&mut self, now: Now, effects: &mut Effects) {
        let (state, policy) = (self.state, self.policy);
        self.remove_where(effects, |entry| {
            !may_run(state, kind_of(entry.key), due_of(entry.key).is_reached(now), policy)
                || is_ended(entry)
        });
    }

    /// Drops every task from the queue that has ended.
    pub(super) fn purge(&mut self, effects: &mut Effects) {
        self.remove_where(effects, is_ended);
        self.after_removal(effects);
    }

    /// Cancels what waits when the last worker has gone: all of it if no submission can start a worker any more, and
    /// timers in any case, because they are not submitted again.
    pub(super) fn abandon_what_waits(&mut self, effects: &mut Effects) {
        if self.state == RunState::ShuttingDown {
            self.remove_where(effects, |_| true);
            for task in std::mem::take(&mut self.suspended).into_values() {
                self.cancel(task, effects);
            }
        } else {
            self.remove_where(effects, |entry| kind_of(entry.key).is_timer());
        }
    }

    /// Wakes idle workers that may leave.
    pub(super) fn after_removal(&mut self, effects: &mut Effects) {
        if self.state == RunState::ShuttingDown && self.is_exhausted() {
            self.sleepers.wake_all(&mut effects.wake);
            self.try_terminate(effects);
        } else if self.state == RunState::Running && self.is_empty() {
            self.reconsider_idle(effects);
        }
    }

    /// Declares the end if nothing is left to run, and no worker.
    pub(super) fn try_terminate(&mut self, effects: &mut Effects) {
        let is_over = match self.state {
            RunState::Running | RunState::Terminated => false,
            RunState::ShuttingDown => self.is_exhausted(),
            RunState::Stopping => true,
        };
        // Calls that this step asks for are made before the end is declared.
        let is_over = is_over && self.calls <= effects.calls() && self.workers.live() == 0;
        if is_over && !self.is_terminating {
            self.is_terminating = true;
            self.remove_where(effects, |_| true);
            effects.terminate = true;
        }
    }

    /// Declares the pool terminated.
    pub(super) fn terminated(&mut self) {
        self.state = RunState::Terminated;
    }

    /// All waiting tasks with their due times.
    pub(super) fn view(&self) -> Vec<(Due, Arc<dyn AnyTask>)> {
        let mut view = Vec::new();
        self.for_each_waiting(|due, item| {
            view.extend(Arc::clone(item).into_task().map(|task| (due, task)));
        });
        view
    }
}

/// Returns true if the task has ended, or stands elsewhere in the queue.
fn is_ended(entry: &Entry) -> bool {
    entry.item.is_over() || !entry.item.stands_at(due_of(entry.key))
}
