//! The pool without threads, locks, clocks and user code; its effects.
//!
//! Every method is a step: it takes what happened and the time, changes the state, and notes what
//! is to be done after unlocking ([`CoreEffects`]). A step never blocks, and never calls back.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::entry::{Entry, Item, WallQueue, key, kind_of};
use super::inbox::{InboxBatch, SubmitState};
use super::shutdown::{EntryKind, RunState, ShutdownPolicy, may_run};
use super::workers::{Sleepers, TimerSlack, WorkerInfo, WorkerNumber, Workers};
use crate::queue::Queue;
use crate::task::{AnyTask, Interruptible, NothingToRun, TaskId};
use crate::time::{EventCount, Now, Tick};

/// The state of a pool.
#[derive(Debug)]
pub(super) struct PoolCore {
    pub(super) queue: Queue<Item>,
    pub(super) wall_queue: WallQueue,
    /// Tasks whose run waits for its waker, by number.
    pub(super) suspended: BTreeMap<TaskId, Arc<dyn AnyTask>>,
    /// The number of entries of the queue that are alarms.
    pub(super) alarms: usize,
    /// The number of dead entries of the queue, alarms and others. Briefly negative: an entry may be removed before its death
    /// is counted.
    pub(super) dead_alarms: i64,
    pub(super) dead_others: i64,
    /// The number of sweeps.
    pub(super) sweeps: u64,
    /// The number of tasks that are being cancelled or called after unlocking: the pool does not end before that is done.
    pub(super) calls: usize,
    pub(super) workers: Workers,
    pub(super) sleepers: Sleepers,
    pub(super) state: RunState,
    pub(super) is_terminating: bool,
    pub(super) policy: ShutdownPolicy,
    pub(super) timer_slack: TimerSlack,
    /// The latest time that is known to have come.
    pub(super) known: Tick,
    /// The state that submitters read without this lock.
    pub(super) submit_state: SubmitState,
}

/// A worker as it comes to the core.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) info: WorkerInfo,
    /// Since when it has had nothing to run.
    pub(super) idle_since: Option<Tick>,
    /// The value of `idle_since` before it took an entry. Restored if that entry turns out to be dead.
    idle_since_before: Option<Tick>,
    /// True if it is, or was, among the sleepers.
    pub(super) is_parked: bool,
    pub(super) finished: Finished,
}

/// The work that a worker has finished, for the core to settle.
#[derive(Debug)]
pub(super) enum Finished {
    Nothing,
    /// It has run a task that is due again.
    Requeue(Arc<dyn AnyTask>, Tick),
    /// It took an entry, and there was nothing to run.
    FoundNothing {
        kind: EntryKind,
        nothing: NothingToRun,
    },
}

/// The next action of a worker.
#[derive(Debug)]
pub(super) enum NextAction {
    Run(Entry),
    /// Wait to be woken, at most until this time.
    Wait(Tick),
    Leave,
    /// Read the clock and ask again.
    ReadClock,
    /// Ask once more, when what is asked for is done.
    ///
    /// RACE: a step that asks for calls lets no worker leave or sleep. A worker that left there could report it after another
    /// one has declared the end of the pool; one that slept would count as free while it still makes slow calls.
    Retry,
}

impl Worker {
    pub(super) fn new(info: WorkerInfo) -> Self {
        Self {
            info,
            idle_since: None,
            idle_since_before: None,
            is_parked: false,
            finished: Finished::Nothing,
        }
    }

    /// Returns true if it goes from one task to the next.
    #[inline]
    pub(super) fn has_nothing_to_settle(&self) -> bool {
        !self.is_parked && matches!(self.finished, Finished::Nothing)
    }
}

impl PoolCore {
    pub(super) fn new(workers: Workers, policy: ShutdownPolicy, timer_slack: TimerSlack) -> Self {
        Self {
            queue: Queue::default(),
            wall_queue: WallQueue::default(),
            suspended: BTreeMap::new(),
            alarms: 0,
            dead_alarms: 0,
            dead_others: 0,
            sweeps: 0,
            calls: 0,
            workers,
            sleepers: Sleepers::default(),
            state: RunState::Running,
            is_terminating: false,
            policy,
            timer_slack,
            known: Tick::ZERO,
            submit_state: SubmitState::default(),
        }
    }

    /// Takes the first entry for a worker that goes from one task to the next, where nothing else is to be done.
    #[inline]
    pub(super) fn try_take_fast(&mut self, worker: &mut Worker) -> Option<Entry> {
        let is_plain = self.sleepers.is_empty()
            && self.wall_queue.is_empty()
            && self.state < RunState::Stopping;
        let entry = if is_plain { self.queue.pop(self.known.as_nanos())? } else { return None };
        Some(self.begin(worker, entry))
    }

