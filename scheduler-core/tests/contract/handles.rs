//! The contract of handles (EC-D).

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::kit::{
    Blocker, CAP, HOUR, Journal, Latch, ManualPool, NANO, Pending, Random, VirtualPool, capped,
    eventually, ms, value_of, wedge,
};
use scheduler_core::{
    Error, Failure, ManualClock, Run, ScheduledThreadPool, Task, TaskFuture, TaskHandle, TaskState,
    fallible,
};

const FAR: Duration = Duration::from_secs(10 * 3600);

/// The two forms of cancelling, without and with an interrupt.
const CANCELS: [fn(&TaskHandle<u32>) -> bool; 2] = [TaskHandle::cancel, TaskHandle::cancel_now];

/// It is shown where nothing is known of the type of its value.
fn shows<T>(handle: &TaskHandle<T>) -> String {
    format!("{handle:?}")
}

#[test]
fn a_handle_is_shown_whatever_the_type_of_its_value() {
    let stage = ManualPool::new(1);
    let task = Task::once(|| 7).name("seven");
    let handle = stage.pool.submit_task(task).unwrap();
    assert_eq!(shows(&handle), "TaskHandle(\"task `seven`\")");
}

#[test]
fn ec_d1_all_waiters_get_the_value() {
    let stage = ManualPool::new(1);
    let handle = stage.pool.schedule(ms(12), || String::from("value")).unwrap();
    let (one, two) = (handle.clone(), handle.clone());
    let untimed = Pending::start(move || one.wait());
    let timed = Pending::start(move || two.wait_for(Duration::from_secs(20)));
    stage.await_parked(3);
    assert!(untimed.is_blocked() && timed.is_blocked());
    stage.clock.advance(ms(12));
    let value = Ok(String::from("value"));
    assert_eq!((untimed.join(), timed.join()), (value.clone(), value.clone()));
    assert_eq!(value_of(&handle), "value");
    assert_eq!(handle.wait_for(Duration::ZERO), value);
    assert_eq!(handle.result_now(), value);
}

#[test]
fn ec_d2_a_timed_wait_ends_at_its_limit_and_not_before() {
    let stage = ManualPool::new(1);
    let blocker = Blocker::new();
    let running = stage.pool.submit(blocker.body()).unwrap();
    let queued = stage.pool.schedule(FAR, || ()).unwrap();
    blocker.await_started();
    for handle in [&running, &queued] {
        let waiter = handle.clone();
        let waiting = Pending::start(move || waiter.wait_for(ms(12)));
        stage.await_parked(1);
        stage.clock.advance(ms(12) - NANO);
        stage.await_parked(1);
        assert!(waiting.is_blocked());
        stage.clock.advance(NANO);
        let error = waiting.join().unwrap_err();
        assert!(error.is_timeout());
        assert_eq!(error.to_string(), "the task was not done within 12ms");
        assert!(handle.wait_for(Duration::ZERO).unwrap_err().is_timeout());
        assert!(handle.wait_done_for(Duration::ZERO).unwrap_err().is_timeout());
        assert!(!handle.is_done());
    }
}

fn check_failure(handle: &TaskHandle<()>, message: &str, is_panic: bool) {
    for _ in 0..2 {
        let waiter = handle.clone();
        let untimed = capped(move || waiter.wait()).unwrap_err();
        let timed = handle.wait_for(CAP).unwrap_err();
        for error in [untimed, timed] {
            assert!(error.is_failed(), "{error}");
            let failure = error.failure().unwrap();
            assert_eq!((failure.message(), failure.is_panic()), (message, is_panic));
            assert_eq!(handle.failure_now().as_ref(), Ok(failure));
        }
        assert_eq!(handle.wait_done(), Ok(()));
    }
    assert_eq!(handle.state(), TaskState::Failed);
}

#[test]
fn ec_d3_every_wait_for_a_failed_task_gives_the_cause() {
    let stage = ManualPool::new(1);
    let unit = |body: fn()| stage.pool.submit(body).unwrap();
    check_failure(&unit(|| panic!("plain")), "plain", true);
    check_failure(&unit(|| panic!("with {}", 1)), "with 1", true);
    check_failure(&unit(|| std::panic::panic_any(7)), "non-text panic payload", true);
    let fallible = Task::once(fallible(|| Err::<(), _>("returned")));
    check_failure(&stage.pool.submit_task(fallible).unwrap(), "returned", false);
    let future = async { panic!("polled") };
    check_failure(&stage.pool.schedule_async(ms(0), future).unwrap(), "polled", true);
    assert_eq!(value_of(&stage.pool.submit(|| 7).unwrap()), 7);
    assert_eq!(stage.pool.stats().largest_pool_size, 1);
}

