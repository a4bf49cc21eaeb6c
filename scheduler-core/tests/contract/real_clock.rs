//! Contract on a real clock: nothing is early, and workers wake.
//!
//! Lower bounds are exact, by the very clock of the pool. Upper bounds are generous, and where a row
//! asks for one it is tried with longer and longer periods, so that a slow moment of the machine does
//! not fail a test.

use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{fs, io, thread};

use crate::kit::{
    Blocker, CAP, Journal, Latch, NANO, Random, capped, check_pairs, eventually, ms, submit_pairs,
    wedge,
};
use scheduler_core::{
    Clock, Error, PoolBuilder, ScheduledThreadPool, SystemClock, TaskHandle, Tick, WorkerThread,
};

/// The periods, in milliseconds, that are tried one after the other where a machine may be too slow.
const LADDER: [u64; 7] = [1, 3, 9, 27, 81, 243, 729];

/// A pool, and the clock by which it goes.
fn pool_of(core_size: usize) -> (ScheduledThreadPool, SystemClock) {
    let clock = SystemClock::new();
    let builder = ScheduledThreadPool::builder().core_size(core_size);
    (builder.clock(Arc::new(clock)).build().unwrap(), clock)
}

#[test]
fn ec_a1_value_task_is_not_early() {
    let (pool, clock) = pool_of(1);
    for _ in 0..20 {
        let (before, delay) = (clock.now(), ms(12));
        let handle = pool.schedule(delay, move || (42, clock.now())).unwrap();
        let (value, started) = handle.wait_for(CAP).unwrap();
        let after = clock.now();
        assert_eq!(value, 42);
        assert!(started >= before + delay && after >= before + delay);
    }
}

#[test]
fn ec_a2_unit_task_is_not_early() {
    let (pool, clock) = pool_of(1);
    for _ in 0..20 {
        let (before, delay) = (clock.now(), ms(12));
        let handle = pool.schedule(delay, || ()).unwrap();
        assert_eq!(handle.wait_for(CAP), Ok(()));
        assert!(clock.now() >= before + delay);
    }
}

#[test]
fn ec_a8_no_random_delay_is_cut_short() {
    let (pool, clock) = pool_of(2);
    let mut random = Random(8);
    let handles: Vec<(Tick, TaskHandle<Tick>)> = (0..200)
        .map(|_| {
            let delay = Duration::from_nanos(random.below(50_000_000));
            let earliest = clock.now() + delay;
            (earliest, pool.schedule(delay, move || clock.now()).unwrap())
        })
        .collect();
    for (earliest, handle) in handles {
        let started = handle.wait_for(CAP).unwrap();
        assert!(started >= earliest, "{started:?} is before {earliest:?}");
    }
}

fn check_latched_task(name: &str, pool: &ScheduledThreadPool) {
    let latch = Latch::new();
    let opened = latch.clone();
    let handle = pool.schedule(ms(12), move || {
        opened.wait();
        7
    });
    let handle = handle.unwrap();
    assert!(!handle.is_done(), "{name}");
    assert!(handle.wait_for(ms(24)).unwrap_err().is_timeout(), "{name}");
    assert!(!handle.is_done(), "{name}");
    latch.open();
    assert_eq!(handle.wait_for(CAP), Ok(7), "{name}");
    assert_eq!(handle.wait(), Ok(7), "{name}");
    assert!(handle.is_done() && !handle.is_cancelled(), "{name}");
}

/// All but virtual workers, whose task would have to wait for the thread that it runs on.
#[test]
fn ec_a9_a_pool_from_every_constructor_works() {
    let builder = ScheduledThreadPool::builder;
    let threads = |worker: WorkerThread| -> io::Result<()> {
        thread::Builder::new().spawn(move || worker.run()).map(drop)
    };
    let check = |name: &str, builder: PoolBuilder| {
        check_latched_task(name, &builder.build().unwrap());
    };
    check_latched_task("new(1)", &ScheduledThreadPool::new(1));
    check_latched_task("new(3)", &ScheduledThreadPool::new(3));
    check_latched_task("new(0)", &ScheduledThreadPool::new(0));
    check("builder()", builder());
    check("builder(1)", builder().core_size(1));
    check("thread factory", builder().thread_factory(threads));
    check("stack size", builder().stack_size(256 << 10));
    check("clock", builder().clock(Arc::new(SystemClock::new())));
    check("leaving workers", builder().core_may_time_out(true).keep_alive(NANO));
}

