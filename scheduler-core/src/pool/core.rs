//! The pool without threads, locks, clocks or user code: what is in the queue, who works, what may run.
//!
//! Every method is a step: it is told what happened and what time it is, changes the state, and says
//! what is to be done after unlocking ([`Effects`]). A step never blocks, and never calls back.

use std::collections::BTreeMap;

use super::agenda::Agenda;
use super::roster::Roster;
use super::roster::WorkerNumber;
use super::shutdown::Kind;
use super::shutdown::RunState;
use super::shutdown::ShutdownPolicy;
use super::shutdown::may_run;
use super::step::Done;
use super::step::Effects;
use super::step::Item;
use super::step::Take;
use crate::observe::PoolStats;
use crate::queue::Ticket;
use crate::time::Due;
use crate::time::Now;

/// The state of a pool.
#[derive(Debug)]
pub(crate) struct Core<I> {
    agenda: Agenda<Entry<I>>,
    /// Tasks whose run waits for its waker, by sequence.
    suspended: BTreeMap<u64, I>,
    pub(super) roster: Roster<I>,
    state: RunState,
    is_tidying: bool,
    policy: ShutdownPolicy,
    pub(super) remove_on_cancel: bool,
    completed: u64,
}

#[derive(Debug)]
struct Entry<I> {
    kind: Kind,
    item: I,
}

impl<I: Item> Core<I> {
    pub(crate) fn new(roster: Roster<I>, policy: ShutdownPolicy, remove_on_cancel: bool) -> Self {
        Self {
            agenda: Agenda::new(),
            suspended: BTreeMap::new(),
            roster,
            state: RunState::Running,
            is_tidying: false,
            policy,
            remove_on_cancel,
            completed: 0,
        }
    }

    pub(crate) fn state(&self) -> RunState {
        self.state
    }

    pub(crate) fn policy(&self) -> ShutdownPolicy {
        self.policy
    }

    /// Takes a new task in, or hands it back because the pool takes none.
    pub(crate) fn admit(
        &mut self,
        item: I,
        kind: Kind,
        due: Due,
        now: Now,
        effects: &mut Effects<I>,
    ) -> Result<(), I> {
        if self.state != RunState::Running {
            return Err(item);
        }
        self.enter(item, kind, due, now, effects);
        Ok(())
    }

    /// Settles what a worker has done, and gives it something to do.
    pub(crate) fn next(
        &mut self,
        worker: WorkerNumber,
        done: Done<I>,
        now: Now,
        effects: &mut Effects<I>,
    ) -> Take<I> {
        self.settle(worker, done, now, effects);
        self.roster.arrive(worker);
        if self.state >= RunState::Stopping {
            return self.leave(worker, now, effects);
        }
        if let Some(entry) = self.agenda.pop_due(now) {
            self.roster.occupy(worker, entry.item.clone());
            self.see_to_the_queue(now, effects);
            return Take::Run(entry.item);
        }
        let is_over = self.state == RunState::ShuttingDown && self.is_exhausted();
        let may_leave = self.roster.live() > 1 || self.is_exhausted();
        if is_over || may_leave && self.roster.has_timed_out(worker, now.tick) {
            return self.leave(worker, now, effects);
        }
        let next_look = self.agenda.next_look(now);
        Take::Wait(self.roster.park(worker, now.tick, next_look, may_leave))
    }

    /// Notes that the future of a worker's run is pending.
    pub(crate) fn suspend(&mut self, item: &I, effects: &mut Effects<I>) {
        self.suspended.insert(item.sequence(), item.clone());
        if self.state >= RunState::Stopping {
            effects.cancel.push(item.clone());
        }
    }

    /// Puts a suspended run into the queue, to be polled on.
    pub(crate) fn resume(&mut self, item: I, now: Now, effects: &mut Effects<I>) {
        let Some(kept) = self.suspended.remove(&item.sequence()) else {
            effects.release.push(item);
            return;
        };
        effects.release.push(kept);
        self.enter(item, Kind::Resumed, Due::Tick(now.tick), now, effects);
    }

    /// Forgets a task that was cancelled.
    pub(crate) fn withdraw(&mut self, sequence: u64, ticket: Ticket, effects: &mut Effects<I>) {
        let is_resumed = self.agenda.find(ticket).is_some_and(|entry| entry.kind == Kind::Resumed);
        if self.remove_on_cancel || is_resumed {
            effects.release.extend(self.agenda.remove(ticket).map(|entry| entry.item));
        }
        effects.release.extend(self.suspended.remove(&sequence));
        self.after_removal(effects);
    }

