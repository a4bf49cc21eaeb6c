//! The contract of threads: factories, hooks, the death of workers (EC-G).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{io, thread};

use crate::kit::{
    Blocker, Journal, ManualPool, Mutex, VirtualPool, await_terminated, capped, close, eventually,
    ms, wedge,
};
use scheduler_core::{
    Body, Event, Failure, OnError, Run, ScheduledThreadPool, Task, TaskState, ThreadFactory,
    WorkerThread,
};

/// A factory that names itself in a journal whenever it starts a worker.
fn signing(name: &'static str, journal: &Journal<&'static str>) -> impl ThreadFactory + use<> {
    let journal = journal.clone();
    move |worker: WorkerThread| {
        journal.note(name);
        start(worker)
    }
}

fn start(worker: WorkerThread) -> io::Result<()> {
    let thread = thread::Builder::new().name(worker.name().to_owned());
    thread.spawn(move || worker.run()).map(drop)
}

#[test]
fn ec_g1_the_factory_set_is_the_one_reported_and_the_one_used() {
    let journal = Journal::new();
    let first = signing("first", &journal);
    let builder = ScheduledThreadPool::builder().core_size(4).thread_factory(first);
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let built_with = pool.thread_factory().expect("a pool of threads has a factory");
    assert!(pool.prestart());
    assert_eq!(journal.entries(), ["first"]);

    pool.set_thread_factory(signing("second", &journal));
    assert!(pool.prestart());
    pool.submit(|| ()).unwrap();
    assert_eq!(journal.entries(), ["first", "second", "second"]);

    // The one that was reported first is the one the pool was built with.
    pool.set_thread_factory(built_with);
    assert!(pool.prestart());
    assert_eq!(journal.entries(), ["first", "second", "second", "first"]);
}

#[test]
fn ec_g1_virtual_workers_have_no_factory() {
    let VirtualPool { pool, .. } = VirtualPool::new(1);
    assert!(pool.thread_factory().is_none());
    pool.set_thread_factory(signing("unused", &Journal::new()));
    assert!(pool.thread_factory().is_none());
}

#[test]
fn ec_g2_a_hundred_panics_cost_no_thread() {
    let (started, outcomes) = (Journal::new(), Journal::new());
    let (factory, after) = (signing("worker", &started), outcomes.clone());
    let builder = ScheduledThreadPool::builder()
        .core_size(1)
        .thread_factory(factory)
        .after_run(move |_, outcome| after.note(outcome.clone()));
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let handles: Vec<_> =
        (0..100).map(|n| pool.execute(move || panic!("number {n}")).unwrap()).collect();
    for (n, handle) in handles.iter().enumerate() {
        let handle = handle.clone();
        let error = capped(move || handle.wait()).unwrap_err();
        assert_eq!(error.failure().unwrap().message(), format!("number {n}"));
    }
    eventually("all are counted", || pool.stats().completed == 100);
    assert_eq!(started.len(), 1);
    // Unlike the JDK's, the hook gets the outcome.
    let expected = (0..100).map(|n| Err(Failure::from_panic(&format!("number {n}"))));
    assert_eq!(outcomes.entries(), expected.collect::<Vec<_>>());
    assert_eq!(pool.stats().pool_size, 1);
}

