//! The contract of the end of a pool: shutdown and termination (EC-H).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::kit::{
    self, Blocker, HOUR, Journal, Latch, ManualPool, Mutex, NANO, Pending, await_parked,
    await_terminated, capped, close, eventually, ms, value_of, wedge,
};
use scheduler_core::{
    Clock, Run, RunState, ScheduledThreadPool, ShutdownPolicy, TaskHandle, TaskState,
};

const HOUR_10: Duration = Duration::from_secs(36_000);

/// The flags of the pool: shut down, terminating, terminated.
fn flags(pool: &ScheduledThreadPool) -> (bool, bool, bool) {
    (pool.is_shutdown(), pool.is_terminating(), pool.is_terminated())
}

/// A body that waits for an hour unless it is asked to stop, and says which.
fn interruptible(started: &Journal<()>) -> impl FnOnce() -> bool + Send + 'static {
    let started = started.clone();
    move || {
        let run = Run::current().expect("inside a run");
        started.note(());
        run.sleep(HOUR).is_err()
    }
}

#[test]
fn ec_h1_flags_while_running_ending_and_ended() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    assert_eq!(flags(&pool), (false, false, false));
    let inside = pool.clone();
    assert_eq!(value_of(&pool.submit(move || flags(&inside)).unwrap()), (false, false, false));

    let (wedge, inside, release) = (wedge(&pool), pool.clone(), Latch::new());
    let released = release.clone();
    let last = pool.submit(move || {
        released.wait();
        flags(&inside)
    });
    pool.shutdown();
    assert_eq!(flags(&pool), (true, true, false));
    wedge.release();
    release.open();
    assert_eq!(value_of(&last.unwrap()), (true, true, false));
    await_terminated(&pool);
    assert_eq!(flags(&pool), (true, false, true));
}

#[test]
fn ec_h1_flags_after_shutdown_now_and_inside_the_terminated_hook() {
    let (seen, pool_of_hook) = (Journal::new(), Arc::new(Mutex::new(None)));
    let (hook_seen, hook_pool) = (seen.clone(), Arc::clone(&pool_of_hook));
    let builder = ScheduledThreadPool::builder().core_size(1).on_terminated(move || {
        let pool: Option<ScheduledThreadPool> = hook_pool.lock().unwrap().take();
        hook_seen.note(flags(&pool.expect("the pool is known")));
    });
    let ManualPool { pool, .. } = ManualPool::build(builder);
    *pool_of_hook.lock().unwrap() = Some(pool.clone());
    let wedge = wedge(&pool);
    drop(pool.shutdown_now());
    assert_eq!(flags(&pool), (true, true, false));
    assert_eq!(pool.run_state(), RunState::Stopping);
    wedge.release();
    await_terminated(&pool);
    assert_eq!(flags(&pool), (true, false, true));
    // As in the JDK, the hook runs before anybody sees the pool terminated.
    assert_eq!(seen.entries(), [(true, true, false)]);
}

#[test]
fn ec_h2_shutdown_now_interrupts_two_and_returns_three() {
    let ManualPool { pool, .. } = ManualPool::new(2);
    let started = Journal::new();
    let handles: Vec<TaskHandle<bool>> =
        (0..5).map(|_| pool.submit(interruptible(&started)).unwrap()).collect();
    started.await_len(2);
    let returned = pool.shutdown_now();
    assert_eq!(returned.len(), 3);
    for (task, handle) in returned.iter().zip(&handles[2..]) {
        assert!(task.belongs_to(handle), "the next first");
    }
    assert!(pool.queue().is_empty());
    for handle in &handles[..2] {
        assert!(value_of(handle), "the run was interrupted, and delivers");
    }
    await_terminated(&pool);
    assert_eq!((pool.stats().completed, pool.stats().queued), (2, 0));
    assert_eq!(started.len(), 2);
    drop(returned);
    assert!(handles[2..].iter().all(TaskHandle::is_cancelled));
}

