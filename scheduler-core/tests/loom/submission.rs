//! Submissions against a worker that goes to sleep, and the pool's end.

use std::time::Duration;

use loom::thread;
use scheduler_core::ShutdownPolicy;

use crate::kit::{Counter, HOUR, build, builder, models, ms, pool, pool_at_rest, staged, stop};

models! {
    l1_what_is_due_before_any_worker_looks_wakes_one: sooner;
    l1_what_comes_while_a_worker_goes_to_sleep_is_run: while_it_goes_to_sleep;
    l1_what_comes_for_later_while_a_worker_looks_is_run: for_later;
    l2_what_is_accepted_runs_before_the_end: accepted_runs;
    l2_what_is_accepted_is_resolved_at_the_end: accepted_resolves;
    l2_what_is_accepted_while_a_pool_drops_what_is_not_due_is_resolved: accepted_for_later;
    l2_what_is_accepted_before_a_stop_is_handed_out_or_run: accepted_when_stopped;
}

/// The worker sleeps until a task that is due in an hour; two threads come with one that is due.
fn sooner() {
    let pool = pool(1);
    let far = pool.schedule(HOUR, || unreachable!("time stands still")).unwrap();
    let other = {
        let pool = pool.clone();
        thread::spawn(move || pool.submit(|| 1).unwrap())
    };
    assert_eq!(pool.submit(|| 2).unwrap().wait(), Ok(2));
    assert_eq!(other.join().unwrap().wait(), Ok(1));
    stop(&pool);
    assert!(far.is_cancelled());
}

/// A task comes when the worker is through with another one, and finds nothing to do.
fn while_it_goes_to_sleep() {
    let pool = pool(1);
    pool.submit(|| ()).unwrap().wait().unwrap();
    assert_eq!(pool.submit(|| 7).unwrap().wait(), Ok(7));
    stop(&pool);
}

/// The worker looks at 10 ms, and finds nothing to wait for then; meanwhile a task comes for 20 ms.
fn for_later() {
    let (pool, clock) = pool_at_rest(1, builder(1));
    staged(|| {
        pool.schedule(ms(10), || ()).unwrap();
        clock.await_watch(ms(10));
    });
    let submitter = {
        let pool = pool.clone();
        thread::spawn(move || pool.schedule(ms(20), || 7).unwrap())
    };
    clock.advance(ms(10));
    let second = submitter.join().unwrap();
    // Its time comes, whatever has come of it so far: L14 explores how.
    staged(|| {
        clock.advance(ms(20));
        assert_eq!(second.wait(), Ok(7));
    });
    stop(&pool);
}

/// A task that was accepted, and is due, has run when the pool has terminated, and nothing runs after that.
fn accepted_runs() {
    let (pool, ran) = (pool(1), Counter::default());
    let submitter = {
        let (pool, ran) = (pool.clone(), ran.clone());
        thread::spawn(move || pool.submit(move || ran.add()).ok())
    };
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    let ran_in_time = ran.get();
    let accepted = submitter.join().unwrap();
    assert_eq!(ran.get(), ran_in_time, "a task runs after the end");
    assert_eq!(ran.get(), usize::from(accepted.is_some()), "a task that is accepted runs in time");
    assert!(accepted.is_none_or(|handle| handle.is_done()), "a task is open at the end");
}

const DROPS_WHAT_IS_NOT_DUE: ShutdownPolicy =
    ShutdownPolicy { continue_recurring: false, execute_delayed: false };

/// A task that was accepted, and is not due, is cancelled when the pool has terminated.
fn accepted_resolves() {
    let pool = build(builder(1).shutdown_policy(DROPS_WHAT_IS_NOT_DUE));
    let submitter = {
        let pool = pool.clone();
        thread::spawn(move || {
            let accepted = pool.schedule(HOUR, || ()).ok();
            let is_over = pool.is_terminated();
            let is_resolved = accepted.as_ref().is_none_or(|handle| handle.is_cancelled());
            assert!(!is_over || is_resolved, "a task is open at the end");
            accepted
        })
    };
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    let accepted = submitter.join().unwrap();
    assert!(accepted.is_none_or(|handle| handle.is_cancelled()), "a task is open at the end");
}

/// The same where a worker sleeps, and another task is dropped.
fn accepted_for_later() {
    let settings = builder(1).shutdown_policy(DROPS_WHAT_IS_NOT_DUE);
    let (pool, clock) = pool_at_rest(1, settings);
    let first = staged(|| {
        let first = pool.schedule(HOUR, || ()).unwrap();
        clock.await_watch(HOUR);
        first
    });
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

/// A task that comes while the pool is stopped is refused, handed out, or run.
fn accepted_when_stopped() {
    let (pool, ran) = (pool(1), Counter::default());
    let submitter = {
        let (pool, ran) = (pool.clone(), ran.clone());
        thread::spawn(move || pool.submit(move || ran.add()).ok())
    };
    let drained = pool.shutdown_now();
    assert!(pool.await_termination(Duration::MAX));
    let accepted = submitter.join().unwrap();
    let sides = drained.len() + ran.get() + usize::from(accepted.is_none());
    assert_eq!(sides, 1, "a task is on exactly one side");
    drop(drained);
    assert!(accepted.is_none_or(|handle| handle.is_done()), "a task is open at the end");
}
