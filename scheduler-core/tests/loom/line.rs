//! What is due stands in line, and workers take it without the lock of the pool.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use loom::thread;
use scheduler_core::Run;

use crate::kit::{Counter, HOUR, Latch, builder, models, ms, pool, pool_at_rest, staged, stop};

models! {
    l16_what_became_due_before_is_taken_before: in_order, with "L16 limit" says "in order";
    l16_what_is_staged_is_taken_before_what_comes_after_it: in_transit,
        with "L16 limit" says "in order";
    l16_a_run_that_was_taken_from_the_line_is_asked_to_stop: stop_of_a_run,
        with "L16 note" says "deadlock";
    l16_the_worker_that_is_to_look_counts_what_stands_in_line: two_that_meet,
        with "L16 look" says "deadlock";
    l16_what_is_put_in_line_while_its_worker_begins_to_wait_is_run: put_in_line,
        with "L16 parks" says "deadlock", with "L16 late" says "deadlock";
    l16_each_task_is_taken_from_the_line_or_handed_out: drain, with "L16 drain" says "one side";
}

/// A worker is at a task. One is in the queue that becomes due meanwhile, and another one in line that is due since
/// then, while a worker looks at the queue.
fn in_order() {
    let (pool, clock) = pool_at_rest(1, builder(1));
    let (ran, free) = (Arc::new(Mutex::new(Vec::new())), Latch::default());
    let noting = |name: &'static str| {
        let ran = Arc::clone(&ran);
        move || ran.lock().unwrap().push(name)
    };
    let handles = staged(|| {
        let (begun, awaited) = (Latch::default(), free.clone());
        let begins = begun.clone();
        pool.execute(move || {
            begins.open();
            awaited.wait();
        })
        .unwrap();
        begun.wait();
        let first = pool.schedule(ms(1), noting("first")).unwrap();
        clock.advance(ms(2));
        let second = pool.submit(noting("second")).unwrap();
        assert_eq!(pool.stats().queued, 2);
        [first, second]
    });
    free.open();
    handles.iter().for_each(|handle| handle.wait().unwrap());
    assert_eq!(*ran.lock().unwrap(), ["first", "second"], "tasks run in order");
    stop(&pool);
}

/// A worker is at a task. One is staged that has become due; while another thread puts it into the queue, one comes that
/// is due, too.
fn in_transit() {
    let (pool, clock) = pool_at_rest(1, builder(1));
    let (ran, free) = (Arc::new(Mutex::new(Vec::new())), Latch::default());
    let noting = |name: &'static str| {
        let ran = Arc::clone(&ran);
        move || ran.lock().unwrap().push(name)
    };
    let first = staged(|| {
        let (begun, awaited) = (Latch::default(), free.clone());
        let begins = begun.clone();
        pool.execute(move || {
            begins.open();
            awaited.wait();
        })
        .unwrap();
        begun.wait();
        let first = pool.schedule(ms(1), noting("first")).unwrap();
        clock.advance(ms(2));
        free.open();
        first
    });
    let onlooker = {
        let pool = pool.clone();
        thread::spawn(move || drop(pool.queue()))
    };
    let second = pool.submit(noting("second")).unwrap();
    [first, second].iter().for_each(|handle| handle.wait().unwrap());
    assert_eq!(*ran.lock().unwrap(), ["first", "second"], "tasks run in order");
    onlooker.join().unwrap();
    stop(&pool);
}

/// A pool stops when its worker goes from one task to the next, which would take an hour.
fn stop_of_a_run() {
    let pool = pool(1);
    let first = pool.submit(|| ()).unwrap();
    let second = pool.submit(|| Run::current().map(|run| run.sleep(HOUR).is_err())).unwrap();
    let drained = pool.shutdown_now();
    assert!(pool.await_termination(Duration::MAX));
    assert_eq!(drained.iter().any(|task| task.belongs_to(&second)), !second.is_done());
    if second.is_done() {
        assert!(first.is_done());
        assert_eq!(second.result_now(), Ok(Some(true)), "the run was asked to stop");
    }
}

/// One worker is at a task, and one waits. Two tasks come; the first goes on only when the second one runs.
fn two_that_meet() {
    let (pool, _clock) = pool_at_rest(2, builder(2));
    let (free, met) = (Latch::default(), Latch::default());
    staged(|| {
        let (begun, awaited) = (Latch::default(), free.clone());
        let begins = begun.clone();
        pool.execute(move || {
            begins.open();
            awaited.wait();
        })
        .unwrap();
        begun.wait();
    });
    free.open();
    let (awaits, opens) = (met.clone(), met.clone());
    let first = pool.submit(move || awaits.wait()).unwrap();
    pool.execute(move || opens.open()).unwrap();
    first.wait().unwrap();
    stop(&pool);
}

/// A task comes when its worker is through with another one, and finds nothing to do.
fn put_in_line() {
    let pool = pool(1);
    pool.submit(|| ()).unwrap().wait().unwrap();
    assert_eq!(pool.submit(|| 7).unwrap().wait(), Ok(7));
    stop(&pool);
}

/// Three tasks and one worker, which takes two of them from the line, while the queue is drained.
fn drain() {
    let pool = pool(1);
    let ran = [Counter::default(), Counter::default(), Counter::default()];
    let handles = ran.clone().map(|ran| pool.submit(move || ran.add()).unwrap());
    let drained = pool.shutdown_now();
    assert!(pool.await_termination(Duration::MAX));
    for (handle, ran) in handles.iter().zip(&ran) {
        let handed_out = drained.iter().filter(|task| task.belongs_to(handle)).count();
        assert_eq!(handed_out + ran.get(), 1, "a task is on exactly one side");
    }
    drop(drained);
    assert!(handles.iter().all(|handle| handle.is_done()));
}
