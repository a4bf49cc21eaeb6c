//! The pool without threads, locks, clocks or user code: its queue, its workers, what may run.
//!
//! Every method is a step: it takes what happened and the time, changes the state, and returns
//! what is to be done after unlocking ([`Effects`]). A step never blocks, and never calls back.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::activity::Running;
use super::entry::{Entry, disarmed};
use super::lateness::Lateness;
use super::queues::Queues;
use super::ready::Ready;
use super::shutdown::{Kind, RunState, ShutdownPolicy, may_run};
use super::step::{Done, Effects, Item, Submitter, Take};
use super::workers::{WorkerNumber, Workers};
use crate::observe::PoolStats;
use crate::sync::planted;
use crate::time::{Due, Now, Tick};

/// The state of a pool.
#[derive(Debug)]
pub(crate) struct Core<I> {
    pub(super) queues: Queues<Entry<I>>,
    /// Tasks whose run waits for its waker, by sequence.
    pub(super) suspended: BTreeMap<u64, I>,
    /// How many tasks have left the queue to ask for a new due time, and will be back or end.
    pub(super) in_transit: usize,
    /// How many tasks are being cancelled, after unlocking: the pool does not end before that is done.
    pub(super) being_cancelled: usize,
    /// How many alarms there are in the queue.
    pub(super) alarms: usize,
    pub(super) workers: Workers,
    pub(super) state: RunState,
    pub(super) is_tidying: bool,
    pub(super) policy: ShutdownPolicy,
    pub(super) remove_on_cancel: bool,
    pub(super) lateness: Lateness,
}

impl<I: Item> Core<I> {
    pub(crate) fn new(
        workers: Workers,
        policy: ShutdownPolicy,
        remove_on_cancel: bool,
        lateness: Lateness,
    ) -> Self {
        Self {
            queues: Queues::new(),
            suspended: BTreeMap::new(),
            in_transit: 0,
            being_cancelled: 0,
            alarms: 0,
            workers,
            state: RunState::Running,
            is_tidying: false,
            policy,
            remove_on_cancel,
            lateness,
        }
    }

    pub(crate) fn state(&self) -> RunState {
        self.state
    }

    pub(crate) fn policy(&self) -> ShutdownPolicy {
        self.policy
    }

    /// Settles what a worker has done, and returns what it does next.
    pub(crate) fn next(
        &mut self,
        worker: WorkerNumber,
        done: Done<I>,
        now: Now,
        effects: &mut Effects<I>,
    ) -> Take<I> {
        self.settle(done, now, effects);
        if effects.cancels() > 0 && !planted("L10 late") {
            return Take::Again;
        }
        self.workers.arrive(worker);
        if self.state >= RunState::Stopping {
            return self.leave(worker, now, effects);
        }
        self.renew_if_set_back(now, effects);
        if effects.has_slow_effects() {
            // RACE: a worker that is listed as waiting has to be free for what is submitted meanwhile.
            self.ensure_wake_up(now, effects);
            return Take::Again;
        }
        if let Some((sequence, Entry { kind, item })) = self.queues.take(now) {
            self.alarms -= usize::from(kind == Kind::Alarm);
            let armed = disarmed(kind, &item);
            self.workers.occupy(worker, Running { kind, sequence });
            if !planted("L5") {
                self.ensure_wake_up_after(now, effects);
            }
            return Take::Run(item, armed);
        }
        let is_over = self.state == RunState::ShuttingDown && self.is_exhausted();
        let may_leave = self.workers.live() > 1 || self.is_empty() || planted("L7");
        if is_over || may_leave && self.workers.has_timed_out(worker, now.tick) {
            return self.leave(worker, now, effects);
        }
        let wake_ups = self.wake_ups(now);
        if self.queues.has_come() {
            // RACE: the planned look may be for it, so that no worker would be woken.
            return Take::Again;
        }
        Take::Wait(self.workers.park(worker, now.tick, wake_ups, may_leave))
    }

    /// The line, from which workers take without the core.
    pub(crate) fn ready(&self) -> &Arc<Ready<Entry<I>>> {
        self.queues.ready()
    }

    /// Notes that the future of a worker's run is pending.
    pub(crate) fn suspend(&mut self, item: &I, effects: &mut Effects<I>) {
        self.suspended.insert(item.sequence(), item.clone());
        if self.state >= RunState::Stopping {
            self.cancel(effects, item.clone());
        }
    }

    /// Puts a suspended run into the queue, to be polled on.
    pub(crate) fn resume(&mut self, item: I, now: Now, effects: &mut Effects<I>) {
        let Some(kept) = self.suspended.remove(&item.sequence()) else {
            effects.release.push(item);
            return;
        };
        effects.release.push(kept);
        self.enter(item, Kind::Resumed, Due::Tick(now.tick), now, Submitter::Other, effects);
    }

    pub(crate) fn contains(&self, item: &I) -> bool {
        self.queues.find(item.place(), |_| ()).is_some()
    }

