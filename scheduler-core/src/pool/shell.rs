//! The core behind its lock: takes the lock, calls the core, unlocks, performs the effects.
//!
//! INVARIANT: nothing but the core runs under the lock — no clock, no thread start, no user code.
//! Tasks that the core cancels are dropped and end after unlocking; the core counts them, so that no handle is
//! unresolved, and no body is left, when another thread sees the pool terminated.

use std::any::Any;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::activity::{Activity, Running};
use super::core::Core;
use super::entry::{AnyItem, Entry, disarmed};
use super::hooks::Hooks;
use super::locked::Locked;
use super::ready::Ready;
use super::shared_worker::SharedWorker;
use super::shutdown::RunState;
use super::staging::Staging;
use super::step::{Done, Effects, Take};
use super::workers::WorkerNumber;
use crate::error::Failure;
use crate::observe::{Announcer, Event};
use crate::sync::{Apart, AtomicU64, Mutex, Ordering, UnexploredU64, planted};
use crate::task::arena::Arena;
use crate::task::{AnyTask, Header, Home, Link, Run, TaskId, TaskState, current};
use crate::time::{Clock, Due, Epoch, Gate, Now, Tick};
use crate::unwind::drop_contained;
use scheduler_queue::Key;

/// The state that handles, workers and tasks of a pool share.
pub(super) struct Shell {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) hooks: Hooks,
    pub(super) announcer: Announcer,
    /// Whether no hook and no listener observes runs.
    pub(super) is_silent: bool,
    pub(super) thread_name_prefix: String,
    is_precise: bool,
    /// How long a task may wait for the worker that has submitted it, in nanoseconds: a wake-up, as it was last.
    wake_up: UnexploredU64,
    starter: Mutex<Arc<dyn StartWorker>>,
    /// Why the last worker was refused that was.
    pub(super) refusal: Mutex<String>,
    pub(super) locked: Apart<Mutex<Locked>>,
    /// Its lock is taken under the one before, never the other way round.
    pub(super) ready: Arc<Ready<Entry<AnyItem>>>,
    /// Its lock is taken under that of the pool, never the other way round.
    pub(super) staging: Apart<Staging<Entry<AnyItem>>>,
    sequence: Apart<AtomicU64>,
    /// Opened when the pool has terminated.
    pub(super) termination: Arc<Gate>,
    pub(super) me: Weak<Shell>,
    /// What the user's handles to the pool share, while there is one.
    pub(super) owner: Weak<dyn Any + Send + Sync>,
    /// Makes the tasks of this pool.
    pub(super) arena: Arena,
}

/// What starts the workers of a pool.
pub(super) trait StartWorker: Any + Send + Sync {
    /// Starts a worker, or returns why not.
    fn start(&self, shell: Arc<Shell>, name: String, number: WorkerNumber) -> Result<(), String>;
}

/// What a shell is made of.
pub(super) struct Parts {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) hooks: Hooks,
    pub(super) announcer: Announcer,
    pub(super) thread_name_prefix: String,
    pub(super) is_precise: bool,
    pub(super) starter: Arc<dyn StartWorker>,
    pub(super) core: Core<AnyItem>,
    pub(super) owner: Weak<dyn Any + Send + Sync>,
}

