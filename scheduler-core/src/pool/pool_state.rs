//! The core of a pool behind its lock, and the effects of its steps.
//!
//! A step takes the lock, collects submissions and the counts of dead entries, calls the core, publishes the state for
//! submitters, and unlocks; then it performs the effects.
//!
//! INVARIANT: nothing but the core runs under the lock — no clock, no thread start, no user code.
//! Tasks that the core cancels are dropped and end after unlocking; the core counts them, so that no handle is
//! unresolved, and no body is left, when another thread sees the pool terminated.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::core::{CoreEffects, NextAction, PoolCore, Worker, WorkerLoss};
use super::entry::Entry;
use super::inbox::{FollowUp, Inbox, InboxBatch};
use super::shutdown::RunState;
use super::task_pool::Hooks;
use super::worker::Starter;
use super::workers::{WorkerInfo, WorkerNumber};
use crate::observe::{Announcer, Event};
use crate::sync::{AtomicBool, CachePadded, Mutex, MutexGuard, Ordering};
use crate::task::{
    AnyTask, Cancelled, Interruptible, PoolLink, Run, TaskId, TaskPool, TaskState, run,
};
use crate::time::{Clock, Epoch, EventCount, Now, Tick};
use crate::unwind::{OnDrop, drop_contained};

/// The state that handles, workers and tasks of a pool share.
pub(super) struct PoolState {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) hooks: Hooks,
    pub(super) announcer: Announcer,
    /// True if no hook and no listener observes runs.
    pub(super) is_silent: bool,
    pub(super) thread_name_prefix: String,
    is_precise: bool,
    starter: Mutex<Starter>,
    /// The reason why a worker could not be started last.
    pub(super) refusal: Mutex<String>,
    core: CachePadded<Mutex<Locked>>,
    pub(super) inbox: CachePadded<Mutex<Inbox>>,
    /// True if anything is in the inbox; changed under its lock.
    is_filled: CachePadded<AtomicBool>,
    /// Opened when the pool has terminated.
    pub(super) termination: Arc<EventCount>,
    pub(super) link: Arc<PoolLink>,
    pub(super) me: Weak<PoolState>,
    /// The part that the handles of the pool share, while there is one.
    pub(super) owner: Weak<dyn Any + Send + Sync>,
}

/// The data that the lock of the core guards.
struct Locked {
    core: PoolCore,
    /// Swapped for the batch of the inbox; empty between steps.
    batch: InboxBatch,
    /// True if tasks are to call the pool for each entry that dies, as they know it.
    wants_death_notices: bool,
}