/// Nine tasks nine seconds ahead: three once, three at a rate, three after a delay.
fn nine(pool: &ScheduledThreadPool, ran: &Journal<usize>) -> Vec<TaskHandle<()>> {
    let ahead = Duration::from_secs(9);
    (0..9)
        .map(|n| match n % 3 {
            0 => pool.schedule(ahead, ran.noting(n)),
            1 => pool.schedule_at_fixed_rate(ahead, ahead, ran.noting(n)),
            _ => pool.schedule_with_fixed_delay(ahead, ahead, ran.noting(n)),
        })
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn ec_h3_shutdown_now_returns_exactly_the_delayed_tasks() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let ran = Journal::new();
    let handles = nine(&pool, &ran);
    let returned = pool.shutdown_now();
    assert_eq!(returned.len(), 9);
    for handle in &handles {
        assert_eq!(returned.iter().filter(|task| task.belongs_to(handle)).count(), 1);
        assert!(returned.iter().any(|task| task.id() == handle.id()));
    }
    assert!(pool.queue().is_empty());
    await_terminated(&pool);
    clock.advance(HOUR);
    for handle in &handles {
        assert_eq!((handle.is_done(), handle.is_cancelled()), (false, false));
        assert_eq!(handle.state(), TaskState::Scheduled);
    }

    // Dropped unrun they are cancelled, so that no thread waits in vain; the JDK leaves them pending.
    let waiter = Pending::start({
        let handle = handles[4].clone();
        move || handle.wait()
    });
    await_parked(&clock, 1);
    drop(returned);
    assert!(waiter.join().unwrap_err().is_cancelled());
    assert!(handles.iter().all(TaskHandle::is_cancelled));
    assert_eq!(ran.len(), 0);
}

#[test]
fn ec_h3_a_returned_task_can_be_run_by_hand() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let ran = Journal::new();
    let handles = nine(&pool, &ran);
    let returned = pool.shutdown_now();
    for task in returned {
        task.run();
    }
    let mut numbers = ran.entries();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..9).collect::<Vec<_>>());
    for (n, handle) in handles.iter().enumerate() {
        let expected = if n % 3 == 0 { TaskState::Completed } else { TaskState::Cancelled };
        assert_eq!(handle.state(), expected);
    }
}

#[test]
fn ec_h4_shutdown_cancels_periodic_tasks_and_keeps_the_others() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let wedge = wedge(&pool);
    let at_once = pool.submit(|| "at once").unwrap();
    let delayed = pool.schedule(ms(20), || "delayed").unwrap();
    let rate = pool.schedule_at_fixed_rate(ms(1), ms(1), || ()).unwrap();
    let delay = pool.schedule_with_fixed_delay(ms(1), ms(1), || ()).unwrap();
    assert_eq!(pool.stats().queued, 4);
    pool.shutdown();
    for periodic in [&rate, &delay] {
        assert!(periodic.is_cancelled() && !pool.is_queued(periodic));
    }
    assert!(pool.is_queued(&at_once) && pool.is_queued(&delayed));
    assert_eq!(pool.stats().queued, 2);

    wedge.release();
    assert_eq!(value_of(&at_once), "at once");
    assert!(!pool.is_terminated() && !delayed.is_done());
    clock.advance(ms(20));
    assert_eq!(value_of(&delayed), "delayed");
    await_terminated(&pool);
}

#[test]
fn ec_h4_a_periodic_task_that_is_due_already_is_cancelled_too() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let (wedge, ran) = (wedge(&pool), Journal::new());
    let rate = pool.schedule_at_fixed_rate(ms(1), ms(1), ran.noting(())).unwrap();
    clock.advance(ms(10));
    pool.shutdown();
    assert!(rate.is_cancelled());
    wedge.release();
    await_terminated(&pool);
    assert_eq!(ran.len(), 0);
}

#[test]
fn ec_h4_periodic_tasks_go_on_where_the_policy_says_so() {
    let policy = ShutdownPolicy { continue_recurring: true, execute_delayed: true };
    let builder = ScheduledThreadPool::builder().core_size(1).shutdown_policy(policy);
    let ManualPool { pool, clock } = ManualPool::build(builder);
    let ran = Journal::new();
    let rate = pool.schedule_at_fixed_rate(ms(1), ms(1), ran.noting(())).unwrap();
    pool.shutdown();
    for firing in 1..=5 {
        clock.advance(ms(1));
        ran.await_len(firing);
        eventually("it waits again", || pool.stats().queued == 1);
    }
    pool.set_shutdown_policy(ShutdownPolicy::default());
    assert!(rate.is_cancelled());
    await_terminated(&pool);
    assert_eq!(ran.len(), 5);
}

