//! A pool that stops asks every run in progress to stop.
//!
//! It does not matter since when the body knows its run, and in which way. A pool does not keep runs that are over.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use crate::kit::{Journal, Latch, ManualPool, await_terminated, eventually, ms, value_of};
use scheduler_core::{Run, ScheduledThreadPool};

fn await_stop(run: &Run) {
    eventually("the run is asked to stop", || run.is_cancelled());
}

#[test]
fn a_body_that_looks_at_its_run_only_later_finds_that_it_was_asked_to_stop() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let (begun, stopped) = (Latch::new(), Latch::new());
    let (tell, wait) = (begun.clone(), stopped.clone());
    let handle = pool
        .submit(move || {
            tell.open();
            wait.wait();
            Run::current().is_some_and(|run| run.is_cancelled())
        })
        .unwrap();
    begun.wait();
    drop(pool.shutdown_now());
    stopped.open();
    assert!(value_of(&handle));
    await_terminated(&pool);
}

#[test]
fn a_future_that_kept_its_run_hears_of_a_stop_during_a_later_poll() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let (mut kept, polls) = (None, Journal::new());
    let tell = polls.clone();
    let body = poll_fn(move |context| {
        let Some(run) = &kept else {
            kept = Run::current();
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        tell.note(());
        await_stop(run);
        Poll::Ready(())
    });
    let handle = pool.schedule_async(ms(0), body).unwrap();
    polls.await_len(1);
    drop(pool.shutdown_now());
    value_of(&handle);
    await_terminated(&pool);
}

#[test]
fn a_recurring_task_that_kept_an_earlier_run_hears_of_a_stop() {
    let ManualPool { pool, clock, .. } = ManualPool::new(1);
    let (mut kept, runs) = (None, Journal::new());
    let tell = runs.clone();
    let body = move || match &kept {
        None => kept = Run::current(),
        Some(run) => {
            tell.note("begun");
            await_stop(run);
            tell.note("stopped");
        }
    };
    pool.schedule_at_fixed_rate(ms(0), ms(1), body).unwrap();
    eventually("the first run is over", || pool.stats().completed == 1);
    clock.advance(ms(1));
    runs.await_len(1);
    drop(pool.shutdown_now());
    await_terminated(&pool);
    assert_eq!(runs.entries(), ["begun", "stopped"]);
}

#[test]
fn a_hook_that_kept_the_run_hears_of_a_stop_during_the_body() {
    let (kept, begun): (Arc<Mutex<Option<Run>>>, _) = (Arc::default(), Journal::new());
    let (keep, tell) = (Arc::clone(&kept), begun.clone());
    let builder = ScheduledThreadPool::builder().core_size(1);
    let builder = builder.before_run(move |run| *keep.lock().unwrap() = Some(run.clone()));
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let body = move || {
        tell.note(());
        let run = kept.lock().unwrap().take().expect("the hook was called");
        await_stop(&run);
    };
    let handle = pool.submit(body).unwrap();
    begun.await_len(1);
    drop(pool.shutdown_now());
    value_of(&handle);
    await_terminated(&pool);
}

#[test]
fn a_task_that_looked_at_its_run_is_let_go_of_when_that_is_over() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let value = Arc::new(());
    let (kept, inside) = (Arc::downgrade(&value), value);
    let handle = pool.submit(move || Run::current().map(|_| inside)).unwrap();
    assert!(value_of(&handle).is_some());
    drop(handle);
    eventually("the task is dropped, and its value with it", || kept.strong_count() == 0);
}
