//! The world of a simulation: clock, workers, lives, scripts, runs in progress.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::time::{Epoch, EventCount};
use scheduler_core::{Begun, Clock, ManualClock, Tick, VirtualRun, VirtualWorkers};

use crate::base::sync::Mutex;
use crate::testing::script::TaskScript;

#[cfg(feature = "tokio")]
use super::runtime::Driver;
#[cfg(feature = "durable")]
use crate::durable::SimulatedNodes;
#[cfg(feature = "tokio")]
use crate::run::BoxFuture;

/// The most waits of one run on the clock, which stands still for all others. The run may wait for something that
/// cannot happen.
const WAITS_MAX: u64 = 10_000;

/// The time that a simulation without a limit waits for a future that no timer wakes.
#[cfg(feature = "tokio")]
const WAIT_MAX: Duration = Duration::from_secs(366 * 86_400);

/// The result of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Something happened at this time.
    Happened,
    /// Time advanced.
    Moved,
    /// Nothing is left to do up to the limit.
    Rests,
}

/// The next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Happened,
    At(Tick),
    Never,
}

/// The clock and the workers of a simulation.
pub(super) struct World {
    clock: ManualClock,
    pools: Mutex<Arc<Vec<PoolWorkers>>>,
    lives: Lives,
    /// Runs whose bodies have been executed, by the end of their time, and then by their order.
    busy: Mutex<BTreeMap<(Tick, u64), Busy>>,
    order: AtomicU64,
    seed: AtomicU64,
    identities: AtomicU64,
    inside: Inside,
    /// True if the wall clock was set and no worker has looked at it.
    was_set: AtomicBool,
    scripts: Mutex<Scripts>,
    #[cfg(feature = "tokio")]
    driver: Driver,
    #[cfg(feature = "durable")]
    pub(super) nodes: Arc<SimulatedNodes>,
    panics: Panics,
}

/// By process and task.
type Scripts = BTreeMap<(usize, Arc<str>), Arc<TaskScript>>;

/// The workers of a pool.
#[derive(Clone)]
struct PoolWorkers {
    workers: VirtualWorkers,
    life: usize,
    /// True for the worker of a node, which looks at the store for ever.
    is_of_node: bool,
}

/// A worker that is busy until its run's time is over.
struct Busy {
    pool: usize,
    life: usize,
    worker: u64,
    run: VirtualRun,
}

/// The body that is being executed.
#[derive(Default)]
struct Inside {
    is_inside: AtomicBool,
    /// The time that the run takes, in nanoseconds.
    takes: AtomicU64,
    /// The time that the body has waited on the clock, in nanoseconds. It has passed for the body alone.
    waited: AtomicU64,
    waits: AtomicU64,
}

// ORDERING: all atomics of this file are relaxed; only the thread of the simulation writes them.
const RELAXED: Ordering = Ordering::Relaxed;

impl World {
    pub(super) fn new(start: DateTime<Utc>) -> Arc<Self> {
        Arc::new(Self {
            clock: ManualClock::at(start),
            pools: Mutex::default(),
            lives: Lives::default(),
            busy: Mutex::default(),
            order: AtomicU64::new(0),
            seed: AtomicU64::new(0),
            identities: AtomicU64::new(0),
            inside: Inside::default(),
            was_set: AtomicBool::new(false),
            scripts: Mutex::default(),
            #[cfg(feature = "tokio")]
            driver: Driver::default(),
            #[cfg(feature = "durable")]
            nodes: Arc::default(),
            panics: Panics::default(),
        })
    }

    #[cfg(feature = "tokio")]
    pub(super) fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The recorded panics.
    pub(super) fn panics(&self) -> &Panics {
        &self.panics
    }

    /// Sets what identities follow from.
    pub(super) fn set_seed(&self, seed: u64) {
        self.seed.store(seed, RELAXED);
    }

    /// The seed, and how many identities there were before.
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there are no jobs"))]
    pub(super) fn count_identity(&self) -> (u64, u64) {
        (self.seed.load(RELAXED), self.identities.fetch_add(1, RELAXED))
    }

    /// The lives of the processes.
    pub(super) fn lives(&self) -> &Lives {
        &self.lives
    }

