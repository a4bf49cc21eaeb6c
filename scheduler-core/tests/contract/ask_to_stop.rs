//! One run is asked to stop; its task goes on.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use crate::kit::{HOUR, Journal, ManualPool, Mutex, VirtualPool, ms};
use scheduler_core::{Begun, Body, OnError, Run, Task, TaskHandle, TaskState};

fn current() -> Run {
    Run::current().expect("this is a task")
}

/// A task that notes for each run whether it is asked to stop, at its beginning and at its end.
fn every_second(stage: &VirtualPool, seen: &Journal<bool>) -> TaskHandle<()> {
    let seen = seen.clone();
    let body = Body::new(move || seen.note(current().is_cancelled()));
    stage.pool.submit_task(Task::at_fixed_rate(ms(1_000), body)).unwrap()
}

#[test]
fn a_task_that_waits_is_not_asked() {
    let (stage, seen) = (VirtualPool::new(1), Journal::new());
    let handle = every_second(&stage, &seen);
    handle.ask_to_stop();
    stage.run_due();
    handle.ask_to_stop();
    stage.run_for(ms(1_000));
    assert_eq!(seen.entries(), [false, false]);
    assert_eq!(handle.state(), TaskState::Scheduled);
}

#[test]
fn a_run_that_is_over_is_not_asked() {
    let stage = VirtualPool::new(1);
    let runs = Journal::new();
    let noted = runs.clone();
    let body = Body::new(move || noted.note(current()));
    let handle = stage.pool.submit_task(Task::at_fixed_rate(ms(10), body)).unwrap();
    stage.run_due();
    handle.ask_to_stop();
    assert!(!runs.entries()[0].is_cancelled());
}

#[test]
fn only_the_present_run_is_asked() {
    let stage = VirtualPool::new(1);
    let (runs, kept) = (Arc::new(Mutex::new(Vec::new())), Journal::new());
    let (inside, noted) = (Arc::clone(&runs), kept.clone());
    let own: Arc<Mutex<Option<TaskHandle<()>>>> = Arc::default();
    let mine = Arc::clone(&own);
    let body = Body::new(move || {
        let run = current();
        if run.number() == 1 {
            mine.lock().unwrap().as_ref().unwrap().ask_to_stop();
        }
        noted.note((run.number(), run.is_cancelled()));
        inside.lock().unwrap().push(run);
    });
    let handle = stage.pool.submit_task(Task::at_fixed_rate(ms(10), body)).unwrap();
    *own.lock().unwrap() = Some(handle.clone());
    stage.run_for(ms(20));
    assert_eq!(kept.entries(), [(1, true), (2, false), (3, false)]);
    let asked: Vec<bool> = runs.lock().unwrap().iter().map(Run::is_cancelled).collect();
    assert_eq!(asked, [true, false, false]);
    assert!(handle.cancel_now());
    assert!(runs.lock().unwrap().iter().all(Run::is_cancelled));
}

#[test]
fn an_interruptible_wait_ends_and_the_task_goes_on() {
    let stage = ManualPool::new(1);
    let slept = Journal::new();
    let noted = slept.clone();
    let body = Body::new(move || {
        noted.note(None);
        noted.note(Some(current().sleep(HOUR).is_ok()));
    });
    let task = Task::with_fixed_delay(ms(10), body).on_error(OnError::Continue);
    let handle = stage.pool.submit_task(task).unwrap();
    for run in 1..=3 {
        slept.await_len(2 * run - 1);
        handle.ask_to_stop();
        slept.await_len(2 * run);
        crate::kit::eventually("the run is over", || handle.state() == TaskState::Scheduled);
        stage.clock.advance(ms(10));
    }
    let slept = slept.entries();
    assert!(slept.iter().skip(1).step_by(2).all(|each| *each == Some(false)), "{slept:?}");
    assert!(handle.cancel_now());
}

/// A body whose future is pending until it sees that it is asked to stop; each poll is noted.
fn pending(seen: &Journal<(u64, bool)>) -> Body {
    let seen = seen.clone();
    Body::new_async(move || {
        let seen = seen.clone();
        poll_fn(move |_| {
            let run = current();
            seen.note((run.number(), run.is_cancelled()));
            if run.is_cancelled() { Poll::Ready(()) } else { Poll::Pending }
        })
    })
}

#[test]
fn a_suspended_future_is_polled_once_more() {
    let (stage, seen) = (VirtualPool::new(1), Journal::new());
    let handle = stage.pool.submit_task(Task::at_fixed_rate(ms(10), pending(&seen))).unwrap();
    stage.run_due();
    assert_eq!(stage.pool.stats().suspended, 1);
    handle.ask_to_stop();
    handle.ask_to_stop();
    assert_eq!(stage.pool.stats().suspended, 0);
    stage.run_due();
    assert_eq!(seen.entries(), [(1, false), (1, true)]);
    stage.run_for(ms(10));
    assert_eq!(seen.entries()[2..], [(2, false)]);
    assert_eq!(stage.pool.stats().suspended, 1);
    assert!(handle.cancel_now());
    assert_eq!(stage.pool.stats().suspended, 0);
}

#[test]
fn a_future_that_is_asked_between_its_poll_and_its_suspension_is_polled_once_more() {
    let (stage, seen) = (VirtualPool::new(1), Journal::new());
    let task = Task::at_fixed_rate(ms(10), pending(&seen)).name("patient");
    let handle = stage.pool.submit_task(task).unwrap();
    let Begun::Run(run) = stage.workers.begin(1) else { panic!("the task is due") };
    assert!(run.is_pending());
    assert_eq!((run.task_name(), run.task_id()), (Some("patient"), handle.id()));
    handle.ask_to_stop();
    run.finish();
    let Begun::Run(run) = stage.workers.begin(1) else { panic!("the task is polled on") };
    assert!(!run.is_pending());
    run.finish();
    assert_eq!(seen.entries(), [(1, false), (1, true)]);
    assert_eq!(handle.state(), TaskState::Scheduled);
}

/// A plain cancel does not disturb the run; the run may still be asked afterwards.
#[test]
fn a_run_of_a_cancelled_task_can_be_asked() {
    let stage = VirtualPool::new(1);
    let seen = Journal::new();
    let noted = seen.clone();
    let own: Arc<Mutex<Option<TaskHandle<()>>>> = Arc::default();
    let mine = Arc::clone(&own);
    let body = Body::new(move || {
        let handle = mine.lock().unwrap().clone().unwrap();
        assert!(handle.cancel());
        noted.note(current().is_cancelled());
        handle.ask_to_stop();
        noted.note(current().is_cancelled());
    });
    let handle = stage.pool.submit_task(Task::at_fixed_rate(ms(10), body)).unwrap();
    *own.lock().unwrap() = Some(handle.clone());
    stage.run_for(ms(30));
    assert_eq!(seen.entries(), [false, true]);
    assert!(handle.is_cancelled());
}
