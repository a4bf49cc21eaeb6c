//! The contract of cancelling, removing and purging (EC-E).

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::kit::{
    self, Blocker, CAP, HOUR, Journal, ManualPool, Mutex, NANO, Pending, Random, VirtualPool,
    capped, eventually, ms, value_of, wedge,
};
use scheduler_core::{Begun, Event, PoolBuilder, Run, ScheduledThreadPool, TaskHandle, TaskState};

/// A builder of a pool that keeps cancelled tasks, as the JDK's does by default.
fn keeping_cancelled(core_size: usize) -> PoolBuilder {
    ScheduledThreadPool::builder().core_size(core_size).remove_on_cancel(false)
}

fn removing_cancelled(core_size: usize) -> PoolBuilder {
    ScheduledThreadPool::builder().core_size(core_size)
}

#[test]
fn ec_e1_purge_drops_the_cancelled_tasks() {
    let stage = ManualPool::build(keeping_cancelled(1));
    assert!(!stage.pool.removes_on_cancel());
    let handles: Vec<TaskHandle<()>> =
        (0..5).map(|_| stage.pool.schedule(HOUR, || ()).unwrap()).collect();
    assert!(handles[1].cancel() && handles[3].cancel_now());
    let counts = || (stage.pool.stats().queued, stage.pool.stats().tasks);
    assert_eq!(counts(), (5, 5));
    assert_eq!(stage.pool.queue().len(), 5);

    stage.pool.purge();
    assert_eq!(counts(), (3, 3));
    let left = [0, 1, 2, 3, 4].map(|each: usize| stage.pool.is_queued(&handles[each]));
    assert_eq!(left, [true, false, true, false, true]);
    stage.pool.purge();
    assert_eq!(counts(), (3, 3));
    assert!(!handles[0].is_done() && !handles[2].is_done() && !handles[4].is_done());
}

#[test]
fn ec_e1_without_a_purge_nothing_is_left_when_cancelled_tasks_leave_at_once() {
    let stage = ManualPool::new(1);
    assert!(stage.pool.removes_on_cancel());
    let handles: Vec<TaskHandle<()>> =
        (0..5).map(|_| stage.pool.schedule(HOUR, || ()).unwrap()).collect();
    assert!(handles[1].cancel() && handles[3].cancel_now());
    assert_eq!((stage.pool.stats().queued, stage.pool.stats().tasks), (3, 3));
    // The setting concerns later cancellations.
    stage.pool.set_remove_on_cancel(false);
    assert!(handles[0].cancel());
    assert_eq!((stage.pool.stats().queued, stage.pool.stats().tasks), (3, 3));
    stage.pool.set_remove_on_cancel(true);
    assert!(handles[2].cancel());
    assert_eq!((stage.pool.stats().queued, stage.pool.stats().tasks), (2, 2));
}

#[test]
fn ec_e2_only_a_waiting_task_can_be_removed() {
    let stage = ManualPool::new(1);
    let (blocker, ran) = (Blocker::new(), Journal::new());
    let running = stage.pool.execute(blocker.body()).unwrap();
    blocker.await_started();
    let queued: Vec<TaskHandle<()>> =
        (0..4).map(|number| stage.pool.execute(ran.noting(number)).unwrap()).collect();
    let membership = || [0, 1, 2, 3].map(|each: usize| stage.pool.is_queued(&queued[each]));
    assert!(stage.pool.remove(&running).is_none());
    assert_eq!(membership(), [true; 4]);

    let removed = stage.pool.remove(&queued[3]).expect("the last one waits");
    assert!(removed.belongs_to(&queued[3]) && !removed.belongs_to(&queued[2]));
    assert_eq!(membership(), [true, true, true, false]);
    assert!(stage.pool.remove(&queued[3]).is_none());
    assert_eq!(membership(), [true, true, true, false]);
    // As in the JDK a removed task is not cancelled; ours is when no worker can run it any more.
    assert_eq!(queued[3].state(), TaskState::Scheduled);
    drop(removed);
    assert_eq!(queued[3].state(), TaskState::Cancelled);

    let removed = stage.pool.remove(&queued[1]).expect("the second one waits");
    blocker.release();
    ran.await_len(2);
    value_of(&queued[2]);
    assert_eq!(ran.entries(), [0, 2]);
    assert!(stage.pool.remove(&queued[0]).is_none(), "it has run");
    removed.run();
    assert_eq!(ran.entries(), [0, 2, 1]);
    assert_eq!(queued[1].state(), TaskState::Completed);
    assert_eq!(running.state(), TaskState::Completed);
}

