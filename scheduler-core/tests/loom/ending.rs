//! The end of a pool against what still runs in it.

use std::time::Duration;

use loom::thread;
use scheduler_core::Run;

use crate::kit::{Counter, HOUR, Latch, build, builder, models, pool};

models! {
    l9_one_terminator_wherever_the_last_handle_is_dropped: last_handle;
    l10_each_task_is_handed_out_or_run: drain;
    l10_each_task_of_one_worker_is_handed_out_or_run: drain_of_one;
    l10_a_run_that_has_just_been_taken_is_asked_to_stop: stop_of_a_run;
    l10_a_run_that_follows_another_one_is_asked_to_stop: stop_of_a_second_run;
    l10_what_a_worker_cancels_is_dropped_before_the_end: late_requeue;
    l10_what_a_shutdown_cancels_is_dropped_before_the_end: sweep;
}

/// A task holds a handle of its own pool, while the others are dropped.
fn last_handle() {
    let (terminated, ended) = (Counter::default(), Latch::default());
    let (count, end) = (terminated.clone(), ended.clone());
    let pool = build(builder(1).on_terminated(move || {
        count.add();
        end.open();
    }));
    let inside = pool.clone();
    let handle = pool.submit(move || drop(inside)).unwrap();
    let other = {
        let pool = pool.clone();
        thread::spawn(move || pool.shutdown())
    };
    drop(pool);
    handle.wait().unwrap();
    other.join().unwrap();
    ended.wait();
    assert_eq!(terminated.get(), 1, "a pool terminates once");
}

/// Two tasks, two workers that take them, and a thread that drains the queue.
fn drain() {
    let pool = pool(2);
    let ran = [Counter::default(), Counter::default()];
    let handles = ran.clone().map(|ran| pool.submit(move || ran.add()).unwrap());
    let drained = pool.shutdown_now();
    assert!(pool.await_termination(Duration::MAX));
    for (handle, ran) in handles.iter().zip(&ran) {
        let handed_out = drained.iter().filter(|task| task.belongs_to(handle)).count();
        assert_eq!(handed_out + ran.get(), 1, "a task is on exactly one side");
        assert_eq!(handle.is_done(), ran.get() == 1);
    }
    drop(drained);
    assert!(handles.iter().all(|handle| handle.is_done()));
}

/// Three tasks and one worker, while the queue is drained.
fn drain_of_one() {
    let pool = pool(1);
    let ran = [Counter::default(), Counter::default(), Counter::default()];
    let handles = ran.clone().map(|ran| pool.submit(move || ran.add()).unwrap());
    let drained = pool.shutdown_now();
    assert!(pool.await_termination(Duration::MAX));
    for (handle, ran) in handles.iter().zip(&ran) {
        let handed_out = drained.iter().filter(|task| task.belongs_to(handle)).count();
        assert_eq!(handed_out + ran.get(), 1, "a task is on exactly one side");
    }
    drop(drained);
    assert!(handles.iter().all(|handle| handle.is_done()));
}

/// A pool stops when its worker has taken a task, and has or has not begun to run it: a run that would take
/// an hour ends.
fn stop_of_a_run() {
    let pool = pool(1);
    let handle = pool.submit(|| Run::current().map(|run| run.sleep(HOUR).is_err())).unwrap();
    let drained = pool.shutdown_now();
    assert!(pool.await_termination(Duration::MAX));
    assert_eq!(drained.is_empty(), handle.is_done());
    if handle.is_done() {
        assert_eq!(handle.result_now(), Ok(Some(true)), "the run was asked to stop");
    }
}

/// A pool stops when its worker goes from one task to the next, which would take an hour.
fn stop_of_a_second_run() {
    let pool = pool(1);
    let first = pool.submit(|| ()).unwrap();
    let second = pool.submit(|| Run::current().map(|run| run.sleep(HOUR).is_err())).unwrap();
    let drained = pool.shutdown_now();
    assert!(pool.await_termination(Duration::MAX));
    assert_eq!(drained.iter().any(|task| task.belongs_to(&second)), !second.is_done());
    if second.is_done() {
        assert!(first.is_done());
        assert_eq!(second.result_now(), Ok(Some(true)), "the run was asked to stop");
    }
}

/// A recurring task comes back to a pool that is being shut down, while another worker leaves.
fn late_requeue() {
    let (dropped, called) = (Counter::default(), Counter::default());
    let seen = [called.clone(), dropped.clone()];
    let pool = build(builder(2).on_terminated(move || {
        let seen = seen.each_ref().map(Counter::get);
        assert_eq!(seen, [1, 1], "a task is reported and dropped before the end");
    }));
    let token = dropped.on_drop();
    let (begun, closed) = (Latch::default(), Latch::default());
    let (begins, goes_on) = (begun.clone(), closed.clone());
    let body = move || {
        let _held = &token;
        begins.open();
        goes_on.wait();
    };
    let handle = pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, body).unwrap();
    let count = called.clone();
    handle.on_done(move |_| count.add());
    begun.wait();
    pool.prestart();
    pool.shutdown();
    closed.open();
    assert!(pool.await_termination(Duration::MAX));
    assert!(handle.is_cancelled());
}

/// A thread shuts a pool down and drops what waits, while another one waits for the end and the worker leaves.
fn sweep() {
    let (dropped, pool) = (Counter::default(), pool(1));
    let token = dropped.on_drop();
    let body = move || {
        let _held = &token;
    };
    let handle = pool.schedule_at_fixed_rate(HOUR, HOUR, body).unwrap();
    let other = {
        let pool = pool.clone();
        thread::spawn(move || pool.shutdown())
    };
    assert!(pool.await_termination(Duration::MAX));
    assert_eq!(
        (handle.is_cancelled(), dropped.get()),
        (true, 1),
        "a task is dropped before the end"
    );
    other.join().unwrap();
}
