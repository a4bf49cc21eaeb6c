//! Faults of the queue (F-QU): destructors that call back, and destructors that panic.

use std::sync::Arc;
use std::time::Duration;

use crate::kit::{
    HOUR, Journal, ManualPool, VirtualPool, await_terminated, capped, check_healthy, eventually,
    value_of,
};
use scheduler_core::{
    Event, RejectionPolicy, ScheduledThreadPool, Sleep, TaskHandle, TaskId, UnstartedTask,
    VirtualWorkers,
};

/// A value whose destructor makes calls, and notes that they have returned.
struct CallsBack {
    pool: ScheduledThreadPool,
    other: TaskHandle<()>,
    returned: Journal<()>,
}

impl Drop for CallsBack {
    fn drop(&mut self) {
        let pool = &self.pool;
        match pool.schedule(HOUR, || ()) {
            Ok(fresh) if pool.is_shutdown() => assert!(fresh.is_cancelled(), "discarded"),
            Ok(fresh) => assert!(pool.is_queued(&fresh) && fresh.cancel()),
            Err(error) => assert!(error.is_rejected() && pool.is_shutdown()),
        }
        pool.purge();
        let stats = pool.stats();
        assert!(stats.active <= stats.pool_size + 1);
        drop(pool.queue());
        pool.set_rejection_policy(RejectionPolicy::Abort);
        pool.set_core_size(pool.core_size());
        self.other.cancel();
        assert!(self.other.is_cancelled() && self.other.wait().unwrap_err().is_cancelled());
        self.other.on_done(|_| ());
        self.returned.note(());
    }
}

/// A pool with a worker that has started, something to be cancelled, and who has called back.
struct Scene {
    pool: ScheduledThreadPool,
    other: TaskHandle<()>,
    returned: Journal<()>,
}

impl Scene {
    fn set(removes_on_cancel: bool) -> Self {
        let builder =
            ScheduledThreadPool::builder().core_size(2).remove_on_cancel(removes_on_cancel);
        let ManualPool { pool, .. } = ManualPool::build(builder);
        let other = pool.schedule(HOUR, || ()).unwrap();
        Self { pool, other, returned: Journal::new() }
    }

    fn value(&self) -> CallsBack {
        let pool = self.pool.clone();
        CallsBack { pool, other: self.other.clone(), returned: self.returned.clone() }
    }

    fn queue(&self) -> TaskHandle<()> {
        let value = self.value();
        self.pool.schedule(HOUR, move || drop(value)).unwrap()
    }
}

#[test]
fn f_qu1_destructors_call_back_from_a_cancelled_task() {
    for removes in [true, false] {
        let scene = Scene::set(removes);
        let handle = scene.queue();
        assert!(capped(move || handle.cancel()));
        assert_eq!(scene.returned.len(), 1, "the body is dropped at the cancel");
        scene.pool.purge();
        assert_eq!(scene.pool.stats().queued, 0);
        check_healthy(&scene.pool);
    }
}

#[test]
fn f_qu1_destructors_call_back_from_a_drained_list() {
    let scene = Scene::set(true);
    scene.queue();
    scene.queue();
    let pool = scene.pool.clone();
    let returned = capped(move || pool.shutdown_now());
    assert_eq!((returned.len(), scene.returned.len()), (3, 0));
    capped(move || drop(returned));
    assert_eq!(scene.returned.len(), 2);
    await_terminated(&scene.pool);
}

#[test]
fn f_qu1_destructors_call_back_from_a_removed_task() {
    let scene = Scene::set(true);
    let handle = scene.queue();
    let removed = scene.pool.remove(&handle).expect("it waits");
    assert_eq!(scene.returned.len(), 0);
    capped(move || drop(removed));
    assert!(handle.is_cancelled());
    assert_eq!(scene.returned.len(), 1);
    check_healthy(&scene.pool);
}

#[test]
fn f_qu1_destructors_call_back_from_a_rejected_task() {
    for policy in [RejectionPolicy::Abort, RejectionPolicy::Discard, RejectionPolicy::CallerRuns] {
        let scene = Scene::set(true);
        scene.pool.set_rejection_policy(policy.clone());
        scene.pool.shutdown();
        let (pool, value) = (scene.pool.clone(), scene.value());
        let answer = capped(move || pool.submit(move || drop(value)));
        assert_eq!(answer.is_err(), policy.is_same(&RejectionPolicy::Abort));
        assert_eq!(scene.returned.len(), 1);
        await_terminated(&scene.pool);
    }
}

#[test]
fn f_qu1_destructors_call_back_from_a_completed_task_and_its_value() {
    let scene = Scene::set(true);
    let captured = scene.value();
    let ran = scene.pool.submit(move || {
        let _used = &captured;
    });
    value_of(&ran.unwrap());
    assert_eq!(scene.returned.len(), 1);

    let value = scene.value();
    let keeps = scene.pool.submit(move || Arc::new(value)).unwrap();
    eventually("it is done", || keeps.is_done());
    assert_eq!(scene.returned.len(), 1, "the handle holds the value");
    capped(move || drop(keeps));
    eventually("the value is dropped", || scene.returned.len() == 2);

    let fails = scene.value();
    let failed =
        scene.pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, move || -> Result<(), &str> {
            let _used = &fails;
            Err("the task ends, and is dropped by its worker")
        });
    eventually("it has failed", || failed.as_ref().is_ok_and(TaskHandle::is_done));
    scene.returned.await_len(3);
    check_healthy(&scene.pool);
}

/// A way to a pool that does not keep it: a pool that its own task owns would live for ever.
struct Reaches {
    workers: VirtualWorkers,
    /// A task that has left the pool, and one that sleeps in it.
    unstarted: Option<UnstartedTask>,
    sleep: Option<Sleep>,
    other: TaskHandle<()>,
    suspended: TaskHandle<()>,
    returned: Journal<()>,
}

