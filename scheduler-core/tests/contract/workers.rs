//! The contract of workers: their number, their start and end (EC-F).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{io, thread};

use crate::kit::{
    Blocker, CAP, HOUR, Journal, ManualPool, NANO, VirtualPool, capped, ms, value_of, wedge,
};
use scheduler_core::{
    Begun, PoolBuilder, ScheduledThreadPool, TaskHandle, TaskState, WorkerThread,
};

fn sized(core_size: usize) -> PoolBuilder {
    ScheduledThreadPool::builder().core_size(core_size)
}

/// A builder whose threads are counted as they are started.
fn counted(core_size: usize) -> (PoolBuilder, Arc<AtomicUsize>) {
    let started = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&started);
    let factory = move |worker: WorkerThread| -> io::Result<()> {
        counter.fetch_add(1, Ordering::SeqCst);
        thread::Builder::new().spawn(move || worker.run()).map(drop)
    };
    (sized(core_size).thread_factory(factory), started)
}

fn schedule_far(pool: &ScheduledThreadPool, count: usize) -> Vec<TaskHandle<()>> {
    (0..count).map(|_| pool.schedule(HOUR, || ()).unwrap()).collect()
}

#[test]
fn ec_f1_a_new_pool_has_no_threads() {
    for core_size in [0, 1, 2, 100] {
        let (builder, started) = counted(core_size);
        let stage = ManualPool::build(builder);
        let stats = stage.pool.stats();
        assert_eq!((stage.pool.core_size(), stats.core_size), (core_size, core_size));
        assert_eq!((stats.pool_size, stats.largest_pool_size), (0, 0));
        assert_eq!(started.load(Ordering::SeqCst), 0);
    }
    assert_eq!(ScheduledThreadPool::new(3).core_size(), 3);
    let default = ScheduledThreadPool::builder().build().unwrap();
    assert!((2..=8).contains(&default.core_size()), "{}", default.core_size());
}

#[test]
fn ec_f2_prestart_starts_one_core_worker_at_a_time() {
    let (builder, started) = counted(2);
    let stage = ManualPool::build(builder);
    let prestart = || (stage.pool.prestart(), stage.pool.stats().pool_size);
    assert_eq!([prestart(), prestart(), prestart()], [(true, 1), (true, 2), (false, 2)]);
    stage.pool.set_core_size(4);
    assert_eq!(stage.pool.stats().pool_size, 2);
    assert_eq!([prestart(), prestart(), prestart()], [(true, 3), (true, 4), (false, 4)]);
    assert_eq!(started.load(Ordering::SeqCst), 4);
    stage.await_parked(4);
}

#[test]
fn ec_f3_prestart_all_starts_what_is_missing() {
    let (builder, started) = counted(2);
    let stage = ManualPool::build(builder);
    let prestart_all = || (stage.pool.prestart_all(), stage.pool.stats().pool_size);
    assert_eq!([prestart_all(), prestart_all()], [(2, 2), (0, 2)]);
    stage.pool.set_core_size(4);
    assert_eq!([prestart_all(), prestart_all()], [(2, 4), (0, 4)]);
    assert_eq!(started.load(Ordering::SeqCst), 4);
    assert_eq!(ManualPool::new(0).pool.prestart_all(), 0);
}

#[test]
fn ec_f3_refused_threads_are_not_counted() {
    let attempts = AtomicUsize::new(0);
    let factory = move |worker: WorkerThread| -> io::Result<()> {
        if attempts.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
            return Err(io::Error::other("no thread for the test"));
        }
        thread::Builder::new().spawn(move || worker.run()).map(drop)
    };
    let stage = ManualPool::build(sized(5).thread_factory(factory));
    assert!(!stage.pool.prestart());
    assert!(stage.pool.prestart());
    // As in the JDK, the first refusal is the last attempt; so even a huge core size has an end.
    for (started, size) in [(0, 1), (1, 2), (1, 3)] {
        let pool = stage.pool.clone();
        assert_eq!(capped(move || pool.prestart_all()), started);
        assert_eq!(stage.pool.stats().pool_size, size);
    }

    let refusing = |_: WorkerThread| Err(io::Error::other("no thread for the test"));
    let stage = ManualPool::build(sized(usize::MAX).thread_factory(refusing));
    let pool = stage.pool.clone();
    assert_eq!(capped(move || pool.prestart_all()), 0);
    assert_eq!(stage.pool.stats().pool_size, 0);
}