#[test]
fn ec_e2_a_removed_task_can_still_be_cancelled() {
    let stage = VirtualPool::new(1);
    let handle = stage.pool.schedule(ms(1), || ()).unwrap();
    let removed = stage.pool.remove(&handle).expect("it waits");
    stage.run_for(ms(1));
    assert_eq!(handle.state(), TaskState::Scheduled);
    assert!(handle.cancel() && !handle.cancel());
    removed.run();
    assert_eq!((handle.state(), stage.pool.stats().completed), (TaskState::Cancelled, 0));
}

#[test]
fn ec_e2_a_pool_gives_away_only_its_own_tasks() {
    let (one, two) = (VirtualPool::new(1), VirtualPool::new(1));
    let mine = one.pool.schedule(HOUR, || ()).unwrap();
    let other = two.pool.schedule(HOUR, || ()).unwrap();
    assert!(one.pool.remove(&other).is_none() && !one.pool.is_queued(&other));
    assert!(one.pool.is_queued(&mine) && two.pool.is_queued(&other));
}

#[test]
fn ec_e3_a_cancelled_task_stays_until_it_is_due_where_the_pool_keeps_it() {
    let stage = VirtualPool::build(keeping_cancelled(1));
    let ran = Journal::new();
    let handle = stage.pool.schedule(ms(60), ran.noting(())).unwrap();
    stage.run_due();
    assert!(handle.cancel());
    stage.run_for(ms(60) - NANO);
    assert_eq!(stage.pool.stats().queued, 1);
    assert!(stage.pool.is_queued(&handle));
    stage.run_for(NANO);
    let stats = stage.pool.stats();
    assert_eq!((stats.queued, stats.active, ran.len()), (0, 0, 0));
    // The JDK counts what surfaces as completed; here only runs count.
    assert_eq!((stats.completed, stats.tasks), (0, 0));
    assert_eq!(handle.state(), TaskState::Cancelled);
}

#[test]
fn ec_e3_by_default_a_cancelled_task_leaves_at_once() {
    let stage = VirtualPool::new(1);
    let ran = Journal::new();
    let handle = stage.pool.schedule(ms(60), ran.noting(())).unwrap();
    stage.run_due();
    assert!(handle.cancel());
    assert_eq!(stage.pool.stats().queued, 0);
    stage.run_for(ms(60));
    assert_eq!(ran.len(), 0);
}

#[test]
fn ec_e4_ten_million_cancellations_leave_nothing_behind() {
    if kit::is_decorated() {
        return; // It takes long, and its pool is not one of the kit's.
    }
    if !kit::is_in_own_process(ec_e4_ten_million_cancellations_leave_nothing_behind) {
        return;
    }
    // Ten times as slow without optimization; `ci/simulation.sh` runs it with.
    const COUNT: u64 = if cfg!(debug_assertions) { 1_000_000 } else { 10_000_000 };
    /// Half of what the bodies alone would take if they were kept.
    const GROWTH_MAX: u64 = COUNT * 64;
    let ManualPool { pool, .. } = ManualPool::new(1);
    let drops = Arc::new(());
    let before = kit::resident_bytes();
    let ahead = Duration::from_secs(600);
    for number in 0..COUNT {
        let kept = (Arc::clone(&drops), [number; 16]);
        let handle = pool.schedule(ahead, move || drop(kept)).unwrap();
        assert!(handle.cancel());
        if number % 1_000_000 == 0 {
            assert_eq!((Arc::strong_count(&drops), pool.stats().queued), (1, 0));
        }
    }
    if let (Some(before), Some(after)) = (before, kit::resident_bytes()) {
        let growth = after.saturating_sub(before);
        assert!(growth < GROWTH_MAX, "the process has grown by {growth} bytes");
    }
    pool.shutdown();
    let awaited = pool.clone();
    assert!(capped(move || awaited.await_termination(CAP)), "an empty pool terminates at once");
    let stats = pool.stats();
    assert_eq!((stats.tasks, stats.completed, stats.queued), (0, 0, 0));
    assert!(pool.queue().is_empty());
}

