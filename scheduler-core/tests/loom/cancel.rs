//! Cancellation against a worker that takes the task, and against its way back into the queue.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;
use scheduler_core::{Event, Run, ScheduledThreadPool, TaskState};

use crate::kit::{Counter, HOUR, build, builder, models, stop};

models! {
    l3_one_of_two_cancels_or_the_worker_wins: cancel_against_take, with "L3" says "two of them";
    l4_a_periodic_task_that_is_cancelled_leaves_the_queue: cancel_against_requeue,
        with "L4" says "stays in the queue";
}

/// What the pool says of one task.
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
    assert_eq!(handle.state(), expected);
    stop(&pool);
    told.check();
    assert_eq!(called.get(), 1, "the callback is called once");
    assert_eq!(dropped.get(), 1, "the body is dropped once");
    assert!(ran.get() <= told.started.get());
    assert!(expected == TaskState::Cancelled || ran.get() == 1);
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
        thread::spawn(move || assert!(handle.cancel(), "nobody else ends the task"))
    };
    canceller.join().unwrap();
    assert!(handle.is_cancelled());
    // The only worker has put the task back before it takes another one.
    pool.submit(|| ()).unwrap().wait().unwrap();
    assert_eq!(pool.queue(), [], "a cancelled task stays in the queue");
    assert_eq!(pool.stats().queued, 0);
    assert_eq!(dropped.get(), 1, "the body is dropped once");
    stop(&pool);
}
