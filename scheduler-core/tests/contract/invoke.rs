//! The contract of many tasks at once: `invoke_all` and `invoke_any` (EC-J).

use std::time::Duration;

use crate::kit::{
    Blocker, Journal, ManualPool, NANO, Pending, VirtualPool, await_parked, await_terminated,
    capped, eventually, ms, wedge,
};
use scheduler_core::{Error, Run, ScheduledThreadPool, TaskHandle, TaskState};

/// A body among others of another type.
type Boxed<T> = Box<dyn FnOnce() -> T + Send>;

fn boxed<T>(body: impl FnOnce() -> T + Send + 'static) -> Boxed<T> {
    Box::new(body)
}

fn all<T: Send + Sync + 'static>(
    pool: &ScheduledThreadPool,
    bodies: Vec<Boxed<T>>,
    limit: Option<Duration>,
) -> Result<Vec<TaskHandle<T>>, Error> {
    let pool = pool.clone();
    capped(move || match limit {
        None => pool.invoke_all(bodies),
        Some(limit) => pool.invoke_all_for(bodies, limit),
    })
}

fn any<T: Clone + Send + Sync + 'static>(
    pool: &ScheduledThreadPool,
    bodies: Vec<Boxed<T>>,
    limit: Option<Duration>,
) -> Result<T, Error> {
    let pool = pool.clone();
    capped(move || match limit {
        None => pool.invoke_any(bodies),
        Some(limit) => pool.invoke_any_for(bodies, limit),
    })
}

const LIMITS: [Option<Duration>; 2] = [None, Some(crate::kit::CAP)];

#[test]
fn ec_j1_results_come_in_the_order_of_the_input() {
    for limit in LIMITS {
        let ManualPool { pool, .. } = ManualPool::new(4);
        let ended = Journal::new();
        // They are made to end in reverse order.
        let blockers: Vec<Blocker> = (0..4).map(|_| Blocker::new()).collect();
        let mut bodies = Vec::new();
        for (n, blocker) in blockers.iter().enumerate() {
            let (wait, ended) = (blocker.body(), ended.clone());
            bodies.push(boxed(move || {
                wait();
                ended.note(n);
                n
            }));
        }
        let releasing = Pending::start({
            let ended = ended.clone();
            move || {
                for (count, blocker) in blockers.into_iter().rev().enumerate() {
                    blocker.await_started();
                    blocker.release();
                    ended.await_len(count + 1);
                }
            }
        });
        let handles = all(&pool, bodies, limit).unwrap();
        releasing.join();
        assert_eq!(ended.entries(), [3, 2, 1, 0]);
        assert!(handles.iter().all(TaskHandle::is_done));
        let values: Vec<usize> =
            handles.iter().map(|handle| handle.result_now().unwrap()).collect();
        assert_eq!(values, [0, 1, 2, 3]);
    }
}

#[test]
fn ec_j2_an_empty_input_gives_an_empty_list_at_once() {
    for limit in [None, Some(Duration::ZERO), Some(crate::kit::CAP)] {
        let ManualPool { pool, .. } = ManualPool::new(1);
        assert!(all::<()>(&pool, Vec::new(), limit).unwrap().is_empty());
        assert_eq!(pool.stats().largest_pool_size, 0);
    }
}

#[test]
fn ec_j3_a_failing_member_does_not_fail_the_call() {
    for limit in LIMITS {
        let ManualPool { pool, .. } = ManualPool::new(2);
        let bodies = vec![boxed(|| 1), boxed(|| panic!("member two")), boxed(|| 3)];
        let handles = all(&pool, bodies, limit).unwrap();
        assert_eq!(handles[0].result_now().unwrap(), 1);
        assert_eq!(handles[1].failure_now().unwrap().message(), "member two");
        assert_eq!(handles[2].result_now().unwrap(), 3);
    }
}

#[test]
fn ec_j3_members_that_are_not_done_in_time_are_cancelled_and_asked_to_stop() {
    let ManualPool { pool, clock } = ManualPool::new(2);
    let stopped = Journal::new();
    let noted = stopped.clone();
    let bodies = vec![
        boxed(|| 1),
        boxed(move || {
            noted.note(Run::current().expect("inside a run").sleep(crate::kit::HOUR).is_err());
            2
        }),
        boxed(|| 3),
    ];
    let call = Pending::start({
        let pool = pool.clone();
        move || pool.invoke_all_for(bodies, ms(30))
    });
    eventually("two of them are done", || pool.stats().completed == 2);
    await_parked(&clock, 3);
    clock.advance(ms(30) - NANO);
    assert!(clock.parked() == 3 && call.is_blocked());
    clock.advance(NANO);
    let states: Vec<TaskState> = call.join().unwrap().iter().map(TaskHandle::state).collect();
    assert_eq!(states, [TaskState::Completed, TaskState::Cancelled, TaskState::Completed]);
    stopped.await_len(1);
    assert_eq!(stopped.entries(), [true]);
}