#[test]
fn ec_h5_a_policy_changed_after_shutdown_cancels_at_once() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let handle = pool.schedule(HOUR_10, || ()).unwrap();
    pool.shutdown();
    assert!(!handle.is_done() && !pool.is_terminated());
    let policy = ShutdownPolicy { execute_delayed: false, ..pool.shutdown_policy() };
    pool.set_shutdown_policy(policy);
    assert!(handle.is_cancelled());
    assert_eq!(pool.shutdown_policy(), policy);
    await_terminated(&pool);
}

#[test]
fn ec_h5_a_policy_set_before_spares_only_what_is_due() {
    let policy = ShutdownPolicy { continue_recurring: false, execute_delayed: false };
    let builder = ScheduledThreadPool::builder().core_size(1).shutdown_policy(policy);
    let ManualPool { pool, clock } = ManualPool::build(builder);
    let wedge = wedge(&pool);
    let now_due = pool.schedule(ms(5), || "due").unwrap();
    let later = pool.schedule(ms(6), || "later").unwrap();
    clock.advance(ms(5));
    pool.shutdown();
    assert!(later.is_cancelled());
    wedge.release();
    assert_eq!(value_of(&now_due), "due");
    await_terminated(&pool);
}

#[test]
fn ec_h6_a_delayed_task_runs_after_shutdown_in_its_time() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let (start, inside) = (clock.now(), clock.clone());
    let handle = pool.schedule(ms(150), move || inside.now()).unwrap();
    pool.shutdown();

    let short = {
        let pool = pool.clone();
        Pending::start(move || pool.await_termination(ms(50)))
    };
    await_parked(&clock, 2);
    clock.advance(ms(50));
    assert!(!short.join());

    let long = {
        let pool = pool.clone();
        Pending::start(move || pool.await_termination(kit::CAP))
    };
    await_parked(&clock, 2);
    clock.advance(ms(100) - NANO);
    await_parked(&clock, 2);
    assert!(!handle.is_done() && long.is_blocked());
    clock.advance(NANO);
    assert!(long.join());
    assert_eq!(handle.result_now().unwrap(), start + ms(150));
}

#[test]
fn ec_h7_a_periodic_run_in_progress_ends_undisturbed_and_is_the_last() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let (blocker, was_stopped, ran) = (Blocker::new(), Latch::new(), Journal::new());
    let (body, noticed, noted) = (blocker.body(), was_stopped.clone(), ran.clone());
    let handle = pool
        .schedule_at_fixed_rate(Duration::ZERO, ms(1), move || {
            body();
            noted.note(());
            if Run::current().expect("inside a run").is_cancelled() {
                noticed.open();
            }
        })
        .unwrap();
    blocker.await_started();
    pool.shutdown();
    assert!(!handle.is_done() && !pool.is_terminated());
    blocker.release();
    await_terminated(&pool);
    assert!(handle.is_cancelled() && !was_stopped.is_open());
    clock.advance(HOUR);
    assert_eq!(ran.len(), 1);
    assert_eq!(pool.stats().queued, 0);
}

#[test]
fn ec_h8_a_run_that_ignores_the_interrupt_delivers() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let blocker = Blocker::new();
    let body = blocker.body();
    let handle = pool
        .submit(move || {
            body();
            Run::current().expect("inside a run").is_cancelled()
        })
        .unwrap();
    blocker.await_started();
    assert!(pool.shutdown_now().is_empty());
    assert!(!handle.is_done() && pool.is_terminating());
    assert!(!pool.await_termination(Duration::ZERO));
    blocker.release();
    assert!(value_of(&handle), "it could have seen the request");
    await_terminated(&pool);
    assert_eq!(handle.state(), TaskState::Completed);
}