fn check_cancel_during_run(builder: PoolBuilder, is_rate: bool) {
    let stage = ManualPool::build(builder);
    let (blocker, ran) = (Blocker::new(), Journal::new());
    let (block, note) = (blocker.body(), ran.noting(()));
    let body = move || {
        note();
        block();
    };
    let handle = if is_rate {
        stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(1), body).unwrap()
    } else {
        stage.pool.schedule_with_fixed_delay(Duration::ZERO, ms(1), body).unwrap()
    };
    let waiter = handle.clone();
    let waiting = Pending::start(move || waiter.wait());
    blocker.await_started();
    stage.await_parked(1);
    assert!(handle.cancel());
    assert!(waiting.join().unwrap_err().is_cancelled());
    assert_eq!(stage.pool.stats().active, 1);
    assert!(!stage.pool.is_queued(&handle));

    blocker.release();
    stage.await_parked(1);
    assert_eq!((stage.pool.stats().active, stage.pool.stats().queued), (0, 0));
    stage.clock.advance(HOUR);
    value_of(&stage.pool.submit(|| ()).unwrap());
    assert_eq!(ran.len(), 1);
    assert_eq!(stage.pool.stats().queued, 0);
}

#[test]
fn ec_e5_a_recurring_task_that_is_cancelled_during_its_run_ends_with_it() {
    for is_rate in [true, false] {
        check_cancel_during_run(keeping_cancelled(1), is_rate);
        check_cancel_during_run(removing_cancelled(1), is_rate);
    }
}

#[test]
fn ec_e6_a_recurring_task_can_cancel_itself() {
    for cancel in [TaskHandle::cancel, TaskHandle::cancel_now] {
        for builder in [keeping_cancelled(1), removing_cancelled(1)] {
            let stage = VirtualPool::build(builder);
            let (ran, (tell, told)) = (Journal::new(), mpsc::channel::<TaskHandle<()>>());
            let noted = ran.clone();
            let body = move || noted.note(cancel(&told.recv().unwrap()));
            let handle = stage.pool.schedule_at_fixed_rate(ms(1), ms(1), body).unwrap();
            tell.send(handle.clone()).unwrap();
            stage.run_for(ms(100));
            assert_eq!(ran.entries(), [true]);
            assert_eq!(handle.state(), TaskState::Cancelled);
            assert_eq!(stage.pool.stats().queued, 0);
        }
    }
}

#[test]
fn ec_e7_an_interrupt_does_not_reach_the_next_task() {
    let stage = ManualPool::new(1);
    let wedge = wedge(&stage.pool);
    let (tell, told) = mpsc::channel::<TaskHandle<bool>>();
    let first = stage.pool.submit(move || {
        assert!(told.recv().unwrap().cancel_now());
        Run::current().unwrap().is_cancelled()
    });
    tell.send(first.as_ref().unwrap().clone()).unwrap();
    let clear = || {
        let run = Run::current().unwrap();
        (run.is_cancelled(), run.sleep(Duration::ZERO), run.is_cancelled())
    };
    let second = stage.pool.submit(clear).unwrap();
    wedge.release();
    assert_eq!(value_of(&second), (false, Ok(()), false));
    assert!(first.unwrap().is_cancelled());

    // One that comes from outside and is not heeded.
    let blocker = Blocker::new();
    let first = stage.pool.submit(blocker.body()).unwrap();
    let second = stage.pool.submit(clear).unwrap();
    let third = stage.pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, move || {
        assert!(!Run::current().unwrap().is_cancelled());
    });
    blocker.await_started();
    assert!(first.cancel_now());
    blocker.release();
    assert_eq!(value_of(&second), (false, Ok(()), false));
    stage.await_parked(1);
    assert_eq!(third.unwrap().state(), TaskState::Scheduled);
    assert_eq!(stage.pool.stats().largest_pool_size, 1);
}

#[test]
fn ec_e7_an_interrupt_that_comes_after_the_run_reaches_no_later_run() {
    // `cancel_now` of a task whose body has been executed, but whose end is not known yet.
    let stage = VirtualPool::new(1);
    let first = stage.pool.submit(|| ()).unwrap();
    let second = stage.pool.submit(|| Run::current().unwrap().is_cancelled()).unwrap();
    let Begun::Run(run) = stage.workers.begin(1) else { panic!("there is a task") };
    assert!(first.cancel_now());
    run.finish();
    assert_eq!(first.state(), TaskState::Cancelled);
    stage.run_due();
    assert_eq!(second.result_now(), Ok(false));
}

