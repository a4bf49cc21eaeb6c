//! Faults of the executor (F-EX): refused threads, deadlocks, hostile names.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{io, thread};

use crate::kit::{
    Blocker, HOUR, Journal, Latch, ManualPool, Mutex, NANO, await_parked, capped, check_healthy,
    close, eventually, ms, threads_named, value_of,
};
use scheduler_core::{
    Body, Error, Event, PoolBuilder, RunState, ScheduledThreadPool, Task, TaskHandle, WorkerThread,
};

/// A stack that no system can give: the thread is refused with the system's own error.
const IMPOSSIBLE_STACK: usize = 1 << 46;

fn start(worker: WorkerThread, stack: Option<usize>) -> io::Result<()> {
    let mut thread = thread::Builder::new().name(worker.name().to_owned());
    if let Some(size) = stack {
        thread = thread.stack_size(size);
    }
    thread.spawn(move || worker.run()).map(drop)
}

/// Notes the reason of every refusal of a thread.
fn noting_refusals(builder: PoolBuilder, reasons: &Journal<String>) -> PoolBuilder {
    let reasons = reasons.clone();
    builder.listener(move |event: &Event<'_>| {
        if let Event::WorkerRefused { reason, .. } = event {
            reasons.note((*reason).to_owned());
        }
    })
}

/// The system's error for a thread with an impossible stack.
fn refusal() -> String {
    let thread = thread::Builder::new().stack_size(IMPOSSIBLE_STACK).spawn(|| ());
    thread.expect_err("an impossible stack").to_string()
}

/// The error of a submission for which a factory has refused a thread for this reason.
fn refused_by_factory(reason: fn() -> std::io::Error) -> String {
    let pool = ScheduledThreadPool::new(1);
    pool.set_thread_factory(move |_: WorkerThread| Err(reason()));
    let error = pool.submit(|| ()).unwrap_err();
    assert!(error.is_no_thread(), "{error}");
    error.to_string()
}

#[test]
fn f_ex1_only_a_thread_that_the_system_refused_is_told_of_its_limits() {
    use std::io::{Error, ErrorKind};
    let own: [fn() -> Error; 4] = [
        || Error::other("all seats are taken (os error x)"),
        || ErrorKind::WouldBlock.into(),
        // Of the system, but of no limit of it: there is no such file.
        || Error::from_raw_os_error(2),
        || panic!("the factory is on strike"),
    ];
    for reason in own {
        let text = refused_by_factory(reason);
        assert!(
            text.contains("no thread could be started: ") && !text.contains("ulimit"),
            "{text}"
        );
    }
    #[cfg(unix)]
    {
        // `EAGAIN`, by which `pthread_create` says that there are too many threads.
        let again = || Error::from_raw_os_error(if cfg!(target_os = "linux") { 11 } else { 35 });
        let text = refused_by_factory(again);
        let help = "\nhelp: allow the process more threads: see `ulimit -u`, and `pids.max` of its container";
        assert!(text.ends_with(help), "{text}");
    }
}

#[test]
fn f_ex1_a_submission_that_gets_no_thread_is_refused() {
    type Submit = fn(&ScheduledThreadPool, Arc<()>) -> Result<TaskHandle<()>, Error>;
    const SUBMISSIONS: [(&str, Submit); 5] = [
        ("submit", |pool, held| pool.submit(move || drop(held))),
        ("later", |pool, held| pool.schedule(HOUR, move || drop(held))),
        ("future", |pool, held| pool.schedule_async(Duration::ZERO, async move { drop(held) })),
        ("limit", |pool, held| pool.submit_with_timeout(HOUR, move || drop(held))),
        ("rate", |pool, held| {
            pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, move || _ = Arc::clone(&held))
        }),
    ];
    let reasons = Journal::new();
    let builder = ScheduledThreadPool::builder().core_size(4).stack_size(IMPOSSIBLE_STACK);
    let ManualPool { pool, .. } = ManualPool::build(noting_refusals(builder, &reasons));
    let token = Arc::new(());
    let reason = format!("no thread could be started: {}", refusal());
    for (name, submit) in SUBMISSIONS {
        let error = submit(&pool, Arc::clone(&token)).unwrap_err();
        assert!(error.is_no_thread(), "{name}: {error}");
        assert!(error.to_string().contains(&reason), "{name}: {error}");
        assert!(error.to_string().contains("ulimit -u"), "{name}: {error}");
        assert_eq!(Arc::strong_count(&token), 1, "{name}: the closure is dropped");
        assert_eq!((pool.stats().pool_size, pool.stats().queued), (0, 0), "{name}");
    }
    assert!(pool.invoke_all([|| (), || ()]).unwrap_err().is_no_thread());
    assert!(!pool.prestart());
    assert_eq!(pool.prestart_all(), 0);
    // Each refusal is one event, with the system's own words.
    assert_eq!(reasons.entries(), [(); 8].map(|()| reason.clone()));

    pool.set_thread_factory(|worker: WorkerThread| start(worker, None));
    assert_eq!(value_of(&pool.submit(|| 7).unwrap()), 7);
    assert_eq!(pool.prestart_all(), 3);
    check_healthy(&pool);
}

