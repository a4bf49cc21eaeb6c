//! The kit of contract tests: pools on manual clocks, blockers, capped waits.
//!
//! A test of the contract queues tasks, lets time pass, and checks which ones ran. Two stages
//! make that exact:
//!
//! * [`ManualPool`]: real threads on a [`ManualClock`]. For whatever is about threads: waits, waking,
//!   sizes. The test moves the clock when the workers have come to rest.
//! * [`VirtualPool`]: no threads at all; workers take their steps on the thread of the test. For
//!   whatever is about order and instants. A body that takes time moves the clock itself.
//!
//! No test sleeps, and every wait is capped at [`CAP`] of real time, so that a bug of the engine fails a test
//! instead of hanging it.
#![allow(dead_code, reason = "each test file uses its own part of the kit")]

mod wall;

use std::panic::resume_unwind;
use std::process::Command;
use std::sync::{Arc, PoisonError, mpsc};
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

use scheduler_core::{
    Clock, ManualClock, PoolBuilder, ScheduledThreadPool, Stepped, SystemClock, TaskHandle, Tick,
    VirtualWorkers,
};

/// Locks that the thread sanitizer sees, as the engine has them in its build.
#[cfg(tsan)]
#[path = "../../src/sync/parking.rs"]
mod locks;
#[cfg(not(tsan))]
use std::sync as locks;

pub(crate) use locks::Mutex;
use locks::{Condvar, MutexGuard};
#[allow(unused_imports, reason = "see above")]
pub(crate) use wall::{WallTask, at_wall, on_wall};

/// The longest time that any wait may take, in real time.
pub(crate) const CAP: Duration = Duration::from_secs(60);

pub(crate) const NANO: Duration = Duration::from_nanos(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A pool of real threads on a clock that stands still until the test moves it.
pub(crate) struct ManualPool {
    pub(crate) pool: ScheduledThreadPool,
    pub(crate) clock: ManualClock,
}

impl ManualPool {
    pub(crate) fn new(core_size: usize) -> Self {
        Self::build(ScheduledThreadPool::builder().core_size(core_size))
    }

    pub(crate) fn build(builder: PoolBuilder) -> Self {
        let clock = ManualClock::new();
        let pool = dressed(builder).clock(Arc::new(clock.clone())).build();
        Self { pool: pool.expect("valid settings"), clock }
    }

    /// Waits until this many threads, workers and other waiters, rest on the clock.
    pub(crate) fn await_parked(&self, count: usize) {
        eventually("threads come to rest", || self.clock.parked() == count);
    }

    /// Waits until the pool has this many workers.
    pub(crate) fn await_pool_size(&self, size: usize) {
        eventually("the pool has the size", || self.pool.stats().pool_size == size);
    }
}

/// A pool whose workers take their steps on the thread of the test.
pub(crate) struct VirtualPool {
    pub(crate) pool: ScheduledThreadPool,
    pub(crate) clock: ManualClock,
    pub(crate) workers: VirtualWorkers,
}

impl VirtualPool {
    pub(crate) fn new(core_size: usize) -> Self {
        Self::build(ScheduledThreadPool::builder().core_size(core_size))
    }

    pub(crate) fn build(builder: PoolBuilder) -> Self {
        let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
        let builder = dressed(builder).clock(Arc::new(clock.clone())).virtual_workers(&workers);
        Self { pool: builder.build().expect("valid settings"), clock, workers }
    }

    /// Runs whatever is due now, and says when a worker wants to look again.
    pub(crate) fn run_due(&self) -> Option<Tick> {
        let watch = Watch::start();
        loop {
            watch.check("no task is due any more");
            let steps: Vec<Stepped> = self
                .workers
                .numbers()
                .into_iter()
                .map(|worker| self.workers.step(worker))
                .collect();
            let waits: Option<Vec<Option<Tick>>> = steps
                .into_iter()
                .map(|step| if let Stepped::Waits(until) = step { Some(until) } else { None })
                .collect();
            if let Some(waits) = waits {
                return waits.into_iter().flatten().min();
            }
        }
    }

    /// Lets this much time pass, stopping at every instant at which a worker wants to look.
    pub(crate) fn run_for(&self, duration: Duration) {
        let end = self.clock.now() + duration;
        let watch = Watch::start();
        while let Some(next) = self.run_due().filter(|next| *next <= end) {
            watch.check("time has passed");
            self.clock.advance_to(next);
        }
        self.clock.advance_to(end);
        self.run_due();
    }
}

/// A latch: closed, then open for ever.
#[derive(Clone, Default)]
pub(crate) struct Latch {
    opened: Arc<(Mutex<bool>, Condvar)>,
}

impl Latch {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn open(&self) {
        *lock(&self.opened.0) = true;
        self.opened.1.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        *lock(&self.opened.0)
    }

    /// Waits until the latch is open; panics after [`CAP`].
    pub(crate) fn wait(&self) {
        let (flag, opened) = &*self.opened;
        let waited = opened.wait_timeout_while(lock(flag), CAP, |is_open| !*is_open);
        let (is_open, _) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(*is_open, "a latch was not opened within {CAP:?}");
    }
}

/// A body that reports that it has started, and ends when the test lets it.
///
/// Dropping it lets the body end, so that a failed test leaves no thread behind.
#[derive(Default)]
pub(crate) struct Blocker {
    started: Latch,
    released: Latch,
}

impl Blocker {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The body to submit; may be called more than once, for a task that is run more than once.
    pub(crate) fn body(&self) -> impl Fn() + Send + Sync + 'static {
        let (started, released) = (self.started.clone(), self.released.clone());
        move || {
            started.open();
            released.wait();
        }
    }

    pub(crate) fn await_started(&self) {
        self.started.wait();
    }

    pub(crate) fn release(&self) {
        self.released.open();
    }
}