impl Shell {
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        let is_silent = !parts.announcer.is_heard() && !parts.hooks.surround_runs();
        Arc::new_cyclic(|me| Self {
            clock: parts.clock,
            is_silent,
            hooks: parts.hooks,
            announcer: parts.announcer,
            thread_name_prefix: parts.thread_name_prefix,
            is_precise: parts.is_precise,
            wake_up: UnexploredU64::new(0),
            starter: Mutex::new(parts.starter),
            refusal: Mutex::new(String::new()),
            ready: Arc::clone(parts.core.ready()),
            staging: Apart(Staging::new()),
            locked: Apart(Mutex::new(Locked::new(parts.core))),
            sequence: Apart(AtomicU64::new(0)),
            termination: Arc::new(Gate::new()),
            me: Weak::clone(me),
            owner: parts.owner,
            arena: Arena::new(Link(Weak::clone(me) as Weak<dyn Home>)),
        })
    }

    /// Reads the core, without changing it.
    pub(super) fn look<R>(&self, look: impl FnOnce(&Core<AnyItem>) -> R) -> R {
        self.alter(|core, _| look(core))
    }

    /// Claims the first task in line, for a worker that goes from one task to the next; for a timer also the time it
    /// was armed for.
    #[inline]
    pub(super) fn claim(&self, activity: &Activity, now: Now) -> Option<(AnyItem, Option<Due>)> {
        let note = |key: Key, entry: &Entry<AnyItem>| {
            activity.begin(Running { kind: entry.kind, sequence: key.sequence });
            disarmed(entry.kind, &entry.item)
        };
        self.ready.claim(now, note).map(|(entry, armed)| (entry.item, armed))
    }

    /// Reads how long a wake-up takes, and keeps it; none if the pool waits precisely.
    fn learn(&self) -> Option<Duration> {
        let wake_up = if self.is_precise { return None } else { self.clock.wake_up() };
        let nanos = u64::try_from(wake_up.as_nanos()).unwrap_or(u64::MAX);
        // ORDERING: relaxed, it is a figure.
        self.wake_up.store(nanos, Ordering::Relaxed);
        Some(wake_up)
    }

    /// How long a task of the calling thread may wait: a worker looks at the queue after its run.
    #[inline]
    pub(super) fn grace(&self) -> Duration {
        let nanos =
            if self.is_called_by_worker() { self.wake_up.load(Ordering::Relaxed) } else { 0 };
        Duration::from_nanos(nanos)
    }

    /// What a worker is to do next.
    pub(super) fn next(
        &self,
        worker: WorkerNumber,
        is_awake: bool,
        done: Done<AnyItem>,
        now: Now,
    ) -> Take<AnyItem> {
        let wake_up = if is_awake { None } else { self.learn() };
        let (mut locked, mut effects) = (self.locked.lock(), Effects::new());
        if let Some(wake_up) = wake_up {
            locked.core.lateness.wake_up = wake_up;
        }
        self.collect(&mut locked, &mut effects);
        let next = |core: &mut Core<AnyItem>, effects: &mut Effects<AnyItem>| {
            core.next(worker, done, now, effects)
        };
        self.alter_collected(locked, effects, next).0
    }

    /// Starts a worker if there are fewer than the core size; returns true if it did.
    pub(super) fn prestart(&self) -> bool {
        self.alter_and_count(|core, effects| core.prestart(1, effects)).1.started > 0
    }

    /// Takes a task back in that has been run and is due again.
    pub(super) fn settle(&self, done: Done<AnyItem>) {
        self.step(|core, now, effects| core.settle(done, now, effects));
    }

    /// Draws the number of a new task.
    pub(super) fn draw_id(&self) -> TaskId {
        // ORDERING: relaxed is enough. Submissions that are causally ordered are ordered by
        // coherence; concurrent ones have no order to respect.
        TaskId(self.sequence.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn state(&self) -> RunState {
        self.look(Core::state)
    }

    pub(super) fn shutdown(&self) {
        let now = Now::read(&*self.clock);
        self.alter_locked(self.lock_closed(), |core, effects| core.shutdown(now, effects));
    }

    pub(super) fn shutdown_now(&self) -> Vec<AnyItem> {
        let now = Now::read(&*self.clock);
        let mut seen = Vec::new();
        if planted("L10") {
            self.look(|core| core.for_each(&mut |_, task| seen.push(Arc::clone(task))));
        }
        let closed = self.lock_closed();
        let drained = self.alter_locked(closed, |core, effects| core.shutdown_now(now, effects)).0;
        if planted("L10") {
            return seen;
        }
        drained
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
    pub(super) fn wait(&self, gate: &Arc<Gate>, seen: Epoch, until: Option<Tick>) {
        if self.is_precise {
            self.clock.wait_precisely(gate, seen, until);
        } else {
            self.clock.wait(gate, seen, until);
        }
    }

    pub(super) fn starter(&self) -> Arc<dyn StartWorker> {
        Arc::clone(&self.starter.lock())
    }

    pub(super) fn replace_starter(&self, starter: Arc<dyn StartWorker>) {
        let old = std::mem::replace(&mut *self.starter.lock(), starter);
        drop_contained(old);
    }

    pub(super) fn shared_worker(&self, worker: WorkerNumber) -> Option<Arc<SharedWorker>> {
        self.locked.lock().shared_worker(worker).cloned()
    }

    pub(super) fn worker_arrived(&self, worker: WorkerNumber) {
        self.announcer.announce(&Event::WorkerStarted { worker });
    }

    pub(super) fn worker_left(&self, worker: WorkerNumber) {
        self.forget(worker);
        self.announcer.announce(&Event::WorkerStopped { worker });
    }

    /// Handles a worker that did not start.
    pub(super) fn lose_worker(&self, worker: WorkerNumber) {
        let left = self.forget(worker);
        self.step(|core, now, effects| core.lose(worker, left, now, effects));
    }

    /// Handles a worker whose thread has died.
    pub(super) fn replace_worker(&self, worker: WorkerNumber) {
        let left = self.forget(worker);
        self.step(|core, now, effects| core.replace(worker, left, now, effects));
    }

    /// Forgets a worker that has gone, and returns the task that it had in hand.
    fn forget(&self, worker: WorkerNumber) -> Option<AnyItem> {
        let shared = self.shared_worker(worker)?;
        self.locked.lock().shared_workers.retain(|(number, _)| *number != worker);
        shared.take()
    }

    pub(super) fn announce_refusal(&self, worker: WorkerNumber, reason: &str) {
        self.announcer.announce(&Event::WorkerRefused { worker, reason });
    }

    pub(super) fn announce_end(&self, task: &dyn AnyTask, state: TaskState) {
        let header = task.header();
        if header.is_call() || !self.announcer.is_heard() {
            return;
        }
        let (id, name) = (header.id(), header.name());
        self.announcer.announce(&Event::TaskEnded { id, name, state });
    }

    /// Returns true if the caller is a worker of the pool: it looks at the queue when its run is over.
    #[inline]
    pub(super) fn is_called_by_worker(&self) -> bool {
        current::works_for(self.me.as_ptr().addr())
    }

    /// Returns true if the pool cannot end before the calling thread goes on: it executes a task of the pool, is one of
    /// its workers, which calls others beside its tasks, too, or is dropping tasks that it cancels.
    pub(super) fn waits_for_itself(&self, run: Option<&Run>) -> bool {
        let home = run.and_then(|run| run.task().header().home());
        home.is_some_and(|home| std::ptr::addr_eq(Arc::as_ptr(&home), self))
            || current::holds_up(self.me.as_ptr().addr(), None)
            || current::is_worker_with(|shown| {
                let locked = self.locked.lock();
                locked
                    .shared_workers
                    .iter()
                    .any(|(_, shared)| std::ptr::addr_eq(Arc::as_ptr(shared), shown))
            })
    }
}

impl Home for Shell {
    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn withdraw(&self, task: &dyn AnyTask, due: Due) {
        let header = task.header();
        self.let_go(header, due);
        // A one-shot has let go of its body. But a trigger stays in the task, and may keep what
        // keeps the pool alive, which then would not end before the next look at the queue.
        if header.rhythm().is_recurring() {
            self.alter(|_, _| ());
        }
        self.announce_end(task, TaskState::Cancelled);
    }

    fn drop_panicked(&self, header: &Header, failure: &Failure) {
        let (id, name) = (header.id(), header.name());
        self.announcer.announce(&Event::DropPanicked { id, name, failure });
    }

    fn timer_panicked(&self, header: &Header, call: &'static str, failure: &Failure) {
        let (id, name) = (header.id(), header.name());
        self.announcer.announce(&Event::TimerPanicked { id, name, call, failure });
    }

    fn wait_starves(&self, run: &Run, awaited: &Header) {
        let (id, name) = (awaited.id(), awaited.name());
        self.announcer.announce(&Event::WaitStarved { run, id, name });
    }

    fn resume(&self, task: AnyItem) {
        self.step(|core, now, effects| core.resume(task, now, effects));
    }
}

/// Whatever is dropped unrun is cancelled, so that every handle resolves.
impl Drop for Shell {
    fn drop(&mut self) {
        let now = Now::read(&*self.clock);
        let (left, _) = self.alter_locked(self.lock_closed(), |core, _| core.drain(now));
        for task in left {
            self.cancel(&task);
        }
    }
}
