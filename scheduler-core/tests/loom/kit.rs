//! Exploring a model, and the pools of models.
#![expect(clippy::print_stderr, reason = "the models print what was explored")]

use std::future::Future;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use scheduler_core::time::EventCount;
use scheduler_core::{Clock, PoolBuilder, ScheduledThreadPool, SystemClock, Tick, WorkerThread};

use crate::times::{Hand, Still};

/// The number of preemptions that are explored unless `LOOM_MAX_PREEMPTIONS` sets another.
const PREEMPTIONS: usize = 2;

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Declares models: each a test of a function of the same file.
macro_rules! models {
    ($($test:ident: $model:ident;)*) => {$(
        #[test]
        fn $test() {
            $crate::kit::explore(concat!(module_path!(), "::", stringify!($test)), $model);
        }
    )*};
}
pub(crate) use models;

/// Explores every interleaving of a model, and prints how many there were.
pub(crate) fn explore(test: &str, model: fn()) {
    // The name of this crate is no part of the name of the test.
    let test = test.split_once("::").map_or(test, |(_, name)| name);
    fail_at_once();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(PREEMPTIONS);
    builder.max_branches = 100_000;
    let (bound, limit) = (builder.preemption_bound, builder.max_duration);
    let explored = Arc::new(AtomicUsize::new(0));
    let (count, clock) = (Arc::clone(&explored), SystemClock::new());
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let (count, took) = (explored.load(Ordering::Relaxed), clock.now().since(Tick::ZERO));
    let bound = bound.unwrap_or_default();
    let seen = format!("{test}: {count} interleavings at bound {bound} in {took:.1?}");
    // Loom looks at its limit now and then, and says nothing when it ends there.
    assert!(limit.is_none_or(|limit| took < limit), "{seen}, NOT COMPLETE");
    eprintln!("{seen}");
}

/// Ends the process at the first panic, whatever would contain it: no model panics when all is well,
/// and loom's own panics come from wherever the last thread stands, be it inside a task.
fn fail_at_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let test = std::thread::current().name().unwrap_or_default().to_owned();
            let _ = writeln!(std::io::stderr(), "{test}: {panic}");
            std::process::exit(101);
        }));
    });
}

/// A pool on a clock that stands still.
pub(crate) fn pool(core_size: usize) -> ScheduledThreadPool {
    build(builder(core_size))
}

/// The settings of a pool whose threads are loom's.
pub(crate) fn builder(core_size: usize) -> PoolBuilder {
    builder_of(core_size, &Latch::default())
}

/// The same; the first worker that leaves opens the latch.
pub(crate) fn builder_of(core_size: usize, left: &Latch) -> PoolBuilder {
    let left = left.clone();
    ScheduledThreadPool::builder()
        .core_size(core_size)
        .thread_name_prefix("worker-")
        .clock(Arc::new(Still::new()))
        .thread_factory(move |worker: WorkerThread| {
            let left = left.clone();
            loom::thread::spawn(move || {
                worker.run();
                left.open();
            });
            Ok(())
        })
}

pub(crate) fn build(builder: PoolBuilder) -> ScheduledThreadPool {
    builder.build().expect("valid settings")
}

/// A pool whose workers have all come to rest, and its clock.
pub(crate) fn pool_at_rest(workers: usize, settings: PoolBuilder) -> (ScheduledThreadPool, Hand) {
    staged(|| {
        let clock = Hand::new();
        let pool = build(settings.clock(Arc::new(clock.clone())));
        assert_eq!(pool.prestart_all(), workers);
        clock.await_parked(workers);
        (pool, clock)
    })
}

/// Has a worker begin a task that goes on until the latch is open.
pub(crate) fn occupy(pool: &ScheduledThreadPool, free: &Latch) {
    let (begun, awaited) = (Latch::default(), free.clone());
    let begins = begun.clone();
    pool.execute(move || {
        begins.open();
        awaited.wait();
    })
    .unwrap();
    begun.wait();
}

/// Sets the stage: walks through `stage` in one order, without exploring others.
pub(crate) fn staged<R>(stage: impl FnOnce() -> R) -> R {
    loom::stop_exploring();
    let result = stage();
    loom::explore();
    result
}

/// Stops a pool and waits for its end, in one order: L2, L9, L10 and L11 explore ends.
pub(crate) fn stop(pool: &ScheduledThreadPool) {
    loom::stop_exploring();
    drop(pool.shutdown_now());
    assert!(pool.await_termination(Duration::MAX), "a pool that is stopped terminates");
}

/// Closed, then open for ever.
#[derive(Clone, Default)]
pub(crate) struct Latch {
    is_open: Arc<AtomicBool>,
    gate: Arc<EventCount>,
}

impl Latch {
    pub(crate) fn open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
        self.gate.open();
    }

    pub(crate) fn wait(&self) {
        let clock = SystemClock::new();
        loop {
            let seen = self.gate.epoch();
            if self.is_open.load(Ordering::SeqCst) {
                return;
            }
            clock.wait(&self.gate, seen, None);
        }
    }
}

/// Polls a future on the calling thread until it is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, gate) = (Box::pin(future), Arc::new(EventCount::new()));
    let waker = waker(&gate);
    loop {
        let seen = gate.epoch();
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        SystemClock::new().wait(&gate, seen, None);
    }
}

/// A waker that opens a gate.
pub(crate) fn waker(gate: &Arc<EventCount>) -> Waker {
    struct Knock(Arc<EventCount>);
    impl Wake for Knock {
        fn wake(self: Arc<Self>) {
            self.0.open();
        }
    }
    Waker::from(Arc::new(Knock(Arc::clone(gate))))
}

/// Counts; loom does not see it, so that it adds nothing to explore.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// A value that counts its drop.
    pub(crate) fn on_drop(&self) -> Token {
        Token(self.clone())
    }
}

/// Counts when it is dropped.
pub(crate) struct Token(Counter);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.add();
    }
}