#[test]
fn ec_h8_a_periodic_run_that_ignores_the_interrupt_ends_cancelled() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let blocker = Blocker::new();
    let handle = pool.schedule_with_fixed_delay(Duration::ZERO, ms(1), blocker.body()).unwrap();
    blocker.await_started();
    assert!(pool.shutdown_now().is_empty(), "a running task is not among those returned");
    blocker.release();
    await_terminated(&pool);
    assert!(handle.is_cancelled());
}

#[test]
fn ec_h9_awaiting_a_running_pool_takes_exactly_the_limit() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    pool.prestart();
    await_parked(&clock, 1);
    // A `Duration` has no negative values; zero stands for all that do not wait.
    assert!(!pool.await_termination(Duration::ZERO));
    for limit in [ms(1), ms(12)] {
        let waiting = pool.clone();
        let wait = Pending::start(move || waiting.await_termination(limit));
        await_parked(&clock, 2);
        clock.advance(limit - NANO);
        assert_eq!(clock.parked(), 2, "not earlier than the limit");
        assert!(wait.is_blocked());
        clock.advance(NANO);
        assert!(!wait.join());
    }
    pool.shutdown();
    let waiting = pool.clone();
    assert!(capped(move || waiting.await_termination(kit::CAP)));
    assert!(pool.await_termination(Duration::ZERO));
}

#[test]
fn ec_h10_close_returns_only_when_terminated() {
    // idle, and never used
    for workers in [0, 1, 3] {
        let ManualPool { pool, .. } = ManualPool::new(workers);
        pool.prestart_all();
        close(&pool);
        assert!(pool.is_terminated());
    }
    // busy, and shut down but busy
    for is_shut_down in [false, true] {
        let ManualPool { pool, .. } = ManualPool::new(2);
        let blocker = Blocker::new();
        let body = blocker.body();
        let handles = [
            pool.submit(move || {
                body();
                "first"
            }),
            pool.submit(|| "second"),
        ];
        blocker.await_started();
        if is_shut_down {
            pool.shutdown();
        }
        let closing = Pending::start({
            let pool = pool.clone();
            move || pool.close()
        });
        eventually("it is closing", || pool.is_shutdown());
        assert!(closing.is_blocked() && !pool.is_terminated());
        blocker.release();
        closing.join().unwrap();
        assert!(pool.is_terminated());
        let values = handles.map(|handle| handle.unwrap().result_now().unwrap());
        assert_eq!(values, ["first", "second"]);
        close(&pool);
    }
}

#[test]
fn ec_h10_a_close_inside_a_task_that_is_asked_to_stop_stops_the_pool_and_waits_on() {
    let outer = ManualPool::new(1).pool;
    let ManualPool { pool: inner, clock } = ManualPool::new(1);
    let blocker = Blocker::new();
    inner.execute(blocker.body()).unwrap();
    blocker.await_started();
    let far = inner.schedule(HOUR, || ()).unwrap();
    let closing = inner.clone();
    let handle = outer.submit(move || (closing.close(), closing.is_terminated())).unwrap();
    await_parked(&clock, 1);
    assert_eq!(inner.run_state(), RunState::ShuttingDown);
    assert!(handle.cancel_now());
    eventually("the inner pool stops", || inner.run_state() == RunState::Stopping);
    eventually("what waited is cancelled", || far.is_cancelled());
    assert_eq!(outer.stats().active, 1, "it goes on waiting for the run in progress");
    blocker.release();
    close(&outer);
    assert!(inner.is_terminated());
}

#[test]
fn ec_h10_dropping_the_last_end_stops_the_pool_without_waiting() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let other_end = pool.clone();
    let (blocker, stopped) = (Blocker::new(), Latch::new());
    let (body, noticed) = (blocker.body(), stopped.clone());
    let running = pool
        .submit(move || {
            body();
            if Run::current().expect("inside a run").is_cancelled() {
                noticed.open();
            }
            7
        })
        .unwrap();
    blocker.await_started();
    let waiting = [
        pool.schedule(HOUR, || ()).unwrap(),
        pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap(),
        pool.execute(|| ()).unwrap(),
    ];
    drop(pool);
    assert!(!other_end.is_shutdown(), "one end is left");
    drop(other_end);
    assert!(waiting.iter().all(TaskHandle::is_cancelled));
    assert!(!running.is_done());
    blocker.release();
    assert_eq!(value_of(&running), 7);
    assert!(stopped.is_open(), "it was asked to stop");
}

