//! The scene that is played, and the samplers that play it.
//!
//! `watch` knows what has happened to each task and what must have; `clients` does things to a pool;
//! here they meet, once per schedule. Other scenes: `order`, of many workers that take what is due, and `timers`.
//!
//! No task and no listener asserts, because the engine would contain the panic: a watch records, and is checked at the
//! end, on the thread of the scene.
#![expect(clippy::print_stderr, reason = "the test prints what was sampled")]

mod clients;
mod order;
mod timers;
mod watch;

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use scheduler_core::{
    Clock, ManualClock, ScheduledThreadPool, ShutdownPolicy, SystemClock, Tick, WorkerThread,
};
use shuttle::rand::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};

use clients::Client;
use watch::Watches;

/// The number of schedules that each sampler takes unless `TEST_SCHEDULES` sets another.
const SCHEDULES: usize = 10_000;

/// The seed of the schedules, unless `SHUTTLE_RANDOM_SEED` sets another.
const SEED: u64 = 1;

#[test]
fn random_schedules() {
    sample("random", RandomScheduler::new_from_seed(SEED, schedules()), scene);
}

#[test]
fn schedules_of_three_decisions() {
    sample("PCT(3)", PctScheduler::new_from_seed(SEED, 3, schedules()), scene);
}

fn schedules() -> usize {
    let count = env::var("TEST_SCHEDULES").ok();
    count.map_or(SCHEDULES, |count| count.parse().expect("a number of schedules"))
}

/// Plays a scene, which says how many tasks there were, once per schedule.
fn sample(name: &str, scheduler: impl Scheduler + 'static, scene: fn() -> usize) {
    let mut config = Config::new();
    config.stack_size = 0x2_0000;
    config.max_steps = shuttle::MaxSteps::FailAfter(100_000);
    let (clock, steps) = (SystemClock::new(), Arc::new(AtomicUsize::new(0)));
    let tasks = Arc::clone(&steps);
    let count = Runner::new(scheduler, config).run(move || {
        tasks.fetch_add(scene(), Ordering::Relaxed);
    });
    let (took, tasks) = (clock.now().since(Tick::ZERO), steps.load(Ordering::Relaxed));
    eprintln!("{name}: {count} schedules with {tasks} tasks in {took:.1?}");
}

/// Plays the scene once, and says how many tasks the pool has taken.
fn scene() -> usize {
    let (clock, watches) = (ManualClock::new(), Watches::default());
    let pool = pool(&clock, &watches);
    let clients = Client::ALL.into_iter().map(|client| {
        let (pool, clock, watches) = (pool.clone(), clock.clone(), watches.clone());
        thread::spawn(move || client.act(&pool, &clock, &watches))
    });
    let mut early: Vec<thread::JoinHandle<()>> = clients.collect();
    let mut random = shuttle::rand::thread_rng();
    // The end comes in the midst of it all, or when some are through, or all.
    let late = early.split_off(random.gen_range(0..=early.len()));
    early.into_iter().for_each(|client| client.join().expect("no client panics"));
    let drained = if random.gen_bool(0.5) {
        pool.shutdown();
        // The pool waits for futures in progress, and they for the clock.
        clock.advance(Duration::from_millis(1));
        Vec::new()
    } else {
        pool.shutdown_now()
    };
    assert!(pool.await_termination(Duration::MAX), "the pool terminates");
    let at_the_end = watches.runs();
    late.into_iter().for_each(|client| client.join().expect("no client panics"));
    watches.check_drained(&drained);
    drop(drained);
    assert_eq!(watches.runs(), at_the_end, "nothing runs after the end");
    let stats = pool.stats();
    let left = (stats.pool_size, stats.active, stats.queued, stats.suspended);
    assert_eq!(left, (0, 0, 0, 0), "nothing is left in the pool");
    watches.check()
}

fn pool(clock: &ManualClock, watches: &Watches) -> ScheduledThreadPool {
    let ended = watches.clone();
    ScheduledThreadPool::builder()
        .core_size(4)
        .keep_alive(Duration::from_millis(1))
        .shutdown_policy(ShutdownPolicy { continue_recurring: false, execute_delayed: false })
        .thread_name_prefix("worker-")
        .clock(Arc::new(clock.clone()))
        .listener(watches.listener())
        .on_terminated(move || ended.note_termination())
        .thread_factory(|worker: WorkerThread| {
            thread::spawn(move || worker.run());
            Ok(())
        })
        .build()
        .expect("valid settings")
}