    /// Workers for one more pool of a life, or for its node, for which [`is_idle`](Self::is_idle) does not wait.
    pub(super) fn new_workers(&self, life: usize, is_of_node: bool) -> VirtualWorkers {
        let workers = VirtualWorkers::new();
        let pool = PoolWorkers { workers: workers.clone(), life, is_of_node };
        Arc::make_mut(&mut *self.pools.lock()).push(pool);
        workers
    }

    /// The script of a task in a process, by its full name.
    pub(super) fn script(&self, process: usize, task: &str) -> Arc<TaskScript> {
        Arc::clone(self.scripts.lock().entry((process, task.into())).or_default())
    }

    /// Sets how long the current run takes.
    pub(super) fn run_takes(&self, length: Duration) {
        self.inside.takes.store(nanos(length), RELAXED);
    }

    /// Wraps a future so that the driver notices when it is woken.
    #[cfg(feature = "tokio")]
    pub(super) fn wakeful(&self, future: BoxFuture) -> BoxFuture {
        self.driver.wakeful(future)
    }

    /// Takes one step, at most up to a limit.
    pub(super) fn step(&self, limit: Tick) -> Step {
        self.settle_nodes();
        if self.finish_one() || self.was_set.load(RELAXED) && self.look_at_the_wall() {
            return Step::Happened;
        }
        let next = self.work_once();
        #[cfg(feature = "tokio")]
        let next = match next {
            Next::Happened => next,
            _ if self.driver.settle() => self.work_once(),
            _ => next,
        };
        match next {
            Next::Happened => Step::Happened,
            Next::At(next) if next <= limit => self.move_to(next),
            #[cfg(feature = "tokio")]
            _ if limit == Tick::MAX => self.wait_for_futures(),
            #[cfg(not(feature = "tokio"))]
            _ if limit == Tick::MAX => Step::Rests,
            _ => self.move_to(limit),
        }
    }

