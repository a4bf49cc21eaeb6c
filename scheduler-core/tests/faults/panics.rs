//! Faults of user code that panics, and of bad timers (F-PA).

use std::panic::{AssertUnwindSafe, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fmt, thread};

use crate::kit::{
    HOUR, Journal, Latch, ManualPool, Mutex, VirtualPool, await_parked, capped, check_healthy,
    eventually, ms, on_wall,
};
use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::{
    Clock, Due, Failure, Fire, Fired, Now, Run, ScheduledThreadPool, TaskHandle, Tick, Timer,
    WallTime, WorkerThread,
};

/// The first reading of a clock.
const START: Now = Now { tick: Tick::ZERO, wall: WallTime::MIN };

/// A value that panics when it is dropped, with a payload that does so, too.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(Bomb);
    }
}

/// A pool of one worker that counts the threads it is given.
fn counting_pool() -> (ScheduledThreadPool, Arc<AtomicU64>) {
    let threads = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&threads);
    let builder =
        ScheduledThreadPool::builder().core_size(1).thread_factory(move |worker: WorkerThread| {
            counted.fetch_add(1, Ordering::SeqCst);
            thread::Builder::new().spawn(move || worker.run()).map(drop)
        });
    (ManualPool::build(builder).pool, threads)
}

fn await_done<T: Send + Sync + 'static>(handle: &TaskHandle<T>) {
    let handle = handle.clone();
    capped(move || handle.wait_done()).expect("the wait is not interrupted");
}

fn check_bombs(times: u32, blow: impl Fn(&ScheduledThreadPool)) {
    let (pool, threads) = counting_pool();
    for _ in 0..times {
        blow(&pool);
    }
    assert_eq!(threads.load(Ordering::SeqCst), 1);
    check_healthy(&pool);
    assert_eq!(threads.load(Ordering::SeqCst), 1);
}

#[test]
fn f_pa1_a_payload_that_panics_when_dropped_costs_no_thread() {
    check_bombs(100, |pool| {
        let handle = pool.submit(|| panic_any(Bomb)).unwrap();
        let handle: TaskHandle<()> = handle;
        await_done(&handle);
        let failure = handle.failure_now().unwrap();
        assert!(failure.is_panic());
        assert_eq!(failure.message(), "non-text panic payload");
    });
}

#[test]
fn f_pa1_a_value_that_panics_when_dropped_unread_stays_inside() {
    check_bombs(100, |pool| {
        let handle = pool.submit(|| Bomb).unwrap();
        await_done(&handle);
        // The handle is the last to hold the value, or else the worker is.
        drop(handle);
    });
}

#[test]
fn f_pa1_a_late_value_of_a_cancelled_task_that_panics_when_dropped_stays_inside() {
    check_bombs(100, |pool| {
        let own: Journal<TaskHandle<Bomb>> = Journal::new();
        let known = own.clone();
        let handle = pool
            .submit(move || {
                known.await_len(1);
                assert!(known.entries()[0].cancel());
                Bomb
            })
            .unwrap();
        own.note(handle.clone());
        await_done(&handle);
        assert!(handle.is_cancelled());
    });
}

#[test]
fn f_pa1_a_capture_that_panics_when_dropped_fails_the_task() {
    check_bombs(100, |pool| {
        let bomb = Bomb;
        let handle = pool
            .submit(move || {
                let _captured = &bomb;
            })
            .unwrap();
        await_done(&handle);
        assert!(handle.failure_now().unwrap().is_panic());
    });
}

#[test]
fn f_pa1_a_recurring_task_that_fails_with_a_bomb_in_it_is_failed() {
    check_bombs(100, |pool| {
        let bomb = Bomb;
        let handle = pool
            .schedule_at_fixed_rate(Duration::ZERO, HOUR, move || {
                let _captured = &bomb;
                Err::<(), _>("on its own account")
            })
            .unwrap();
        await_done(&handle);
        assert_eq!(handle.failure_now().unwrap().message(), "on its own account");
    });
}

/// A timer whose content panics when it is dropped, and what that keeps.
struct Charged {
    _bomb: Bomb,
    fired: Latch,
}

impl Fire for Charged {
    fn fire(timer: &Arc<Timer<Self>>, _: &Run) -> Fired {
        timer.fired.open();
        Fired::NothingToFinish
    }
}

#[test]
fn f_pa1_a_timer_that_panics_when_dropped_costs_no_thread() {
    let (pool, threads) = counting_pool();
    for _ in 0..100 {
        let fired = Latch::new();
        let timer = pool.timer("charged", Charged { _bomb: Bomb, fired: fired.clone() });
        timer.arm(Due::Tick(Tick::ZERO), START).perform();
        // The worker is the last to hold the timer, or else this thread is.
        drop(timer);
        fired.wait();
    }
    check_healthy(&pool);
    assert_eq!(threads.load(Ordering::SeqCst), 1);
}

#[test]
fn f_pa1_a_timer_that_never_fired_does_not_reach_who_drops_the_last_end() {
    let stage = VirtualPool::new(1);
    let timer = stage.pool.timer("charged", Charged { _bomb: Bomb, fired: Latch::new() });
    timer.arm(Due::Tick(Tick::ZERO + HOUR), START).perform();
    timer.disarm().perform();
    stage.pool.purge();
    assert_eq!(stage.pool.stats().queued, 0);
    let dropped = std::panic::catch_unwind(AssertUnwindSafe(|| drop(timer)));
    let is_contained = dropped.is_ok();
    // The payload would panic, too.
    std::mem::forget(dropped);
    assert!(is_contained);
}

