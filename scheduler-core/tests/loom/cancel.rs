//! Cancellation against a worker that takes or requeues the task.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use loom::thread;
use scheduler_core::{Event, Run, ScheduledThreadPool, TaskState};

use crate::kit::{Counter, HOUR, build, builder, models, pool, staged, stop};

models! {
    l3_one_of_two_cancels_or_the_worker_wins: cancel_against_take;
    l3_an_entry_that_keeps_its_place_is_counted_once: cancel_that_keeps_the_place;
    l3_a_body_is_dropped_before_its_end_is_seen: drop_against_wait;
    l3_a_callback_of_a_cancelled_task_may_wait_for_the_end: end_in_a_callback;
    l3_a_destructor_of_a_cancelled_task_may_wait_for_the_end: end_in_a_destructor;
    l4_a_periodic_task_that_is_cancelled_leaves_the_queue: cancel_against_requeue;
}

/// The events of one task.
#[derive(Clone, Default)]
struct Told {
    started: Counter,
    finished: Counter,
    /// Ends that a worker reports for its run, and ends that a canceller reports.
    ended_by_worker: Counter,
    ended_by_canceller: Counter,
}

impl Told {
    fn pool(&self) -> ScheduledThreadPool {
        let told = self.clone();
        build(builder(1).listener(move |event: &Event<'_>| match event {
            Event::RunStarted { .. } => told.started.add(),
            Event::RunFinished { .. } => told.finished.add(),
            Event::TaskEnded { .. } if Run::current().is_some() => told.ended_by_worker.add(),
            Event::TaskEnded { .. } => told.ended_by_canceller.add(),
            _ => {}
        }))
    }

    /// The task ended once, and is either run to its end or was never begun.
    fn check(&self) {
        let ended = (self.ended_by_worker.get(), self.ended_by_canceller.get());
        let runs = (self.started.get(), self.finished.get());
        match ended {
            (1, 0) => assert_eq!(runs, (1, 1), "the worker has the task"),
            (0, 1) => assert_eq!(runs, (0, 0), "two of them have the task"),
            _ => panic!("the task ended {ended:?} times: two of them have the task"),
        }
    }
}

/// Two threads cancel a task that a worker is about to run: one of the three ends it.
fn cancel_against_take() {
    let (told, ran, dropped, called) =
        (Told::default(), Counter::default(), Counter::default(), Counter::default());
    let pool = told.pool();
    let (inside, token) = (ran.clone(), dropped.on_drop());
    let handle = pool
        .submit(move || {
            let _token = token;
            inside.add();
        })
        .unwrap();
    let heard = called.clone();
    handle.on_done(move |_| heard.add());
    let other = {
        let handle = handle.clone();
        thread::spawn(move || handle.cancel())
    };
    let wins = [handle.cancel(), other.join().unwrap()];
    let expected = if wins.contains(&true) { TaskState::Cancelled } else { TaskState::Completed };
    assert_ne!(wins, [true, true], "two of them cancel the task");
    assert_eq!(handle.state(), expected, "two of them end the task");
    stop(&pool);
    told.check();
    assert_eq!(called.get(), 1, "the callback is called once");
    assert_eq!(dropped.get(), 1, "the body is dropped once");
    assert!(ran.get() <= told.started.get());
    assert!(expected == TaskState::Cancelled || ran.get() == 1);
}

/// A task is cancelled while a worker takes it, in a pool that keeps the entries of cancelled tasks.
fn cancel_that_keeps_the_place() {
    let (pool, dropped) = (build(builder(1).remove_on_cancel(false)), Counter::default());
    let token = dropped.on_drop();
    let handle = pool.submit(move || drop(token)).unwrap();
    let canceller = thread::spawn(move || handle.cancel());
    // The only worker has let go of the entry before it takes another one.
    pool.submit(|| ()).unwrap().wait().unwrap();
    canceller.join().unwrap();
    staged(|| {
        pool.set_remove_on_cancel(true);
        assert!(pool.schedule(HOUR, || ()).unwrap().cancel());
        assert_eq!((pool.stats().queued, dropped.get()), (0, 1), "an entry is counted once");
    });
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
}

/// A thread waits for a task that waits for its time, and another one cancels it.
fn drop_against_wait() {
    let (pool, dropped) = (pool(1), Counter::default());
    let token = dropped.on_drop();
    let handle = pool.schedule(HOUR, move || drop(token)).unwrap();
    let canceller = {
        let handle = handle.clone();
        thread::spawn(move || assert!(handle.cancel(), "no other thread ends the task"))
    };
    assert!(handle.wait().unwrap_err().is_cancelled());
    assert_eq!(dropped.get(), 1, "a body is dropped before its end is seen");
    canceller.join().unwrap();
    stop(&pool);
}

/// The last task of a pool, whose future is pending, is cancelled, and its callback shuts the pool down and waits.
fn end_in_a_callback() {
    let pool = pool(1);
    let handle = staged(|| {
        let handle = pool.schedule_async(Duration::ZERO, pending::<()>()).unwrap();
        while pool.stats().suspended == 0 {
            thread::yield_now();
        }
        handle
    });
    let inside = pool.clone();
    handle.on_done(move |_| {
        inside.shutdown();
        assert!(inside.await_termination(Duration::MAX));
    });
    assert!(handle.cancel(), "no other thread ends the task");
    assert!(pool.is_terminated());
}

/// The last task of a pool is cancelled, and the destructor of its body closes the pool.
fn end_in_a_destructor() {
    struct Owner(ScheduledThreadPool);
    impl Drop for Owner {
        fn drop(&mut self) {
            self.0.close().unwrap();
        }
    }
    let pool = pool(1);
    let owner = Owner(pool.clone());
    let handle = pool.schedule(HOUR, move || drop(owner)).unwrap();
    assert!(handle.cancel(), "no other thread ends the task");
    assert!(pool.is_terminated());
}

/// A periodic task is cancelled while its worker puts it back into the queue.
fn cancel_against_requeue() {
    let (told, dropped) = (Told::default(), Counter::default());
    let pool = told.pool();
    let token = Arc::new(dropped.on_drop());
    let body = move || drop(Arc::clone(&token));
    let handle = pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, body).unwrap();
    let canceller = {
        let handle = handle.clone();
        thread::spawn(move || assert!(handle.cancel(), "no other thread ends the task"))
    };
    canceller.join().unwrap();
    assert!(handle.is_cancelled());
    // The only worker has put the task back before it takes another one.
    pool.submit(|| ()).unwrap().wait().unwrap();
    assert_eq!(pool.queue(), [], "a cancelled task stays in the queue");
    assert_eq!(pool.stats().queued, 0, "a cancelled task stays in the queue");
    assert_eq!(dropped.get(), 1, "the body is dropped once");
    stop(&pool);
}
