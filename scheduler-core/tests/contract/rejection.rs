//! The contract of rejection: tasks that a pool does not take (EC-I).

use std::sync::Arc;
use std::thread;
use std::thread::ThreadId;
use std::time::Duration;

use crate::kit::{Journal, ManualPool, Mutex, await_terminated, close, ms, value_of, wedge};
use scheduler_core::{
    Error, RejectionPolicy, RunState, ScheduledThreadPool, Task, TaskHandle, UnstartedTask,
    fallible,
};

/// A fallible body that notes that it ran.
fn noting(ran: Journal<()>) -> impl FnOnce() -> Result<(), Error> + Send + 'static {
    move || {
        ran.note(());
        Ok(())
    }
}

type Entry = fn(&ScheduledThreadPool, Journal<()>) -> Result<TaskHandle<()>, Error>;

/// Every way into a pool, with a body that notes that it ran.
const ENTRIES: [(&str, Entry); 10] = [
    ("execute", |pool, ran| pool.execute(ran.noting(()))),
    ("submit", |pool, ran| pool.submit(ran.noting(()))),
    ("once", |pool, ran| pool.submit_task(Task::once(ran.noting(())))),
    ("once, fallible", |pool, ran| pool.submit_task(Task::once(fallible(noting(ran))))),
    ("once, async", |pool, ran| pool.submit_task(Task::once_async(async move { ran.note(()) }))),
    ("schedule", |pool, ran| pool.schedule(Duration::ZERO, ran.noting(()))),
    ("schedule, later", |pool, ran| pool.schedule(ms(1), ran.noting(()))),
    ("schedule, async", |pool, ran| pool.schedule_async(ms(1), async move { ran.note(()) })),
    ("fixed rate", |pool, ran| pool.schedule_at_fixed_rate(ms(1), ms(1), ran.noting(()))),
    ("fixed delay", |pool, ran| pool.schedule_with_fixed_delay(ms(1), ms(1), ran.noting(()))),
];

/// Holds that every entry of this pool is rejected and leaves no trace.
fn check_rejects(pool: &ScheduledThreadPool, state: RunState) {
    let words = match state {
        RunState::ShuttingDown => "shutting down",
        RunState::Stopping => "stopping",
        _ => "terminated",
    };
    let (before, ran) = (pool.stats(), Journal::new());
    assert_eq!(pool.run_state(), state);
    for (name, enter) in ENTRIES {
        let error = enter(pool, ran.clone()).expect_err(name);
        assert!(error.is_rejected(), "{name}: {error}");
        let text = error.to_string();
        let end = format!("was rejected: the pool is {words} and takes no new tasks");
        assert!(text.starts_with("task ") && text.ends_with(&end), "{name}: {text}");
    }
    let all = pool.invoke_all([|| ()]).expect_err("invoke_all");
    let any = pool.invoke_any([|| ()]).expect_err("invoke_any");
    assert!(all.is_rejected() && any.is_rejected());
    assert_eq!(pool.stats(), before);
    assert_eq!(ran.len(), 0);
}

#[test]
fn ec_i1_every_entry_of_a_pool_that_is_shut_down_is_rejected() {
    for is_now in [false, true] {
        let ManualPool { pool, clock } = ManualPool::new(1);
        let wedge = wedge(&pool);
        let state = if is_now {
            drop(pool.shutdown_now());
            RunState::Stopping
        } else {
            pool.schedule(crate::kit::HOUR, || ()).unwrap();
            pool.shutdown();
            RunState::ShuttingDown
        };
        check_rejects(&pool, state);
        wedge.release();
        clock.advance(crate::kit::HOUR);
        await_terminated(&pool);
        check_rejects(&pool, RunState::Terminated);
    }
}

#[test]
fn ec_i1_the_error_names_a_task_that_has_a_name() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    pool.shutdown();
    let error = pool.submit_task(Task::once(|| ()).name("report")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "task `report` was rejected: the pool is terminated and takes no new tasks"
    );
}

#[test]
fn ec_i1_the_body_of_a_rejected_task_is_dropped_before_the_call_returns() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    pool.shutdown();
    let token = Arc::new(());
    let held = Arc::clone(&token);
    assert!(pool.submit(move || drop(held)).is_err());
    assert_eq!(Arc::strong_count(&token), 1);
}

/// A handler that keeps what it is given.
#[derive(Clone, Default)]
struct Recorder {
    calls: Arc<Mutex<Vec<(UnstartedTask, ThreadId, usize)>>>,
}

impl Recorder {
    fn policy(&self) -> RejectionPolicy {
        let calls = Arc::clone(&self.calls);
        RejectionPolicy::Custom(Arc::new(move |task: UnstartedTask, pool: &ScheduledThreadPool| {
            assert!(pool.is_shutdown());
            calls.lock().unwrap().push((task, thread::current().id(), pool.core_size()));
            Ok(())
        }))
    }

