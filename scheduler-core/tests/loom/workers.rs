//! Workers against each other, their time-out, and a smaller pool.

use std::time::Duration;

use loom::thread;

use crate::kit::{Counter, Latch, builder, models, ms, occupy, pool_at_rest, staged, stop};

models! {
    l5_two_tasks_that_are_due_get_two_workers: two_due;
    l5_two_tasks_that_come_while_a_worker_is_through_get_two_workers: two_that_meet;
    l5_a_task_that_comes_while_the_worker_that_looks_takes_another_one_is_run: late;
    l5_a_task_that_comes_back_while_another_worker_sleeps_is_run_again: back_to_a_sleeper;
    l7_a_worker_that_leaves_strands_no_task: time_out;
    l8_a_smaller_pool_looks_in_time: shrink;
}

/// The first task goes on only when the second one runs: each worker has to take one.
fn two_due() {
    let (pool, _clock) = pool_at_rest(2, builder(2));
    let second = Latch::default();
    let awaited = second.clone();
    let handle = pool.submit(move || awaited.wait()).unwrap();
    pool.execute(move || second.open()).unwrap();
    handle.wait().unwrap();
    stop(&pool);
}

/// One worker is at a task, and one sleeps. Two tasks come; the first goes on only when the second one runs.
fn two_that_meet() {
    let (pool, _clock) = pool_at_rest(2, builder(2));
    let (free, met) = (Latch::default(), Latch::default());
    staged(|| occupy(&pool, &free));
    free.open();
    let (awaits, opens) = (met.clone(), met.clone());
    let first = pool.submit(move || awaits.wait()).unwrap();
    pool.execute(move || opens.open()).unwrap();
    first.wait().unwrap();
    stop(&pool);
}

/// A worker looks at 10 ms and takes its task, which goes on only when another one has run. That one comes just then,
/// for 20 ms, when its submitter could still learn that a worker looks before.
fn late() {
    let (pool, clock) = pool_at_rest(2, builder(2));
    let second = Latch::default();
    let first = staged(|| {
        let awaited = second.clone();
        let first = pool.schedule(ms(10), move || awaited.wait()).unwrap();
        clock.await_watch(ms(10));
        first
    });
    let submitter = {
        let pool = pool.clone();
        thread::spawn(move || pool.schedule(ms(20), move || second.open()).unwrap())
    };
    clock.advance(ms(10));
    submitter.join().unwrap();
    staged(|| {
        // It may have come when the clock was moved already.
        clock.advance(ms(20));
        first.wait().unwrap();
    });
    stop(&pool);
}

/// A worker comes back with a task that is due again in 10 ms, while another one sleeps until it is woken.
fn back_to_a_sleeper() {
    let (pool, clock) = pool_at_rest(2, builder(2));
    let (ran, again) = (Counter::default(), Latch::default());
    let (runs, opens) = (ran.clone(), again.clone());
    let body = move || {
        runs.add();
        if runs.get() == 2 {
            opens.open();
        }
    };
    let handle = pool.schedule_at_fixed_rate(Duration::ZERO, ms(10), body).unwrap();
    clock.advance(ms(10));
    again.wait();
    stop(&pool);
    assert!(handle.is_cancelled());
}

/// The only worker has been idle for long enough to leave when a task comes that is not due yet.
fn time_out() {
    let settings = builder(1).keep_alive(ms(10)).core_may_time_out(true);
    let (pool, clock) = pool_at_rest(1, settings);
    clock.advance(ms(10));
    let handle = pool.schedule(ms(20), || 7).unwrap();
    clock.advance(ms(20));
    assert_eq!(handle.wait(), Ok(7));
    stop(&pool);
}

/// A pool of two becomes one of one. The worker that leaves first has been idle since 0 ms, the other
/// since 5 ms; the worker that waits for the task, and whether one leaves before the task is taken or while that
/// happens, it runs when it is due, at 12 ms.
fn shrink() {
    let (pool, clock) = pool_at_rest(2, builder(2).keep_alive(ms(10)));
    staged(|| {
        clock.advance(ms(5));
        pool.submit(|| ()).unwrap().wait().unwrap();
        clock.await_parked(2);
    });
    pool.set_core_size(1);
    let handle = pool.schedule(ms(7), || 7).unwrap();
    clock.advance(ms(5));
    clock.advance(ms(2));
    assert_eq!(handle.wait(), Ok(7));
    stop(&pool);
}