    /// Settles what a worker brings, and returns what it does next. `now` is none where the clock was not read.
    pub(super) fn next(
        &mut self,
        worker: &mut Worker,
        now: Option<Now>,
        effects: &mut CoreEffects,
    ) -> NextAction {
        if std::mem::take(&mut worker.is_parked) {
            self.sleepers.unpark(worker.info.number);
        }
        self.settle(worker, effects);
        if effects.calls() > 0 {
            return NextAction::Retry;
        }
        if self.state >= RunState::Stopping {
            return self.leave(worker, effects);
        }
        // A timer of the wall clock may be first.
        if self.wall_queue.is_empty()
            && let Some(entry) = self.queue.pop(self.known.as_nanos())
        {
            return self.take(worker, entry, effects);
        }
        let Some(now) = now else { return NextAction::ReadClock };
        self.known = self.known.max(now.tick);
        self.call_if_set_back(now, effects);
        if effects.calls() > 0 {
            self.ensure_lookout(effects);
            return NextAction::Retry;
        }
        if let Some(entry) = self.pop(now) {
            return self.take(worker, entry, effects);
        }
        self.park_or_leave(worker, now, effects)
    }

    /// Takes the first entry that is due on either clock.
    fn pop(&mut self, now: Now) -> Option<Entry> {
        if let Some(wall) = self.wall_queue.first_due(now) {
            let tick = self.queue.first_due(now.tick.as_nanos());
            if tick.is_none_or(|tick| wall < tick) {
                return self.wall_queue.pop();
            }
        }
        self.queue.pop(now.tick.as_nanos())
    }

    fn take(&mut self, worker: &mut Worker, entry: Entry, effects: &mut CoreEffects) -> NextAction {
        if !self.sleepers.is_empty() {
            self.cover_next(effects);
        }
        NextAction::Run(self.begin(worker, entry))
    }

    #[inline]
    fn begin(&mut self, worker: &mut Worker, entry: Entry) -> Entry {
        let kind = kind_of(entry.key);
        self.alarms -= usize::from(kind == EntryKind::Alarm);
        worker.info.tally.begin(kind);
        worker.idle_since_before = worker.idle_since.take();
        entry
    }

    /// Lets a worker leave that may, or sleep.
    fn park_or_leave(
        &mut self,
        worker: &mut Worker,
        now: Now,
        effects: &mut CoreEffects,
    ) -> NextAction {
        let may_leave = self.workers.live() > 1 || self.is_empty();
        let idle_since = *worker.idle_since.get_or_insert(now.tick);
        let leaves_at = if may_leave { self.workers.leaves_at(idle_since) } else { Tick::MAX };
        let is_over = self.state == RunState::ShuttingDown && self.is_exhausted();
        if is_over || leaves_at != Tick::MAX && now.tick >= leaves_at {
            return self.leave(worker, effects);
        }
        self.sweep_before_sleep(effects);
        let [first, second] = self.looks(now);
        let first = self.timer_slack.wait(now.tick, first);
        let earliest = first.min(self.sleepers.first_look());
        let second = self.timer_slack.wait(now.tick, self.timer_slack.look_after(earliest, second));
        let WorkerInfo { number, gate, .. } = &worker.info;
        worker.is_parked = true;
        NextAction::Wait(self.sleepers.park(*number, gate, first, second).min(leaves_at))
    }

    fn leave(&mut self, worker: &Worker, effects: &mut CoreEffects) -> NextAction {
        self.workers.remove(worker.info.number);
        if self.state == RunState::Running {
            self.ensure_lookout(effects);
        } else {
            self.sleepers.wake_one(&mut effects.wake);
            self.try_terminate(effects);
        }
        NextAction::Leave
    }

    /// When the queue is to be looked at, and when after that.
    fn looks(&self, now: Now) -> [Tick; 2] {
        let [first, second] = self.queue.first_two().map(|due| self.timer_slack.look(due));
        let wall = self.wall_queue.look(now, self.timer_slack.slack);
        if wall < first { [wall, first] } else { [first, second.min(wall)] }
    }

    /// When the first entry is to be looked at, by the last reading of the clocks.
    fn first_entry_look(&self) -> Tick {
        let wall = self.wall_queue.look_by_last_offset(self.known, self.timer_slack.slack);
        wall.min(self.timer_slack.look(self.queue.first_two()[0]))
    }

    /// Wakes a sleeper, unless one looks in time for the first entry. Without sleepers a busy worker looks before it sleeps.
    fn ensure_lookout(&mut self, effects: &mut CoreEffects) {
        if !self.sleepers.is_empty() {
            let look = self.first_entry_look();
            self.sleepers.wake_for(look, &mut effects.wake);
        }
    }