#[test]
fn f_ex1_accepted_tasks_that_no_worker_can_run_are_resolved_by_the_end_of_the_pool() {
    type End = fn(ScheduledThreadPool);
    const ENDS: [(&str, End); 4] = [
        ("shutdown", |pool| pool.shutdown()),
        ("shutdown now", |pool| drop(pool.shutdown_now())),
        ("close", |pool| pool.close().unwrap()),
        ("drop", drop),
    ];
    for (name, end) in ENDS {
        // The factory takes workers, and thinks better of it.
        let parked: Arc<Mutex<Vec<WorkerThread>>> = Arc::default();
        let park = Arc::clone(&parked);
        let builder = ScheduledThreadPool::builder().core_size(4);
        let ManualPool { pool, .. } =
            ManualPool::build(builder.thread_factory(move |worker: WorkerThread| {
                park.lock().unwrap().push(worker);
                Ok(())
            }));
        let token = Arc::new(());
        let handles: Vec<TaskHandle<()>> = (0..20)
            .map(|n| {
                let held = Arc::clone(&token);
                pool.schedule(ms(n % 2), move || drop(held)).unwrap()
            })
            .collect();
        parked.lock().unwrap().clear();
        assert_eq!((pool.stats().pool_size, pool.stats().queued), (0, 20));
        pool.set_thread_factory(|worker: WorkerThread| start(worker, Some(IMPOSSIBLE_STACK)));
        capped(move || end(pool));
        assert!(handles.iter().all(TaskHandle::is_cancelled), "{name}");
        assert_eq!(Arc::strong_count(&token), 1, "{name}: the closures are dropped");
    }
}

#[test]
fn f_ex1_one_refused_thread_is_made_up_for() {
    let (reasons, starts) = (Journal::new(), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&starts);
    let builder =
        ScheduledThreadPool::builder().core_size(4).thread_factory(move |worker: WorkerThread| {
            let is_third = counted.fetch_add(1, Ordering::SeqCst) == 2;
            start(worker, is_third.then_some(IMPOSSIBLE_STACK))
        });
    let ManualPool { pool, .. } = ManualPool::build(noting_refusals(builder, &reasons));
    let handles: Vec<_> = (0..20).map(|n| pool.submit(move || n).unwrap()).collect();
    for (n, handle) in handles.iter().enumerate() {
        assert_eq!(value_of(handle), n);
    }
    assert_eq!(reasons.len(), 1);
    assert!(reasons.entries()[0].ends_with(&refusal()));
    assert_eq!((pool.stats().pool_size, starts.load(Ordering::SeqCst)), (4, 5));
    check_healthy(&pool);
}

#[test]
fn f_ex1_a_factory_that_panics_is_a_refusal() {
    let reasons = Journal::new();
    let builder = ScheduledThreadPool::builder()
        .core_size(2)
        .thread_factory(|_: WorkerThread| panic!("out of threads"));
    let ManualPool { pool, .. } = ManualPool::build(noting_refusals(builder, &reasons));
    assert!(pool.submit(|| 7).unwrap_err().is_no_thread());
    assert_eq!(reasons.entries(), ["no thread could be started: panicked: out of threads"]);
    pool.set_thread_factory(|worker: WorkerThread| start(worker, None));
    assert_eq!(value_of(&pool.submit(|| 7).unwrap()), 7);
    check_healthy(&pool);
}

const ROUNDS: usize = 1000;

/// Puts all ends of a pool into one task, round after round; then no thread of it may be left.
fn check_last_end_dies_inside(prefix: &'static str, submit: fn(ScheduledThreadPool, Latch)) {
    for _ in 0..ROUNDS {
        let builder = ScheduledThreadPool::builder().core_size(2).thread_name_prefix(prefix);
        let ManualPool { pool, .. } = ManualPool::build(builder);
        pool.prestart_all();
        let ended = Latch::new();
        submit(pool, ended.clone());
        ended.wait();
    }
    eventually("all threads have ended", || threads_named(prefix).is_empty());
}

