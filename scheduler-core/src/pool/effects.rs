//! Performs the effects of a step without the lock: wakes and starts workers, cancels tasks, asks triggers anew.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::AnyItem;
use super::locked::{Later, Starts};
use super::shared_worker::SharedWorker;
use super::shell::Shell;
use super::step::Rare;
use super::workers::WorkerNumber;
use crate::task::run::{Cancelled, Verdict};
use crate::task::{TaskState, current};
use crate::time::Now;

impl Shell {
    /// Does what a step has asked for.
    pub(super) fn perform_later(&self, later: Later) -> Starts {
        let Later { wake, rare, interrupted, mut release } = later;
        for shared in wake {
            shared.gate.open();
        }
        let Some(rare) = rare else {
            self.arena.give_back(&mut release);
            return Starts::default();
        };
        self.perform(*rare, release, interrupted)
    }

    /// Performs what a step asked for, and returns how the starts of workers went.
    fn perform(
        &self,
        rare: Rare<AnyItem>,
        mut release: Vec<AnyItem>,
        interrupted: Vec<(Arc<SharedWorker>, u64)>,
    ) -> Starts {
        let mut starts = Starts::default();
        for worker in rare.start {
            let is_started = self.start_worker(worker);
            starts.started += u32::from(is_started);
            starts.refused += u32::from(!is_started);
        }
        if !rare.cancel.is_empty() {
            self.cancel_all(rare.cancel);
        }
        if !rare.renew.is_empty() {
            self.ask_anew(rare.renew);
        }
        for (shared, number) in interrupted {
            shared.interrupt(number);
        }
        self.arena.give_back(&mut release);
        if rare.tidy {
            let ends = [(self.me.as_ptr().addr(), None)];
            current::hold_up(&ends, || self.hooks.terminated(&self.announcer));
            self.locked.lock().core.terminate();
            self.termination.open();
        }
        starts
    }

    /// Starts a worker's thread; returns true if that worked.
    fn start_worker(&self, number: WorkerNumber) -> bool {
        let Some(me) = self.me.upgrade() else { return false };
        let name = format!("{}{number}", self.thread_name_prefix);
        let Err(reason) = self.starter().start(me, name, number) else {
            return true;
        };
        self.announce_refusal(number, &reason);
        *self.refusal.lock() = reason;
        false
    }

    /// Cancels a task that the pool has let go of.
    ///
    /// The end of a task that is being run is reported by the thread that runs it.
    pub(super) fn cancel(&self, task: &AnyItem) {
        if let Some(cancelled) = task.cancel() {
            self.report_cancelled(task, cancelled);
        }
    }

    fn report_cancelled(&self, task: &AnyItem, cancelled: Cancelled) {
        let was_waiting = cancelled.was_waiting;
        cancelled.notify();
        if was_waiting {
            self.announce_end(&**task, TaskState::Cancelled);
        }
    }

    /// Cancels tasks that the core has let go of. All have ended before the first waiter is notified, so that a
    /// callback of one can wait for another.
    fn cancel_all(&self, tasks: Vec<AnyItem>) {
        let count = tasks.len();
        let home = self.me.as_ptr().addr();
        let ends = tasks.iter().map(|task| (home, Some(task.header().id())));
        let ends: Vec<_> = ends.chain([(home, None)]).collect();
        let cancel = |task: AnyItem| Some((task.cancel()?, task));
        let ended: Vec<_> =
            current::hold_up(&ends, || tasks.into_iter().filter_map(cancel).collect());
        self.alter(|core, effects| core.cancelled(count, effects));
        for (cancelled, task) in ended {
            self.report_cancelled(&task, cancelled);
        }
    }

    /// Asks tasks that are in transit when they are due.
    fn ask_anew(&self, tasks: Vec<AnyItem>) {
        let mut asked = InTransit { shell: self, tasks: tasks.into() };
        while let Some(task) = asked.tasks.front().cloned() {
            let verdict = task.renew(Now::read(&*self.clock));
            let back = self.step(|core, now, effects| {
                match verdict {
                    Verdict::Requeue(due) => core.enter_again(task, due, now, effects),
                    Verdict::Ended(_) => core.retire(effects),
                }
                asked.tasks.pop_front()
            });
            drop(back);
        }
    }
}

/// Tasks that are in transit while their triggers are asked. If the thread dies meanwhile, as of a clock that panics,
/// they are cancelled, because nothing else holds them.
struct InTransit<'a> {
    shell: &'a Shell,
    tasks: VecDeque<AnyItem>,
}

impl Drop for InTransit<'_> {
    fn drop(&mut self) {
        for task in self.tasks.drain(..) {
            self.shell.alter(|core, effects| core.abandon(&task, effects));
        }
    }
}
