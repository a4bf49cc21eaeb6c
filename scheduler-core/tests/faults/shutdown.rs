//! Faults of a pool's end (F-SD), and callbacks that call back (F-CA).

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use crate::kit::{
    Blocker, HOUR, Journal, ManualPool, Mutex, Pending, await_parked, await_terminated, capped,
    eventually, ms, value_of, wedge,
};
use scheduler_core::{Event, PoolBuilder, Run, ScheduledThreadPool, TaskHandle, TaskState};

/// Ends a pool from wherever it is, and notes how many tasks are returned.
fn end(pool: &ScheduledThreadPool, returned: &Journal<usize>) {
    pool.shutdown();
    returned.note(pool.shutdown_now().len());
}

#[test]
fn f_sd1_a_task_ends_its_own_pool() {
    let ManualPool { pool, .. } = ManualPool::new(2);
    let waiting = pool.schedule(HOUR, || ()).unwrap();
    let (inside, returned) = (pool.clone(), Journal::new());
    let noted = returned.clone();
    let handle = pool.submit(move || {
        end(&inside, &noted);
        assert!(Run::current().expect("inside a run").is_cancelled());
        "to its end"
    });
    assert_eq!(value_of(&handle.unwrap()), "to its end");
    await_terminated(&pool);
    assert_eq!(returned.entries(), [1], "the waiting one, and not the running one");
    assert!(waiting.is_cancelled());
}

/// A pool that is known to code that is made before it.
#[derive(Clone, Default)]
struct Known(Arc<Mutex<Option<ScheduledThreadPool>>>);

impl Known {
    fn take(&self) -> Option<ScheduledThreadPool> {
        self.0.lock().unwrap().take()
    }
}

/// Ends the pool on the first event of a kind, on the thread on which that happens.
fn check_listener_ends_the_pool(is_it: fn(&Event<'_>) -> bool) {
    let (known, returned) = (Known::default(), Journal::new());
    let (heard, noted) = (known.clone(), returned.clone());
    let builder = ScheduledThreadPool::builder().core_size(2).listener(move |event: &Event<'_>| {
        if is_it(event)
            && let Some(pool) = heard.take()
        {
            end(&pool, &noted);
        }
    });
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let waiting = pool.schedule(HOUR, || ()).unwrap();
    *known.0.lock().unwrap() = Some(pool.clone());
    let handle = pool.submit(|| "to its end").unwrap();
    await_terminated(&pool);
    assert_eq!(returned.len(), 1);
    assert!(handle.is_done() && waiting.is_cancelled());
}

#[test]
fn f_sd1_a_listener_ends_the_pool() {
    check_listener_ends_the_pool(|event| matches!(event, Event::RunStarted { .. }));
    check_listener_ends_the_pool(|event| matches!(event, Event::RunFinished { .. }));
    check_listener_ends_the_pool(|event| matches!(event, Event::TaskEnded { .. }));
    check_listener_ends_the_pool(|event| matches!(event, Event::WorkerStarted { .. }));
}

#[test]
fn f_sd1_hooks_and_callbacks_end_the_pool() {
    type Hooked = fn(PoolBuilder, Known, Journal<usize>) -> PoolBuilder;
    const HOOKED: [(&str, Hooked); 3] = [
        ("before", |builder, known, noted| {
            builder.before_run(move |_| known.take().iter().for_each(|pool| end(pool, &noted)))
        }),
        ("after", |builder, known, noted| {
            builder.after_run(move |_, _| known.take().iter().for_each(|pool| end(pool, &noted)))
        }),
        ("callback", |builder, _, _| builder),
    ];
    for (name, hook) in HOOKED {
        let (known, returned) = (Known::default(), Journal::new());
        let builder = ScheduledThreadPool::builder().core_size(2);
        let ManualPool { pool, .. } =
            ManualPool::build(hook(builder, known.clone(), returned.clone()));
        let waiting = pool.schedule(HOUR, || ()).unwrap();
        *known.0.lock().unwrap() = Some(pool.clone());
        let blocker = Blocker::new();
        let body = blocker.body();
        let handle = pool
            .submit(move || {
                body();
                7
            })
            .unwrap();
        if name == "callback" {
            let noted = returned.clone();
            handle.on_done(move |_| known.take().iter().for_each(|pool| end(pool, &noted)));
        }
        blocker.release();
        await_terminated(&pool);
        assert_eq!(handle.result_now().unwrap(), 7, "{name}");
        assert_eq!(returned.entries(), [1], "{name}");
        assert!(waiting.is_cancelled(), "{name}");
    }
}