    /// Returns true if nothing is in progress, and nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        #[cfg(feature = "tokio")]
        if self.driver.has_pending() {
            return false;
        }
        let is_out = |life| self.lives.is_out(life);
        let is_empty = |pool: &PoolWorkers| {
            pool.is_of_node || is_out(pool.life) || pool.workers.next_due().is_none()
        };
        self.busy.lock().values().all(|busy| is_out(busy.life)) && self.pools().iter().all(is_empty)
    }

    /// Sets the wall clock. Waiting workers see that at the next step.
    pub(super) fn step_wall(&self, by: TimeDelta) {
        self.clock.step_wall(by);
        self.was_set.store(true, RELAXED);
        #[cfg(feature = "durable")]
        self.nodes.clock_was_set();
    }

    /// The number of times that nodes have looked at what is to be done.
    #[cfg(all(test, feature = "durable"))]
    pub(super) fn node_steps(&self) -> u64 {
        self.pools().iter().filter(|pool| pool.is_of_node).map(|pool| pool.workers.steps()).sum()
    }

    /// Drops the runs in progress, which ends them.
    pub(super) fn clear(&self) {
        let busy = std::mem::take(&mut *self.busy.lock());
        drop(busy);
    }

    /// Ends the first run whose time is over.
    fn finish_one(&self) -> bool {
        let now = self.clock.now();
        let mut all = self.busy.lock();
        let mut over = all.iter().take_while(|((end, _), _)| *end <= now);
        let first = over.find(|(_, busy)| !self.lives.is_frozen(busy.life, now));
        let first = first.map(|(key, _)| *key);
        let Some(Busy { run, .. }) = first.and_then(|first| all.remove(&first)) else {
            return false;
        };
        drop(all);
        run.finish();
        true
    }

    /// Makes a free worker run a due task. If there is none, returns when a run ends or a task with a free worker is
    /// due.
    fn work_once(&self) -> Next {
        let (now, pools) = (self.clock.now(), self.pools());
        let is_awake = |life: usize| !self.lives.is_frozen(life, now);
        let busy = self.busy.lock();
        let first = busy.iter().find(|(_, busy)| is_awake(busy.life));
        let first = first.map(|((end, _), _)| *end);
        drop(busy);
        let mut next = first.into_iter().chain(self.lives.next_thaw(now)).min();
        for (index, pool) in pools.iter().enumerate().filter(|(_, pool)| is_awake(pool.life)) {
            let Some(due) = pool.workers.next_due() else { continue };
            let Some(worker) = self.free_worker(index, pool) else { continue };
            if due <= now && self.begin(pool, index, worker) {
                return Next::Happened;
            }
            next = Some(next.map_or(due, |next| next.min(due)));
        }
        next.map_or(Next::Never, Next::At)
    }

    /// Makes each free worker look once, also for whether it may end. Returns true if one did something.
    fn work_all(&self) -> bool {
        let mut has_happened = false;
        let now = self.clock.now();
        for (index, pool) in self.pools().iter().enumerate() {
            if self.lives.is_frozen(pool.life, now) {
                continue;
            }
            for worker in pool.workers.numbers() {
                has_happened |= !self.is_busy(index, worker) && self.begin(pool, index, worker);
            }
        }
        has_happened
    }

    /// Makes all free workers look at the wall clock. One in each pool has to.
    fn look_at_the_wall(&self) -> bool {
        let are_all_free = self.busy.lock().is_empty();
        self.was_set.store(!are_all_free, RELAXED);
        self.work_all()
    }

    fn free_worker(&self, index: usize, pool: &PoolWorkers) -> Option<u64> {
        pool.workers.numbers().into_iter().find(|worker| !self.is_busy(index, *worker))
    }

    fn pools(&self) -> Arc<Vec<PoolWorkers>> {
        Arc::clone(&self.pools.lock())
    }

    fn begin(&self, pool: &PoolWorkers, index: usize, worker: u64) -> bool {
        self.inside.enter();
        let begun = pool.workers.begin(worker);
        let length = self.inside.leave();
        match begun {
            Begun::Run(run) if run.is_pending() || length.is_zero() => run.finish(),
            Begun::Run(run) => {
                let end = self.clock.now() + length;
                let order = self.order.fetch_add(1, RELAXED);
                let busy = Busy { pool: index, life: pool.life, worker, run };
                self.busy.lock().insert((end, order), busy);
            }
            Begun::Waits(_) => return false,
            Begun::Left => {}
        }
        true
    }

    fn is_busy(&self, pool: usize, worker: u64) -> bool {
        self.busy.lock().values().any(|busy| busy.pool == pool && busy.worker == worker)
    }

    /// Advances to `to`, or until a future is woken.
    fn move_to(&self, to: Tick) -> Step {
        let now = self.clock.now();
        if to <= now {
            return Step::Rests;
        }
        let length = to.since(now);
        #[cfg(feature = "tokio")]
        let length = self.driver.pass(length);
        self.advance(length);
        Step::Moved
    }

    fn advance(&self, length: Duration) {
        self.clock.advance(length);
        self.settle_nodes();
    }

    /// Has nodes without work rest, so that time is not moved for them.
    fn settle_nodes(&self) {
        // The program may have spawned futures that enqueue while time moves.
        #[cfg(all(feature = "durable", feature = "tokio"))]
        let may_rest = !self.driver.has_spawned();
        #[cfg(all(feature = "durable", not(feature = "tokio")))]
        let may_rest = true;
        #[cfg(feature = "durable")]
        {
            let now = self.clock.now();
            self.nodes.settle(may_rest, |life| !self.lives.is_frozen(life, now));
        }
    }

    /// Waits for a future that may be woken by something else than the clock, because nothing is due ever.
    #[cfg(feature = "tokio")]
    fn wait_for_futures(&self) -> Step {
        if !self.driver.has_pending() {
            return Step::Rests;
        }
        let passed = self.driver.pass(WAIT_MAX);
        if passed == WAIT_MAX {
            return Step::Rests;
        }
        self.advance(passed);
        Step::Moved
    }

    /// The thread of the simulation waits on the clock, outside of any task: time goes on.
    fn play_until(&self, gate: &EventCount, seen: Epoch, until: Option<Tick>) {
        let limit = until.unwrap_or(Tick::MAX);
        while gate.epoch() == seen && self.clock.now() < limit {
            if self.work_all() {
                continue;
            }
            let step = self.step(limit);
            assert!(
                step != Step::Rests || until.is_some(),
                "the simulation waits for something that never happens"
            );
        }
    }
}

impl Inside {
    fn enter(&self) {
        self.is_inside.store(true, RELAXED);
    }