/// A call around a run, and its thread.
type Around = (&'static str, u64, thread::ThreadId);

fn around(name: &'static str, run: &Run) -> Around {
    (name, run.number(), thread::current().id())
}

#[test]
fn ec_g3_hooks_go_around_every_run_on_its_thread() {
    let journal: Journal<Around> = Journal::new();
    let (before, after, body) = (journal.clone(), journal.clone(), journal.clone());
    let builder = ScheduledThreadPool::builder()
        .core_size(2)
        .before_run(move |run| before.note(around("before", run)))
        .after_run(move |run, _| after.note(around("after", run)));
    let ManualPool { pool, clock } = ManualPool::build(builder);

    let handle = pool
        .schedule_at_fixed_rate(ms(10), ms(10), move || {
            body.note(around("body", &Run::current().expect("inside a run")));
        })
        .unwrap();
    for firing in 1..=5 {
        clock.advance(ms(10));
        journal.await_len(3 * firing);
        eventually("the task waits again", || pool.stats().queued == 1);
    }
    handle.cancel();
    let entries = journal.entries();
    assert_eq!(entries.len(), 15);
    for (firing, run) in (1..).zip(entries.chunks(3)) {
        let thread = run[0].2;
        assert_ne!(thread, thread::current().id());
        let expected = ["before", "body", "after"].map(|name| (name, firing, thread));
        assert_eq!(run, expected);
    }
}

#[test]
fn ec_g3_hooks_go_around_runs_that_fail_and_not_around_tasks_that_never_run() {
    let journal = Journal::new();
    let (before, after) = (journal.clone(), journal.clone());
    let builder = ScheduledThreadPool::builder()
        .core_size(1)
        .remove_on_cancel(false)
        .before_run(move |run| before.note(("before", run.task_id())))
        .after_run(move |run, _| after.note(("after", run.task_id())));
    let stage = VirtualPool::build(builder);
    let cancelled = stage.pool.schedule(ms(1), || ()).unwrap();
    let failing = stage.pool.schedule(ms(2), || panic!("as planned")).unwrap();
    cancelled.cancel();
    stage.run_for(ms(5));
    // In the JDK both hooks run for a cancelled task that surfaces; here a run is a run.
    assert_eq!(journal.entries(), [("before", failing.id()), ("after", failing.id())]);
}

#[test]
fn ec_g3_a_before_hook_that_panics_fails_the_run_and_keeps_the_worker() {
    let journal = Journal::new();
    let (events, after) = (journal.clone(), journal.clone());
    let builder = ScheduledThreadPool::builder()
        .core_size(1)
        .before_run(|run| assert!(run.task_name() != Some("bad"), "not this one"))
        .after_run(move |_, outcome| after.note(format!("after {outcome:?}")))
        .listener(move |event: &Event<'_>| {
            if let Event::HookPanicked { hook, failure } = event {
                events.note(format!("{hook}: {failure}"));
            }
        });
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let bad = pool.submit_task(Task::once(|| unreachable!("the run is refused")).name("bad"));
    let bad: scheduler_core::TaskHandle<()> = bad.unwrap();
    // The JDK's worker would die here, and the future would stay pending for ever.
    let error = capped(move || bad.wait()).unwrap_err();
    assert_eq!(error.failure().unwrap().message(), "the before-run hook panicked: not this one");
    let good = pool.submit(|| 7).unwrap();
    assert_eq!(crate::kit::value_of(&good), 7);
    assert_eq!(pool.stats().pool_size, 1);
    let entries = journal.entries();
    assert_eq!(entries[0], "before_run: panicked: not this one");
    // As in the JDK, the after-hook is not called where the before-hook has thrown.
    assert_eq!(entries[1..], ["after Ok(())"]);
}

/// A gauge that the hooks move up and down stands at zero when nothing runs.
#[test]
fn ec_g3_no_after_hook_without_its_before_hook() {
    let gauge = Arc::new(std::sync::atomic::AtomicIsize::new(0));
    let (up, down) = (Arc::clone(&gauge), Arc::clone(&gauge));
    let before = move |run: &Run| {
        assert!(run.number().is_multiple_of(2), "every second run is refused");
        up.fetch_add(1, Ordering::SeqCst);
    };
    let after = move |_: &Run, _: &Result<(), Failure>| _ = down.fetch_sub(1, Ordering::SeqCst);
    let builder = ScheduledThreadPool::builder().core_size(1).before_run(before).after_run(after);
    let stage = VirtualPool::build(builder);
    for body in [Body::new(|| ()), Body::new_async(|| async {})] {
        let task = Task::at_fixed_rate(ms(1), body).on_error(OnError::Continue);
        let recurring = stage.pool.submit_task(task).unwrap();
        let once = stage.pool.schedule(ms(1), || ()).unwrap();
        stage.run_for(ms(7));
        assert_eq!(gauge.load(Ordering::SeqCst), 0);
        assert_eq!(once.state(), TaskState::Failed);
        assert!(recurring.cancel());
    }
}

#[test]
fn ec_g3_an_after_hook_that_panics_changes_no_outcome() {
    let builder =
        ScheduledThreadPool::builder().core_size(1).after_run(|_, _| panic!("every time"));
    let ManualPool { pool, .. } = ManualPool::build(builder);
    for n in 0..100 {
        assert_eq!(crate::kit::value_of(&pool.submit(move || n).unwrap()), n);
    }
    assert_eq!(pool.stats().largest_pool_size, 1);
}

