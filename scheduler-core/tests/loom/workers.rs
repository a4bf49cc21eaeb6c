//! Workers against each other, against their own time-out, and against a smaller pool.

use loom::thread;

use crate::kit::{Latch, builder, models, ms, pool_at_rest, staged, stop};

models! {
    l5_a_busy_worker_hands_the_lead_over: hand_over, with "L5" says "deadlock";
    l5_a_worker_is_woken_for_a_task_that_comes_while_the_leader_takes_one: late,
        with "L5 late" says "deadlock";
    l7_a_worker_that_leaves_strands_no_task: time_out, with "L7" says "deadlock";
    l8_a_smaller_pool_keeps_its_lead: shrink, with "L8" says "deadlock";
}

/// The first task goes on only when the second one runs: each worker has to take one.
fn hand_over() {
    let (pool, _clock) = pool_at_rest(2, builder(2));
    let second = Latch::default();
    let awaited = second.clone();
    let handle = pool.submit(move || awaited.wait()).unwrap();
    pool.execute(move || second.open()).unwrap();
    handle.wait().unwrap();
    stop(&pool);
}

/// The leader looks at 10 ms and takes its task, which goes on only when another one has run. That one comes just then,
/// for 20 ms, when its submitter could still be told that the leader looks before.
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