    /// As [`ensure_lookout`](Self::ensure_lookout), after a worker took an entry. It wakes none if that worker will probably
    /// take the next entry, too.
    fn cover_next(&mut self, effects: &mut CoreEffects) {
        let look = self.first_entry_look();
        if look != Tick::MAX {
            let look = self.timer_slack.look_after(self.known, look);
            self.sleepers.wake_for(look, &mut effects.wake);
        }
    }

    /// Starts a worker if there are too few, and ensures that one looks in time.
    pub(super) fn ensure_workers(&mut self, effects: &mut CoreEffects) {
        if self.wants_worker() {
            self.start_worker(effects);
        }
        self.ensure_lookout(effects);
    }

    /// Handles submissions that came during a step, and were judged by the state before it.
    pub(super) fn handle_late_submissions(&mut self, effects: &mut CoreEffects) {
        if self.is_terminating {
            self.remove_where(effects, |_| true);
        } else {
            self.ensure_workers(effects);
        }
    }

    /// Returns true if there are fewer workers than there should be.
    pub(super) fn wants_worker(&self) -> bool {
        self.state <= RunState::ShuttingDown && !self.is_terminating && self.workers.is_short()
    }

    /// Starts one more worker. A former only worker, which waits without a limit because it had to stay, is woken: it may leave
    /// now.
    pub(super) fn start_worker(&mut self, effects: &mut CoreEffects) {
        effects.start.push(self.workers.add());
        self.reconsider_idle(effects);
    }

    /// Wakes idle workers, so that they see new limits.
    pub(super) fn reconsider_idle(&mut self, effects: &mut CoreEffects) {
        if self.workers.is_timed() {
            self.sleepers.wake_all(&mut effects.wake);
        }
    }

    fn settle(&mut self, worker: &mut Worker, effects: &mut CoreEffects) {
        match std::mem::replace(&mut worker.finished, Finished::Nothing) {
            Finished::Nothing => {}
            Finished::FoundNothing { kind, nothing } => {
                worker.info.tally.end(kind, false);
                if !nothing.was_counted {
                    worker.idle_since = worker.idle_since_before;
                    self.count_dead(kind, -1);
                }
                self.after_removal(effects);
            }
            Finished::Requeue(task, due) => self.requeue(task, due, effects),
        }
    }

    /// Takes a task back in that has been run and is due again.
    pub(super) fn requeue(&mut self, task: Arc<dyn AnyTask>, due: Tick, effects: &mut CoreEffects) {
        if !may_run(self.state, EntryKind::Recurring, false, self.policy) {
            self.cancel(task, effects);
        } else if task.enqueue() {
            let key = key(due.as_nanos(), task.id(), EntryKind::Recurring);
            self.queue.push(Entry { key, item: task }, self.known.as_nanos());
            if self.workers.is_short() {
                self.start_worker(effects);
            }
        } else {
            // It was cancelled after its run.
            effects.release.push(task);
            self.after_removal(effects);
        }
    }

    /// Puts submissions into the queue. Submitters have left this `wake_before`.
    pub(super) fn enqueue(&mut self, batch: &mut InboxBatch, wake_before: Tick) {
        self.known = self.known.max(batch.now);
        self.submit_state.wake_before = wake_before;
        if batch.entries.len() == 1 {
            // As where a task submits the next.
            batch.entries.pop().into_iter().for_each(|entry| self.enter_one(entry));
        } else {
            batch.entries.drain(..).for_each(|entry| self.enter_one(entry));
        }
        if !batch.wall_queue.is_empty() {
            let entries = batch.wall_queue.drain(..);
            entries.for_each(|(entry, offset)| self.wall_queue.push(entry, offset));
        }
    }

    #[inline]
    fn enter_one(&mut self, entry: Entry) {
        self.alarms += usize::from(kind_of(entry.key) == EntryKind::Alarm);
        self.queue.push(entry, self.known.as_nanos());
    }

    /// Notes that the future of a worker's run is pending.
    pub(super) fn suspend(&mut self, task: &Arc<dyn AnyTask>, effects: &mut CoreEffects) {
        self.suspended.insert(task.id(), Arc::clone(task));
        if self.state >= RunState::Stopping {
            self.cancel(Arc::<dyn AnyTask>::clone(task), effects);
        }
    }

    /// Puts a suspended run into the queue, to be polled on.
    pub(super) fn resume(&mut self, task: Arc<dyn AnyTask>, now: Tick, effects: &mut CoreEffects) {
        let Some(suspended) = self.suspended.remove(&task.id()) else {
            effects.release.push(task);
            return;
        };
        effects.release.push(suspended);
        if self.state >= RunState::Stopping || !task.enqueue() {
            effects.release.push(task);
            self.after_removal(effects);
            return;
        }
        self.known = self.known.max(now);
        let key = key(now.as_nanos(), task.id(), EntryKind::Resumed);
        self.queue.push(Entry { key, item: task }, self.known.as_nanos());
        self.ensure_workers(effects);
    }