/// Counts how often it is woken.
#[derive(Default)]
struct CountedWaker(AtomicU64);

impl Wake for CountedWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn f_sd3_everyone_who_waits_is_told_once_when_the_pool_is_dropped() {
    let ManualPool { pool, clock } = ManualPool::new(2);
    let handles: Vec<TaskHandle<()>> =
        (0..100).map(|_| pool.schedule(HOUR, || ()).unwrap()).collect();
    let blocked: Vec<Pending<_>> = handles
        .iter()
        .map(|handle| {
            let handle = handle.clone();
            Pending::start(move || handle.wait())
        })
        .collect();
    let wakers: Vec<Arc<CountedWaker>> = (0..100).map(|_| Arc::default()).collect();
    let mut futures: Vec<_> = handles.iter().cloned().map(TaskHandle::into_future).collect();
    for (future, counted) in futures.iter_mut().zip(&wakers) {
        let waker = Waker::from(Arc::clone(counted));
        assert!(Pin::new(future).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let (told, noted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    for handle in &handles {
        let (told, noted) = (Arc::clone(&told), Arc::clone(&noted));
        handle.on_done(move |state| {
            told.fetch_add(1, Ordering::SeqCst);
            noted.fetch_add(u64::from(state == TaskState::Cancelled), Ordering::SeqCst);
        });
    }
    await_parked(&clock, 102);
    capped(move || drop(pool));
    for waiter in blocked {
        assert!(waiter.join().unwrap_err().is_cancelled());
    }
    assert!(wakers.iter().all(|waker| waker.0.load(Ordering::SeqCst) == 1));
    assert_eq!((told.load(Ordering::SeqCst), noted.load(Ordering::SeqCst)), (100, 100));
    for mut future in futures {
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, std::task::Poll::Ready(Err(error)) if error.is_cancelled()));
    }
}

/// Attaches a callback that makes all sorts of calls, and notes the state that it got.
fn call_back(handle: &TaskHandle<u64>, pool: Option<ScheduledThreadPool>) -> Journal<TaskState> {
    let told = Journal::new();
    let (own, noted) = (handle.clone(), told.clone());
    handle.on_done(move |state| {
        assert_eq!(own.state(), state);
        assert!(!own.cancel() && !own.cancel_now() && own.is_done());
        match own.wait() {
            Ok(value) => assert_eq!((value, state), (7, TaskState::Completed)),
            Err(error) => {
                assert!(error.is_cancelled() && state == TaskState::Cancelled || error.is_failed());
            }
        }
        let again = Journal::new();
        let noting = again.clone();
        own.on_done(move |state| noting.note(state));
        assert_eq!(again.entries(), [state], "at once");
        if let Some(pool) = &pool {
            assert!(pool.submit(|| ()).is_ok());
            assert!(pool.schedule(HOUR, || ()).is_ok());
            pool.purge();
            drop((pool.stats(), pool.queue()));
            pool.shutdown();
            drop(pool.shutdown_now());
        }
        noted.note(state);
    });
    told
}

#[test]
fn f_ca1_a_callback_calls_back_when_its_task_is_cancelled_while_queued() {
    for removes in [true, false] {
        let builder = ScheduledThreadPool::builder().core_size(1).remove_on_cancel(removes);
        let ManualPool { pool, .. } = ManualPool::build(builder);
        let handle = pool.schedule(HOUR, || 7).unwrap();
        let told = call_back(&handle, Some(pool.clone()));
        assert!(capped(move || handle.cancel()));
        assert_eq!(told.entries(), [TaskState::Cancelled]);
        await_terminated(&pool);
    }
}

#[test]
fn f_ca1_a_callback_calls_back_when_its_task_is_cancelled_while_running() {
    for is_interrupted in [true, false] {
        let ManualPool { pool, .. } = ManualPool::new(1);
        let blocker = Blocker::new();
        let body = blocker.body();
        let handle = pool
            .submit(move || {
                body();
                7
            })
            .unwrap();
        blocker.await_started();
        let told = call_back(&handle, Some(pool.clone()));
        assert!(capped(move || if is_interrupted { handle.cancel_now() } else { handle.cancel() }));
        assert_eq!(told.entries(), [TaskState::Cancelled]);
        blocker.release();
        await_terminated(&pool);
        assert_eq!(told.len(), 1);
    }
}

#[test]
fn f_ca1_a_callback_calls_back_when_its_task_cancels_itself() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let own: Journal<TaskHandle<u64>> = Journal::new();
    let known = own.clone();
    let handle = pool
        .submit(move || {
            known.await_len(1);
            assert!(known.entries()[0].cancel());
            7
        })
        .unwrap();
    let told = call_back(&handle, Some(pool.clone()));
    own.note(handle);
    await_terminated(&pool);
    assert_eq!(told.entries(), [TaskState::Cancelled]);
}