impl PoolState {
    #[expect(clippy::too_many_arguments, reason = "the builder is the only caller")]
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        hooks: Hooks,
        announcer: Announcer,
        thread_name_prefix: String,
        is_precise: bool,
        starter: Starter,
        core: PoolCore,
        keeps_cancelled: bool,
        owner: Weak<dyn Any + Send + Sync>,
    ) -> Arc<Self> {
        let is_heard = announcer.is_heard();
        let slack = core.timer_slack.slack;
        let locked = Locked { core, batch: InboxBatch::default(), wants_death_notices: false };
        let state = Arc::new_cyclic(|me: &Weak<Self>| {
            let pool = Weak::clone(me) as Weak<dyn TaskPool>;
            Self {
                link: PoolLink::new(pool, Arc::clone(&clock), keeps_cancelled, is_heard),
                clock,
                is_silent: !is_heard && !hooks.surround_runs(),
                hooks,
                announcer,
                thread_name_prefix,
                is_precise,
                starter: Mutex::new(starter),
                refusal: Mutex::new(String::new()),
                core: CachePadded(Mutex::new(locked)),
                inbox: CachePadded(Mutex::new(Inbox::new(slack))),
                is_filled: CachePadded(AtomicBool::new(false)),
                termination: Arc::new(EventCount::new()),
                me: Weak::clone(me),
                owner,
            }
        });
        // So that submitters know how the core stands.
        state.step(|_, _| ());
        state
    }

    pub(super) fn address(&self) -> usize {
        self.me.as_ptr().addr()
    }

    /// Takes one step of the core under the lock, and performs what it asks for after unlocking.
    pub(super) fn step<R>(&self, step: impl FnOnce(&mut PoolCore, &mut CoreEffects) -> R) -> R {
        self.step_locked(self.core.lock(), &mut CoreEffects::default(), step).0
    }

    /// As [`step`](Self::step), and closes the pool to tasks, or to calls, too.
    ///
    /// RACE: the inbox is closed before the core, which sees all that it has taken: what came in between would be lost.
    fn close<R>(
        &self,
        takes_calls: bool,
        step: impl FnOnce(&mut PoolCore, &mut CoreEffects) -> R,
    ) -> R {
        let locked = self.core.lock();
        self.inbox.lock().close(takes_calls);
        self.step_locked(locked, &mut CoreEffects::default(), step).0
    }

    /// As [`step`](Self::step), with the lock held; also returns true if each worker to start was started.
    fn step_locked<R>(
        &self,
        mut locked: MutexGuard<'_, Locked>,
        effects: &mut CoreEffects,
        step: impl FnOnce(&mut PoolCore, &mut CoreEffects) -> R,
    ) -> (R, bool) {
        self.collect(&mut locked, effects);
        let result = step(&mut locked.core, effects);
        self.publish(&mut locked, effects);
        drop(locked);
        (result, effects.is_empty() || self.perform(effects))
    }

    /// Takes the first entry for a worker that goes from one task to the next, where nothing else is to be done.
    #[inline(always)]
    pub(super) fn try_take_fast(&self, worker: &mut Worker) -> Option<Entry> {
        let mut locked = self.core.lock();
        self.collect_inbox(&mut locked);
        let is_quiet = self.link.dead.is_quiet(locked.wants_death_notices);
        if is_quiet { locked.core.try_take_fast(worker) } else { None }
    }

    /// The next action of a worker.
    pub(super) fn next(
        &self,
        worker: &mut Worker,
        now: Option<Now>,
        wake_latency: Option<Duration>,
        effects: &mut CoreEffects,
    ) -> NextAction {
        let next = |core: &mut PoolCore, effects: &mut CoreEffects| {
            if let Some(wake_latency) = wake_latency {
                core.timer_slack.wake_latency = wake_latency;
            }
            core.next(worker, now, effects)
        };
        self.step_locked(self.core.lock(), effects, next).0
    }

    /// The time that a wake-up takes; none if the pool waits precisely.
    pub(super) fn wake_latency(&self) -> Option<Duration> {
        (!self.is_precise).then(|| self.clock.wake_latency())
    }

    /// Brings to the core what submitters and cancellers left for it.
    #[inline]
    fn collect(&self, locked: &mut Locked, effects: &mut CoreEffects) {
        self.collect_inbox(locked);
        if !self.link.dead.is_quiet(locked.wants_death_notices) {
            self.collect_dead(locked, effects);
        }
    }

    #[inline]
    fn collect_inbox(&self, locked: &mut Locked) {
        // ORDERING: acquire, and stored under the lock of the inbox: a submission that happened before this look is seen.
        if self.is_filled.load(Ordering::Acquire) {
            self.collect_filled(locked);
        }
    }

    fn collect_filled(&self, locked: &mut Locked) {
        let Locked { core, batch, .. } = locked;
        let wake_before = {
            let mut inbox = self.inbox.lock();
            self.is_filled.store(false, Ordering::Release);
            inbox.collect(batch)
        };
        core.enqueue(batch, wake_before);
    }

    #[cold]
    fn collect_dead(&self, locked: &mut Locked, effects: &mut CoreEffects) {
        let dead = self.link.dead.take(locked.wants_death_notices);
        locked.core.note_dead(dead, effects);
    }

    /// Publishes the state of the core to submitters and cancellers.
    ///
    /// RACE: a submission may have come without a wake-up since the last look into the inbox, because a worker was to look in time.
    /// If none does any more, the core collects the submission before it publishes.
    #[inline]
    fn publish(&self, locked: &mut Locked, effects: &mut CoreEffects) {
        loop {
            let wants_death_notices = locked.core.wants_death_notices();
            if wants_death_notices != locked.wants_death_notices {
                locked.wants_death_notices = wants_death_notices;
                locked.core.note_dead(self.link.dead.take(wants_death_notices), effects);
                continue;
            }
            let submit_state = locked.core.submit_state();
            if submit_state == locked.core.submit_state {
                return;
            }
            if self.inbox.lock().set_submit_state(submit_state) {
                locked.core.submit_state = submit_state;
                return;
            }
            self.collect(locked, effects);
            locked.core.handle_late_submissions(effects);
        }
    }

    /// Notes that something is in the inbox; called under its lock.
    #[inline]
    pub(super) fn note_filled(&self) {
        self.is_filled.store(true, Ordering::Release);
    }

    /// Does what a submission asks of its submitter; returns true if each worker to start was started.
    #[inline]
    pub(super) fn run_follow_up(&self, follow_up: FollowUp) -> bool {
        let step: fn(&mut PoolCore, &mut CoreEffects) = match follow_up {
            FollowUp::Nothing => return true,
            // Any step collects.
            FollowUp::Collect => |_, _| (),
            FollowUp::EnsureWorkers => PoolCore::ensure_workers,
        };
        self.step_locked(self.core.lock(), &mut CoreEffects::default(), step).1
    }

    pub(super) fn draw_id(&self) -> TaskId {
        self.inbox.lock().draw_id()
    }

    pub(super) fn state(&self) -> RunState {
        self.step(|core, _| core.state)
    }

    pub(super) fn shutdown(&self) {
        let now = Now::read(&*self.clock);
        self.close(true, |core, effects| core.shutdown(now, effects));
    }

    pub(super) fn shutdown_now(&self) -> Vec<Arc<dyn AnyTask>> {
        let now = Now::read(&*self.clock);
        self.close(false, |core, effects| core.shutdown_now(now, effects))
    }

    /// Starts a worker if there are fewer than the core size; returns true if it did.
    pub(super) fn prestart(&self) -> bool {
        let prestart = |core: &mut PoolCore, effects: &mut CoreEffects| core.prestart(1, effects);
        let (count, are_started) =
            self.step_locked(self.core.lock(), &mut CoreEffects::default(), prestart);
        count > 0 && are_started
    }

    /// Waits until the pool has terminated, `limit` has passed, or the calling run is asked to stop.
    pub(super) fn await_termination(&self, limit: Option<Duration>, run: Option<&Run>) -> bool {
        let until = limit.map(|limit| self.clock.now() + limit);
        loop {
            let seen = self.termination.epoch();
            if self.state() == RunState::Terminated {
                return true;
            }
            if until.is_some_and(|until| self.clock.now() >= until)
                || run.is_some_and(Run::is_cancelled)
            {
                return false;
            }
            self.clock.wait(&self.termination, seen, until);
        }
    }

    /// A worker waits at its gate.
    pub(super) fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Tick) {
        let until = Some(until).filter(|until| *until != Tick::MAX);
        if self.is_precise {
            self.clock.wait_precisely(gate, seen, until);
        } else {
            self.clock.wait(gate, seen, until);
        }
    }

    pub(super) fn starter(&self) -> Starter {
        self.starter.lock().clone()
    }

    pub(super) fn replace_starter(&self, starter: Starter) {
        let old = std::mem::replace(&mut *self.starter.lock(), starter);
        drop_contained(old);
    }

    pub(super) fn worker_info(&self, worker: WorkerNumber) -> Option<WorkerInfo> {
        self.core.lock().core.workers.find(worker).cloned()
    }

    pub(super) fn worker_started(&self, worker: WorkerNumber) {
        self.announcer.announce(&Event::WorkerStarted { worker });
    }

    pub(super) fn worker_left(&self, worker: WorkerNumber) {
        self.announcer.announce(&Event::WorkerStopped { worker });
    }

    /// Handles a worker that did not start, or whose thread has died.
    pub(super) fn lose_worker(&self, loss: WorkerLoss) {
        self.step(|core, effects| core.lose_worker(&loss, effects));
    }

    pub(super) fn announce_worker_lost(&self, worker: WorkerNumber, reason: &str) {
        self.announcer.announce(&Event::WorkerRefused { worker, reason });
    }

    pub(super) fn announce_end(&self, task: &dyn Interruptible, state: TaskState) {
        if task.is_call() || !self.announcer.is_heard() {
            return;
        }
        let (id, name) = (task.id(), task.name());
        self.announcer.announce(&Event::TaskEnded { id, name, state });
    }

    /// Returns true if the pool cannot end before the calling thread goes on: it executes a task of the pool, is one of
    /// its workers (also in a callback), or drops tasks that it cancels.
    pub(super) fn would_deadlock(&self, run: Option<&Run>) -> bool {
        let me = self.address();
        run.is_some_and(|run| run.belongs_to(me)) || run::holds_up(me, None) || run::works_for(me)
    }
}

