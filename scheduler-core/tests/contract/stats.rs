//! The contract of counters and of the view of the queue (EC-K).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::kit::{
    self, Blocker, HOUR, Journal, ManualPool, Pending, Random, VirtualPool, eventually, ms,
    value_of, wedge,
};
use scheduler_core::{Event, ScheduledThreadPool, TaskId};

#[test]
fn ec_k1_a_running_blocker_is_active() {
    let ManualPool { pool, .. } = ManualPool::new(2);
    assert_eq!(pool.stats().active, 0);
    pool.prestart_all();
    assert_eq!(pool.stats().active, 0, "an idle worker is not");
    let (blocker, inside) = (Blocker::new(), pool.clone());
    let body = blocker.body();
    let handle = pool
        .submit(move || {
            let seen = inside.stats().active;
            body();
            seen
        })
        .unwrap();
    blocker.await_started();
    assert_eq!(pool.stats().active, 1);
    blocker.release();
    assert_eq!(value_of(&handle), 1);
    eventually("the worker is free", || pool.stats().active == 0);
}

#[test]
fn ec_k2_a_run_is_completed_when_it_has_ended() {
    let ManualPool { pool, .. } = ManualPool::new(2);
    assert_eq!(pool.stats().completed, 0);
    let wedge = wedge(&pool);
    assert_eq!(pool.stats().completed, 0);
    wedge.release();
    eventually("both are counted", || pool.stats().completed == 2);
}

#[test]
fn ec_k2_completed_never_decreases_for_any_reader() {
    const TASKS: u64 = 5_000;
    let ManualPool { pool, .. } = ManualPool::new(2);
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<Pending<u64>> = (0..3)
        .map(|_| {
            let (pool, is_over) = (pool.clone(), Arc::clone(&is_over));
            Pending::start(move || {
                let mut last = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let stats = pool.stats();
                    assert!(stats.completed >= last);
                    assert!(stats.tasks <= TASKS && stats.completed <= stats.tasks);
                    last = stats.completed;
                }
                last
            })
        })
        .collect();
    for _ in 0..TASKS {
        pool.execute(|| ()).unwrap();
    }
    eventually("all are counted", || pool.stats().completed == TASKS);
    is_over.store(true, Ordering::Relaxed);
    assert!(readers.into_iter().all(|reader| reader.join() <= TASKS));
}

#[test]
fn ec_k2_each_firing_of_a_recurring_task_counts() {
    let stage = VirtualPool::new(1);
    stage.pool.schedule_at_fixed_rate(ms(1), ms(1), || ()).unwrap();
    stage.pool.schedule(ms(3), || panic!("a failure has run, too")).unwrap();
    stage.run_for(ms(5));
    assert_eq!(stage.pool.stats().completed, 6);
    // Unlike the JDK's, a cancelled task that surfaces does not count: it has not run.
    stage.pool.set_remove_on_cancel(false);
    stage.pool.schedule(Duration::ZERO, || ()).unwrap().cancel();
    assert_eq!(stage.pool.stats().queued, 2);
    stage.run_due();
    assert_eq!((stage.pool.stats().completed, stage.pool.stats().queued), (6, 1));
}

#[test]
fn ec_k3_running_and_waiting_tasks_count_as_tasks() {
    for waiting in [0, 1, 7] {
        let ManualPool { pool, .. } = ManualPool::new(1);
        let wedge = wedge(&pool);
        for _ in 0..waiting {
            pool.execute(|| ()).unwrap();
        }
        let stats = pool.stats();
        assert_eq!((stats.tasks, stats.completed), (1 + waiting, 0));
        wedge.release();
        eventually("all are counted", || pool.stats().completed == 1 + waiting);
        assert_eq!(pool.stats().tasks, 1 + waiting);
    }
}

#[test]
fn ec_k4_the_queue_holds_what_waits_and_not_what_runs() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let blockers: Vec<Blocker> = (0..5).map(|_| Blocker::new()).collect();
    let handles: Vec<_> =
        blockers.iter().map(|blocker| pool.schedule(ms(1), blocker.body()).unwrap()).collect();
    assert_eq!(pool.queue().len(), 5);
    clock.advance(ms(1));
    blockers[0].await_started();
    let waiting: Vec<TaskId> = pool.queue().iter().map(|task| task.id).collect();
    assert_eq!(waiting.len(), 4);
    assert!(waiting.contains(&handles[4].id()) && !waiting.contains(&handles[0].id()));
    assert!(pool.is_queued(&handles[4]) && !pool.is_queued(&handles[0]));
    assert_eq!(pool.stats().queued, 4);
}

