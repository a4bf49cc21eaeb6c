//! Wake-ups: by removals, by workers that leave, beside busy workers.

use std::time::Duration;

use crate::kit::{HOUR, Journal, VirtualPool, ms};
use scheduler_core::{Begun, Event, PoolBuilder, ScheduledThreadPool, Stepped, TaskHandle};

/// A pool whose workers have come to rest, its tasks, and the workers that have left it.
fn stage(
    builder: PoolBuilder,
    delays: &[Duration],
) -> (VirtualPool, Vec<TaskHandle<()>>, Journal<u64>) {
    let told = Journal::new();
    let heard = told.clone();
    let builder = builder.listener(move |event: &Event<'_>| {
        if let Event::WorkerStopped { worker } = event {
            heard.note(*worker);
        }
    });
    let stage = VirtualPool::build(builder);
    let handles = delays.iter().map(|delay| stage.pool.schedule(*delay, || ()).unwrap()).collect();
    stage.pool.prestart_all();
    stage.run_due();
    (stage, handles, told)
}

fn woken(stage: &VirtualPool) -> Vec<u64> {
    let mut workers = stage.workers.numbers();
    workers.retain(|worker| stage.workers.is_woken(*worker));
    workers
}

fn timed(core_size: usize) -> PoolBuilder {
    let builder = ScheduledThreadPool::builder().core_size(core_size);
    builder.keep_alive(ms(10)).core_may_time_out(true).remove_on_cancel(true)
}

#[test]
fn no_worker_is_woken_by_a_task_that_is_taken_out() {
    let builder = ScheduledThreadPool::builder().core_size(3);
    let (stage, handles, _) = stage(builder, &[HOUR, HOUR]);
    for handle in &handles {
        drop(stage.pool.remove(handle).unwrap());
        assert_eq!(woken(&stage), [0; 0]);
    }
}

#[test]
fn those_who_may_time_out_are_woken_only_when_the_last_task_is_taken_out() {
    let (stage, handles, _) = stage(timed(3), &[HOUR, HOUR]);
    drop(stage.pool.remove(&handles[0]).unwrap());
    assert_eq!(woken(&stage), [0; 0]);
    drop(stage.pool.remove(&handles[1]).unwrap());
    assert_eq!(woken(&stage), [1, 2, 3]);
}

/// It has waited for a task for longer than it would have waited for nothing.
#[test]
fn the_last_worker_is_told_at_once_that_what_it_waited_for_was_cancelled() {
    let (stage, handles, left) = stage(timed(1), &[HOUR]);
    stage.clock.advance(ms(20));
    assert!(handles[0].cancel());
    assert_eq!(woken(&stage), [1]);
    assert!(matches!(stage.workers.step(1), Stepped::Left));
    assert_eq!(left.entries(), [1]);
}

#[test]
fn the_last_of_all_tasks_to_leave_wakes_the_next_that_is_to_leave() {
    let builder = ScheduledThreadPool::builder().core_size(3);
    let (stage, _, left) = stage(builder, &[ms(10)]);
    stage.pool.shutdown();
    stage.run_due();
    stage.clock.advance(ms(10));
    let busy = stage.workers.numbers().into_iter().find(|worker| {
        let begun = stage.workers.begin(*worker);
        matches!(begun, Begun::Run(_))
    });
    assert!(matches!(stage.workers.step(busy.expect("the task is due")), Stepped::Left));
    while let [next] = woken(&stage)[..] {
        assert!(matches!(stage.workers.step(next), Stepped::Left));
    }
    assert_eq!(left.len(), 3);
    assert!(stage.pool.is_terminated());
}

#[test]
fn those_who_stay_are_still_woken_when_one_has_left() {
    let builder = ScheduledThreadPool::builder().core_size(3);
    let (stage, _, left) = stage(builder, &[HOUR]);
    stage.pool.set_keep_alive(ms(5)).unwrap();
    stage.pool.set_core_size(2);
    stage.clock.advance(ms(5));
    stage.run_due();
    let [one, other] = stage.workers.numbers()[..] else { panic!("two stay") };
    assert_eq!(left.entries(), [6 - one - other]);
    stage.pool.schedule(ms(2), || ()).unwrap();
    stage.pool.schedule(ms(1), || ()).unwrap();
    assert_eq!(woken(&stage).len(), 1);
}

/// A worker may look before it is time, as after a wake-up that was for another.
#[test]
fn an_idle_worker_is_woken_and_not_one_that_is_busy() {
    let builder = ScheduledThreadPool::builder().core_size(3);
    let (stage, _, _) = stage(builder, &[ms(10)]);
    stage.clock.advance(ms(10));
    let Begun::Run(first) = stage.workers.begin(3) else { panic!("the task is due") };
    stage.pool.submit(|| ()).unwrap();
    let Begun::Run(second) = stage.workers.begin(1) else { panic!("the task is due") };
    stage.pool.submit(|| ()).unwrap();
    assert_eq!(woken(&stage), [2]);
    assert!(matches!(stage.workers.step(2), Stepped::Ran));
    drop((first, second));
}

#[test]
fn a_worker_that_is_refused_is_reported_and_was_not_started() {
    let builder = ScheduledThreadPool::builder().core_size(1);
    let told = Journal::new();
    let heard = told.clone();
    let stage = VirtualPool::build(builder.listener(move |event: &Event<'_>| {
        if let Event::WorkerRefused { worker, reason } = event {
            heard.note((*worker, (*reason).to_owned()));
        }
    }));
    stage.workers.refuse(1);
    assert!(!stage.pool.prestart());
    assert_eq!(told.len(), 1);
    assert!(told.entries()[0].1.contains("the thread factory dropped the worker"));
    assert!(stage.pool.prestart());
    assert_eq!((told.len(), stage.pool.stats().pool_size), (1, 1));
}