#[test]
fn ec_f3_a_pool_that_is_shut_down_starts_workers_for_waiting_tasks_only() {
    let stage = ManualPool::new(4);
    let blocker = Blocker::new();
    stage.pool.execute(blocker.body()).unwrap();
    blocker.await_started();
    stage.pool.shutdown();
    let pool = stage.pool.clone();
    assert_eq!(capped(move || (pool.prestart(), pool.prestart_all())), (false, 0));
    assert_eq!(stage.pool.stats().pool_size, 1);

    let stage = ManualPool::new(4);
    schedule_far(&stage.pool, 1);
    stage.pool.shutdown();
    assert!(stage.pool.prestart());
    assert_eq!((stage.pool.prestart_all(), stage.pool.stats().pool_size), (2, 4));
    drop(stage.pool.shutdown_now());
    let pool = stage.pool.clone();
    assert!(capped(move || pool.await_termination(CAP)));
    assert_eq!((stage.pool.prestart(), stage.pool.prestart_all()), (false, 0));
}

#[test]
fn ec_f4_each_submission_starts_a_worker_until_there_are_enough() {
    let stage = ManualPool::new(4);
    for expected in [1, 2, 3] {
        schedule_far(&stage.pool, 1);
        stage.await_parked(expected);
        assert_eq!(stage.pool.stats().pool_size, expected);
    }
    schedule_far(&stage.pool, 7);
    for _ in 0..7 {
        value_of(&stage.pool.submit(|| ()).unwrap());
    }
    assert_eq!((stage.pool.stats().pool_size, stage.pool.stats().largest_pool_size), (4, 4));
}

/// Lets time pass in small steps until the pool has this size, at most for a minute of its clock.
fn settle_at(stage: &VirtualPool, size: usize) {
    let mut steps = 0;
    while stage.pool.stats().pool_size != size {
        steps += 1;
        assert!(steps <= 6000, "not within a minute: {:?}", stage.pool.stats());
        stage.run_for(ms(10));
    }
}

#[test]
fn ec_f5_the_pool_follows_its_core_size_while_all_tasks_keep_firing() {
    let stage = VirtualPool::new(10);
    let counts = [(); 10].map(|()| {
        let ran = Journal::new();
        stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(100), ran.noting(())).unwrap();
        ran
    });
    let check_firing = |size: usize| {
        let before = counts.each_ref().map(Journal::len);
        stage.run_for(ms(1000));
        let fired: Vec<usize> =
            counts.iter().zip(before).map(|(count, before)| count.len() - before).collect();
        assert_eq!(fired, [10; 10], "with {size} workers");
        assert_eq!(stage.pool.stats().pool_size, size);
    };
    stage.run_due();
    assert_eq!(stage.pool.stats().pool_size, 10);
    check_firing(10);
    stage.pool.set_core_size(7);
    settle_at(&stage, 7);
    check_firing(7);
    stage.pool.set_core_size(13);
    settle_at(&stage, 13);
    check_firing(13);
    assert_eq!(stage.pool.stats().largest_pool_size, 13);
}

#[test]
fn ec_f5_busy_workers_leave_after_their_runs() {
    let stage = ManualPool::new(10);
    let wedge = wedge(&stage.pool);
    stage.pool.set_core_size(7);
    assert_eq!(stage.pool.stats().pool_size, 10);
    wedge.release();
    stage.await_parked(10);
    stage.clock.advance(stage.pool.keep_alive() - NANO);
    stage.await_parked(10);
    assert_eq!(stage.pool.stats().pool_size, 10);
    stage.clock.advance(NANO);
    stage.await_pool_size(7);
    stage.await_parked(7);
    stage.clock.advance(HOUR);
    stage.await_parked(7);
    assert_eq!(stage.pool.stats().pool_size, 7);
}

#[test]
fn ec_f5_growing_starts_workers_for_the_tasks_that_wait_only() {
    let stage = ManualPool::new(1);
    schedule_far(&stage.pool, 3);
    assert_eq!(stage.pool.stats().pool_size, 1);
    stage.pool.set_core_size(9);
    assert_eq!(stage.pool.stats().pool_size, 4);
    stage.pool.set_core_size(9);
    assert_eq!(stage.pool.stats().pool_size, 4);
}