/// The effects of a step.
impl PoolState {
    /// Does what a step has asked for; returns true if each worker to start was started.
    fn perform(&self, effects: &mut CoreEffects) -> bool {
        for gate in effects.wake.drain(..) {
            gate.open();
        }
        let mut are_started = true;
        for worker in effects.start.drain(..) {
            are_started &= self.start_worker(worker);
        }
        if std::mem::take(&mut effects.stop) {
            self.link.stop();
        }
        if !effects.cancel.is_empty() {
            self.cancel_all(std::mem::take(&mut effects.cancel));
        }
        if !effects.set_back.is_empty() {
            self.call_set_back(std::mem::take(&mut effects.set_back));
        }
        // The vector, too: one that a sweep has filled is large.
        drop(std::mem::take(&mut effects.release));
        if std::mem::take(&mut effects.terminate) {
            let ends = [(self.address(), None)];
            run::hold_up(&ends, || self.hooks.terminated(&self.announcer));
            self.core.lock().core.terminated();
            self.termination.open();
        }
        are_started
    }

    /// Starts a worker's thread; returns true if that worked.
    fn start_worker(&self, number: WorkerNumber) -> bool {
        let Some(me) = self.me.upgrade() else { return false };
        let name = format!("{}{number}", self.thread_name_prefix);
        let Err(reason) = self.starter().start(me, name, number) else {
            return true;
        };
        self.announce_worker_lost(number, &reason);
        *self.refusal.lock() = reason;
        false
    }