#[test]
fn ec_b5_causal_order_across_threads_is_respected() {
    let (pool, _) = pool_of(1);
    let wedge = wedge(&pool);
    let ran = Journal::new();
    submit_pairs(&pool, &ran);
    wedge.release();
    ran.await_len(2000);
    check_pairs(&ran.entries());
}

/// Runs a trial with longer and longer periods until it says that the machine kept up.
fn climb(what: &str, trial: impl Fn(Duration) -> bool) {
    let kept_up = LADDER.into_iter().any(|millis| trial(ms(millis)));
    assert!(kept_up, "the machine is too slow for any period: {what}");
}

#[test]
fn ec_c3_a_fixed_rate_keeps_its_rate() {
    climb("8 runs within 8 periods", |period| {
        let (pool, clock) = pool_of(1);
        let (sender, runs) = mpsc::channel();
        let before = clock.now();
        let body = move || sender.send(clock.now()).unwrap();
        let handle = pool.schedule_at_fixed_rate(Duration::ZERO, period, body).unwrap();
        let starts: Vec<Tick> = (0..8).map(|_| runs.recv_timeout(CAP).unwrap()).collect();
        assert!(handle.cancel());
        for (run, started) in (0..).zip(&starts) {
            assert!(*started >= before + period * run, "run {run} is early");
        }
        starts[7] <= before + period * 8
    });
}

#[test]
fn ec_c4_a_fixed_delay_begins_at_the_end_of_the_run_before() {
    climb("all runs within twice the delay", |delay| {
        let (pool, clock) = pool_of(1);
        let (sender, runs) = mpsc::channel();
        let body = move || {
            let started = clock.now();
            sender.send((started, clock.now())).unwrap();
        };
        let handle = pool.schedule_with_fixed_delay(Duration::ZERO, delay, body).unwrap();
        let runs: Vec<(Tick, Tick)> = (0..8).map(|_| runs.recv_timeout(CAP).unwrap()).collect();
        assert!(handle.cancel());
        let pauses: Vec<Duration> = runs
            .windows(2)
            .map(|two| two[1].0.since(two[0].1))
            .inspect(|pause| assert!(*pause >= delay, "only {pause:?} after the run before"))
            .collect();
        pauses.iter().all(|pause| *pause < delay * 2)
    });
}

/// The usage of a thread so far: its processor time, and the number of its waits.
#[derive(Clone, Copy, Debug)]
struct Usage {
    processor: Duration,
    waits: u64,
}

impl Usage {
    /// Of the calling thread; none where the system does not tell.
    fn of_this_thread() -> Option<Self> {
        let times = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let processor = Duration::from_nanos(times.split(' ').next()?.parse().ok()?);
        let status = fs::read_to_string("/proc/thread-self/status").ok()?;
        let mut lines = status.lines();
        let waits = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        Some(Self { processor, waits: waits.trim().parse().ok()? })
    }
}

