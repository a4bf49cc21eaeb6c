//! How the core ends: what is dropped, what is handed out, and when nothing is left.

use super::core::Core;
use super::shutdown::{Kind, RunState, ShutdownPolicy, may_run};
use super::step::{Effects, Item};
use crate::sync::planted;
use crate::time::Now;

impl<I: Item> Core<I> {
    /// Changes what may still run.
    pub(crate) fn set_policy(
        &mut self,
        policy: ShutdownPolicy,
        now: Now,
        effects: &mut Effects<I>,
    ) {
        self.policy = policy;
        if self.state == RunState::ShuttingDown {
            self.sweep(now, effects);
            self.after_removal(effects);
        }
    }

    /// Takes no more tasks, and drops those that shall not run any more.
    pub(crate) fn shutdown(&mut self, now: Now, effects: &mut Effects<I>) {
        if self.state != RunState::Running {
            return;
        }
        self.state = RunState::ShuttingDown;
        self.sweep(now, effects);
        if self.workers.live() == 0 && self.queues.len() > self.alarms {
            self.hire_if_missing(effects);
        }
        effects.wake.extend(self.workers.everyone_waiting());
        self.try_terminate(effects);
    }

    /// Takes no more tasks, starts no more runs, and hands out the tasks that wait, the next first.
    pub(crate) fn shutdown_now(&mut self, now: Now, effects: &mut Effects<I>) -> Vec<I> {
        if self.state >= RunState::Stopping {
            return Vec::new();
        }
        self.state = RunState::Stopping;
        let mut drained = Vec::new();
        for entry in self.queues.extract(now, &mut |_, _| true) {
            let is_internal = entry.kind.is_internal();
            let item = self.taken(entry);
            if item.is_ended() {
                effects.release.push(item);
            } else if is_internal {
                self.cancel(effects, item);
            } else {
                drained.push(item);
            }
        }
        for item in std::mem::take(&mut self.suspended).into_values() {
            self.cancel(effects, item);
        }
        let running = self.workers.running().map(|(worker, run)| (worker, run.sequence));
        effects.rare().interrupt.extend(running);
        effects.wake.extend(self.workers.everyone_waiting());
        self.try_terminate(effects);
        drained
    }

    /// Declares the pool terminated.
    pub(crate) fn terminate(&mut self) {
        self.state = RunState::Terminated;
    }

    /// Takes out everything the core holds, when nothing will run it.
    pub(crate) fn drain(&mut self, now: Now) -> Vec<I> {
        let queued = self.queues.extract(now, &mut |_, _| true).into_iter();
        let queued: Vec<I> = queued.map(|entry| self.taken(entry)).collect();
        queued.into_iter().chain(std::mem::take(&mut self.suspended).into_values()).collect()
    }

    /// Cancels what waits when the last worker has gone: all of it if no submission can start a worker any more, and
    /// timers in any case, because they are not submitted again.
    pub(super) fn abandon_what_waits(&mut self, now: Now, effects: &mut Effects<I>) {
        if self.state == RunState::ShuttingDown {
            for left in self.drain(now) {
                self.cancel(effects, left);
            }
            return;
        }
        for timer in self.queues.extract(now, &mut |_, entry| entry.kind == Kind::Timer) {
            let item = self.taken(timer);
            self.cancel(effects, item);
        }
    }

    /// Drops what may not run any more.
    fn sweep(&mut self, now: Now, effects: &mut Effects<I>) {
        let (state, policy) = (self.state, self.policy);
        let swept = self.queues.extract(now, &mut |is_due, entry| {
            !may_run(state, entry.kind, is_due, policy) || entry.item.is_ended()
        });
        for entry in swept {
            let item = self.taken(entry);
            self.cancel(effects, item);
        }
    }

    /// Has a task cancelled that the core has let go of.
    pub(super) fn cancel(&mut self, effects: &mut Effects<I>, item: I) {
        self.being_cancelled += 1;
        effects.rare().cancel.push(item);
    }

    /// Records that so many tasks have been dropped and cancelled.
    pub(crate) fn cancelled(&mut self, count: usize, effects: &mut Effects<I>) {
        self.being_cancelled -= count;
        self.try_terminate(effects);
    }

    /// Returns true if tasks are being cancelled, apart from those of this step.
    fn is_cancelling(&self, effects: &Effects<I>) -> bool {
        self.being_cancelled > effects.cancels() && !planted("L10 drop")
    }

    /// Declares the end if nothing is left to run, and no worker.
    pub(super) fn try_terminate(&mut self, effects: &mut Effects<I>) {
        let is_over = match self.state {
            RunState::Running | RunState::Terminated => false,
            RunState::ShuttingDown => self.is_exhausted(),
            // Tasks in transit are not resolved yet, though their worker may have left.
            RunState::Stopping => self.in_transit == 0,
        };
        let is_over = is_over && !self.is_cancelling(effects) && self.workers.live() == 0;
        if is_over && (!self.is_tidying || planted("L9")) {
            self.is_tidying = true;
            for alarm in self.queues.clear() {
                let item = self.taken(alarm);
                self.cancel(effects, item);
            }
            effects.rare().tidy = true;
        }
    }
}