    pub(super) fn notify_cancelled(&self, task: &dyn Interruptible, cancelled: Cancelled) {
        if cancelled.notify() {
            self.announce_end(task, TaskState::Cancelled);
        }
    }

    /// Cancels tasks that the core has let go of. All have ended before the first waiter is notified, so that a
    /// callback of one can wait for another.
    fn cancel_all(&self, tasks: Vec<Arc<dyn Interruptible>>) {
        let count = tasks.len();
        let pool = self.address();
        let ends = tasks.iter().map(|task| (pool, Some(task.id())));
        let ends: Vec<_> = ends.chain([(pool, None)]).collect();
        let cancel = |task: Arc<dyn Interruptible>| Some((Arc::clone(&task).cancel()?, task));
        let ended: Vec<_> = run::hold_up(&ends, || tasks.into_iter().filter_map(cancel).collect());
        self.step(|core, effects| core.calls_done(count, effects));
        for (cancelled, task) in ended {
            self.notify_cancelled(&*task, cancelled);
        }
    }

    /// Calls timers because the wall clock was set back.
    fn call_set_back(&self, timers: Vec<Arc<dyn Interruptible>>) {
        let left = RefCell::new(VecDeque::from(timers));
        // The rest is cancelled if the thread dies before, for example of a clock that panics.
        let _rest = OnDrop(|| {
            for timer in left.take() {
                self.cancel(timer);
                self.step(|core, effects| core.calls_done(1, effects));
            }
        });
        while !left.borrow().is_empty() {
            let now = Now::read(&*self.clock);
            let timer = left.borrow_mut().pop_front();
            if let Some(timer) = timer {
                timer.clock_set_back(now);
                self.step(|core, effects| core.calls_done(1, effects));
            }
        }
    }
}

/// The pool of a task or timer, while it exists.
pub(super) fn state_of(link: &PoolLink) -> Option<Arc<PoolState>> {
    let pool: Arc<dyn Any + Send + Sync> = link.pool()?;
    pool.downcast().ok()
}
