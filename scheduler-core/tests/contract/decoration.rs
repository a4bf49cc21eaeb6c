//! The contract of decoration (EC-L): decorated tasks keep every other promise.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use crate::kit::{
    self, Blocker, HOUR, Journal, ManualPool, Mutex, VirtualPool, eventually, ms, value_of, wedge,
};
use scheduler_core::{
    Body, Error, OnError, PoolBuilder, ScheduledThreadPool, Task, TaskHandle, TaskId,
};

/// The number of steps that a decorator has seen of each task.
#[derive(Clone, Default)]
struct Record {
    steps: Arc<Mutex<BTreeMap<TaskId, u64>>>,
    decorated: Arc<Mutex<Vec<TaskId>>>,
}

impl Record {
    fn keep(&self, builder: PoolBuilder) -> PoolBuilder {
        let this = self.clone();
        builder.decorate_task(move |id, _| {
            this.decorated.lock().unwrap().push(id);
            let steps = Arc::clone(&this.steps);
            Box::new(move |step| {
                step();
                *steps.lock().unwrap().entry(id).or_default() += 1;
            })
        })
    }

    fn has_run<T: Send + Sync + 'static>(&self, handle: &TaskHandle<T>) -> bool {
        self.steps_of(handle) > 0
    }

    fn steps_of<T: Send + Sync + 'static>(&self, handle: &TaskHandle<T>) -> u64 {
        self.steps.lock().unwrap().get(&handle.id()).copied().unwrap_or(0)
    }

    fn decorated(&self) -> Vec<TaskId> {
        self.decorated.lock().unwrap().clone()
    }
}

#[test]
fn ec_l1_a_task_that_delivered_has_run_and_a_drained_one_has_not() {
    let record = Record::default();
    let builder = record.keep(ScheduledThreadPool::builder().core_size(1));
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let delivered = pool.submit(|| 7).unwrap();
    assert_eq!(value_of(&delivered), 7);
    let failed = pool.submit(|| panic!("it has run")).unwrap();
    let waiting: TaskHandle<()> = failed.clone();
    assert!(kit::capped(move || waiting.wait()).unwrap_err().is_failed());

    let wedge = wedge(&pool);
    let drained = [
        pool.execute(|| ()).unwrap(),
        pool.schedule(HOUR, || ()).unwrap(),
        pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap(),
    ];
    let cancelled = pool.submit(|| ()).unwrap();
    cancelled.cancel();
    let returned = pool.shutdown_now();
    assert_eq!(returned.len(), 3);
    wedge.release();
    kit::await_terminated(&pool);
    drop(returned);
    assert!(record.has_run(&delivered));
    assert!(!record.has_run(&cancelled) && !drained.iter().any(|task| record.has_run(task)));
    assert_eq!(record.decorated().len(), 7);
}

#[test]
fn ec_l1_a_drained_task_that_is_run_by_hand_runs_decorated() {
    let record = Record::default();
    let builder = record.keep(ScheduledThreadPool::builder().core_size(1));
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let handle = pool.schedule(HOUR, || 7).unwrap();
    for task in pool.shutdown_now() {
        task.run();
    }
    assert_eq!(handle.result_now().unwrap(), 7);
    assert_eq!(record.steps_of(&handle), 1);
}

#[test]
fn ec_l1_a_decorator_that_does_not_run_the_task_or_panics_fails_it() {
    let builder = ScheduledThreadPool::builder().core_size(1).decorate_task(|_, name| match name {
        Some("forgets") => Box::new(|_| ()),
        Some("panics before") => Box::new(|_| panic!("before")),
        Some("panics after") => Box::new(|step| {
            step();
            panic!("after");
        }),
        Some("panics at once") => panic!("at once"),
        _ => Box::new(|step| step()),
    });
    let stage = VirtualPool::build(builder);
    let cases = [
        ("forgets", "the decorator did not run the task", false),
        ("panics before", "before", false),
        ("panics after", "after", true),
    ];
    for (name, message, runs) in cases {
        let ran = Journal::new();
        let handle = stage.pool.submit_task(Task::once(ran.noting(())).name(name)).unwrap();
        stage.run_due();
        assert_eq!(handle.failure_now().unwrap().message(), message, "{name}");
        assert_eq!(ran.len(), usize::from(runs), "{name}");
    }
    let refused = stage.pool.submit_task(Task::once(|| ()).name("panics at once")).unwrap_err();
    assert_eq!(refused.failure().unwrap().message(), "at once");
    assert_eq!(stage.pool.stats().queued, 0);
    let plain = stage.pool.submit(|| 7).unwrap();
    stage.run_due();
    assert_eq!(plain.result_now().unwrap(), 7);
}