    fn len(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

#[test]
fn ec_i2_a_handler_is_called_once_with_the_very_task_on_the_very_thread() {
    let recorder = Recorder::default();
    // The core size tells this pool from every other.
    let builder = ScheduledThreadPool::builder().core_size(7).rejection_policy(recorder.policy());
    let ManualPool { pool, .. } = ManualPool::build(builder);
    let wedge = wedge(&pool);
    pool.shutdown();
    let ran = Journal::new();
    for (index, (name, enter)) in ENTRIES.into_iter().enumerate() {
        let handle = enter(&pool, ran.clone()).expect(name);
        assert_eq!(recorder.len(), index + 1, "{name}: once, and before the call returns");
        let calls = recorder.calls.lock().unwrap();
        let (task, thread, core_size) = calls.last().unwrap();
        assert!(task.belongs_to(&handle) && task.id() == handle.id(), "{name}");
        assert_eq!((*thread, *core_size), (thread::current().id(), 7), "{name}");
        assert!(!handle.is_done(), "{name}: the handler has the task in its hands");
    }
    let handles: Vec<_> = recorder.calls.lock().unwrap().drain(..).map(|call| call.0).collect();
    assert_eq!(ran.len(), 0);
    drop(handles);
    wedge.release();
    close(&pool);
    assert_eq!((recorder.len(), ran.len()), (0, 0));
}

#[test]
fn ec_i2_what_the_handler_does_with_the_task_decides() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    pool.shutdown();
    let set = |handler: fn(UnstartedTask) -> Result<(), Error>| {
        let handler = move |task: UnstartedTask, _: &ScheduledThreadPool| handler(task);
        pool.set_rejection_policy(RejectionPolicy::Custom(Arc::new(handler)));
    };
    set(|task| {
        task.run();
        Ok(())
    });
    assert_eq!(pool.submit(|| 7).unwrap().result_now().unwrap(), 7);
    set(|task| {
        drop(task);
        Ok(())
    });
    assert!(pool.submit(|| 7).unwrap().is_cancelled());
    set(|_| panic!("out of order"));
    let error = pool.submit(|| 7).unwrap_err();
    assert!(error.is_rejected() && error.to_string().contains("panicked: out of order"), "{error}");
}

#[test]
fn ec_i3_the_default_is_to_abort_and_the_policy_set_is_the_one_used() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    assert!(pool.rejection_policy().is_same(&RejectionPolicy::Abort));
    assert!(RejectionPolicy::default().is_same(&RejectionPolicy::Abort));

    let recorder = Recorder::default();
    let given = recorder.policy();
    let builder = ScheduledThreadPool::builder().core_size(1).rejection_policy(given.clone());
    let ManualPool { pool, .. } = ManualPool::build(builder);
    assert!(pool.rejection_policy().is_same(&given));
    assert!(!pool.rejection_policy().is_same(&recorder.policy()), "another handler");
    pool.shutdown();
    pool.submit(|| ()).unwrap();
    assert_eq!(recorder.len(), 1);

    pool.set_rejection_policy(RejectionPolicy::Discard);
    assert!(pool.rejection_policy().is_same(&RejectionPolicy::Discard));
    assert!(pool.submit(|| ()).unwrap().is_cancelled());
    pool.set_rejection_policy(RejectionPolicy::Abort);
    assert!(pool.submit(|| ()).unwrap_err().is_rejected());
    assert_eq!(recorder.len(), 1);
}

/// A task for policies to be tried on, taken out of this pool.
fn unstarted(
    pool: &ScheduledThreadPool,
    ran: &Journal<ThreadId>,
) -> (UnstartedTask, TaskHandle<()>) {
    let ran = ran.clone();
    let handle = pool.schedule(crate::kit::HOUR, move || ran.note(thread::current().id())).unwrap();
    (pool.remove(&handle).expect("it waits"), handle)
}

#[test]
fn ec_i4_standard_policies_applied_by_hand_to_a_running_pool() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let (ran, here) = (Journal::new(), thread::current().id());

    let (task, handle) = unstarted(&pool, &ran);
    let before = pool.stats();
    let error = RejectionPolicy::Abort.reject(task, &pool).unwrap_err();
    assert!(error.is_rejected() && handle.is_cancelled());
    assert_eq!((pool.stats(), ran.len()), (before, 0));

    let (task, handle) = unstarted(&pool, &ran);
    RejectionPolicy::Discard.reject(task, &pool).unwrap();
    assert!(handle.is_cancelled());
    assert_eq!((pool.stats(), ran.len()), (before, 0));

    let (task, handle) = unstarted(&pool, &ran);
    RejectionPolicy::CallerRuns.reject(task, &pool).unwrap();
    assert!(handle.result_now().is_ok());
    assert_eq!(pool.stats(), before);
    assert_eq!(ran.entries(), [here]);
    assert!(pool.rejection_policy().is_same(&RejectionPolicy::Abort));
    assert_eq!(value_of(&pool.submit(|| 7).unwrap()), 7);
}

#[test]
fn ec_i4_a_pool_that_is_shut_down_discards_what_its_caller_would_run() {
    let builder =
        ScheduledThreadPool::builder().core_size(1).rejection_policy(RejectionPolicy::CallerRuns);
    let ManualPool { pool, .. } = ManualPool::build(builder);
    pool.shutdown();
    // As in the JDK; but there the future stays pending for ever.
    assert!(pool.submit(|| 7).unwrap().is_cancelled());
}

#[test]
fn ec_i5_a_pool_shut_down_before_its_first_task_stays_terminated() {
    let ManualPool { pool, .. } = ManualPool::new(4);
    pool.shutdown();
    assert!(pool.is_terminated());
    for (name, enter) in ENTRIES {
        assert!(enter(&pool, Journal::new()).expect_err(name).is_rejected());
    }
    assert!(!pool.prestart());
    assert_eq!(pool.prestart_all(), 0);
    assert!(pool.is_terminated());
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.largest_pool_size, stats.queued, stats.tasks), (0, 0, 0, 0));
}