/// The notes of EC-E8 about each task.
struct Trial {
    handle: TaskHandle<()>,
    runs: Arc<AtomicU8>,
    won: bool,
}

fn check_random_cancellation(builder: PoolBuilder, seed: u64) {
    const COUNT: usize = 100_000;
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let (give, take) = mpsc::sync_channel::<(TaskHandle<()>, Arc<AtomicU8>)>(256);
    let canceller = Pending::start(move || {
        let mut random = Random(seed);
        let cancel = |(handle, runs): (TaskHandle<()>, Arc<AtomicU8>)| {
            // Up to a hundredfold of what a task takes: the cancel falls before, into and after it.
            let spins = 1 << random.below(9);
            (0..random.below(spins)).for_each(|_| spin_loop());
            let won = if random.below(2) == 0 { handle.cancel() } else { handle.cancel_now() };
            Trial { handle, runs, won }
        };
        take.into_iter().map(cancel).collect::<Vec<Trial>>()
    });
    for number in 0..COUNT {
        let runs = Arc::new(AtomicU8::new(0));
        let counter = Arc::clone(&runs);
        let body = move || {
            counter.fetch_add(1, Ordering::SeqCst);
            (0..number % 100).for_each(|_| spin_loop());
        };
        let handle = pool.execute(body).unwrap();
        give.send((handle, runs)).unwrap();
    }
    drop(give);
    let trials = canceller.join();
    let closing = pool.clone();
    capped(move || closing.close()).unwrap();

    let mut seen = [0_u32; 3];
    for (number, Trial { handle, runs, won }) in trials.iter().enumerate() {
        let runs = runs.load(Ordering::SeqCst);
        let found = (*won, handle.state(), runs);
        let kind = match found {
            (true, TaskState::Cancelled, 0) => 0,
            (true, TaskState::Cancelled, 1) => 1,
            (false, TaskState::Completed, 1) => 2,
            _ => panic!("task {number} of seed {seed}: {found:?}"),
        };
        seen[kind] += 1;
    }
    assert_eq!(seen.iter().sum::<u32>() as usize, COUNT);
    assert!(seen[0] > 0 && seen[2] > 0, "the race had one outcome only: {seen:?}");
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.active, stats.pool_size), (0, 0, 0));
}

#[test]
fn ec_e8_cancel_and_run_exclude_each_other_exactly() {
    check_random_cancellation(removing_cancelled(2), 8);
}

#[test]
fn ec_e8_so_do_they_where_cancelled_tasks_stay_in_the_queue() {
    check_random_cancellation(keeping_cancelled(2), 80);
}

/// Cancels a recurring task when it counts as scheduled again, and is not in the queue yet.
fn check_cancel_before_requeue(builder: PoolBuilder) -> VirtualPool {
    let (tell, told) = mpsc::channel::<TaskHandle<()>>();
    let told = Mutex::new(told);
    let builder = builder.listener(move |event: &Event<'_>| {
        if let Event::RunFinished { next: Some(_), .. } = event {
            let handle = told.lock().unwrap().recv_timeout(CAP).unwrap();
            assert_eq!(handle.state(), TaskState::Scheduled);
            assert!(handle.cancel());
        }
    });
    let stage = VirtualPool::build(builder);
    let kept = Arc::new(());
    let body = Arc::clone(&kept);
    let handle = stage.pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, move || {
        assert_eq!(Arc::strong_count(&body), 2);
    });
    let handle = handle.unwrap();
    tell.send(handle.clone()).unwrap();
    stage.run_due();
    assert_eq!(handle.state(), TaskState::Cancelled);
    assert_eq!(Arc::strong_count(&kept), 1, "the body is given up");
    stage
}

#[test]
fn ec_e8_a_cancel_between_run_and_requeue_leaves_nothing_in_the_queue() {
    // Not even where cancelled tasks stay: this one was not there.
    for builder in [removing_cancelled(1), keeping_cancelled(1)] {
        let stage = check_cancel_before_requeue(builder);
        assert_eq!((stage.pool.stats().queued, stage.pool.stats().completed), (0, 1));
        stage.run_for(HOUR);
        assert_eq!((stage.pool.stats().queued, stage.pool.stats().completed), (0, 1));
    }
}

