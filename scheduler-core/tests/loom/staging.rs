//! What is staged, against the worker that takes it in, and against the end.

use std::time::Duration;

use loom::thread;
use scheduler_core::{ScheduledThreadPool, ShutdownPolicy, TaskHandle};

use crate::kit::{Counter, HOUR, builder, models, ms, pool_at_rest, staged, stop};
use crate::times::Hand;

models! {
    l11_what_is_staged_while_the_leader_looks_is_seen: submitted, with "L11" says "deadlock";
    l11_what_is_cancelled_while_it_is_staged_leaves_the_queue: cancelled_on_its_way,
        with "L11 ticket" says "stays in the queue";
    l11_a_removal_is_staged_while_others_are_seen_to: removed,
        with "L11 flag" says "stays in the queue";
    l11_a_removal_while_the_pool_closes_is_seen: removed_at_the_end,
        with "L11 removal" says "deadlock";
    l11_a_submission_while_the_pool_closes_is_resolved: submitted_at_the_end,
        with "L11 end" says "deadlock";
}

/// A pool whose only worker waits for a task.
fn pool_that_waits(
    delay: Duration,
    token: &Counter,
) -> (ScheduledThreadPool, Hand, TaskHandle<()>) {
    let (pool, clock) = pool_at_rest(1, builder(1));
    let first = staged(|| {
        let token = token.on_drop();
        let first = pool.schedule(delay, move || drop(token)).unwrap();
        clock.await_watch(delay);
        first
    });
    (pool, clock, first)
}

/// The leader looks at 10 ms, and finds nothing that it could wait for then; until that is known, a task
/// that comes is staged.
fn submitted() {
    let (pool, clock, _first) = pool_that_waits(ms(10), &Counter::default());
    let submitter = {
        let pool = pool.clone();
        thread::spawn(move || pool.schedule(ms(20), || 7).unwrap())
    };
    clock.advance(ms(10));
    let second = submitter.join().unwrap();
    // Whatever has come of it so far, its time comes: L14 explores how.
    staged(|| {
        clock.advance(ms(20));
        assert_eq!(second.wait(), Ok(7));
    });
    stop(&pool);
}

/// A task is staged and cancelled, while another thread has what is staged put into the queue.
fn cancelled_on_its_way() {
    let dropped = Counter::default();
    let (pool, _clock, first) = pool_that_waits(HOUR, &Counter::default());
    let onlooker = {
        let pool = pool.clone();
        thread::spawn(move || assert!(!pool.queue().is_empty()))
    };
    let token = dropped.on_drop();
    let second = pool.schedule(HOUR * 2, move || drop(token)).unwrap();
    assert!(second.cancel(), "nobody else ends the task");
    onlooker.join().unwrap();
    assert_eq!(pool.stats().queued, 1, "a cancelled task stays in the queue");
    assert_eq!(dropped.get(), 1, "the body is dropped once");
    stop(&pool);
    assert!(first.is_cancelled());
}

/// A task is cancelled while another thread sees to what is staged; a later look sees to the rest.
fn removed() {
    let dropped = Counter::default();
    let (pool, _clock, first) = pool_that_waits(HOUR, &dropped);
    let second = staged(|| pool.schedule(HOUR * 2, || ()).unwrap());
    let canceller = thread::spawn(move || assert!(first.cancel(), "nobody else ends the task"));
    assert!(pool.stats().queued > 0);
    canceller.join().unwrap();
    assert_eq!(pool.queue().len(), 1, "a cancelled task stays in the queue");
    assert_eq!(dropped.get(), 1, "the body is dropped once");
    stop(&pool);
    assert!(second.is_cancelled());
}

/// The last task of a pool that is shut down, and that would wait for it, is cancelled.
fn removed_at_the_end() {
    let dropped = Counter::default();
    let (pool, _clock, first) = pool_that_waits(HOUR, &dropped);
    let canceller = thread::spawn(move || assert!(first.cancel(), "nobody else ends the task"));
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    canceller.join().unwrap();
    assert_eq!(dropped.get(), 1, "the body is dropped once");
}

/// What is not due yet, and is staged while the pool drops all such tasks, is refused or cancelled.
fn submitted_at_the_end() {
    let (pool, _clock, first) = pool_that_waits(HOUR, &Counter::default());
    pool.set_shutdown_policy(ShutdownPolicy { continue_recurring: false, execute_delayed: false });
    let submitter = {
        let pool = pool.clone();
        thread::spawn(move || pool.schedule(HOUR * 2, || ()).ok())
    };
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    let second = submitter.join().unwrap();
    assert!(first.is_cancelled());
    assert!(second.is_none_or(|second| second.is_cancelled()), "a task is open at the end");
}
