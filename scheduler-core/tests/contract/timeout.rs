//! The contract of tasks with a time limit (EC-N).

use std::time::Duration;

use crate::kit::{
    Blocker, HOUR, Journal, Latch, ManualPool, NANO, Pending, VirtualPool, await_parked,
    await_terminated, eventually, ms, value_of, wedge,
};
use scheduler_core::{
    Begun, Error, Run, ScheduledThreadPool, ShutdownPolicy, TaskHandle, TaskState, Tick,
};

/// A body that sleeps for an hour, and notes whether it was interrupted.
fn sleeper(woken: &Journal<bool>) -> impl FnOnce() + Send + use<> {
    let woken = woken.clone();
    move || woken.note(Run::current().expect("inside a run").sleep(HOUR).is_err())
}

fn wait(handle: &TaskHandle<()>) -> Pending<Result<(), Error>> {
    let handle = handle.clone();
    Pending::start(move || handle.wait())
}

#[test]
fn ec_n1_a_task_that_sleeps_beyond_its_limit_is_cancelled_and_interrupted() {
    for (workers, limit) in [(2, NANO), (2, ms(5)), (1, NANO), (1, ms(5))] {
        let ManualPool { pool, clock } = ManualPool::new(workers);
        let woken = Journal::new();
        let handle = pool.submit_with_timeout(limit, sleeper(&woken)).unwrap();
        let told = Latch::new();
        let callback = told.clone();
        handle.on_done(move |state| {
            assert_eq!(state, TaskState::Cancelled);
            callback.open();
        });
        let waiting = wait(&handle);
        await_parked(&clock, workers + 1);
        clock.advance(limit - NANO);
        assert!(!handle.is_done() && waiting.is_blocked(), "not before the limit");
        await_parked(&clock, workers + 1);
        clock.advance(NANO);
        assert!(waiting.join().unwrap_err().is_cancelled());
        woken.await_len(1);
        assert_eq!(woken.entries(), [true]);
        told.wait();
        eventually("nothing is left", || pool.stats().queued == 0 && pool.stats().active == 0);
    }
}

#[test]
fn ec_n1_without_anybody_waiting_the_task_is_cancelled_all_the_same() {
    for workers in [1, 2] {
        let ManualPool { pool, clock } = ManualPool::new(workers);
        let woken = Journal::new();
        let handle = pool.submit_with_timeout(ms(5), sleeper(&woken)).unwrap();
        await_parked(&clock, workers);
        clock.advance(ms(5));
        woken.await_len(1);
        eventually("it has ended", || handle.is_done());
        assert!(handle.is_cancelled() && woken.entries() == [true]);
    }
}

#[test]
fn ec_n1_a_run_that_does_not_heed_the_limit_is_cancelled_at_once_and_its_value_is_dropped() {
    let ManualPool { pool, clock } = ManualPool::new(2);
    let (blocker, seen) = (Blocker::new(), Journal::new());
    let (body, noted) = (blocker.body(), seen.clone());
    let handle = pool
        .submit_with_timeout(ms(5), move || {
            body();
            noted.note(Run::current().expect("inside a run").is_cancelled());
        })
        .unwrap();
    blocker.await_started();
    await_parked(&clock, 1);
    clock.advance(ms(5));
    eventually("the other worker cancels it", || handle.is_cancelled());
    assert_eq!(seen.len(), 0);
    blocker.release();
    seen.await_len(1);
    assert_eq!(seen.entries(), [true]);
    assert!(handle.is_cancelled());
}

#[test]
fn ec_n1_a_task_that_waits_for_the_first_of_many_is_interrupted_at_its_limit() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let (inner, seen) = (pool.clone(), Journal::new());
    let noted = seen.clone();
    let handle = pool
        .submit_with_timeout(ms(5), move || {
            noted.note(inner.invoke_any([|| 1]).unwrap_err().is_interrupted());
        })
        .unwrap();
    await_parked(&clock, 1);
    clock.advance(ms(5));
    seen.await_len(1);
    eventually("it has ended", || handle.is_done());
    assert!(handle.is_cancelled() && seen.entries() == [true]);
}

#[test]
fn ec_n1_a_wait_for_a_task_whose_body_is_dropped_beyond_its_limit_ends_by_its_own() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let (wedge, blocker) = (wedge(&pool), Blocker::new());
    let dropped = OnDrop(Some(Box::new(blocker.body())));
    let handle = pool.submit_with_timeout(ms(5), move || drop(dropped)).unwrap();
    let cancelled = handle.clone();
    let cancelling = Pending::start(move || cancelled.cancel());
    blocker.await_started();
    let awaited = handle.clone();
    let waiting = Pending::start(move || awaited.wait_done_for(ms(10)));
    await_parked(&clock, 1);
    clock.advance(ms(5));
    await_parked(&clock, 1);
    clock.advance(ms(5));
    assert!(waiting.join().unwrap_err().is_timeout());
    blocker.release();
    assert!(cancelling.join() && handle.is_cancelled());
    wedge.release();
}