/// Counts the drops of its clones.
#[derive(Clone)]
struct Canary(Arc<AtomicU64>);

impl Drop for Canary {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn ec_d4_a_task_that_is_cancelled_before_its_run_never_runs() {
    for cancel in CANCELS {
        let stage = ManualPool::new(1);
        let (ran, drops) = (Journal::new(), Arc::new(AtomicU64::new(0)));
        let (body, canary) = (ran.noting(()), Canary(Arc::clone(&drops)));
        let handle = stage.pool.schedule(ms(12), move || {
            let _canary = canary;
            body();
            7
        });
        let handle = handle.unwrap();
        let waiter = handle.clone();
        let waiting = Pending::start(move || waiter.wait());
        stage.await_parked(2);
        assert!(cancel(&handle));
        assert!(handle.is_done() && handle.is_cancelled());
        assert!(waiting.join().unwrap_err().is_cancelled());
        // Ours: what the body holds is given up at once, not when it would have been due.
        assert_eq!(drops.load(Ordering::SeqCst), 1);
        stage.clock.advance(ms(12));
        value_of(&stage.pool.submit(|| ()).unwrap());
        assert_eq!(ran.len(), 0);
        assert!(CANCELS.iter().all(|again| !again(&handle)));
    }
}

#[test]
fn ec_d5_a_task_that_has_ended_cannot_be_cancelled() {
    for cancel in CANCELS {
        let stage = ManualPool::new(1);
        let completed = stage.pool.submit(|| 7_u32).unwrap();
        let failed = stage.pool.submit(|| -> u32 { panic!("cause") }).unwrap();
        value_of(&stage.pool.submit(|| ()).unwrap());
        for _ in 0..2 {
            assert!(!cancel(&completed) && !cancel(&failed));
            assert_eq!(completed.state(), TaskState::Completed);
            assert_eq!(completed.result_now(), Ok(7));
            assert_eq!(completed.wait(), Ok(7));
            assert_eq!(failed.state(), TaskState::Failed);
            assert_eq!(failed.failure_now().unwrap().message(), "cause");
        }
    }
}

/// Cancels a task that waits in `wait`, on a clock that stands still and at which so many rest.
fn check_interrupt(
    (clock, resting): (&ManualClock, usize),
    name: &str,
    wait: impl FnOnce() -> Result<(), Error> + Send + 'static,
) {
    let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
    let pool = builder.build().unwrap();
    let (ended, (tell, told)) = (Latch::new(), mpsc::channel());
    let finish = ended.clone();
    let handle = pool.submit(move || {
        let run = Run::current().unwrap();
        assert!(!run.is_cancelled());
        let answer = wait();
        tell.send((answer, run.is_cancelled())).unwrap();
        finish.wait();
        7
    });
    let handle = handle.unwrap();
    eventually(name, || clock.parked() == resting + 1);
    assert_eq!(handle.state(), TaskState::Running, "{name}");
    assert!(handle.cancel_now(), "{name}");
    assert!(handle.is_done() && handle.is_cancelled(), "{name}");
    assert!(handle.wait().unwrap_err().is_cancelled(), "{name}");
    let (answer, is_cancelled) = told.recv_timeout(CAP).unwrap_or_else(|_| panic!("{name} hangs"));
    assert!(answer.unwrap_err().is_interrupted(), "{name}");
    assert!(is_cancelled, "{name}");
    ended.open();
    value_of(&pool.submit(|| ()).unwrap());
    assert_eq!(handle.state(), TaskState::Cancelled, "{name}");
    assert!(handle.wait().unwrap_err().is_cancelled(), "{name}");
    capped(move || pool.close()).unwrap();
    eventually("the worker is gone", || clock.parked() == resting);
}

#[test]
fn ec_d6_cancelling_with_an_interrupt_ends_every_wait_of_the_body() {
    let other = ManualPool::new(1);
    let never = other.pool.schedule(FAR, || ()).unwrap();
    other.await_parked(1);
    let resting = (&other.clock, 1);
    check_interrupt(resting, "sleep", || Run::current().unwrap().sleep(FAR));
    let handle = never.clone();
    check_interrupt(resting, "wait", move || handle.wait());
    let handle = never.clone();
    check_interrupt(resting, "wait_for", move || handle.wait_for(FAR));
    let handle = never.clone();
    check_interrupt(resting, "wait_done", move || handle.wait_done());
    let handle = never.clone();
    check_interrupt(resting, "wait_done_for", move || handle.wait_done_for(FAR));
    assert!(!never.is_done());

    let _wedge = wedge(&other.pool);
    let resting = (&other.clock, 0);
    let pool = other.pool.clone();
    check_interrupt(resting, "invoke_all", move || pool.invoke_all([|| ()]).map(drop));
    let pool = other.pool.clone();
    check_interrupt(resting, "invoke_all_for", move || pool.invoke_all_for([|| ()], FAR).map(drop));
    let pool = other.pool.clone();
    check_interrupt(resting, "invoke_any", move || pool.invoke_any([|| ()]));
    let pool = other.pool.clone();
    check_interrupt(resting, "invoke_any_for", move || pool.invoke_any_for([|| ()], FAR));
}

#[test]
fn ec_d6_awaiting_another_pool_is_interrupted_too() {
    let (stage, other) = (ManualPool::new(1), ManualPool::new(1));
    let blocker = Blocker::new();
    let running = other.pool.submit(blocker.body()).unwrap();
    let queued = other.pool.schedule(FAR, || ()).unwrap();
    blocker.await_started();
    let (pool, (tell, told)) = (other.pool.clone(), mpsc::channel());
    let awaiting = stage.pool.submit(move || tell.send(pool.await_termination(FAR)).unwrap());
    other.await_parked(1);
    assert!(awaiting.unwrap().cancel_now());
    assert_eq!(told.recv_timeout(CAP), Ok(false));

    // `close` is not left half-done: it stops the other pool and goes on waiting.
    let (pool, (tell, told)) = (other.pool.clone(), mpsc::channel());
    let closing = stage.pool.submit(move || tell.send(pool.close()).unwrap()).unwrap();
    other.await_parked(1);
    assert!(!queued.is_done());
    assert!(closing.cancel_now());
    assert!(capped(move || queued.wait()).unwrap_err().is_cancelled());
    assert!(told.try_recv().is_err());
    blocker.release();
    assert_eq!(told.recv_timeout(CAP), Ok(Ok(())));
    assert_eq!(running.state(), TaskState::Completed);
    assert!(other.pool.is_terminated());
}

#[test]
fn ec_d6_a_request_that_comes_before_the_wait_ends_it_too() {
    let stage = ManualPool::new(1);
    let (blocker, (tell, told)) = (Blocker::new(), mpsc::channel());
    let block = blocker.body();
    let handle = stage.pool.submit(move || {
        block();
        tell.send(Run::current().unwrap().sleep(FAR)).unwrap();
    });
    blocker.await_started();
    assert!(handle.unwrap().cancel_now());
    blocker.release();
    assert!(told.recv_timeout(CAP).unwrap().unwrap_err().is_interrupted());
}

#[test]
fn ec_d7_cancelling_without_an_interrupt_leaves_the_run_undisturbed() {
    let stage = ManualPool::new(1);
    let (blocker, (tell, told)) = (Blocker::new(), mpsc::channel());
    let block = blocker.body();
    let handle = stage.pool.submit(move || {
        let run = Run::current().unwrap();
        block();
        tell.send((run.is_cancelled(), run.sleep(ms(12)), run.is_cancelled())).unwrap();
    });
    let handle = handle.unwrap();
    blocker.await_started();
    assert!(handle.cancel());
    assert!(handle.is_done() && handle.is_cancelled());
    // It has ended, so the other form comes too late to interrupt it.
    assert!(!handle.cancel_now());
    blocker.release();
    stage.await_parked(1);
    stage.clock.advance(ms(12) - NANO);
    stage.await_parked(1);
    assert!(told.try_recv().is_err());
    stage.clock.advance(NANO);
    assert_eq!(told.recv_timeout(CAP), Ok((false, Ok(()), false)));
    value_of(&stage.pool.submit(|| ()).unwrap());
    assert!(handle.is_cancelled() && handle.wait().unwrap_err().is_cancelled());
}

fn check_state(handle: &TaskHandle<u32>, state: TaskState) {
    assert_eq!(handle.state(), state);
    assert_eq!(handle.is_done(), !matches!(state, TaskState::Scheduled | TaskState::Running));
    assert_eq!(handle.is_cancelled(), state == TaskState::Cancelled);
    match handle.result_now() {
        Ok(value) => assert_eq!((value, state), (7, TaskState::Completed)),
        Err(error) => assert!(error.is_wrong_state() && state != TaskState::Completed, "{error}"),
    }
    match handle.failure_now() {
        Ok(failure) => assert_eq!((failure.message(), state), ("cause", TaskState::Failed)),
        Err(error) => assert!(error.is_wrong_state() && state != TaskState::Failed, "{error}"),
    }
}

#[test]
fn ec_d8_the_state_and_what_can_be_asked_in_it() {
    let stage = ManualPool::new(1);
    let blocker = Blocker::new();
    let block = blocker.body();
    let running = stage.pool.submit(move || {
        block();
        7
    });
    let running = running.unwrap();
    blocker.await_started();
    let completed = stage.pool.submit(|| 7).unwrap();
    let failed = stage.pool.submit(|| panic!("cause")).unwrap();
    let cancelled = stage.pool.submit(|| 7).unwrap();
    // The JDK calls a waiting task running.
    check_state(&completed, TaskState::Scheduled);
    check_state(&running, TaskState::Running);
    assert!(cancelled.cancel());
    blocker.release();
    value_of(&stage.pool.submit(|| ()).unwrap());
    check_state(&running, TaskState::Completed);
    check_state(&completed, TaskState::Completed);
    check_state(&failed, TaskState::Failed);
    check_state(&cancelled, TaskState::Cancelled);
}

#[test]
fn ec_d8_the_error_names_both_states() {
    let stage = VirtualPool::new(1);
    let handle = stage.pool.submit(|| 7).unwrap();
    let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
    check(
        handle.result_now().unwrap_err(),
        "the task is scheduled, but only a completed task can answer this",
    );
    stage.run_due();
    check(
        handle.failure_now().unwrap_err(),
        "the task is completed, but only a failed task can answer this",
    );
}

#[test]
fn ec_d10_a_recurring_task_has_no_outcome_while_it_is_healthy() {
    let stage = VirtualPool::new(1);
    let (ran, seen) = (Journal::new(), Journal::new());
    let (tell, told) = mpsc::channel::<TaskHandle<()>>();
    let (noted, states) = (ran.clone(), seen.clone());
    let mut own = None;
    let body = move || {
        let own = own.get_or_insert_with(|| told.recv().unwrap());
        states.note((own.state(), own.is_done()));
        noted.note(());
    };
    let handle = stage.pool.schedule_at_fixed_rate(ms(1), ms(1), body).unwrap();
    tell.send(handle.clone()).unwrap();
    for run in 0..=10 {
        assert_eq!(ran.len(), run);
        assert_eq!(handle.state(), TaskState::Scheduled);
        assert!(!handle.is_done() && !handle.is_cancelled());
        assert!(handle.result_now().unwrap_err().is_wrong_state());
        assert!(handle.failure_now().unwrap_err().is_wrong_state());
        assert!(handle.wait_done_for(Duration::ZERO).unwrap_err().is_timeout());
        stage.run_for(ms(1));
    }
    assert_eq!(seen.entries(), [(TaskState::Running, false); 11]);
}

/// A waker that counts.
#[derive(Default)]
struct Wakes(AtomicU64);

impl Wakes {
    fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<T: Clone + Send + Sync + 'static>(
    future: &mut TaskFuture<T>,
    wakes: &Arc<Wakes>,
) -> Poll<Result<T, Error>> {
    let waker = Waker::from(Arc::clone(wakes));
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

/// Ends a task in some way; its callbacks and wakers must be called once.
fn check_told_once(
    expected: TaskState,
    body: impl FnOnce() -> u32 + Send + 'static,
    end: impl FnOnce(&VirtualPool, &TaskHandle<u32>),
) {
    let stage = VirtualPool::new(1);
    let handle = stage.pool.schedule(ms(1), body).unwrap();
    let mut future = handle.clone().into_future();
    let (told, wakes) = (Journal::new(), Arc::new(Wakes::default()));
    for callback in ["first", "second"] {
        let told = told.clone();
        handle.on_done(move |state| told.note((callback, state)));
    }
    assert!(poll(&mut future, &wakes).is_pending());
    stage.run_due();
    assert_eq!((told.len(), wakes.count()), (0, 0));

    end(&stage, &handle);
    assert_eq!(told.entries(), [("first", expected), ("second", expected)]);
    assert_eq!(wakes.count(), 1);
    let noted = told.clone();
    handle.on_done(move |state| noted.note(("late", state)));
    assert_eq!(told.entries().pop(), Some(("late", expected)));
    let Poll::Ready(outcome) = poll(&mut future, &wakes) else { panic!("not ready") };
    match expected {
        TaskState::Completed => assert_eq!(outcome, Ok(7)),
        TaskState::Failed => assert!(outcome.unwrap_err().is_failed()),
        _ => assert!(outcome.unwrap_err().is_cancelled()),
    }

    stage.run_for(HOUR);
    handle.cancel_now();
    drop(stage);
    assert_eq!((told.len(), wakes.count()), (3, 1));
}

#[test]
fn ec_d11_callbacks_and_wakers_are_told_once() {
    let run = |stage: &VirtualPool, _: &TaskHandle<u32>| stage.run_for(ms(1));
    check_told_once(TaskState::Completed, || 7, run);
    check_told_once(TaskState::Failed, || panic!("cause"), run);
    check_told_once(TaskState::Cancelled, || 7, |_, handle| assert!(handle.cancel()));
    check_told_once(TaskState::Cancelled, || 7, |_, handle| assert!(handle.cancel_now()));
    check_told_once(TaskState::Cancelled, || 7, |stage, _| drop(stage.pool.shutdown_now()));
    check_told_once(
        TaskState::Cancelled,
        || 7,
        |stage, handle| {
            drop(stage.pool.remove(handle).unwrap());
        },
    );
}

#[test]
fn ec_d11_a_recurring_task_tells_at_its_end_and_not_after_each_run() {
    let stage = VirtualPool::new(1);
    let handle = stage.pool.schedule_at_fixed_rate(ms(1), ms(1), || ()).unwrap();
    let told = Journal::new();
    let noted = told.clone();
    handle.on_done(move |state| noted.note(state));
    stage.run_for(ms(100));
    assert_eq!(told.len(), 0);
    handle.cancel();
    stage.run_for(ms(100));
    assert_eq!(told.entries(), [TaskState::Cancelled]);
}

#[test]
fn ec_d11_a_panicking_callback_hurts_no_other() {
    let stage = ManualPool::new(1);
    let blocker = Blocker::new();
    let handle = stage.pool.submit(blocker.body()).unwrap();
    let told = Latch::new();
    let opens = told.clone();
    handle.on_done(|_| panic!("a callback of the test"));
    handle.on_done(move |_| opens.open());
    blocker.release();
    told.wait();
    assert_eq!(value_of(&handle), ());
    value_of(&stage.pool.submit(|| ()).unwrap());
    assert_eq!(stage.pool.stats().largest_pool_size, 1);
}

#[test]
fn ec_d11_a_callback_may_do_anything_with_task_and_pool() {
    let stage = ManualPool::new(1);
    let blocker = Blocker::new();
    let handle = stage.pool.submit(blocker.body()).unwrap();
    let (own, pool, (tell, told)) = (handle.clone(), stage.pool.clone(), mpsc::channel());
    handle.on_done(move |state| {
        let late = Latch::new();
        let opens = late.clone();
        own.on_done(move |_| opens.open());
        let next = pool.submit(|| 7).unwrap();
        let answers = (state, own.wait(), own.cancel(), late.is_open());
        tell.send((answers, next, pool.stats().queued)).unwrap();
    });
    blocker.release();
    let (answers, next, _) = told.recv_timeout(CAP).unwrap();
    assert_eq!(answers, (TaskState::Completed, Ok(()), false, true));
    assert_eq!(value_of(&next), 7);
}

#[test]
fn ec_d11_a_race_of_cancel_and_completion_tells_once() {
    let stage = ManualPool::new(1);
    let mut random = Random(11);
    let mut seen = [0_u32; 2];
    for round in 0..2000 {
        let blocker = Blocker::new();
        let handle = stage.pool.submit(blocker.body()).unwrap();
        let mut future = handle.clone().into_future();
        let (told, wakes) = (Journal::new(), Arc::new(Wakes::default()));
        let early = told.clone();
        handle.on_done(move |state| early.note(state));
        assert!(poll(&mut future, &wakes).is_pending());
        blocker.await_started();
        let (canceller, late) = (handle.clone(), told.clone());
        let spins = random.below(2000);
        let cancel = Pending::start(move || {
            (0..spins).for_each(|_| std::hint::spin_loop());
            canceller.on_done(move |state| late.note(state));
            canceller.cancel()
        });
        blocker.release();
        let won = cancel.join();
        let end = if won { TaskState::Cancelled } else { TaskState::Completed };
        assert_eq!(handle.state(), end, "round {round}");
        // The thread that ends the task reports it; the worker may be about to.
        told.await_len(2);
        eventually("the waker is called", || wakes.count() == 1);
        value_of(&stage.pool.submit(|| ()).unwrap());
        assert_eq!(told.entries(), [end, end], "round {round}");
        assert_eq!(wakes.count(), 1, "round {round}");
        seen[usize::from(won)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 0), "the race had one winner only: {seen:?}");
}

#[test]
fn ec_d11_only_the_latest_waker_is_called_and_a_dropped_future_leaves_none() {
    let stage = VirtualPool::new(1);
    let handle = stage.pool.submit(|| 7).unwrap();
    let [mut future, mut dropped] = [(); 2].map(|()| handle.clone().into_future());
    let [old, new, gone] = [(); 3].map(|()| Arc::new(Wakes::default()));
    assert!(poll(&mut future, &old).is_pending());
    assert!(poll(&mut future, &new).is_pending());
    assert!(poll(&mut dropped, &gone).is_pending());
    drop(dropped);
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&gone)), (1, 1));
    stage.run_due();
    assert_eq!((old.count(), new.count(), gone.count()), (0, 1, 0));
}

