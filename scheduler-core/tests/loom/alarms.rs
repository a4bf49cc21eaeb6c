//! Futures that sleep, against their clock, and against the pool's end.

use std::time::Duration;

use loom::thread;
use scheduler_core::{Event, ScheduledThreadPool, TaskHandle, TaskState};

use crate::kit::{Counter, HOUR, block_on, build, builder, models, ms, pool_at_rest};
use crate::times::Hand;

models! {
    l15_a_pool_that_closes_waits_for_who_sleeps: closed;
    l15_who_sleeps_ends_with_the_pool: stopped;
    l15_who_falls_asleep_while_the_pool_ends_wakes_up: begun_at_the_end;
}

/// A task that sleeps for 10 ms.
fn sleeper(pool: &ScheduledThreadPool, dropped: &Counter) -> TaskHandle<i32> {
    let (sleep, token) = (pool.sleep(ms(10)), dropped.on_drop());
    let body = async move {
        let _token = token;
        sleep.await;
        7
    };
    pool.schedule_async(Duration::ZERO, body).unwrap()
}

fn mover(clock: &Hand) -> thread::JoinHandle<()> {
    let clock = clock.clone();
    thread::spawn(move || clock.advance(ms(10)))
}

/// The time of a sleeper comes while the pool is shut down.
fn closed() {
    let dropped = Counter::default();
    let (pool, clock) = pool_at_rest(1, builder(1));
    let handle = sleeper(&pool, &dropped);
    let mover = mover(&clock);
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    assert_eq!(handle.state(), TaskState::Completed, "a sleeper wakes up before the end");
    mover.join().unwrap();
    assert_eq!(dropped.get(), 1, "the body is dropped once");
}

/// The same while the pool is stopped: the task ends in one way, and no thread waits for its time.
fn stopped() {
    let dropped = Counter::default();
    let (pool, clock) = pool_at_rest(1, builder(1));
    let handle = sleeper(&pool, &dropped);
    let mover = mover(&clock);
    drop(pool.shutdown_now());
    assert!(pool.await_termination(Duration::MAX));
    assert!(handle.is_done(), "a task is open at the end");
    mover.join().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.suspended, stats.queued), (0, 0), "nothing is left in the pool");
    assert_eq!(dropped.get(), 1, "the body is dropped once");
}

/// A sleep begins outside the pool, for which no pool waits, while the last worker leaves.
fn begun_at_the_end() {
    let (started, ended) = (Counter::default(), Counter::default());
    let (late, end) = (started.clone(), ended.clone());
    let listener = move |event: &Event<'_>| {
        if matches!(event, Event::WorkerStarted { .. }) && ended.get() > 0 {
            late.add();
        }
    };
    let pool = build(builder(1).listener(listener).on_terminated(move || end.add()));
    let closer = {
        let pool = pool.clone();
        thread::spawn(move || pool.shutdown())
    };
    block_on(pool.sleep(HOUR));
    closer.join().unwrap();
    assert!(pool.await_termination(Duration::MAX));
    assert_eq!(started.get(), 0, "no worker is started after the end");
}
