//! The contract under load (EC-M).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::kit::{self, ManualPool, Pending, Random, eventually, ms};
use scheduler_core::{Clock, ManualClock, ScheduledThreadPool, TaskHandle, TaskState};

const SUBMITTERS: u64 = 8;
const TASKS_EACH: u64 = 20_000;
const DELAY_BELOW_NANOS: u64 = 20_000_000;

/// The ends of the tasks of the first stress.
#[derive(Default)]
struct Tally {
    runs: Vec<AtomicU8>,
    early: AtomicU64,
}

fn submit_many(seed: u64, pool: &ScheduledThreadPool, clock: &ManualClock, tally: &Arc<Tally>) {
    let mut random = Random(seed);
    for n in 0..TASKS_EACH {
        let delay = Duration::from_nanos(random.below(DELAY_BELOW_NANOS));
        let due = clock.now() + delay;
        let (clock, tally) = (clock.clone(), Arc::clone(tally));
        let index = usize::try_from(seed * TASKS_EACH + n).expect("an index");
        let body = move || {
            tally.early.fetch_add(u64::from(clock.now() < due), Ordering::Relaxed);
            tally.runs[index].fetch_add(1, Ordering::Relaxed);
        };
        pool.schedule(delay, body).expect("the pool takes tasks");
    }
}

/// Waits until `count` has reached `target`; only standing still for too long is a failure.
fn await_count(what: &str, target: u64, count: impl Fn() -> u64) {
    let mut seen = count();
    while seen < target {
        eventually(what, || count() > seen);
        seen = count();
    }
}

#[test]
fn ec_m1_every_task_runs_exactly_once_and_never_early() {
    const ALL: u64 = SUBMITTERS * TASKS_EACH;
    let ManualPool { pool, clock } = ManualPool::new(2);
    let runs = (0..ALL).map(|_| AtomicU8::new(0)).collect();
    let tally = Arc::new(Tally { runs, early: AtomicU64::new(0) });
    let submitting: Vec<Pending<()>> = (0..SUBMITTERS)
        .map(|seed| {
            let (pool, clock, tally) = (pool.clone(), clock.clone(), Arc::clone(&tally));
            Pending::start(move || submit_many(seed, &pool, &clock, &tally))
        })
        .collect();
    // Time passes all the while, in steps that divide no delay.
    let is_over = Arc::new(AtomicBool::new(false));
    let passing = {
        let (clock, is_over) = (clock.clone(), Arc::clone(&is_over));
        let pass = move || {
            while !is_over.load(Ordering::Relaxed) {
                clock.advance(Duration::from_nanos(77_777));
                thread::yield_now();
            }
        };
        thread::Builder::new().spawn(pass).expect("a thread can be started")
    };
    await_count("tasks are submitted", ALL, || pool.stats().tasks);
    for submitter in submitting {
        submitter.join();
    }
    await_count("tasks are run", ALL, || pool.stats().completed);
    is_over.store(true, Ordering::Relaxed);
    passing.join().expect("time passes without a panic");
    let not_once = tally.runs.iter().filter(|runs| runs.load(Ordering::Relaxed) != 1).count();
    assert_eq!((not_once, tally.early.load(Ordering::Relaxed)), (0, 0));
    let stats = pool.stats();
    assert_eq!((stats.completed, stats.tasks, stats.queued), (ALL, ALL, 0));
    assert_eq!(stats.largest_pool_size, 2);
}

/// Schedules short tasks until the pool takes no more.
fn submit_until_rejected(seed: u64, pool: &ScheduledThreadPool) -> Vec<(TaskHandle<u64>, u64)> {
    let (mut random, mut accepted) = (Random(seed), Vec::new());
    loop {
        let n = random.next();
        let delay = if n.is_multiple_of(3) { Duration::ZERO } else { ms(random.below(5)) };
        match pool.schedule(delay, move || n) {
            Ok(handle) => accepted.push((handle, n)),
            Err(error) => {
                assert!(error.is_rejected(), "{error}");
                return accepted;
            }
        }
    }
}

/// One round: four threads schedule, and another ends the pool at some moment.
fn race_with_shutdown(round: u64) -> (usize, usize) {
    let ManualPool { pool, clock } = ManualPool::new(2);
    let submitting: Vec<_> = (0..4)
        .map(|n| {
            let pool = pool.clone();
            Pending::start(move || submit_until_rejected(round * 4 + n, &pool))
        })
        .collect();
    let mut random = Random(!round);
    let moment = random.below(40);
    eventually("the moment has come", || pool.stats().tasks >= moment);
    clock.advance(ms(random.below(3)));
    if round.is_multiple_of(2) {
        pool.shutdown();
    } else {
        drop(pool.shutdown_now());
    }
    let accepted: Vec<_> = submitting.into_iter().flat_map(Pending::join).collect();
    clock.advance(ms(5));
    kit::await_terminated(&pool);
    let mut cancelled = 0;
    for (handle, n) in &accepted {
        match handle.state() {
            TaskState::Completed => assert_eq!(handle.result_now().unwrap(), *n),
            TaskState::Cancelled => cancelled += 1,
            state => panic!("round {round}: task {} is {state:?}", handle.id()),
        }
    }
    assert!(pool.queue().is_empty());
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.active, stats.suspended, stats.pool_size), (0, 0, 0, 0));
    assert_eq!(stats.completed, (accepted.len() - cancelled) as u64);
    assert!(
        !round.is_multiple_of(2) || cancelled == 0,
        "what was accepted runs after a mere shutdown"
    );
    (accepted.len(), cancelled)
}

#[test]
fn ec_m2_whatever_is_accepted_while_the_pool_ends_is_run_or_cancelled() {
    let (mut accepted, mut cancelled) = (0, 0);
    for round in 0..kit::rounds(500) {
        let (of_round, of_them) = race_with_shutdown(round);
        accepted += of_round;
        cancelled += of_them;
    }
    assert!(accepted > 0 && cancelled > 0, "{accepted} accepted, {cancelled} cancelled");
}