    /// Visits all tasks that wait, without alarms and timers.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(Due, &I)) {
        self.queues.for_each(&mut |due, entry| {
            if !matches!(entry.kind, Kind::Alarm | Kind::Timer) {
                visit(due, &entry.item);
            }
        });
    }

    /// Removes a worker whose thread did not start.
    ///
    /// What a dead worker had in hand does not end by itself.
    pub(crate) fn lose(
        &mut self,
        worker: WorkerNumber,
        left: Option<I>,
        now: Now,
        effects: &mut Effects<I>,
    ) {
        let suspended = left.as_ref().and_then(|left| self.suspended.remove(&left.sequence()));
        effects.release.extend(suspended);
        let fired = self.workers.running_of(worker).is_some_and(|run| run.kind == Kind::Timer);
        match left {
            Some(timer) if fired => effects.release.push(timer),
            Some(left) => self.cancel(effects, left),
            None => {}
        }
        self.workers.dismiss(worker);
        self.ensure_wake_up(now, effects);
        if self.workers.live() == 0 {
            self.abandon_what_waits(now, effects);
        }
        if self.state != RunState::Running {
            effects.wake.extend(self.workers.anyone_waiting());
        }
        self.try_terminate(effects);
    }

    /// Removes a worker whose thread has died, and starts another in its place if there is work.
    pub(crate) fn replace(
        &mut self,
        worker: WorkerNumber,
        left: Option<I>,
        now: Now,
        effects: &mut Effects<I>,
    ) {
        if self.state <= RunState::ShuttingDown && !self.is_empty() {
            self.hire(effects);
        }
        self.lose(worker, left, now, effects);
    }

    /// When the first of what waits is due, as both clocks go now.
    pub(crate) fn first_due(&mut self, now: Now) -> Option<Tick> {
        self.queues.first_due(now)
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let live = if self.is_tidying { 0 } else { self.workers.live() };
        // None is taken meanwhile: so no task is counted twice, or not at all.
        let (len, (active, completed)) = self.queues.len_and(|| self.workers.tally());
        let queued = len - self.alarms + self.in_transit;
        let suspended = self.suspended.len();
        PoolStats {
            core_size: self.workers.core_size,
            pool_size: live,
            largest_pool_size: self.workers.largest(),
            active,
            queued,
            suspended,
            completed,
            tasks: completed + (active + queued + suspended) as u64,
        }
    }

    /// Puts a task into the queue. No worker is woken.
    pub(super) fn put(
        &mut self,
        item: I,
        kind: Kind,
        due: Due,
        now: Now,
        effects: &mut Effects<I>,
    ) {
        // RACE: a cancel between the task becoming `Scheduled` again and this has found nothing to take out. It had
        // changed the state before, so it is seen here.
        if self.remove_on_cancel && item.is_ended() && !planted("L4") {
            effects.release.push(item);
            self.after_removal(effects);
            return;
        }
        self.alarms += usize::from(kind == Kind::Alarm);
        self.queues.push(due, item.sequence(), Entry { kind, item }, now);
    }

    /// What was in an entry that has left the queue.
    pub(super) fn taken(&mut self, entry: Entry<I>) -> I {
        self.alarms -= usize::from(entry.kind == Kind::Alarm);
        disarmed(entry.kind, &entry.item);
        entry.item
    }

    /// Takes back what a worker has in hand.
    pub(crate) fn settle(&mut self, done: Done<I>, now: Now, effects: &mut Effects<I>) {
        if let Done::Recurs(item, due) = done {
            // No worker is woken for it: this one is about to look at the queue.
            self.take_back(item, due, now, effects);
        }
    }

    /// Takes a task back in that has been run and is due again.
    fn take_back(&mut self, item: I, due: Due, now: Now, effects: &mut Effects<I>) {
        if !may_run(self.state, Kind::Recurring, due.is_reached(now), self.policy) {
            self.cancel(effects, item);
            return;
        }
        self.put(item, Kind::Recurring, due.not_overtaking(now), now, effects);
        self.hire_if_missing(effects);
    }

    fn leave(&mut self, worker: WorkerNumber, now: Now, effects: &mut Effects<I>) -> Take<I> {
        self.workers.dismiss(worker);
        if self.state != RunState::Running {
            effects.wake.extend(self.workers.anyone_waiting());
            self.try_terminate(effects);
        } else if !planted("L8") {
            self.ensure_wake_up(now, effects);
        }
        Take::Leave
    }

    /// Returns true if nothing waits at all.
    pub(super) fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.suspended.is_empty() && self.in_transit == 0
    }

    /// Returns true if there is nothing to wait for any more: no task, and no alarm that could be for a run in
    /// progress.
    pub(super) fn is_exhausted(&self) -> bool {
        let has_suspended = !self.suspended.is_empty() && !planted("L15");
        let has_tasks = self.queues.len() > self.alarms || has_suspended || self.in_transit > 0;
        !has_tasks && (self.alarms == 0 || self.workers.busy() == 0)
    }
}