/// The future of a run that has failed is not polled again.
#[test]
fn ec_l1_a_run_after_one_whose_decorator_panics_begins_with_a_new_future() {
    let polls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&polls);
    let builder = ScheduledThreadPool::builder().core_size(1).decorate_task(move |_, _| {
        let seen = Arc::clone(&seen);
        Box::new(move |step| {
            step();
            assert_ne!(seen.load(Ordering::Relaxed), 1, "the first poll");
        })
    });
    let stage = VirtualPool::build(builder);
    let made = Journal::new();
    let body = made.clone();
    let body = Body::new_async(move || {
        body.note(());
        let polls = Arc::clone(&polls);
        poll_fn(move |_| match polls.fetch_add(1, Ordering::Relaxed) {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        })
    });
    let task = Task::with_fixed_delay(ms(1), body).on_error(OnError::Continue);
    stage.pool.submit_task(task).unwrap();
    stage.run_due();
    stage.clock.advance(ms(1));
    stage.run_due();
    assert_eq!(made.len(), 2);
}

type Entry = fn(&ScheduledThreadPool) -> Result<TaskHandle<()>, Error>;

#[test]
fn ec_l2_the_decorator_is_called_once_per_submission_and_not_for_firings() {
    const ENTRIES: [(&str, Entry, u64); 8] = [
        ("execute", |pool| pool.execute(|| ()), 1),
        ("submit", |pool| pool.submit(|| ()), 1),
        ("task", |pool| pool.submit_task(Task::once(|| ())), 1),
        ("schedule", |pool| pool.schedule(ms(1), || ()), 1),
        ("schedule, async", |pool| pool.schedule_async(ms(1), yield_twice()), 3),
        ("fixed rate", |pool| pool.schedule_at_fixed_rate(ms(1), ms(1000), || ()), 3),
        ("fixed delay", |pool| pool.schedule_with_fixed_delay(ms(1), ms(1000), || ()), 3),
        ("timeout", |pool| pool.submit_with_timeout(HOUR, || ()), 1),
    ];
    for (name, enter, steps) in ENTRIES {
        let record = Record::default();
        let builder = record.keep(ScheduledThreadPool::builder().core_size(1));
        let stage = VirtualPool::build(builder);
        let handle = enter(&stage.pool).expect(name);
        assert_eq!(record.decorated(), [handle.id()], "{name}: before the call returns");
        stage.run_for(ms(2500));
        assert_eq!(record.steps_of(&handle), steps, "{name}");
        assert_eq!(record.decorated().len(), 1, "{name}: never again");
    }
}

/// A future that is pending twice, and wakes itself.
async fn yield_twice() {
    let mut left = 2;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn ec_l2_members_of_an_invocation_are_decorated_once_each() {
    let record = Record::default();
    let builder = record.keep(ScheduledThreadPool::builder().core_size(2));
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let calling = pool.clone();
    let handles = kit::capped(move || calling.invoke_all([|| 1, || 2, || 3])).unwrap();
    assert_eq!(record.decorated(), handles.iter().map(TaskHandle::id).collect::<Vec<_>>());
    let calling = pool.clone();
    kit::capped(move || calling.invoke_any([|| 1])).unwrap();
    assert_eq!(record.decorated().len(), 4);
}

#[test]
fn ec_l2_ten_submissions_to_a_pool_of_ten_start_ten_workers() {
    let record = Record::default();
    let builder = record.keep(ScheduledThreadPool::builder().core_size(10));
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let blockers: Vec<Blocker> = (0..10).map(|_| Blocker::new()).collect();
    for blocker in &blockers {
        pool.execute(blocker.body()).unwrap();
    }
    assert_eq!(pool.stats().pool_size, 10);
    blockers.iter().for_each(Blocker::await_started);
    assert_eq!(pool.stats().active, 10);
    drop(blockers);
    eventually("all are counted", || pool.stats().completed == 10);
    assert_eq!(record.decorated().len(), 10);
}