impl Drop for Blocker {
    fn drop(&mut self) {
        self.release();
    }
}

/// Every worker of a pool occupied; released on drop.
pub(crate) struct Wedge {
    blockers: Vec<Blocker>,
}

/// Occupies all core workers of an idle pool with blockers.
pub(crate) fn wedge(pool: &ScheduledThreadPool) -> Wedge {
    let blockers: Vec<Blocker> = (0..pool.core_size()).map(|_| Blocker::new()).collect();
    for blocker in &blockers {
        pool.execute(blocker.body()).expect("the pool takes tasks");
    }
    blockers.iter().for_each(Blocker::await_started);
    Wedge { blockers }
}

impl Wedge {
    /// Lets the workers go on.
    pub(crate) fn release(self) {
        drop(self.blockers);
    }
}

/// Notes in the order in which they were taken.
pub(crate) struct Journal<T> {
    entries: Arc<Mutex<Vec<T>>>,
}

impl<T> Clone for Journal<T> {
    fn clone(&self) -> Self {
        Self { entries: Arc::clone(&self.entries) }
    }
}

impl<T: Clone + Send + 'static> Journal<T> {
    pub(crate) fn new() -> Self {
        Self { entries: Arc::default() }
    }

    pub(crate) fn note(&self, entry: T) {
        lock(&self.entries).push(entry);
    }

    /// A body that notes this entry.
    pub(crate) fn noting(&self, entry: T) -> impl Fn() + Send + 'static {
        let this = self.clone();
        move || this.note(entry.clone())
    }

    pub(crate) fn entries(&self) -> Vec<T> {
        lock(&self.entries).clone()
    }

    /// Forgets all, so that an entry and the body that notes it do not keep each other.
    pub(crate) fn clear(&self) {
        let entries = std::mem::take(&mut *lock(&self.entries));
        drop(entries);
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.entries).len()
    }

    /// Waits until there are at least this many entries.
    pub(crate) fn await_len(&self, count: usize) {
        eventually("enough has happened", || self.len() >= count);
    }
}

/// Waits for something that no latch announces; panics after [`CAP`].
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let watch = Watch::start();
    while !holds() {
        watch.check(what);
        thread::yield_now();
    }
}

/// Measures the real time that a loop takes.
struct Watch(SystemClock);

impl Watch {
    fn start() -> Self {
        Self(SystemClock::new())
    }

    /// Panics when it has taken longer than [`CAP`].
    fn check(&self, what: &str) {
        assert!(self.0.now().since(Tick::ZERO) < CAP, "not within {CAP:?}: {what}");
    }
}

/// Makes a call that may block, on a thread of its own; panics when it takes longer than [`CAP`].
pub(crate) fn capped<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    Pending::start(call).join()
}

/// A call in progress on a thread of its own.
pub(crate) struct Pending<T> {
    answer: mpsc::Receiver<T>,
    thread: JoinHandle<()>,
}

impl<T: Send + 'static> Pending<T> {
    pub(crate) fn start(call: impl FnOnce() -> T + Send + 'static) -> Self {
        let (sender, answer) = mpsc::channel();
        let thread = thread::Builder::new().spawn(move || drop(sender.send(call())));
        Self { answer, thread: thread.expect("a thread can be started") }
    }

    /// Waits for the answer; a panic of the call goes on here.
    pub(crate) fn join(self) -> T {
        match self.answer.recv_timeout(CAP) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("a call took longer than {CAP:?}"),
            Err(mpsc::RecvTimeoutError::Disconnected) => match self.thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("the call ended without an answer"),
            },
        }
    }

    /// Returns true while there is no answer.
    pub(crate) fn is_blocked(&self) -> bool {
        !self.thread.is_finished()
    }
}

/// The value of a task that is about to complete.
pub(crate) fn value_of<T: Clone + Send + Sync + 'static>(handle: &TaskHandle<T>) -> T {
    let handle = handle.clone();
    capped(move || handle.wait()).expect("the task completes")
}

