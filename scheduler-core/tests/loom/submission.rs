//! Submissions against a leader that goes to sleep, and against a shutdown.

use std::time::Duration;

use loom::thread;
use scheduler_core::ShutdownPolicy;

use crate::kit::{Counter, HOUR, build, builder, models, pool, stop};

models! {
    l1_an_earlier_head_wakes_the_leader: earlier_head,
        with "L1" says "deadlock", with "late epoch" says "deadlock";
    l2_what_is_accepted_runs_before_the_end: accepted_runs, with "L2" says "runs in time";
    l2_what_is_accepted_is_resolved_at_the_end: accepted_resolves,
 with "L2" says "open at the end";
}

/// The leader waits for a task an hour ahead; two threads come with one that is due.
fn earlier_head() {
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

/// What is due and was accepted has run when the pool has terminated, and nothing runs after that.
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

/// What is not due yet and was accepted is cancelled when the pool has terminated.
fn accepted_resolves() {
    let policy = ShutdownPolicy { continue_recurring: false, execute_delayed: false };
    let pool = build(builder(1).shutdown_policy(policy));
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
