//! An idle pool costs nothing: its workers sleep until something is due.
//!
//! By the real clock, and in a process of its own: it reads the time that all threads of the process have
//! spent on a processor.
#![cfg(target_os = "linux")]

use crate::kit::{at_wall, is_in_own_process};
use chrono::TimeDelta;
use scheduler_core::{Clock, ScheduledThreadPool, SystemClock};
use std::fs;
use std::time::Duration;

const WORKERS: usize = 8;
const TASKS: u64 = 10_000;
const IDLE: Duration = Duration::from_secs(5);
const ALLOWED: Duration = Duration::from_millis(10);
const TRIES: usize = 10;
const HOUR: Duration = Duration::from_secs(3_600);

/// The processor time of all threads that this process has now.
fn processor_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").expect("the threads of this process");
    let nanos = tasks.map(|task| {
        let path = task.expect("a thread").path().join("schedstat");
        let text = fs::read_to_string(path).expect("the statistics of a thread");
        let on_processor = text.split_whitespace().next().expect("the time on a processor");
        on_processor.parse::<u64>().expect("nanoseconds")
    });
    Duration::from_nanos(nanos.sum())
}

/// A pool of eight workers, all of them started, with all the tasks pending.
fn pool(submit: impl Fn(&ScheduledThreadPool, u64)) -> ScheduledThreadPool {
    let pool = ScheduledThreadPool::builder().core_size(WORKERS).build().expect("valid settings");
    for number in 0..TASKS {
        submit(&pool, number);
    }
    pool.prestart_all();
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.queued as u64), (WORKERS, TASKS));
    pool
}

/// Waits, through the pool, until its workers have come to rest, and then for the time to be judged: again where that
/// was too much, since a machine that is shared counts some of what others do to a thread that was about to sleep. A pool
/// that is busy is so each time.
fn idle_time(pool: &ScheduledThreadPool) -> Duration {
    let never = pool.schedule(Duration::MAX, || {}).expect("the pool takes tasks");
    let mut spent = Duration::MAX;
    for _ in 0..TRIES {
        assert!(never.wait_for(Duration::from_millis(300)).expect_err("too early").is_timeout());
        let before = processor_time();
        assert!(never.wait_for(IDLE).expect_err("too early").is_timeout());
        spent = spent.min(processor_time() - before);
        if spent < ALLOWED {
            break;
        }
    }
    drop(pool.shutdown_now());
    assert!(pool.await_termination(Duration::from_secs(60)), "the workers leave");
    spent
}

/// A meter that stands still would allow everything.
fn see_that_the_meter_runs() {
    let before = processor_time();
    let looks = (0..1_000_000).find(|_| processor_time() >= before + ALLOWED);
    assert!(looks.is_some(), "looking at the processor time a million times took none");
}

/// Both cases, one after the other: together they would be judged for each other's time.
#[test]
fn an_idle_pool_with_many_tasks_pending_uses_no_processor() {
    if !is_in_own_process(an_idle_pool_with_many_tasks_pending_uses_no_processor) {
        return;
    }
    see_that_the_meter_runs();

    let delayed = pool(|pool, number| {
        let delay = HOUR + Duration::from_millis(number);
        pool.schedule(delay, || {}).expect("the pool takes tasks");
    });
    let spent = idle_time(&delayed);
    assert!(spent < ALLOWED, "{TASKS} delayed tasks cost {spent:?} in {IDLE:?}");

    // A wait for the wall clock looks at it twice a second.
    let clock = SystemClock::new();
    let mixed = pool(|pool, number| match number % 2 {
        0 => drop(pool.schedule(HOUR, || {}).expect("the pool takes tasks")),
        _ => drop(at_wall(pool, &clock, clock.wall() + TimeDelta::hours(1), || ())),
    });
    let spent = idle_time(&mixed);
    assert!(spent < ALLOWED, "{TASKS} tasks, half of the wall clock, cost {spent:?} in {IDLE:?}");
}