/// 1000 times, thread X executes a task, and only then tells thread Y, which executes another.
pub(crate) fn submit_pairs(pool: &ScheduledThreadPool, ran: &Journal<(u32, char)>) {
    let (tell, told) = mpsc::channel();
    let (x, y) = (pool.clone(), pool.clone());
    let (from_x, from_y) = (ran.clone(), ran.clone());
    let first = Pending::start(move || {
        for pair in 0..1000 {
            x.execute(from_x.noting((pair, 'a'))).unwrap();
            tell.send(pair).unwrap();
        }
    });
    let second = Pending::start(move || {
        for pair in told {
            y.execute(from_y.noting((pair, 'b'))).unwrap();
        }
    });
    first.join();
    second.join();
}

/// Of each pair the first one has run first.
pub(crate) fn check_pairs(ran: &[(u32, char)]) {
    assert_eq!(ran.len(), 2000);
    for pair in 0..1000 {
        let place = |letter| ran.iter().position(|entry| *entry == (pair, letter)).unwrap();
        assert!(place('a') < place('b'), "pair {pair}");
    }
}

/// Pseudo-random numbers from a seed: SplitMix64.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            let other = self.below(index as u64 + 1);
            items.swap(index, usize::try_from(other).expect("an index"));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until a pool has terminated.
pub(crate) fn await_terminated(pool: &ScheduledThreadPool) {
    eventually("the pool terminates", || pool.is_terminated());
}

/// Closes a pool, within [`CAP`].
pub(crate) fn close(pool: &ScheduledThreadPool) {
    let pool = pool.clone();
    capped(move || pool.close()).expect("no task of the pool closes it");
}

/// Waits until at least this many threads rest on a clock.
pub(crate) fn await_parked(clock: &ManualClock, count: usize) {
    eventually("threads come to rest", || clock.parked() >= count);
}

/// Set where the kit decorates every task: by `contract::decorated`.
pub(crate) const DECORATED: &str = "TEST_DECORATED";

/// Decorates the tasks of a pool, where that is asked for.
fn dressed(builder: PoolBuilder) -> PoolBuilder {
    if is_decorated() { builder.decorate_task(|_, _| Box::new(|step| step())) } else { builder }
}

/// Returns false when the test, which is the one that calls this, has passed in a process of its own, and true in that process.
/// For what changes or measures a whole process.
pub(crate) fn is_in_own_process<T: Fn()>(test: T) -> bool {
    const OWN: &str = "TEST_IN_OWN_PROCESS";
    if std::env::var_os(OWN).is_some() {
        return true;
    }
    let output = command_for(test).env(OWN, "").output().expect("the child starts");
    let is_passed = String::from_utf8_lossy(&output.stdout).contains("test result: ok. 1 passed");
    assert!(is_passed && output.status.success(), "{output:#?}");
    false
}

/// The memory of this process that is in use; none where the system does not tell.
pub(crate) fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The command that runs one test of this program and nothing else, ignored or not.
pub(crate) fn command_for<T: Fn()>(_test: T) -> Command {
    let (_, name) = std::any::type_name::<T>().split_once("::").expect("the test is in a crate");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", name, "--include-ignored", "--nocapture", "--test-threads=1"]);
    command
}

/// Returns true if the kit decorates every task.
pub(crate) fn is_decorated() -> bool {
    std::env::var_os(DECORATED).is_some()
}

/// Returns true if every case is tried, as with `TEST_ROUNDS=all` in `ci/test.sh`; otherwise a part is.
pub(crate) fn is_thorough() -> bool {
    std::env::var("TEST_ROUNDS").is_ok_and(|rounds| rounds == "all")
}

/// The number of rounds of a race: all of them, or a tenth.
pub(crate) fn rounds(all: u64) -> u64 {
    if is_thorough() { all } else { all / 10 }
}

/// Holds that a pool is healthy after whatever it went through: it runs 100 fresh tasks, its counters
/// are right, and it can be ended.
pub(crate) fn check_healthy(pool: &ScheduledThreadPool) {
    eventually("the pool is at rest", || pool.stats().active == 0);
    let before = pool.stats();
    let handles: Vec<TaskHandle<u64>> =
        (0..100).map(|n| pool.submit(move || n).expect("the pool takes tasks")).collect();
    for (n, handle) in (0..).zip(&handles) {
        assert_eq!(value_of(handle), n);
    }
    eventually("all are counted", || pool.stats().completed == before.completed + 100);
    let after = pool.stats();
    assert_eq!((after.active, after.queued, after.suspended), (0, before.queued, 0));
    assert!(after.pool_size >= 1 && after.pool_size <= after.core_size.max(1));
    drop(pool.shutdown_now());
    await_terminated(pool);
    assert_eq!(pool.stats().pool_size, 0);
}

/// The names of this process's threads that begin like this, as the system shows them.
pub(crate) fn threads_named(prefix: &str) -> Vec<Vec<u8>> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a Linux system");
    let names = tasks.filter_map(|task| std::fs::read(task.ok()?.path().join("comm")).ok());
    let names = names.map(|name| name.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(name));
    names.filter(|name| name.starts_with(prefix.as_bytes())).collect()
}