#[test]
fn ec_k4_the_queue_tells_who_waits_and_for_how_long() {
    let VirtualPool { pool, clock, .. } = VirtualPool::new(1);
    let task = scheduler_core::Task::once(|| ()).name("report").initial_delay(ms(5));
    let handle = pool.submit_task(task).unwrap();
    clock.advance(ms(2));
    let queue = pool.queue();
    assert_eq!(queue.len(), 1);
    assert_eq!((queue[0].id, queue[0].name.as_deref()), (handle.id(), Some("report")));
    assert_eq!(queue[0].delay, ms(3));
    clock.advance(HOUR);
    assert_eq!(pool.queue()[0].delay, Duration::ZERO);
}

#[test]
fn ec_k4_a_task_of_another_pool_is_in_no_queue_of_this_one() {
    let (one, other) = (VirtualPool::new(1).pool, VirtualPool::new(1).pool);
    let (here, there) = (one.schedule(HOUR, || ()).unwrap(), other.schedule(HOUR, || ()).unwrap());
    assert!(one.is_queued(&here) && !one.is_queued(&there));
    assert!(one.remove(&there).is_none() && other.is_queued(&there));
}

/// Adds and cancels tasks until it is asked to stop, and returns the number of those that it has added.
fn churn(pool: &ScheduledThreadPool, seed: u64, is_over: &Arc<AtomicBool>) -> Pending<u64> {
    let (pool, is_over) = (pool.clone(), Arc::clone(is_over));
    Pending::start(move || {
        let (mut random, mut handles, mut added) = (Random(seed), Vec::new(), 0);
        while !is_over.load(Ordering::Relaxed) {
            let delay = if random.below(2) == 0 { Duration::ZERO } else { HOUR };
            handles.push(pool.schedule(delay, || ()).expect("the pool takes tasks"));
            added += 1;
            if handles.len() > 200 {
                let index = usize::try_from(random.below(200)).expect("an index");
                handles.swap_remove(index).cancel();
            }
        }
        added
    })
}

#[test]
fn ec_k5_snapshots_of_a_changing_queue_show_nothing_twice_and_hold_up_no_run() {
    let ManualPool { pool, .. } = ManualPool::new(2);
    let is_over = Arc::new(AtomicBool::new(false));
    let churning: Vec<Pending<u64>> = (1..=2).map(|seed| churn(&pool, seed, &is_over)).collect();
    eventually("something waits", || !pool.queue().is_empty());
    for round in 0..500 {
        let snapshot = pool.queue();
        let ids: BTreeSet<TaskId> = snapshot.iter().map(|task| task.id).collect();
        assert_eq!(ids.len(), snapshot.len(), "round {round}");
    }
    // While the queue is being looked at and changed, tasks go on being run.
    let journal = Journal::new();
    pool.execute(journal.noting(())).unwrap();
    journal.await_len(1);
    is_over.store(true, Ordering::Relaxed);
    assert!(churning.into_iter().map(Pending::join).sum::<u64>() > 0);
    drop(pool.shutdown_now());
    kit::await_terminated(&pool);
    assert!(pool.queue().is_empty());
}

#[test]
fn ec_k5_a_snapshot_stays_what_it_was() {
    let VirtualPool { pool, .. } = VirtualPool::new(1);
    let handles: Vec<_> = (0..10).map(|_| pool.schedule(HOUR, || ()).unwrap()).collect();
    let snapshot = pool.queue();
    for handle in &handles {
        handle.cancel();
    }
    assert_eq!((snapshot.len(), pool.queue().len()), (10, 0));
}

#[test]
fn the_end_of_a_run_is_told_with_the_time_it_took_and_the_next() {
    let told = Journal::new();
    let noted = told.clone();
    let stage = VirtualPool::build(ScheduledThreadPool::builder().core_size(1).listener(
        move |event: &Event<'_>| {
            if let Event::RunFinished { run, duration, next, .. } = event {
                noted.note((run.number(), *duration, next.map(|next| next - run.fire_time())));
            }
        },
    ));
    let clock = stage.clock.clone();
    let body = move || clock.advance(ms(30));
    stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(100), body).unwrap();
    stage.run_for(ms(150));
    let period = Some(chrono::TimeDelta::milliseconds(100));
    assert_eq!(told.entries(), [(1, ms(30), period), (2, ms(30), period)]);
}