/// A thread-local that waits for a task when its thread ends.
struct LastWait(TaskHandle<u32>, mpsc::Sender<Error>);

impl Drop for LastWait {
    fn drop(&mut self) {
        self.1.send(self.0.wait_for(Duration::ZERO).unwrap_err()).expect("the test listens");
    }
}

#[test]
fn ec_d2_a_thread_that_is_ending_may_wait() {
    std::thread_local! {
        static LAST: std::cell::RefCell<Option<LastWait>> = const { std::cell::RefCell::new(None) };
    }
    let stage = VirtualPool::new(1);
    let handle = stage.pool.schedule(HOUR, || 42).unwrap();
    let (sender, receiver) = mpsc::channel();
    capped(move || {
        LAST.set(Some(LastWait(handle.clone(), sender)));
        // A wait before, so that what the engine keeps for this thread is gone before `LAST` is.
        assert!(handle.wait_for(Duration::ZERO).unwrap_err().is_timeout());
    });
    assert!(receiver.recv_timeout(CAP).unwrap().is_timeout());
}

#[test]
fn ec_d11_hooks_and_callbacks_of_a_run_cannot_wait_for_its_end() {
    let (own, heard) = (Journal::<TaskHandle<u32>>::new(), Journal::new());
    let (known, heard_in_hook, heard_in_callback) = (own.clone(), heard.clone(), heard.clone());
    let hook = move |_: &Run, _: &Result<(), Failure>| {
        known.await_len(1);
        heard_in_hook.note(known.entries()[0].wait().map(drop));
    };
    let stage = ManualPool::build(ScheduledThreadPool::builder().core_size(1).after_run(hook));
    let blocker = Blocker::new();
    let body = blocker.body();
    let handle = stage.pool.submit(move || (body(), 42).1).unwrap();
    let pool = stage.pool.clone();
    handle.on_done(move |_| heard_in_callback.note(pool.close()));
    own.note(handle.clone());
    blocker.release();
    assert_eq!(value_of(&handle), 42);
    heard.await_len(2);
    assert!(heard.entries().iter().all(|answer| answer.as_ref().unwrap_err().is_deadlock()));
    assert!(!stage.pool.is_shutdown());
}
