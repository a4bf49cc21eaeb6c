//! The end of a task against the three kinds of waiters.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use loom::thread;
use scheduler_core::time::EventCount;
use scheduler_core::{Clock, SystemClock, TaskHandle, TaskState};

use crate::kit::{Counter, HOUR, Latch, models, pool, stop, waker};

models! {
    l6_a_blocked_wait_ends: blocked;
    l6_a_wait_for_no_value_ends: blocked_for_nothing;
    l6_a_wait_ends_with_a_run_that_is_cancelled: cancelled_in_a_run;
    l6_a_future_is_woken_through_its_last_waker: polled;
    l6_a_callback_is_called_once: called_back;
    l6_a_body_is_dropped_before_its_end_is_seen: dropped_first;
}

/// Two threads wait for one task.
fn blocked() {
    let pool = pool(1);
    let handle = pool.submit(|| 7).unwrap();
    let other = {
        let handle = handle.clone();
        thread::spawn(move || assert_eq!(handle.wait(), Ok(7)))
    };
    assert_eq!(handle.wait(), Ok(7));
    other.join().unwrap();
    stop(&pool);
}

/// A task without a value ends without a lock, unless a thread waits.
fn blocked_for_nothing() {
    let pool = pool(1);
    assert_eq!(pool.submit(|| ()).unwrap().wait(), Ok(()));
    stop(&pool);
}

/// A task is cancelled while it is run, by one thread, and awaited by another one.
fn cancelled_in_a_run() {
    let (pool, dropped) = (pool(1), Counter::default());
    let (begun, token) = (Latch::default(), dropped.on_drop());
    let begins = begun.clone();
    let handle = pool
        .submit(move || {
            begins.open();
            Arc::new(token)
        })
        .unwrap();
    let canceller = {
        let handle = handle.clone();
        thread::spawn(move || {
            begun.wait();
            handle.cancel()
        })
    };
    let is_cancelled = handle.wait_done().is_ok() && handle.is_cancelled();
    assert_eq!(canceller.join().unwrap(), is_cancelled, "a cancel that won");
    stop(&pool);
    assert_eq!(dropped.get(), usize::from(is_cancelled), "a value without a taker is dropped");
}

/// A future that is polled with one waker and then with another is woken through the second.
fn polled() {
    let pool = pool(1);
    let mut future = pool.submit(|| 7).unwrap().into_future();
    let mut poll =
        |gate: &Arc<EventCount>| Pin::new(&mut future).poll(&mut Context::from_waker(&waker(gate)));
    let (first, second) = (Arc::new(EventCount::new()), Arc::new(EventCount::new()));
    let mut answer = poll(&first);
    while answer.is_pending() {
        let seen = second.epoch();
        answer = poll(&second);
        if answer.is_pending() {
            SystemClock::new().wait(&second, seen, None);
        }
    }
    assert_eq!(answer, Poll::Ready(Ok(7)));
    stop(&pool);
}

/// Callbacks that are added while the task ends are called, and once.
fn called_back() {
    let (pool, called) = (pool(1), Counter::default());
    let handle = pool.submit(|| 7).unwrap();
    let add = |handle: &TaskHandle<i32>, called: Counter| {
        handle.on_done(move |state| {
            assert_eq!(state, TaskState::Completed);
            called.add();
        });
    };
    let other = {
        let (handle, called) = (handle.clone(), called.clone());
        thread::spawn(move || add(&handle, called))
    };
    add(&handle, called.clone());
    other.join().unwrap();
    handle.wait().unwrap();
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    assert_eq!(called.get(), 2, "each callback is called once");
}

/// A recurring task that fails in its first run.
fn dropped_first() {
    let (pool, dropped) = (pool(1), Counter::default());
    let token = dropped.on_drop();
    let body = move || {
        let _held = &token;
        Err::<(), _>("it fails")
    };
    let handle = pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, body).unwrap();
    assert!(handle.wait().unwrap_err().is_failed());
    assert_eq!(dropped.get(), 1, "a body is dropped before its end is seen");
    stop(&pool);
}