impl Drop for Reaches {
    fn drop(&mut self) {
        // Each of these takes the lock of the pool.
        assert_eq!(self.workers.next_due(), None, "nothing waits in it any more");
        for worker in self.workers.numbers() {
            let _ = self.workers.step(worker);
        }
        if let Some(unstarted) = self.unstarted.take() {
            unstarted.run();
        }
        drop(self.sleep.take());
        self.suspended.cancel_now();
        self.other.cancel();
        assert!(self.other.is_cancelled() && self.suspended.is_cancelled());
        let _ = self.other.delay();
        self.returned.note(());
    }
}

#[test]
fn f_qu1_destructors_call_back_from_a_pool_that_is_dropped() {
    let VirtualPool { pool, workers, .. } = VirtualPool::new(2);
    let returned = Journal::new();
    let suspended = pool.schedule_async(Duration::ZERO, std::future::pending::<()>()).unwrap();
    workers.run_until_idle();
    let others: Vec<TaskHandle<u32>> = (0..10)
        .map(|_| {
            let left = pool.schedule(HOUR, || 7).unwrap();
            let value = Reaches {
                workers: workers.clone(),
                unstarted: pool.remove(&left),
                sleep: Some(pool.sleep(HOUR)),
                other: pool.schedule(HOUR, || ()).unwrap(),
                suspended: suspended.clone(),
                returned: returned.clone(),
            };
            pool.schedule(HOUR, move || drop(value)).unwrap();
            left
        })
        .collect();
    capped(move || drop(pool));
    assert_eq!(returned.len(), 10);
    assert!(others.iter().all(|left| left.result_now().unwrap() == 7), "each was run by hand");
}

#[test]
fn f_qu1_destructors_call_back_from_a_policy_and_a_factory_that_are_replaced() {
    let scene = Scene::set(true);
    let (value, other) = (scene.value(), scene.value());
    scene.pool.set_rejection_policy(RejectionPolicy::Custom(Arc::new(
        move |_: scheduler_core::UnstartedTask, _: &ScheduledThreadPool| {
            let _kept = &value;
            Ok(())
        },
    )));
    scene.pool.set_thread_factory(move |worker: scheduler_core::WorkerThread| {
        let _kept = &other;
        drop(worker);
        Ok(())
    });
    let pool = scene.pool.clone();
    capped(move || {
        pool.set_rejection_policy(RejectionPolicy::Discard);
        pool.set_thread_factory(|worker: scheduler_core::WorkerThread| {
            std::thread::Builder::new().spawn(move || worker.run()).map(drop)
        });
    });
    assert_eq!(scene.returned.len(), 2);
    check_healthy(&scene.pool);
}

/// A value that panics when it is dropped, if it is armed.
struct Bomb {
    is_armed: bool,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.is_armed, "the bomb went off");
    }
}

type Clear = fn(&ScheduledThreadPool, &[TaskHandle<()>]);

/// Queues 100 tasks, clears them away, and looks around; every tenth panics when dropped.
fn check_bombs(clear: Clear, is_over: bool) {
    let reports: Journal<(TaskId, String)> = Journal::new();
    let noted = reports.clone();
    let builder = ScheduledThreadPool::builder().core_size(2).listener(move |event: &Event<'_>| {
        if let Event::DropPanicked { id, failure, .. } = event {
            noted.note((*id, failure.message().to_owned()));
        }
    });
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let handles: Vec<TaskHandle<()>> = (0..100)
        .map(|n| {
            let bomb = Bomb { is_armed: n % 10 == 0 };
            pool.schedule(HOUR, move || drop(bomb)).unwrap()
        })
        .collect();
    let (clearing, cleared) = (pool.clone(), handles.clone());
    // Nothing may leave the call: a panic in there would go on here.
    capped(move || clear(&clearing, &cleared));
    assert!(handles.iter().all(TaskHandle::is_cancelled));
    assert_eq!(pool.stats().queued, 0);
    let expected: Vec<_> = handles.iter().step_by(10).map(TaskHandle::id).collect();
    let mut reported = reports.entries();
    reported.sort_by_key(|(id, _)| *id);
    assert_eq!(reported.iter().map(|(id, _)| *id).collect::<Vec<_>>(), expected);
    assert!(reported.iter().all(|(_, message)| message == "the bomb went off"));
    if is_over {
        await_terminated(&pool);
    } else {
        check_healthy(&pool);
    }
}

fn cancel_all(_: &ScheduledThreadPool, handles: &[TaskHandle<()>]) {
    assert!(handles.iter().all(TaskHandle::cancel));
}

#[test]
fn f_qu2_destructors_panic_in_a_cancel() {
    check_bombs(cancel_all, false);
}

#[test]
fn f_qu2_destructors_panic_before_a_purge() {
    // The body of a cancelled task goes at once, so that a purge has nothing of the user's to drop.
    check_bombs(
        |pool, handles| {
            pool.set_remove_on_cancel(false);
            cancel_all(pool, handles);
            assert_eq!(pool.stats().queued, 100);
            pool.purge();
        },
        false,
    );
}

#[test]
fn f_qu2_destructors_panic_in_a_drained_list() {
    check_bombs(|pool, _| drop(pool.shutdown_now()), true);
}

#[test]
fn f_qu2_destructors_panic_in_a_shutdown_that_sweeps() {
    check_bombs(
        |pool, _| {
            let policy =
                scheduler_core::ShutdownPolicy { execute_delayed: false, ..pool.shutdown_policy() };
            pool.set_shutdown_policy(policy);
            pool.shutdown();
        },
        true,
    );
}