#[test]
fn f_ex2_the_last_end_of_a_pool_dies_in_the_body_of_its_task() {
    check_last_end_dies_inside("f_ex2_body-", |pool, ended| {
        let inside = pool.clone();
        let gone = Latch::new();
        let is_gone = gone.clone();
        pool.execute(move || {
            is_gone.wait();
            drop(inside);
            assert_eq!(thread::current().name().map(|name| &name[..11]), Some("f_ex2_body-"));
            ended.open();
        })
        .unwrap();
        drop(pool);
        gone.open();
    });
}

/// Opens a latch when it is dropped, after the fields before it.
struct Ends(#[expect(dead_code, reason = "it is dropped")] ScheduledThreadPool, Latch);

impl Drop for Ends {
    fn drop(&mut self) {
        self.1.open();
    }
}

#[test]
fn f_ex2_the_last_end_of_a_pool_dies_with_its_task_after_the_body() {
    check_last_end_dies_inside("f_ex2_task-", |pool, ended| {
        let (kept, gone) = (Ends(pool.clone(), ended), Latch::new());
        let is_gone = gone.clone();
        // The body borrows what it captures; the task drops it when it has failed.
        let body = Body::new(move || {
            is_gone.wait();
            let _borrowed = &kept;
            Err::<(), _>("that was all")
        });
        pool.submit_task(Task::at_fixed_rate(HOUR, body)).unwrap();
        drop(pool);
        gone.open();
    });
}

#[test]
fn f_ex3_a_task_cannot_wait_for_the_end_of_its_own_pool() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let inside = pool.clone();
    let handle = pool.submit(move || {
        let closed = inside.close().unwrap_err();
        assert!(closed.is_deadlock());
        (closed.to_string(), inside.await_termination(HOUR), inside.run_state())
    });
    let (text, is_terminated, state) = value_of(&handle.unwrap());
    assert!(text.contains("`close` would wait for the task or pool that has called it"), "{text}");
    assert_eq!((is_terminated, state), (false, RunState::Running));
    check_healthy(&pool);
}

#[test]
fn f_ex3_nor_for_itself() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let own = Journal::<TaskHandle<()>>::new();
    let told = own.clone();
    let errors = Journal::new();
    let noted = errors.clone();
    let handle = pool
        .schedule(ms(0), move || {
            told.await_len(1);
            let handle = &told.entries()[0];
            noted.note(handle.wait().unwrap_err());
            noted.note(handle.wait_for(HOUR).unwrap_err());
        })
        .unwrap();
    own.note(handle);
    errors.await_len(2);
    assert!(errors.entries().iter().all(scheduler_core::Error::is_deadlock));
    check_healthy(&pool);
}

#[test]
fn f_ex3_a_task_of_another_pool_can() {
    let (outer, inner) = (ManualPool::new(1).pool, ManualPool::new(1).pool);
    let blocker = Blocker::new();
    inner.execute(blocker.body()).unwrap();
    let closing = inner.clone();
    let handle =
        outer.submit(move || (closing.close().is_ok(), closing.await_termination(HOUR))).unwrap();
    eventually("it is closing", || inner.is_shutdown());
    assert!(!handle.is_done());
    blocker.release();
    assert_eq!(value_of(&handle), (true, true));
    check_healthy(&outer);
}

/// A pool that notes which task waits in vain for which.
fn pool_noting_starvation() -> (ManualPool, Journal<(String, String)>) {
    let starved = Journal::new();
    let noted = starved.clone();
    let builder = ScheduledThreadPool::builder().core_size(1).listener(move |event: &Event<'_>| {
        if let Event::WaitStarved { run, name, .. } = event {
            let waiting = run.task_name().unwrap_or_default().to_owned();
            noted.note((waiting, name.unwrap_or_default().to_owned()));
        }
    });
    (ManualPool::build(builder), starved)
}

#[test]
fn f_ex4_a_limited_wait_for_a_task_that_cannot_start_ends() {
    let (ManualPool { pool, clock }, starved) = pool_noting_starvation();
    let inside = pool.clone();
    let a = pool
        .submit(move || {
            let b = inside.submit(|| "b").unwrap();
            (b.wait_for(ms(200)), b)
        })
        .unwrap();
    await_parked(&clock, 1);
    clock.advance(ms(200) - NANO);
    await_parked(&clock, 1);
    assert!(!a.is_done());
    clock.advance(NANO);
    let (waited, b) = value_of(&a);
    assert!(waited.unwrap_err().is_timeout());
    assert_eq!(value_of(&b), "b");
    assert_eq!(starved.len(), 0, "a short wait is no news");
    check_healthy(&pool);
}