/// The failure of a task that panics like this.
fn failure_of(pool: &ScheduledThreadPool, panics: impl FnOnce() + Send + 'static) -> Failure {
    let handle = pool.submit(panics).unwrap();
    await_done(&handle);
    handle.failure_now().unwrap()
}

#[test]
fn f_pa2_a_panic_says_its_text_or_that_it_has_none() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let said = |panics: fn()| failure_of(&pool, panics).message().to_owned();
    assert_eq!(said(|| panic_any("a text")), "a text");
    assert_eq!(said(|| panic!("a text with {}", 1)), "a text with 1");
    assert_eq!(said(|| panic_any(String::from("a string"))), "a string");
    assert_eq!(said(|| panic_any(fmt::Error)), "non-text panic payload");
    assert_eq!(said(|| panic_any(7_i32)), "non-text panic payload");
    let is_panic = |panics: fn()| failure_of(&pool, panics).is_panic();
    assert!(is_panic(|| panic!("a panic")));
    check_healthy(&pool);
}

#[test]
fn f_pa2_a_long_message_is_cut_at_a_character() {
    const LIMIT: usize = Failure::MESSAGE_BYTES_MAX;
    const { assert!(LIMIT <= 64 * 1024) };
    let ManualPool { pool, .. } = ManualPool::new(1);
    for (start, expected) in [("", LIMIT), ("x", LIMIT - 3), ("xx", LIMIT - 2), ("xxx", LIMIT - 1)]
    {
        // Characters of four bytes, up to a mebibyte.
        let long = format!("{start}{}", "🕐".repeat((1 << 18) - 1));
        let failure = failure_of(&pool, move || panic_any(long));
        assert_eq!(failure.message().len(), expected);
        assert!(failure.message().ends_with('🕐'));
    }
    check_healthy(&pool);
}

#[test]
fn f_pa4_a_timer_that_always_names_past_times_takes_turns() {
    // It names times an hour behind, and fires again as soon as it can; each firing takes a while.
    let stage = VirtualPool::new(1);
    let (healthy, fired) = (Journal::new(), Journal::new());
    let (clock, noted) = (stage.clock.clone(), healthy.clone());
    stage.pool.schedule_at_fixed_rate(ms(10), ms(10), move || noted.note(clock.now())).unwrap();
    let (clock, noted) = (stage.clock.clone(), fired.clone());
    let behind = move |now: DateTime<Utc>, _| Some(now - TimeDelta::hours(1));
    let timer = on_wall(&stage.pool, &stage.clock, behind, move || {
        clock.advance(ms(3));
        noted.note(());
        assert!(noted.len() < 100, "enough");
    });
    stage.run_due();
    assert_eq!((fired.len(), timer.due()), (100, None));
    // 300 ms have passed: no firing of the healthy one was missed, or later than one of the other.
    assert_eq!(healthy.len(), 30);
    for (firing, at) in (1..).zip(healthy.entries()) {
        let late = at.as_nanos() - firing * 10_000_000;
        assert!(late < 3_000_000, "firing {firing} was {late} ns late");
    }
}

#[test]
fn f_pa4_a_slow_timer_holds_up_no_other_timer() {
    let ManualPool { pool, clock } = ManualPool::new(2);
    let healthy = Journal::new();
    pool.schedule_at_fixed_rate(ms(10), ms(10), healthy.noting(())).unwrap();
    let (asked, answer) = (Latch::new(), Latch::new());
    let (is_asked, answers) = (asked.clone(), answer.clone());
    let rule = move |now: DateTime<Utc>, last: Option<DateTime<Utc>>| {
        if last.is_some() {
            is_asked.open();
            answers.wait();
        }
        Some(now + Duration::from_secs(1))
    };
    let slow = on_wall(&pool, &clock, rule, || ());
    await_parked(&clock, 2);
    clock.advance(Duration::from_secs(1));
    asked.wait();
    healthy.await_len(100);
    // The timer takes 200 ms, and the other worker goes on.
    for firing in 101..=120 {
        await_parked(&clock, 1);
        clock.advance(ms(10));
        healthy.await_len(firing);
        assert_eq!(healthy.len(), firing);
    }
    drop((pool.stats(), pool.queue()));
    answer.open();
    eventually("it waits again", || slow.due().is_some());
    slow.disarm().perform();
}

#[test]
fn f_pa4_a_timer_calls_its_pool() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let (submitted, inside) = (Arc::new(Mutex::new(Vec::new())), pool.clone());
    let kept = Arc::clone(&submitted);
    let rule = move |now: DateTime<Utc>, _| {
        inside.purge();
        drop((inside.stats(), inside.queue()));
        kept.lock().unwrap().push(inside.submit(|| 7).expect("the pool takes tasks"));
        Some(now + ms(10))
    };
    let (inside, hand) = (pool.clone(), clock.clone());
    let timer = capped(move || on_wall(&inside, &hand, rule, || ()));
    for run in 1..=5 {
        eventually("it was asked", || submitted.lock().unwrap().len() == run);
        eventually("it waits", || timer.due().is_some());
        clock.advance(ms(10));
    }
    eventually("it was asked", || submitted.lock().unwrap().len() == 6);
    timer.disarm().perform();
    for submitted in submitted.lock().unwrap().drain(..) {
        assert_eq!(crate::kit::value_of(&submitted), 7);
    }
    check_healthy(&pool);
}