    /// Takes a task out of the queue, if it waits there.
    pub(crate) fn remove(&mut self, ticket: Ticket, effects: &mut Effects<I>) -> Option<I> {
        let is_resumed = self.agenda.find(ticket).is_some_and(|entry| entry.kind == Kind::Resumed);
        let removed = if is_resumed { None } else { self.agenda.remove(ticket) };
        self.after_removal(effects);
        removed.map(|entry| entry.item)
    }

    /// Drops every ended task from the queue.
    pub(crate) fn purge(&mut self, now: Now, effects: &mut Effects<I>) {
        let ended = self.agenda.extract(now, &mut |_, entry| entry.item.is_ended());
        effects.release.extend(ended.into_iter().map(|entry| entry.item));
        self.after_removal(effects);
    }

    pub(crate) fn contains(&self, ticket: Ticket) -> bool {
        self.agenda.find(ticket).is_some()
    }

    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(Due, &I)) {
        self.agenda.for_each(&mut |due, entry| visit(due, &entry.item));
    }

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
        if !self.agenda.is_empty() {
            self.hire_if_missing(effects);
        }
        effects.wake.extend(self.roster.everyone_waiting());
        self.try_terminate(effects);
    }

    /// Takes no more tasks, starts no more runs, and hands out the tasks that wait, the next first.
    pub(crate) fn shutdown_now(&mut self, now: Now, effects: &mut Effects<I>) -> Vec<I> {
        if self.state >= RunState::Stopping {
            return Vec::new();
        }
        self.state = RunState::Stopping;
        let mut drained = Vec::new();
        for entry in self.agenda.extract(now, &mut |_, _| true) {
            if entry.item.is_ended() {
                effects.release.push(entry.item);
            } else if entry.kind == Kind::Resumed {
                effects.cancel.push(entry.item);
            } else {
                drained.push(entry.item);
            }
        }
        effects.cancel.extend(std::mem::take(&mut self.suspended).into_values());
        effects.interrupt.extend(self.roster.running().cloned());
        effects.wake.extend(self.roster.everyone_waiting());
        self.try_terminate(effects);
        drained
    }

    /// Declares the pool terminated.
    pub(crate) fn terminate(&mut self) {
        self.state = RunState::Terminated;
    }

    /// Removes a worker whose thread did not start or has died.
    pub(crate) fn lose(&mut self, worker: WorkerNumber, now: Now, effects: &mut Effects<I>) {
        effects.release.extend(self.roster.dismiss(worker));
        self.see_to_the_queue(now, effects);
        self.try_terminate(effects);
    }

    /// Starts a worker if there are fewer than core, and says whether it did.
    pub(crate) fn prestart(&mut self, effects: &mut Effects<I>) -> bool {
        let is_missing =
            self.state <= RunState::ShuttingDown && self.roster.live() < self.roster.core_size;
        if is_missing {
            self.hire(effects);
        }
        is_missing
    }

    pub(crate) fn set_core_size(&mut self, core_size: usize, effects: &mut Effects<I>) {
        let grows_by = core_size.saturating_sub(self.roster.core_size);
        self.roster.core_size = core_size;
        for _ in 0..grows_by.min(self.agenda.len()) {
            if !self.prestart(effects) {
                break;
            }
        }
        self.reconsider_idle(effects);
    }

    /// Lets idle workers see new limits.
    pub(crate) fn reconsider_idle(&mut self, effects: &mut Effects<I>) {
        if self.roster.is_timed() {
            effects.wake.extend(self.roster.everyone_waiting());
        }
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let live = if self.is_tidying { 0 } else { self.roster.live() };
        PoolStats {
            core_size: self.roster.core_size,
            pool_size: live,
            largest_pool_size: self.roster.largest(),
            active: self.roster.busy(),
            queued: self.agenda.len(),
            suspended: self.suspended.len(),
            completed: self.completed,
            tasks: self.completed
                + (self.roster.busy() + self.agenda.len() + self.suspended.len()) as u64,
        }
    }

    /// Everything the core holds, when the pool itself is dropped.
    pub(crate) fn drain(&mut self, now: Now) -> Vec<I> {
        let queued = self.agenda.extract(now, &mut |_, _| true).into_iter();
        let suspended = std::mem::take(&mut self.suspended).into_values();
        queued.map(|entry| entry.item).chain(suspended).collect()
    }

    fn enter(&mut self, item: I, kind: Kind, due: Due, now: Now, effects: &mut Effects<I>) {
        if !may_run(self.state, kind, due.is_reached(now), self.policy) {
            effects.cancel.push(item);
            self.after_removal(effects);
            return;
        }
        self.put(item, kind, due, effects);
        self.see_to_the_queue(now, effects);
    }

    /// Puts a task into the queue. Nobody is woken.
    fn put(&mut self, item: I, kind: Kind, due: Due, effects: &mut Effects<I>) {
        let ticket = self.agenda.push(due, item.sequence(), Entry { kind, item });
        let Some(entry) = self.agenda.find(ticket) else { return };
        entry.item.set_ticket(ticket);
        // RACE: a cancel between the task becoming `Scheduled` again and this push has found nothing
        // to take out. It had changed the state before, so it is seen here.
        if self.remove_on_cancel && entry.item.is_ended() {
            effects.release.extend(self.agenda.remove(ticket).map(|entry| entry.item));
            self.after_removal(effects);
        }
        self.hire_if_missing(effects);
    }

    /// Takes note of what a worker has done since it last asked.
    pub(crate) fn settle(
        &mut self,
        worker: WorkerNumber,
        done: Done<I>,
        now: Now,
        effects: &mut Effects<I>,
    ) {
        let counts = matches!(done, Done::Ended | Done::Recurs(..));
        self.completed += u64::from(counts);
        if !matches!(done, Done::Nothing) {
            // INVARIANT: the worker still holds the task, so this reference is not the last one and
            // nothing of the user's is dropped under the lock.
            drop(self.roster.vacate(worker));
        }
        if let Done::Recurs(item, due) = done {
            // Nobody is woken for it: its worker is about to look at the queue.
            if may_run(self.state, Kind::Recurring, due.is_reached(now), self.policy) {
                self.put(item, Kind::Recurring, due, effects);
            } else {
                effects.cancel.push(item);
            }
        }
    }

    /// Sees to it that somebody looks at the queue when its first task is due.
    fn see_to_the_queue(&mut self, now: Now, effects: &mut Effects<I>) {
        if let Some(next_look) = self.agenda.next_look(now) {
            effects.wake.extend(self.roster.appoint(next_look));
        }
    }

    fn hire_if_missing(&mut self, effects: &mut Effects<I>) {
        if self.roster.live() < self.roster.core_size.max(1) {
            self.hire(effects);
        }
    }

    /// Wants one more worker. One that had to stay because it was the only one now may leave, and is
    /// told: it waits without a limit.
    fn hire(&mut self, effects: &mut Effects<I>) {
        effects.start.push(self.roster.hire());
        self.reconsider_idle(effects);
    }

    fn leave(&mut self, worker: WorkerNumber, now: Now, effects: &mut Effects<I>) -> Take<I> {
        effects.release.extend(self.roster.dismiss(worker));
        if self.state == RunState::Running {
            self.see_to_the_queue(now, effects);
        } else {
            effects.wake.extend(self.roster.anyone_waiting());
            self.try_terminate(effects);
        }
        Take::Leave
    }

    fn sweep(&mut self, now: Now, effects: &mut Effects<I>) {
        let (state, policy) = (self.state, self.policy);
        let swept = self.agenda.extract(now, &mut |is_due, entry| {
            !may_run(state, entry.kind, is_due, policy) || entry.item.is_ended()
        });
        effects.cancel.extend(swept.into_iter().map(|entry| entry.item));
    }

    /// Whether nothing waits to be run.
    fn is_exhausted(&self) -> bool {
        self.agenda.is_empty() && self.suspended.is_empty()
    }

    /// Lets workers leave for whom there is nothing more to do.
    fn after_removal(&mut self, effects: &mut Effects<I>) {
        if !self.is_exhausted() {
            return;
        }
        if self.state == RunState::ShuttingDown {
            effects.wake.extend(self.roster.everyone_waiting());
            self.try_terminate(effects);
        } else {
            self.reconsider_idle(effects);
        }
    }

    fn try_terminate(&mut self, effects: &mut Effects<I>) {
        let is_over = match self.state {
            RunState::Running | RunState::Terminated => false,
            RunState::ShuttingDown => self.is_exhausted(),
            RunState::Stopping => true,
        };
        if is_over && self.roster.live() == 0 && !self.is_tidying {
            self.is_tidying = true;
            effects.tidy = true;
        }
    }
}