#[test]
fn ec_h10_a_close_inside_the_terminated_hook_is_an_error_on_any_thread() {
    for core_size in [0, 1] {
        let (seen, pool_of_hook) = (Journal::new(), Arc::new(Mutex::new(None)));
        let (hook_seen, hook_pool) = (seen.clone(), Arc::clone(&pool_of_hook));
        let builder =
            ScheduledThreadPool::builder().core_size(core_size).on_terminated(move || {
                let pool: Option<ScheduledThreadPool> = hook_pool.lock().unwrap().take();
                let pool = pool.expect("the pool is known");
                hook_seen
                    .note((pool.close().unwrap_err().is_deadlock(), pool.await_termination(HOUR)));
            });
        let ManualPool { pool, .. } = ManualPool::build(builder);
        *pool_of_hook.lock().unwrap() = Some(pool.clone());
        pool.prestart_all();
        // Without a worker the hook is called here.
        close(&pool);
        assert_eq!(seen.entries(), [(true, false)]);
    }
}

#[test]
fn ec_h11_close_waits_for_a_delayed_task_and_cancels_a_periodic_one() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let delayed = pool.schedule(ms(80), || "delayed").unwrap();
    let periodic = pool.schedule_at_fixed_rate(ms(1), ms(1), || ()).unwrap();
    let closing = Pending::start({
        let pool = pool.clone();
        move || pool.close()
    });
    eventually("it is closing", || pool.is_shutdown());
    eventually("the periodic task is cancelled", || periodic.is_cancelled());
    await_parked(&clock, 2);
    clock.advance(ms(80) - NANO);
    assert!(!delayed.is_done() && closing.is_blocked());
    clock.advance(NANO);
    closing.join().unwrap();
    assert_eq!(delayed.result_now().unwrap(), "delayed");
}

#[test]
fn ec_h12_ending_an_ended_pool_has_no_effect() {
    /// A way to end a pool.
    type Call = fn(&ScheduledThreadPool);
    const CALLS: [Call; 3] =
        [ScheduledThreadPool::shutdown, |pool| assert!(pool.shutdown_now().is_empty()), close];
    for first in CALLS {
        for second in CALLS {
            for third in CALLS {
                let hooks = Arc::new(AtomicUsize::new(0));
                let counted = Arc::clone(&hooks);
                let builder =
                    ScheduledThreadPool::builder().core_size(2).on_terminated(move || {
                        counted.fetch_add(1, Ordering::SeqCst);
                    });
                let ManualPool { pool, .. } = ManualPool::build(builder);
                pool.execute(|| panic!("an end with a failure")).unwrap();
                close(&pool);
                let stats = pool.stats();
                for call in [first, second, third] {
                    call(&pool);
                    assert_eq!(pool.run_state(), RunState::Terminated);
                    assert!(pool.await_termination(Duration::ZERO));
                }
                assert_eq!(pool.stats(), stats);
                drop(pool);
                assert_eq!(hooks.load(Ordering::SeqCst), 1);
            }
        }
    }
}

#[test]
fn ec_h12_shutdown_now_after_shutdown_drains_what_shutdown_has_left() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let handle = pool.schedule(HOUR, || ()).unwrap();
    pool.shutdown();
    let returned = pool.shutdown_now();
    assert!(returned.len() == 1 && returned[0].belongs_to(&handle));
    assert!(pool.shutdown_now().is_empty());
    await_terminated(&pool);
}

#[test]
fn no_handle_is_pending_when_the_pool_has_terminated() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    pool.prestart();
    let handles: Vec<_> =
        (0..20).map(|_| pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap()).collect();
    // The first is notified while the others wait for their turn, and the worker leaves.
    let (seen, witness, others) = (Journal::new(), pool.clone(), handles.clone());
    let noted = seen.clone();
    handles[0].on_done(move |_| {
        await_terminated(&witness);
        noted.note(others.iter().filter(|handle| !handle.is_done()).count());
    });
    capped(move || pool.shutdown());
    assert_eq!(seen.entries(), [0]);
}