#[test]
fn ec_j3_no_member_begins_while_the_others_are_being_cancelled() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let stopped = Journal::new();
    let bodies: Vec<Boxed<()>> = (0..100)
        .map(|_| {
            let stopped = stopped.clone();
            boxed(move || {
                stopped
                    .note(Run::current().expect("inside a run").sleep(crate::kit::HOUR).is_err());
            })
        })
        .collect();
    let call = Pending::start({
        let pool = pool.clone();
        move || pool.invoke_all_for(bodies, ms(30))
    });
    await_parked(&clock, 2);
    clock.advance(ms(30));
    assert!(call.join().unwrap().iter().all(TaskHandle::is_cancelled));
    eventually("the worker is free", || pool.stats().active == 0);
    assert_eq!(stopped.entries(), [true], "only the one that ran was interrupted");
}

#[test]
fn ec_j3_no_member_is_submitted_when_the_time_is_over() {
    let VirtualPool { pool, clock, workers } = VirtualPool::new(1);
    let ran = Journal::new();
    let bodies = (0..3).map(|member| {
        clock.advance(ms(20));
        workers.run_until_idle();
        ran.noting(member)
    });
    let handles = pool.invoke_all_for(bodies, ms(30)).unwrap();
    workers.run_until_idle();
    let states: Vec<TaskState> = handles.iter().map(TaskHandle::state).collect();
    assert_eq!(states, [TaskState::Completed, TaskState::Cancelled, TaskState::Cancelled]);
    assert_eq!(ran.entries(), [0]);
}

#[test]
fn ec_j3_members_that_are_drained_do_not_hold_up_the_call() {
    // The JDK's caller hangs here for ever.
    let ManualPool { pool, .. } = ManualPool::new(1);
    let wedge = wedge(&pool);
    let call = Pending::start({
        let pool = pool.clone();
        move || pool.invoke_all([|| 1, || 2])
    });
    eventually("both wait", || pool.stats().queued == 2);
    drop(pool.shutdown_now());
    let handles = call.join().unwrap();
    assert!(handles.iter().all(TaskHandle::is_cancelled));
    wedge.release();
}

#[test]
fn ec_j4_invoke_any_gives_one_of_the_values() {
    for limit in LIMITS {
        for _ in 0..100 {
            let ManualPool { pool, .. } = ManualPool::new(2);
            let value = any(&pool, vec![boxed(|| "one"), boxed(|| "two")], limit).unwrap();
            assert!(["one", "two"].contains(&value));
        }
    }
}

#[test]
fn ec_j4_no_bodies_are_an_argument_error() {
    for limit in LIMITS {
        let ManualPool { pool, .. } = ManualPool::new(1);
        let error = any::<()>(&pool, Vec::new(), limit).unwrap_err();
        assert!(error.is_argument());
        assert_eq!(error.to_string(), "invalid list of bodies: it is empty");
    }
}

#[test]
fn ec_j4_the_first_success_wins_and_the_others_are_cancelled_and_asked_to_stop() {
    for limit in LIMITS {
        let ManualPool { pool, .. } = ManualPool::new(3);
        let (stopped, sleeping) = (Journal::new(), Journal::new());
        let (noted, asleep, awaited) = (stopped.clone(), sleeping.clone(), sleeping.clone());
        let bodies = vec![
            boxed(move || {
                asleep.note(());
                noted.note(Run::current().expect("inside a run").sleep(crate::kit::HOUR).is_err());
                1
            }),
            boxed(|| panic!("a failure is no success")),
            boxed(move || {
                awaited.await_len(1);
                3
            }),
        ];
        assert_eq!(any(&pool, bodies, limit).unwrap(), 3);
        stopped.await_len(1);
        assert_eq!(stopped.entries(), [true]);
    }
}