    /// The time that the run takes.
    fn leave(&self) -> Duration {
        self.is_inside.store(false, RELAXED);
        self.waits.store(0, RELAXED);
        let (takes, waited) = (self.takes.swap(0, RELAXED), self.waited.swap(0, RELAXED));
        Duration::from_nanos(takes.max(waited))
    }

    fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(RELAXED))
    }

    /// A task waits on the clock, and holds the thread of the simulation: only for itself time goes on.
    fn wait(&self, left: Option<Duration>) {
        let waits = self.waits.fetch_add(1, RELAXED);
        let Some(left) = left.filter(|_| waits < WAITS_MAX) else {
            panic!(
                "a task waits in a simulation for something that cannot happen meanwhile\n\
                 help: let it be async: the simulation goes on while `run.sleep_async` waits"
            );
        };
        self.waited.fetch_add(nanos(left), RELAXED);
    }
}

/// The clock of the simulation. A thread that waits on it lets the simulation go on.
impl Clock for World {
    fn now(&self) -> Tick {
        self.clock.now() + self.inside.waited()
    }

    fn wall(&self) -> DateTime<Utc> {
        let waited = TimeDelta::from_std(self.inside.waited()).unwrap_or_default();
        self.clock.wall() + waited
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        if self.inside.is_inside.load(RELAXED) {
            self.inside.wait(until.map(|until| until.since(self.now())));
        } else {
            self.play_until(gate, seen, until);
        }
    }
}

crate::base::opaque! { World { clock } }

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// Keeps the first unexpected panic until it is rethrown.
#[derive(Debug, Default)]
pub(super) struct Panics {
    is_ignored: AtomicBool,
    first: Mutex<Option<String>>,
}

impl Panics {
    /// Ignores panics, as in production.
    pub(super) fn ignore(&self) {
        // ORDERING: relaxed, because it orders nothing else.
        self.is_ignored.store(true, Ordering::Relaxed);
    }

    /// Calls code of the test. A panic is recorded and continues.
    pub(super) fn watch<R>(&self, who: impl FnOnce() -> String, call: impl FnOnce() -> R) -> R {
        // Unwind safety: the panic continues.
        catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
            self.record(&who(), text(payload.as_ref()));
            resume_unwind(payload)
        })
    }

    /// Records a panic, if it is the first one.
    pub(super) fn record(&self, who: &str, message: &str) {
        // ORDERING: as above.
        if !self.is_ignored.load(Ordering::Relaxed) {
            self.first.lock().get_or_insert_with(|| format!("{who} panicked: {message}"));
        }
    }

    /// Panics if a panic was recorded.
    #[track_caller]
    pub(super) fn rethrow(&self) {
        let first = self.first.lock().take();
        if let Some(first) = first {
            panic!(
                "{first}\n\
                 help: where the test is about panics: Sim::at(…).allow_panics(), or sim.panic_next(…)"
            );
        }
    }
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    let text = literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no text")
}

/// The end of each life's freeze; [`Tick::MAX`] if it has none. A life that has ended is frozen for ever.
#[derive(Debug, Default)]
pub(super) struct Lives(Mutex<Vec<Tick>>);

impl Lives {
    /// A new life.
    pub(super) fn begin(&self) -> usize {
        let mut lives = self.0.lock();
        lives.push(Tick::ZERO);
        lives.len() - 1
    }

    /// Freezes a life until an instant; with one that has come it goes on.
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there is no cluster"))]
    pub(super) fn freeze(&self, life: usize, until: Tick) {
        if let Some(frozen) = self.0.lock().get_mut(life) {
            *frozen = until;
        }
    }

    /// Returns true if nothing of this life runs now.
    fn is_frozen(&self, life: usize, now: Tick) -> bool {
        self.0.lock().get(life).is_some_and(|until| now < *until)
    }

    /// Returns true if nothing of this life runs until the test says so.
    fn is_out(&self, life: usize) -> bool {
        self.0.lock().get(life) == Some(&Tick::MAX)
    }

    /// When the next life goes on.
    fn next_thaw(&self, now: Tick) -> Option<Tick> {
        let lives = self.0.lock();
        lives.iter().copied().filter(|until| now < *until && *until != Tick::MAX).min()
    }
}