/// Calls what it holds when it is dropped.
struct OnDrop(Option<Box<dyn FnOnce() + Send>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

#[test]
fn ec_n1_a_task_that_has_not_begun_in_time_never_runs() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let (wedge, ran) = (wedge(&pool), Journal::new());
    let watched = pool.submit_with_timeout(ms(5), ran.noting(())).unwrap();
    let unwatched = pool.submit_with_timeout(ms(5), ran.noting(())).unwrap();
    let waiting = wait(&watched);
    await_parked(&clock, 1);
    clock.advance(ms(5));
    assert!(waiting.join().unwrap_err().is_cancelled(), "though no worker is free");
    wedge.release();
    eventually("it has ended", || unwatched.is_done());
    assert!(unwatched.is_cancelled());
    eventually("nothing is left", || pool.stats().queued == 0 && pool.stats().active == 0);
    assert_eq!(ran.len(), 0);
}

#[test]
fn ec_n1_a_value_that_comes_too_late_is_dropped() {
    let stage = VirtualPool::new(1);
    let clock = stage.clock.clone();
    let handle = stage.pool.submit_with_timeout(ms(5), move || clock.advance(ms(5))).unwrap();
    stage.run_due();
    assert!(handle.is_cancelled());
    assert_eq!(stage.pool.stats().queued, 0);
}

#[test]
fn ec_n2_a_task_that_ends_in_time_delivers_and_its_limit_is_gone() {
    for removes in [true, false] {
        let builder = ScheduledThreadPool::builder().core_size(2).remove_on_cancel(removes);
        let stage = VirtualPool::build(builder);
        let body = || {
            assert!(!Run::current().expect("inside a run").is_cancelled());
            7
        };
        let handle = stage.pool.submit_with_timeout(HOUR, body).unwrap();
        let Begun::Run(run) = stage.workers.begin(1) else { panic!("the task is due") };
        assert_eq!(stage.workers.next_due(), Some(Tick::ZERO + HOUR), "the limit waits");
        run.finish();
        assert_eq!(handle.result_now().unwrap(), 7);
        assert_eq!(stage.workers.next_due(), None, "the limit is gone");
        stage.run_for(HOUR);
        assert_eq!(handle.state(), TaskState::Completed);
        assert_eq!(stage.pool.stats().completed, 1, "a limit that is not reached is no run");
    }
}

#[test]
fn ec_n2_a_task_that_fails_in_time_is_failed() {
    let stage = VirtualPool::new(1);
    let handle: TaskHandle<()> =
        stage.pool.submit_with_timeout(HOUR, || panic!("in time")).unwrap();
    stage.run_due();
    assert_eq!(handle.state(), TaskState::Failed);
    assert_eq!(stage.workers.next_due(), None, "the limit is gone");
}

#[test]
fn ec_n2_a_limit_outlives_a_shutdown_but_not_its_task() {
    let policy = ShutdownPolicy { continue_recurring: false, execute_delayed: false };
    let builder = ScheduledThreadPool::builder().core_size(2).shutdown_policy(policy);
    let ManualPool { pool, clock } = ManualPool::build(builder);
    let woken = Journal::new();
    let handle = pool.submit_with_timeout(ms(5), sleeper(&woken)).unwrap();
    let quick = pool.submit_with_timeout(HOUR, || 7).unwrap();
    assert_eq!(value_of(&quick), 7);
    pool.shutdown();
    await_parked(&clock, 2);
    clock.advance(ms(5));
    await_terminated(&pool);
    assert!(handle.is_cancelled());
    assert_eq!(woken.entries(), [true]);
}

#[test]
fn ec_n2_limits_are_not_among_the_tasks_that_shutdown_now_returns() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let wedge = wedge(&pool);
    let handle = pool.submit_with_timeout(HOUR, || ()).unwrap();
    assert_eq!(pool.stats().queued, 1, "a limit is not counted");
    let returned = pool.shutdown_now();
    assert!(returned.len() == 1 && returned[0].belongs_to(&handle));
    drop(returned);
    assert!(handle.is_cancelled());
    wedge.release();
    await_terminated(&pool);
}

#[test]
fn ec_n2_a_limit_is_not_decorated_and_a_rejected_task_has_none() {
    let decorated = Journal::new();
    let noted = decorated.clone();
    let builder = ScheduledThreadPool::builder().core_size(1).decorate_task(move |id, _| {
        noted.note(id);
        Box::new(|step| step())
    });
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let handle = pool.submit_with_timeout(Duration::MAX, || 7).unwrap();
    assert_eq!(value_of(&handle), 7);
    assert_eq!(decorated.entries(), [handle.id()]);
    pool.shutdown();
    assert!(pool.submit_with_timeout(HOUR, || 7).unwrap_err().is_rejected());
    assert_eq!(pool.stats().queued, 0);
}