#[test]
fn f_ca1_a_callback_calls_back_when_its_task_completes_or_fails() {
    for fails in [false, true] {
        let ManualPool { pool, .. } = ManualPool::new(1);
        let blocker = Blocker::new();
        let body = blocker.body();
        let handle = pool
            .submit(move || {
                body();
                assert!(!fails, "as planned");
                7
            })
            .unwrap();
        let told = call_back(&handle, Some(pool.clone()));
        blocker.release();
        await_terminated(&pool);
        let expected = if fails { TaskState::Failed } else { TaskState::Completed };
        assert_eq!(told.entries(), [expected]);
    }
}

#[test]
fn f_ca1_a_callback_calls_back_when_the_pool_is_dropped() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let wedge = wedge(&pool);
    let queued = pool.submit(|| 7).unwrap();
    let delayed = pool.schedule(HOUR, || 7).unwrap();
    // A callback that holds an end of the pool would keep it alive.
    let told = [call_back(&queued, None), call_back(&delayed, None)];
    capped(move || drop(pool));
    for told in told {
        assert_eq!(told.entries(), [TaskState::Cancelled]);
    }
    wedge.release();
}

#[test]
fn f_ca1_a_callback_calls_back_when_a_shutdown_sweeps_its_task() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let handle = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
    let (told, noted, inside) = (Journal::new(), Journal::new(), pool.clone());
    let (own, heard) = (handle.clone(), told.clone());
    handle.on_done(move |state| {
        assert!(!own.cancel() && own.wait().unwrap_err().is_cancelled());
        assert!(inside.submit(|| ()).unwrap_err().is_rejected());
        end(&inside, &noted);
        heard.note(state);
    });
    let ending = pool.clone();
    capped(move || ending.shutdown());
    assert_eq!(told.entries(), [TaskState::Cancelled]);
    await_terminated(&pool);
}

#[test]
fn f_ca1_callbacks_and_cancels_that_race_tell_everyone_once() {
    for round in 0..200 {
        let ManualPool { pool, .. } = ManualPool::new(2);
        let told = Arc::new(AtomicU64::new(0));
        let handles: Vec<TaskHandle<u64>> = (0..20)
            .map(|n| {
                let delay = if n % 2 == 0 { Duration::ZERO } else { ms(1) };
                pool.schedule(delay, || 7).unwrap()
            })
            .collect();
        let attaching = Pending::start({
            let (handles, told) = (handles.clone(), Arc::clone(&told));
            move || {
                for handle in &handles {
                    let told = Arc::clone(&told);
                    handle.on_done(move |_| {
                        told.fetch_add(1, Ordering::SeqCst);
                    });
                }
            }
        });
        for handle in &handles {
            handle.cancel();
        }
        attaching.join();
        eventually("all are told", || told.load(Ordering::SeqCst) >= 20);
        crate::kit::close(&pool);
        assert_eq!(told.load(Ordering::SeqCst), 20, "round {round}");
    }
}