#[test]
fn ec_e8_recurring_tasks_are_left_in_no_queue_by_a_race_with_their_requeue() {
    let ManualPool { pool, clock } = ManualPool::new(2);
    let mut random = Random(88);
    for round in 0..kit::rounds(500) {
        let runs = Arc::new(AtomicU64::new(0));
        let (counter, clock) = (Arc::clone(&runs), clock.clone());
        // Each run makes the next one due, so the task is re-queued all the time.
        let handle = pool.schedule_at_fixed_rate(Duration::ZERO, NANO, move || {
            counter.fetch_add(1, Ordering::SeqCst);
            clock.advance(NANO);
        });
        let handle = handle.unwrap();
        eventually("it runs", || runs.load(Ordering::SeqCst) > 0);
        (0..random.below(500)).for_each(|_| spin_loop());
        assert!(handle.cancel(), "round {round}");
        eventually("nothing is left", || {
            let stats = pool.stats();
            (stats.queued, stats.active) == (0, 0)
        });
        assert_eq!(Arc::strong_count(&runs), 1, "the body of round {round} is still there");
    }
    capped(move || pool.close()).unwrap();
}

/// Cancels all but some of 10,000 pending tasks in random order, and checks the counts after each.
fn cancel_among_many(stage: &VirtualPool, ran: &Journal<usize>) -> Vec<usize> {
    const COUNT: usize = 10_000;
    const REST: usize = 100;
    let mut random = Random(9);
    // Many are due at the same time.
    let delays: Vec<u64> = (0..COUNT).map(|_| 1 + random.below(2_000)).collect();
    let submit = |(number, delay): (usize, &u64)| {
        stage.pool.schedule(ms(*delay), ran.noting(number)).unwrap()
    };
    let handles: Vec<TaskHandle<()>> = delays.iter().enumerate().map(submit).collect();
    stage.run_due();
    let mut order: Vec<usize> = (0..COUNT).collect();
    random.shuffle(&mut order);
    let (cancelled, rest) = order.split_at(COUNT - REST);
    for (number, index) in (1..).zip(cancelled) {
        assert!(handles[*index].cancel() && !stage.pool.is_queued(&handles[*index]));
        let stats = stage.pool.stats();
        assert_eq!((stats.queued, stats.tasks), (COUNT - number, (COUNT - number) as u64));
    }
    assert_eq!(stage.pool.queue().len(), REST);
    assert!(rest.iter().all(|index| stage.pool.is_queued(&handles[*index])));
    let mut rest = rest.to_vec();
    rest.sort_unstable_by_key(|index| (delays[*index], *index));
    rest
}

#[test]
fn ec_e9_what_is_left_of_ten_thousand_is_counted_and_runs_in_its_order() {
    let (stage, ran) = (VirtualPool::build(removing_cancelled(2)), Journal::new());
    let rest = cancel_among_many(&stage, &ran);
    stage.pool.shutdown();
    stage.run_for(ms(2_000));
    assert_eq!(ran.entries(), rest);
    let stats = stage.pool.stats();
    assert_eq!((stats.completed, stats.queued), (rest.len() as u64, 0));
    assert!(stage.pool.is_terminated());
}

#[test]
fn ec_e9_a_pool_whose_tasks_are_all_cancelled_terminates_and_its_workers_may_leave() {
    for cancels_first in [true, false] {
        let (stage, ran) = (VirtualPool::build(removing_cancelled(2)), Journal::new());
        let rest = cancel_among_many(&stage, &ran);
        let last = stage.pool.schedule(HOUR, || ()).unwrap();
        let cancel = || assert!(last.cancel());
        if cancels_first {
            cancel();
        }
        stage.pool.shutdown();
        stage.run_for(ms(2_000));
        assert_eq!((ran.entries(), stage.pool.is_terminated()), (rest, cancels_first));
        if !cancels_first {
            cancel();
            stage.run_due();
            assert!(stage.pool.is_terminated());
        }
    }
    let builder = removing_cancelled(1).core_may_time_out(true).keep_alive(ms(10));
    let stage = VirtualPool::build(builder);
    let handles: Vec<TaskHandle<()>> =
        (0..1_000).map(|_| stage.pool.schedule(HOUR, || ()).unwrap()).collect();
    stage.run_for(ms(100));
    assert_eq!(stage.pool.stats().pool_size, 1);
    assert!(handles.iter().all(TaskHandle::cancel));
    stage.run_for(ms(10));
    assert_eq!(stage.pool.stats().pool_size, 0, "nothing waits");
}