    /// Forgets a suspended run whose task was cancelled.
    pub(super) fn forget_suspended(&mut self, task: TaskId, effects: &mut CoreEffects) {
        if let Some(task) = self.suspended.remove(&task) {
            effects.release.push(task);
        }
        self.after_removal(effects);
    }

    /// Takes timers out that wait for a time ahead on a wall clock that was set back.
    fn call_if_set_back(&mut self, now: Now, effects: &mut CoreEffects) {
        for entry in self.wall_queue.take_if_set_back(now) {
            match self.withdraw(entry) {
                Ok(timer) => {
                    self.calls += 1;
                    effects.set_back.push(timer);
                }
                Err(item) => effects.release.push(item),
            }
        }
    }

    /// Has a task or timer cancelled that the core has let go of.
    pub(super) fn cancel(&mut self, task: Arc<dyn Interruptible>, effects: &mut CoreEffects) {
        self.calls += 1;
        effects.cancel.push(task);
    }

    /// Notes that so many calls were made.
    pub(super) fn calls_done(&mut self, count: usize, effects: &mut CoreEffects) {
        self.calls -= count;
        self.after_removal(effects);
        self.try_terminate(effects);
    }
}

/// Workers that come and go.
impl PoolCore {
    /// Removes a worker whose thread did not start, or has died; the latter is replaced if there is work.
    pub(super) fn lose_worker(&mut self, worker: &WorkerLoss, effects: &mut CoreEffects) {
        if worker.was_parked {
            self.sleepers.unpark(worker.number);
        }
        if !self.workers.remove(worker.number) {
            return;
        }
        if worker.is_replaced && self.state <= RunState::ShuttingDown && !self.is_empty() {
            self.start_worker(effects);
        }
        self.ensure_lookout(effects);
        if self.workers.live() == 0 {
            self.abandon_what_waits(effects);
        }
        if self.state != RunState::Running {
            self.sleepers.wake_one(&mut effects.wake);
        }
        self.try_terminate(effects);
    }

    /// Starts workers up to the core size, at most `limit`; returns how many.
    ///
    /// A pool that is shut down starts none that would leave at once.
    pub(super) fn prestart(&mut self, limit: usize, effects: &mut CoreEffects) -> usize {
        let has_work = match self.state {
            RunState::Running => true,
            RunState::ShuttingDown => !self.is_exhausted(),
            RunState::Stopping | RunState::Terminated => false,
        };
        let missing = self.workers.core_size.saturating_sub(self.workers.live());
        let count = if has_work { missing.min(limit) } else { 0 };
        (0..count).for_each(|_| self.start_worker(effects));
        count
    }

    pub(super) fn set_core_size(&mut self, core_size: usize, effects: &mut CoreEffects) {
        let grows_by = core_size.saturating_sub(self.workers.core_size);
        self.workers.core_size = core_size;
        self.prestart(grows_by.min(self.queued()), effects);
        self.reconsider_idle(effects);
    }
}

/// A worker that is gone without having left.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerLoss {
    pub(super) number: WorkerNumber,
    pub(super) was_parked: bool,
    pub(super) is_replaced: bool,
}

/// Actions to perform after unlocking.
///
/// The core can only ask for these things. So user code — destructors, wakers, callbacks — cannot
/// run under the lock: there is no line in the core that could run it.
#[derive(Debug, Default)]
pub(super) struct CoreEffects {
    /// Workers to wake.
    pub(super) wake: Vec<Arc<EventCount>>,
    /// Workers whose threads are to be started.
    pub(super) start: Vec<WorkerNumber>,
    /// Tasks and timers that will not run; their handles become cancelled. The pool does not terminate before they are.
    pub(super) cancel: Vec<Arc<dyn Interruptible>>,
    /// Timers that are to learn that the wall clock was set back. The pool does not terminate before they have.
    pub(super) set_back: Vec<Arc<dyn Interruptible>>,
    /// Tasks that the core no longer holds.
    pub(super) release: Vec<Item>,
    /// True if the pool stops, so that runs are to be asked to stop.
    pub(super) stop: bool,
    /// True if nothing is left, and the pool is to be declared terminated.
    pub(super) terminate: bool,
}

impl CoreEffects {
    /// Returns true if there is nothing to do.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.wake.is_empty()
            && self.start.is_empty()
            && self.cancel.is_empty()
            && self.set_back.is_empty()
            && self.release.is_empty()
            && !self.stop
            && !self.terminate
    }

    /// The number of calls that the core waits for.
    pub(super) fn calls(&self) -> usize {
        self.cancel.len() + self.set_back.len()
    }
}