#[test]
fn ec_j5_if_all_fail_the_call_fails_as_the_last_one_to_fail() {
    for limit in LIMITS {
        for last in 0..3 {
            let ManualPool { pool, .. } = ManualPool::new(3);
            let failed = Journal::new();
            let bodies = (0..3).map(|n| {
                let (done, failed) = (pool.clone(), failed.clone());
                boxed(move || -> () {
                    if n == last {
                        eventually("the others have failed", || done.stats().completed == 2);
                    }
                    failed.note(n);
                    panic!("member {n}")
                })
            });
            let error = any(&pool, bodies.collect(), limit).unwrap_err();
            assert!(error.is_failed());
            assert_eq!(error.failure().unwrap().message(), format!("member {last}"));
            assert_eq!(failed.entries()[2], last);
        }
    }
}

#[test]
fn ec_j6_success_and_failure_do_not_use_up_the_limit() {
    // The clock stands still, so that neither call can return for having waited.
    let ManualPool { pool, .. } = ManualPool::new(2);
    assert_eq!(any(&pool, vec![boxed(|| 7)], Some(ms(1))).unwrap(), 7);
    let all_fail = vec![boxed(|| -> () { panic!("one") }), boxed(|| panic!("two"))];
    assert!(any(&pool, all_fail, Some(ms(1))).unwrap_err().is_failed());
}

#[test]
fn ec_j6_if_nothing_is_done_in_time_the_members_are_cancelled() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let stopped = Journal::new();
    let (noted, ran) = (stopped.clone(), stopped.clone());
    let bodies = vec![
        boxed(move || noted.note(Run::current().expect("a run").sleep(crate::kit::HOUR).is_err())),
        boxed(move || ran.note(false)),
    ];
    let call = Pending::start({
        let pool = pool.clone();
        move || pool.invoke_any_for(bodies, ms(30))
    });
    await_parked(&clock, 2);
    assert_eq!(pool.stats().queued, 1);
    clock.advance(ms(30) - NANO);
    assert!(clock.parked() == 2 && call.is_blocked());
    clock.advance(NANO);
    let error = call.join().unwrap_err();
    assert!(error.is_timeout(), "{error}");
    stopped.await_len(1);
    eventually("the worker is free", || pool.stats().active == 0);
    assert_eq!((stopped.entries(), pool.stats().queued), (vec![true], 0));
}

#[test]
fn ec_j6_a_limit_of_zero_waits_for_nothing() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let wedge = wedge(&pool);
    let error = any(&pool, vec![boxed(|| 1), boxed(|| 2)], Some(Duration::ZERO)).unwrap_err();
    assert!(error.is_timeout());
    let handles = all(&pool, vec![boxed(|| 1), boxed(|| 2)], Some(Duration::ZERO)).unwrap();
    assert!(handles.iter().all(TaskHandle::is_cancelled));
    assert_eq!(pool.stats().queued, 0);
    wedge.release();
}

#[test]
fn ec_j7_a_pool_that_is_shut_down_rejects_all() {
    for limit in LIMITS {
        let ManualPool { pool, .. } = ManualPool::new(1);
        pool.shutdown();
        assert!(all(&pool, vec![boxed(|| 1)], limit).unwrap_err().is_rejected());
        assert!(any(&pool, vec![boxed(|| 1)], limit).unwrap_err().is_rejected());
    }
}

#[test]
fn ec_j7_a_rejection_half_way_cancels_the_members_already_entered() {
    for limit in LIMITS {
        let ManualPool { pool, .. } = ManualPool::new(1);
        let (wedge, ran) = (wedge(&pool), Journal::new());
        let (shutting, noted) = (pool.clone(), ran.clone());
        let bodies = (0..5).map(move |n| {
            if n == 3 {
                assert_eq!(shutting.stats().queued, 3);
                shutting.shutdown();
            }
            let noted = noted.clone();
            move || noted.note(n)
        });
        let entering = pool.clone();
        let error = capped(move || match limit {
            None => entering.invoke_all(bodies),
            Some(limit) => entering.invoke_all_for(bodies, limit),
        });
        assert!(error.unwrap_err().is_rejected());
        assert_eq!(pool.stats().queued, 0, "the members entered have left the queue");
        wedge.release();
        await_terminated(&pool);
        assert_eq!(ran.len(), 0);
    }
}

#[test]
fn ec_j7_a_panicking_list_of_bodies_cancels_the_members_already_entered() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let wedge = wedge(&pool);
    let bodies = (0..5).map(|n| {
        assert!(n < 3, "no more bodies");
        move || n
    });
    let call = std::panic::AssertUnwindSafe(|| pool.invoke_all(bodies));
    assert!(std::panic::catch_unwind(call).is_err());
    assert_eq!(pool.stats().queued, 0);
    wedge.release();
}
