//! The end of a task against those who wait for it, in each of the three ways.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::thread;
use scheduler_core::time::Gate;
use scheduler_core::{Clock, SystemClock, TaskHandle, TaskState};

use crate::kit::{Counter, models, pool, stop};

models! {
    l6_a_blocked_wait_ends: blocked,
        with "L6 wake" says "deadlock", with "late epoch" says "deadlock";
    l6_a_future_is_woken_through_its_last_waker: polled, with "L6" says "deadlock";
    l6_a_callback_is_called_once: called_back, with "L6" says "called once";
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

/// A waker that opens a gate.
struct Knock(Gate2);

type Gate2 = Arc<Gate>;

impl Wake for Knock {
    fn wake(self: Arc<Self>) {
        self.0.open();
    }
}

/// A future that is polled with one waker and then with another is told through the second.
fn polled() {
    let pool = pool(1);
    let mut handle = pool.submit(|| 7).unwrap();
    let mut poll = |gate: &Arc<Gate>| {
        let waker = Waker::from(Arc::new(Knock(Arc::clone(gate))));
        Pin::new(&mut handle).poll(&mut Context::from_waker(&waker))
    };
    let (first, second) = (Arc::new(Gate::new()), Arc::new(Gate::new()));
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
    assert!(pool.await_termination(std::time::Duration::MAX));
    assert_eq!(called.get(), 2, "each callback is called once");
}