#[test]
fn ec_g4_the_terminated_hook_is_called_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let builder = ScheduledThreadPool::builder().core_size(2).on_terminated(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let ManualPool { pool, .. } = ManualPool::build(builder);
    pool.prestart_all();
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    pool.shutdown();
    await_terminated(&pool);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    drop(pool.shutdown_now());
    close(&pool);
    drop(pool);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn ec_g4_the_terminated_hook_of_a_pool_that_never_had_a_worker_is_called_once() {
    let journal = Journal::new();
    let hook = journal.noting("terminated");
    let (hook, seen) = (Mutex::new(hook), journal.clone());
    let builder = ScheduledThreadPool::builder().on_terminated(move || hook.lock().unwrap()());
    let ManualPool { pool, .. } = ManualPool::build(builder);
    pool.shutdown();
    pool.shutdown();
    assert!(pool.is_terminated());
    assert_eq!(seen.entries(), ["terminated"]);
}

#[test]
fn ec_g5_every_task_runs_though_every_second_thread_is_refused() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let builder = ScheduledThreadPool::builder().core_size(100).thread_factory(
        move |worker: WorkerThread| {
            if counted.fetch_add(1, Ordering::SeqCst) % 2 == 1 {
                return Err(io::Error::other("not now"));
            }
            start(worker)
        },
    );
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let handles: Vec<_> = (0..100).map(|n| pool.submit(move || n).unwrap()).collect();
    for (n, handle) in handles.iter().enumerate() {
        assert_eq!(crate::kit::value_of(handle), n);
    }
    assert!(calls.load(Ordering::SeqCst) >= 100, "each submission tries to start a worker");
    assert_eq!(pool.stats().pool_size, calls.load(Ordering::SeqCst).div_ceil(2));
}

/// The names of the threads that run one task each at the same time.
fn thread_names(pool: &ScheduledThreadPool) -> BTreeSet<String> {
    let all_here = Blocker::new();
    let journal = Journal::new();
    for _ in 0..pool.core_size() {
        let (name, body) = (journal.clone(), all_here.body());
        let task = move || {
            name.note(thread::current().name().expect("workers are named").to_owned());
            body();
        };
        pool.submit(task).unwrap();
    }
    journal.await_len(pool.core_size());
    journal.entries().into_iter().collect()
}

#[test]
fn ec_g6_threads_are_named_after_pool_and_worker() {
    let one = ManualPool::new(3).pool;
    let other = ManualPool::new(3).pool;
    let mut pools = BTreeSet::new();
    for pool in [&one, &other] {
        let names = thread_names(pool);
        assert_eq!(names.len(), 3, "distinct: {names:?}");
        for (worker, name) in (1..=3).zip(&names) {
            let rest = name.strip_prefix("pool-").expect("the default prefix");
            let (number, place) = rest.split_once("-worker-").expect("pool and worker");
            assert!(number.parse::<u64>().is_ok(), "{name}");
            assert_eq!(place, worker.to_string());
            pools.insert(number.to_owned());
        }
    }
    assert_eq!(pools.len(), 2, "two pools have two numbers");
}

#[test]
fn ec_g6_a_prefix_is_honoured() {
    let builder = ScheduledThreadPool::builder().core_size(2).thread_name_prefix("reports-");
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let expected = ["reports-1", "reports-2"].map(str::to_owned);
    assert_eq!(thread_names(&pool), BTreeSet::from(expected));
}

#[test]
fn a_worker_that_is_dropped_later_is_reported_once_and_not_missed() {
    let (parked, reasons) = (Arc::new(Mutex::new(Vec::new())), Journal::new());
    let (park, heard) = (Arc::clone(&parked), reasons.clone());
    let builder = ScheduledThreadPool::builder()
        .core_size(1)
        .thread_factory(move |worker: WorkerThread| {
            park.lock().unwrap().push(worker);
            Ok(())
        })
        .listener(move |event: &Event<'_>| {
            if let Event::WorkerRefused { reason, .. } = event {
                heard.note((*reason).to_owned());
            }
        });
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let handle = pool.submit(|| 1).unwrap();
    assert_eq!((pool.stats().pool_size, reasons.len()), (1, 0));
    parked.lock().unwrap().clear();
    assert_eq!(pool.stats().pool_size, 0);
    assert_eq!(reasons.entries(), ["the thread factory dropped the worker"]);
    pool.set_thread_factory(start);
    assert!(pool.prestart());
    assert_eq!(crate::kit::value_of(&handle), 1);
}

#[test]
fn busy_workers_are_not_replaced() {
    let ManualPool { pool, .. } = ManualPool::new(2);
    let wedge = wedge(&pool);
    for _ in 0..10 {
        pool.schedule(Duration::ZERO, || ()).unwrap();
    }
    assert_eq!(pool.stats().pool_size, 2);
    wedge.release();
    close(&pool);
}