#[test]
fn f_ex4_an_unlimited_wait_for_a_task_that_cannot_start_is_reported() {
    let (ManualPool { pool, clock }, starved) = pool_noting_starvation();
    let (inside, started) = (pool.clone(), Journal::new());
    let noted = started.clone();
    let a = Task::once(move || {
        let b = inside.submit_task(Task::once(|| 7).name("b")).unwrap();
        noted.note(b.clone());
        b.wait()
    });
    let a = pool.submit_task(a.name("a")).unwrap();
    await_parked(&clock, 1);
    clock.advance(Duration::from_secs(1) - NANO);
    await_parked(&clock, 1);
    assert_eq!(starved.len(), 0);
    clock.advance(NANO);
    starved.await_len(1);
    await_parked(&clock, 1);
    clock.advance(HOUR);
    assert_eq!(starved.entries(), [("a".to_owned(), "b".to_owned())], "once");
    // A listener can help: here with a second worker.
    assert!(!a.is_done());
    pool.set_core_size(2);
    assert_eq!(value_of(&a).unwrap(), 7);
    check_healthy(&pool);
}

#[test]
fn f_ex4_a_wait_for_the_first_of_many_that_cannot_start_is_reported() {
    let (ManualPool { pool, clock }, starved) = pool_noting_starvation();
    let inside = pool.clone();
    let a = Task::once(move || inside.invoke_any([|| 7, || 8]));
    let a = pool.submit_task(a.name("a")).unwrap();
    await_parked(&clock, 1);
    clock.advance(Duration::from_secs(1) - NANO);
    await_parked(&clock, 1);
    assert_eq!(starved.len(), 0);
    clock.advance(NANO);
    starved.await_len(1);
    await_parked(&clock, 1);
    assert_eq!(starved.entries(), [("a".to_owned(), String::new())], "once");
    assert!(!a.is_done());
    pool.set_core_size(2);
    assert!([7, 8].contains(&value_of(&a).unwrap()));
    check_healthy(&pool);
}

#[test]
fn f_ex4_a_wait_for_a_task_that_is_not_due_or_is_running_is_not_reported() {
    let (ManualPool { pool, clock }, starved) = pool_noting_starvation();
    pool.set_core_size(2);
    let (blocker, inside) = (Blocker::new(), pool.clone());
    let running = pool.submit(blocker.body()).unwrap();
    blocker.await_started();
    let a = pool.submit(move || {
        running.wait_for(HOUR).unwrap_err();
        inside.schedule(HOUR, || ()).unwrap().wait_for(HOUR - NANO).unwrap_err()
    });
    await_parked(&clock, 1);
    clock.advance(HOUR);
    await_parked(&clock, 1);
    clock.advance(HOUR - NANO);
    value_of(&a.unwrap());
    assert_eq!(starved.len(), 0);
}

#[test]
fn f_ex6_hostile_thread_names() {
    for bad in ["a\0b", "a\nb", "\u{7f}", "a\u{85}"] {
        let error = ScheduledThreadPool::builder().thread_name_prefix(bad).build().unwrap_err();
        assert!(error.is_argument());
        assert!(error.to_string().contains("control character at byte"), "{error}");
    }
    for good in [String::new(), "ä".repeat(300), "🕐pool".to_owned()] {
        let builder = ScheduledThreadPool::builder().core_size(3).thread_name_prefix(good.clone());
        let ManualPool { pool, .. } = ManualPool::build(builder);
        let blockers: Vec<Blocker> = (0..3).map(|_| Blocker::new()).collect();
        let names: Vec<TaskHandle<Option<String>>> = blockers
            .iter()
            .map(|blocker| {
                let body = blocker.body();
                let task = move || {
                    body();
                    thread::current().name().map(str::to_owned)
                };
                pool.submit(task).unwrap()
            })
            .collect();
        blockers.iter().for_each(Blocker::await_started);
        assert_eq!(pool.stats().pool_size, 3);
        assert!(threads_named("").iter().all(|name| name.len() <= 15));
        drop(blockers);
        let names: BTreeSet<String> = names.iter().filter_map(value_of).collect();
        assert_eq!(names, (1..=3).map(|worker| format!("{good}{worker}")).collect());
        close(&pool);
    }
}