#[test]
fn ec_c10_waiting_workers_do_not_all_wake_for_each_firing() {
    const WORKERS: usize = 100;
    const RUNS: u32 = 1000;
    let usages = Journal::new();
    let noted = usages.clone();
    let factory = move |worker: WorkerThread| -> io::Result<()> {
        let noted = noted.clone();
        let work = move || {
            worker.run();
            noted.note(Usage::of_this_thread());
        };
        thread::Builder::new().spawn(work).map(drop)
    };
    let clock = SystemClock::new();
    let builder = ScheduledThreadPool::builder().core_size(WORKERS).clock(Arc::new(clock));
    let pool = builder.thread_factory(factory).build().unwrap();
    assert_eq!(pool.prestart_all(), WORKERS);
    let (sender, runs) = mpsc::channel();
    let (before, period) = (clock.now(), ms(10));
    let body = move || sender.send(()).unwrap();
    let handle = pool.schedule_at_fixed_rate(Duration::ZERO, period, body).unwrap();
    for _ in 0..RUNS {
        runs.recv_timeout(CAP).expect("the task goes on firing");
    }
    let elapsed = clock.now().since(before);
    assert!(handle.cancel());
    capped(move || pool.close()).unwrap();
    assert!(elapsed >= period * (RUNS - 1) && elapsed < period * RUNS * 2, "{elapsed:?}");

    usages.await_len(WORKERS);
    let Some(usages) = usages.entries().into_iter().collect::<Option<Vec<Usage>>>() else { return };
    let processor: Duration = usages.iter().map(|usage| usage.processor).sum();
    let waits: u64 = usages.iter().map(|usage| usage.waits).sum();
    assert!(processor < elapsed / 10, "all workers together used {processor:?} in {elapsed:?}");
    // All workers at each firing would be 100 000.
    assert!(waits < 10_000, "the workers have waited {waits} times in {RUNS} firings");
}

#[test]
fn ec_d2_a_timed_wait_is_not_cut_short() {
    let (pool, clock) = pool_of(1);
    let blocker = Blocker::new();
    let handle = pool.submit(blocker.body()).unwrap();
    for _ in 0..20 {
        let before = clock.now();
        assert!(handle.wait_for(ms(12)).unwrap_err().is_timeout());
        assert!(clock.now() >= before + ms(12));
        assert!(handle.wait_done_for(ms(1)).unwrap_err().is_timeout());
        assert!(clock.now() >= before + ms(13));
    }
}

/// Submits a blocker, sees its wait time out, and lets it end.
fn check_facade(name: &str, submit: impl FnOnce(Box<dyn Fn() + Send>) -> TaskHandle<()>) {
    let blocker = Blocker::new();
    let handle = submit(Box::new(blocker.body()));
    blocker.await_started();
    assert!(handle.wait_for(NANO).unwrap_err().is_timeout(), "{name}");
    blocker.release();
    assert_eq!(handle.wait_for(CAP), Ok(()), "{name}");
    assert!(handle.is_done() && !handle.is_cancelled(), "{name}");
}

#[test]
fn ec_d9_every_facade_of_the_pool_is_the_pool() {
    let pool = ScheduledThreadPool::new(2);
    check_facade("plain", |body| pool.submit(body).unwrap());
    let reference = &pool;
    check_facade("reference", |body| reference.submit(body).unwrap());
    let clone = pool.clone();
    check_facade("clone", move |body| clone.submit(body).unwrap());
    let shared = Arc::new(pool.clone());
    check_facade("shared", |body| Arc::clone(&shared).submit(body).unwrap());
    // The pool's generic methods make no object-safe trait; what can be passed around as an object is a
    // closure over an end of the pool, on any thread.
    type Submit = dyn Fn(Box<dyn Fn() + Send>) -> Result<TaskHandle<()>, Error> + Send + Sync;
    let end = pool.clone();
    let object: Arc<Submit> = Arc::new(move |body| end.submit(body));
    check_facade("object", |body| capped(move || object(body)).unwrap());
    assert_eq!(pool.stats().largest_pool_size, 2);
    eventually("all are counted", || pool.stats().completed == 5);
}

/// A benchmark measures the time between the due time of a task and its start.
#[test]
fn a_precise_pool_runs_nothing_early_and_loses_nothing() {
    let clock = SystemClock::new();
    let builder = ScheduledThreadPool::builder().core_size(2).precise();
    let pool = builder.clock(Arc::new(clock)).build().unwrap();
    let due = |number: u64| Duration::from_micros(number * 150);
    let starts: Vec<_> = (0..20)
        .map(|number| {
            let before = clock.now();
            (before, pool.schedule(due(number), move || clock.now()).unwrap())
        })
        .collect();
    for (number, (before, handle)) in (0..).zip(starts) {
        assert!(handle.wait_for(CAP).unwrap() >= before + due(number), "{number}");
    }
}