#[test]
fn ec_f6_a_pool_of_no_workers_still_runs_its_tasks() {
    let stage = ManualPool::new(0);
    let ran = Journal::new();
    let clock = stage.clock.clone();
    let noted = ran.clone();
    let handle = stage.pool.schedule(ms(12), move || {
        noted.note(scheduler_core::Clock::now(&clock));
    });
    stage.pool.shutdown();
    stage.await_parked(1);
    assert!(!stage.pool.is_terminated());
    stage.clock.advance(ms(12));
    let pool = stage.pool.clone();
    assert!(capped(move || pool.await_termination(CAP)));
    assert_eq!(handle.unwrap().state(), TaskState::Completed);
    assert_eq!(ran.entries(), [scheduler_core::Tick::ZERO + ms(12)]);
    assert_eq!((stage.pool.core_size(), stage.pool.stats().largest_pool_size), (0, 1));
}

#[test]
fn ec_f6_the_only_worker_of_such_a_pool_leaves_when_nothing_is_left() {
    let stage = VirtualPool::new(0);
    for round in 1..=3 {
        let handle = stage.pool.schedule(HOUR, || ()).unwrap();
        stage.run_for(HOUR - NANO);
        assert_eq!(stage.pool.stats().pool_size, 1);
        stage.run_for(NANO);
        assert_eq!(handle.state(), TaskState::Completed);
        stage.run_for(stage.pool.keep_alive());
        let stats = stage.pool.stats();
        assert_eq!((stats.pool_size, stats.completed), (0, round));
    }
}

#[test]
fn ec_f7_core_workers_stay_by_default() {
    let stage = VirtualPool::new(2);
    assert!(!stage.pool.core_may_time_out());
    assert_eq!(stage.pool.keep_alive(), ms(10));
    stage.pool.submit(|| ()).unwrap();
    stage.run_for(stage.pool.keep_alive() * 2);
    assert_eq!(stage.pool.stats().pool_size, 1);
    assert_eq!(stage.run_due(), None, "nor does it want to look whether it may leave");
    stage.run_for(HOUR);
    assert_eq!(stage.pool.stats().pool_size, 1);
}

#[test]
fn ec_f7_core_workers_leave_after_the_keep_alive_when_they_may() {
    let keep_alive = ms(15);
    let built = VirtualPool::build(sized(2).keep_alive(keep_alive).core_may_time_out(true));
    let told = VirtualPool::build(sized(2).keep_alive(keep_alive));
    told.pool.set_core_may_time_out(true).unwrap();
    for stage in [built, told] {
        assert!(stage.pool.core_may_time_out());
        stage.pool.submit(|| ()).unwrap();
        stage.run_for(ms(3));
        // The second task is taken by one worker; the other has been idle all the time.
        stage.pool.submit(|| ()).unwrap();
        stage.run_due();
        assert_eq!(stage.pool.stats().pool_size, 2);
        stage.run_for(keep_alive - NANO);
        assert!(stage.pool.stats().pool_size >= 1);
        stage.run_for(NANO);
        let stats = stage.pool.stats();
        assert_eq!((stats.pool_size, stats.completed), (0, 2));
        // And they come again.
        stage.pool.submit(|| ()).unwrap();
        stage.run_due();
        assert_eq!((stage.pool.stats().pool_size, stage.pool.stats().completed), (1, 3));
    }
}

#[test]
fn ec_f7_idle_workers_notice_that_they_may_leave() {
    let stage = ManualPool::new(3);
    assert_eq!(stage.pool.prestart_all(), 3);
    stage.await_parked(3);
    stage.clock.advance(HOUR);
    stage.await_parked(3);
    assert_eq!(stage.pool.stats().pool_size, 3);
    stage.pool.set_core_may_time_out(true).unwrap();
    stage.await_pool_size(0);
    stage.await_parked(0);
}

#[test]
fn ec_f7_a_shorter_keep_alive_holds_for_those_who_are_idle_already() {
    let stage = VirtualPool::build(sized(3).keep_alive(HOUR).core_may_time_out(true));
    stage.pool.prestart_all();
    stage.run_for(ms(20));
    stage.pool.set_keep_alive(ms(30)).unwrap();
    stage.run_for(ms(10) - NANO);
    assert_eq!(stage.pool.stats().pool_size, 3);
    stage.run_for(NANO);
    assert_eq!(stage.pool.stats().pool_size, 0);
}

