//! Dead entries of the queue: each is counted once, however it leaves.

use std::time::Duration;

use loom::thread;
use scheduler_core::{ScheduledThreadPool, TaskHandle};

use crate::kit::{
    Counter, HOUR, Latch, builder, builder_of, models, ms, occupy, pool_at_rest, staged, stop,
};
use crate::times::Hand;

models! {
    l11_a_task_that_is_cancelled_on_its_way_to_the_queue_is_not_counted: on_its_way;
    l11_two_that_are_cancelled_during_a_look_are_not_counted: during_a_look;
    l11_a_dead_entry_that_a_worker_takes_is_counted_once: taken;
    l11_dead_entries_that_are_swept_out_are_counted_once: swept;
    l11_an_entry_that_keeps_its_place_is_not_swept_out: kept;
    l11_a_cancel_while_a_pool_closes_lets_it_end: at_the_end;
    l11_a_cancel_while_workers_may_begin_to_leave_lets_one_leave: before_a_time_out;
}

/// A pool whose only worker sleeps until a task that is due in an hour.
fn pool_that_waits(dropped: &Counter) -> (ScheduledThreadPool, Hand, TaskHandle<()>) {
    let (pool, clock) = pool_at_rest(1, builder(1));
    let first = first_task(&pool, &clock, dropped);
    (pool, clock, first)
}

fn first_task(pool: &ScheduledThreadPool, clock: &Hand, dropped: &Counter) -> TaskHandle<()> {
    staged(|| {
        let token = dropped.on_drop();
        let first = pool.schedule(HOUR, move || drop(token)).unwrap();
        clock.await_watch(HOUR);
        first
    })
}

fn cancel(handle: TaskHandle<()>) -> impl FnOnce() + Send {
    move || assert!(handle.cancel(), "no other thread ends the task")
}

/// A task is cancelled while another thread moves it from the inbox to the queue.
fn on_its_way() {
    let dropped = Counter::default();
    let (pool, _clock, first) = pool_that_waits(&Counter::default());
    let onlooker = {
        let pool = pool.clone();
        thread::spawn(move || assert!(!pool.queue().is_empty()))
    };
    let token = dropped.on_drop();
    cancel(pool.schedule(HOUR * 2, move || drop(token)).unwrap())();
    onlooker.join().unwrap();
    assert_eq!(pool.stats().queued, 1, "a cancelled task is not counted");
    assert_eq!(dropped.get(), 1, "the body is dropped once");
    stop(&pool);
    assert!(first.is_cancelled());
}

/// Two threads cancel a task each, while a third one looks at the queue.
fn during_a_look() {
    let dropped = Counter::default();
    let (pool, _clock, first) = pool_that_waits(&dropped);
    let others = staged(|| [2, 3].map(|hours| pool.schedule(HOUR * hours, || ()).unwrap()));
    let [second, third] = others;
    let cancellers = [first, second].map(|handle| thread::spawn(cancel(handle)));
    assert!((1..=3).contains(&pool.stats().queued));
    cancellers.into_iter().for_each(|canceller| canceller.join().unwrap());
    assert_eq!(pool.queue().len(), 1, "a cancelled task stays in the queue");
    assert_eq!(pool.stats().queued, 1, "a cancelled task is not counted");
    assert_eq!(dropped.get(), 1, "the body is dropped once");
    stop(&pool);
    assert!(third.is_cancelled());
}

/// A task is cancelled while a worker takes it; another one waits.
fn taken() {
    let (pool, _clock, later) = pool_that_waits(&Counter::default());
    let handle = pool.submit(|| ()).unwrap();
    let canceller = thread::spawn(move || handle.cancel());
    canceller.join().unwrap();
    staged(|| {
        // The only worker has let go of the entry before it takes another one.
        pool.submit(|| ()).unwrap().wait().unwrap();
        assert_eq!(pool.stats().queued, 1, "a dead entry is counted once");
    });
    stop(&pool);
    assert!(later.is_cancelled());
}

/// So many tasks that they are swept out when most of them are dead; the last is cancelled during the sweep.
fn swept() {
    let (pool, _clock, first) = pool_that_waits(&Counter::default());
    let last = staged(|| {
        let others: Vec<_> = (0..66).map(|_| pool.schedule(HOUR, || ()).unwrap()).collect();
        assert_eq!(pool.stats().queued, 67);
        others.iter().skip(1).for_each(|handle| assert!(handle.cancel()));
        others[0].clone()
    });
    let canceller = thread::spawn(cancel(last));
    assert!((1..=2).contains(&pool.stats().queued), "a dead entry is counted once");
    canceller.join().unwrap();
    assert_eq!(pool.stats().queued, 1, "a dead entry is counted once");
    stop(&pool);
    assert!(first.is_cancelled());
}

/// A pool begins to keep the entries of cancelled tasks; one is cancelled, and the worker sweeps before it sleeps.
fn kept() {
    let (pool, clock, first) = pool_that_waits(&Counter::default());
    let free = Latch::default();
    staged(|| {
        occupy(&pool, &free);
        assert!(pool.schedule(HOUR, || ()).unwrap().cancel());
    });
    let setter = {
        let pool = pool.clone();
        thread::spawn(move || pool.set_remove_on_cancel(false))
    };
    let canceller = thread::spawn(cancel(first));
    free.open();
    setter.join().unwrap();
    canceller.join().unwrap();
    staged(|| {
        clock.await_parked(1);
        pool.set_remove_on_cancel(true);
        assert!(pool.schedule(HOUR, || ()).unwrap().cancel());
        assert_eq!(pool.queue().len(), pool.stats().queued, "a kept entry is swept out");
    });
    stop(&pool);
}

/// The last task of a pool that is shut down, and that would wait for it, is cancelled.
fn at_the_end() {
    let dropped = Counter::default();
    let (pool, _clock, first) = pool_that_waits(&dropped);
    let canceller = thread::spawn(cancel(first));
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    canceller.join().unwrap();
    assert_eq!(dropped.get(), 1, "the body is dropped once");
}

/// Workers may begin to leave when they are idle, and the only one stays for a task, which is cancelled.
fn before_a_time_out() {
    let left = Latch::default();
    let (pool, clock) = pool_at_rest(1, builder_of(1, &left).keep_alive(ms(10)));
    let first = first_task(&pool, &clock, &Counter::default());
    let canceller = thread::spawn(cancel(first));
    pool.set_core_may_time_out(true).unwrap();
    canceller.join().unwrap();
    staged(|| {
        clock.advance(ms(10));
        left.wait();
    });
    stop(&pool);
}