#[test]
fn ec_f8_one_worker_stays_while_tasks_wait() {
    let stage = VirtualPool::build(sized(4).keep_alive(ms(5)).core_may_time_out(true));
    let handles = schedule_far(&stage.pool, 4);
    stage.run_for(ms(5) - NANO);
    assert_eq!(stage.pool.stats().pool_size, 4);
    stage.run_for(NANO);
    assert_eq!(stage.pool.stats().pool_size, 1);
    stage.run_for(HOUR / 2);
    assert_eq!(stage.pool.stats().pool_size, 1);
    for (left, handle) in (0..4).rev().zip(&handles) {
        assert!(handle.cancel());
        stage.run_for(ms(5));
        assert_eq!(stage.pool.stats().queued, left);
        assert_eq!(stage.pool.stats().pool_size, usize::from(left > 0));
    }
}

#[test]
fn ec_f8_so_it_is_among_threads_that_leave_at_the_same_moment() {
    for _ in 0..20 {
        let stage = ManualPool::build(sized(4).keep_alive(ms(5)).core_may_time_out(true));
        let handles = schedule_far(&stage.pool, 4);
        stage.await_parked(4);
        stage.clock.advance(ms(5));
        stage.await_pool_size(1);
        stage.await_parked(1);
        stage.clock.advance(HOUR / 2);
        stage.await_parked(1);
        assert_eq!(stage.pool.stats().pool_size, 1);
        // The one who stayed is the one who serves the queue.
        stage.clock.advance(HOUR / 2);
        handles.iter().for_each(value_of);
        stage.await_parked(1);
        stage.clock.advance(ms(5));
        stage.await_pool_size(0);
        stage.await_parked(0);
    }
}

#[test]
fn ec_f8_removing_or_purging_the_last_task_lets_the_last_worker_go() {
    let builder = || sized(1).keep_alive(ms(5)).core_may_time_out(true).remove_on_cancel(false);
    let check = |empty: fn(&ScheduledThreadPool, &TaskHandle<()>)| {
        let stage = VirtualPool::build(builder());
        let handle = stage.pool.schedule(HOUR, || ()).unwrap();
        stage.run_for(ms(50));
        assert_eq!(stage.pool.stats().pool_size, 1);
        empty(&stage.pool, &handle);
        stage.run_for(ms(5));
        assert_eq!((stage.pool.stats().queued, stage.pool.stats().pool_size), (0, 0));
    };
    check(|pool, handle| drop(pool.remove(handle).unwrap()));
    check(|pool, handle| {
        assert!(handle.cancel());
        pool.purge();
    });
}

#[test]
fn ec_f9_no_keep_alive_together_with_leaving_core_workers_is_refused() {
    const MESSAGE: &str = "invalid keep-alive time: it must be longer than zero while core workers \
                           may time out";
    let pool = sized(1).keep_alive(ms(7)).build().unwrap();
    pool.set_core_may_time_out(true).unwrap();
    let error = pool.set_keep_alive(Duration::ZERO).unwrap_err();
    assert!(error.is_argument());
    assert_eq!(error.to_string(), MESSAGE);
    assert_eq!((pool.keep_alive(), pool.core_may_time_out()), (ms(7), true));

    let pool = sized(1).build().unwrap();
    pool.set_keep_alive(Duration::ZERO).unwrap();
    let error = pool.set_core_may_time_out(true).unwrap_err();
    assert!(error.is_argument());
    assert_eq!(error.to_string(), MESSAGE);
    assert_eq!((pool.keep_alive(), pool.core_may_time_out()), (Duration::ZERO, false));
    pool.set_core_may_time_out(false).unwrap();

    let one = sized(1).keep_alive(Duration::ZERO).core_may_time_out(true).build();
    let other = sized(1).core_may_time_out(true).keep_alive(Duration::ZERO).build();
    for refused in [one, other] {
        assert_eq!(refused.unwrap_err().to_string(), MESSAGE);
    }
    pool.set_keep_alive(NANO).unwrap();
    pool.set_core_may_time_out(true).unwrap();
    assert_eq!((pool.keep_alive(), pool.core_may_time_out()), (NANO, true));
}

#[test]
fn ec_f9_surplus_workers_may_leave_without_a_keep_alive() {
    let stage = VirtualPool::build(sized(3).keep_alive(Duration::ZERO));
    schedule_far(&stage.pool, 3);
    stage.run_for(HOUR / 2);
    assert_eq!(stage.pool.stats().pool_size, 3);
    stage.pool.set_core_size(1);
    stage.run_due();
    assert_eq!(stage.pool.stats().pool_size, 1);
}

#[test]
fn ec_f10_sizes_count_live_workers() {
    let stage = ManualPool::new(3);
    let sizes = || (stage.pool.stats().pool_size, stage.pool.stats().largest_pool_size);
    assert_eq!(sizes(), (0, 0));
    let blockers = [(); 3].map(|()| Blocker::new());
    for (number, blocker) in (1..).zip(&blockers) {
        stage.pool.execute(blocker.body()).unwrap();
        blocker.await_started();
        assert_eq!(sizes(), (number, number));
    }
    let more: Vec<TaskHandle<()>> = (0..5).map(|_| stage.pool.execute(|| ()).unwrap()).collect();
    assert_eq!(sizes(), (3, 3));
    blockers.iter().for_each(Blocker::release);
    more.iter().for_each(value_of);
    let pool = stage.pool.clone();
    capped(move || pool.close()).unwrap();
    assert!(stage.pool.is_terminated());
    assert_eq!(sizes(), (0, 3));
}

#[test]
fn ec_f10_the_largest_size_is_remembered() {
    let stage = VirtualPool::build(sized(3).core_may_time_out(true));
    let sizes = || (stage.pool.stats().pool_size, stage.pool.stats().largest_pool_size);
    assert_eq!((stage.pool.prestart_all(), sizes()), (3, (3, 3)));
    stage.run_for(stage.pool.keep_alive());
    assert_eq!(sizes(), (0, 3));
    stage.pool.submit(|| ()).unwrap();
    assert_eq!(sizes(), (1, 3));
}

#[test]
fn ec_f10_a_shutdown_starts_no_worker_beside_those_that_there_are() {
    let (builder, started) = counted(4);
    let stage = ManualPool::build(builder);
    let handles = schedule_far(&stage.pool, 2);
    stage.await_parked(2);
    stage.pool.shutdown();
    stage.await_parked(2);
    assert_eq!(stage.pool.stats().pool_size, 2);
    stage.clock.advance(HOUR);
    handles.iter().for_each(value_of);
    let pool = stage.pool.clone();
    assert!(capped(move || pool.await_termination(CAP)));
    assert_eq!(started.load(Ordering::SeqCst), 2);
}

#[test]
fn ec_f11_one_worker_remains_while_tasks_wait_though_core_is_zero() {
    let stage = VirtualPool::new(2);
    let handles = schedule_far(&stage.pool, 2);
    stage.run_due();
    assert_eq!(stage.pool.stats().pool_size, 2);
    stage.pool.set_core_size(0);
    stage.run_for(HOUR - NANO);
    assert_eq!((stage.pool.core_size(), stage.pool.stats().pool_size), (0, 1));
    assert!(handles.iter().all(|handle| !handle.is_done()));
    stage.run_for(NANO);
    assert!(handles.iter().all(|handle| handle.state() == TaskState::Completed));
    stage.run_for(stage.pool.keep_alive());
    assert_eq!(stage.pool.stats().pool_size, 0);
}

#[test]
fn ec_f11_the_remaining_thread_serves_the_queue() {
    let stage = ManualPool::new(2);
    let handles = schedule_far(&stage.pool, 2);
    stage.await_parked(2);
    stage.pool.set_core_size(0);
    stage.clock.advance(stage.pool.keep_alive());
    stage.await_pool_size(1);
    stage.await_parked(1);
    stage.clock.advance(HOUR);
    handles.iter().for_each(value_of);
}

#[test]
fn a_virtual_worker_in_the_middle_of_a_run_has_nothing_to_do_until_that_is_finished() {
    let VirtualPool { pool, workers, .. } = VirtualPool::new(1);
    let (first, second) = (pool.submit(|| 1).unwrap(), pool.submit(|| 2).unwrap());
    let worker = workers.numbers()[0];
    let Begun::Run(run) = workers.begin(worker) else { panic!("a task is due") };
    workers.run_until_idle();
    assert!(!workers.is_woken(worker));
    assert_eq!(pool.stats().active, 1);
    assert!(!first.is_done() && !second.is_done());
    pool.shutdown();
    workers.run_until_idle();
    run.finish();
    workers.run_until_idle();
    assert_eq!((first.result_now().unwrap(), second.result_now().unwrap()), (1, 2));
    assert!(pool.is_terminated());
}
