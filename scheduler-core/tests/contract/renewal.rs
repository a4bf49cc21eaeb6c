//! Calls of workers outside tasks hold up no other worker.
//!
//! Such calls are those of timers after the clock was set back, and callbacks of tasks that the pool cancels.

use std::sync::Arc;
use std::time::Duration;

use crate::kit::{
    HOUR, Journal, Latch, ManualPool, Mutex, await_terminated, eventually, ms, value_of,
};
use crate::timers::{arm, probe_with};
use chrono::TimeDelta;
use scheduler_core::{Due, Fired, Now, ScheduledThreadPool};

/// Two workers at rest, and a timer that is notified when the clock is set back.
fn told_of_the_clock(tell: impl Fn(&ManualPool) + Send + Sync + 'static) -> ManualPool {
    let stage = ManualPool::new(2);
    assert_eq!(stage.pool.prestart_all(), 2);
    stage.await_parked(2);
    let inside = ManualPool { pool: stage.pool.clone(), clock: stage.clock.clone() };
    let mut probe = probe_with(|_, _| Fired::NothingToFinish);
    probe.on_set_back = Box::new(move |_, _| tell(&inside));
    let timer = stage.pool.timer("told", probe);
    arm(&timer, &stage.clock, Due::Wall(Now::read(&stage.clock).wall + HOUR));
    stage.await_parked(2);
    stage.clock.step_wall(TimeDelta::minutes(-1));
    // A worker looks at it twice a second.
    stage.clock.advance(ms(500));
    stage
}

#[test]
fn a_timer_that_is_slow_after_the_clock_was_set_back_holds_up_no_other_timer() {
    let (entered, release) = (Latch::new(), Latch::new());
    let (opened, awaited) = (entered.clone(), release.clone());
    let stage = told_of_the_clock(move |_| {
        opened.open();
        awaited.wait();
    });
    entered.wait();
    assert_eq!(value_of(&stage.pool.submit(|| 7).unwrap()), 7);
    // The other worker looks at the queue: what comes later finds a worker, too.
    let later = stage.pool.schedule(HOUR, || 8).unwrap();
    stage.await_parked(1);
    stage.clock.advance(HOUR);
    assert_eq!(value_of(&later), 8);
    release.open();
    stage.pool.shutdown();
    await_terminated(&stage.pool);
}

#[test]
fn a_timer_waits_for_a_task_of_its_pool_after_the_clock_was_set_back() {
    let seen = Journal::new();
    let noted = seen.clone();
    let stage =
        told_of_the_clock(move |stage| noted.note(value_of(&stage.pool.submit(|| 7).unwrap())));
    eventually("the timer was told", || seen.entries() == [7]);
    stage.pool.shutdown();
    await_terminated(&stage.pool);
}

/// Workers call others beside their tasks, too: the pool cannot end before that call does.
#[test]
fn a_callback_that_closes_the_pool_outside_a_run_is_told_of_the_deadlock() {
    let stage = ManualPool::new(1);
    let (entered, release, seen) = (Latch::new(), Latch::new(), Journal::new());
    let body = {
        let (entered, release) = (entered.clone(), release.clone());
        move || {
            entered.open();
            release.wait();
        }
    };
    let handle = stage.pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, body).unwrap();
    let (pool, noted) = (stage.pool.clone(), seen.clone());
    handle.on_done(move |_| {
        let is_deadlock = pool.close().is_err_and(|error| error.is_deadlock());
        noted.note((is_deadlock, pool.await_termination(HOUR)));
    });
    entered.wait();
    // Its worker cancels it when the run is over.
    stage.pool.shutdown();
    release.open();
    await_terminated(&stage.pool);
    assert_eq!(seen.entries(), [(true, false)]);
}

#[test]
fn who_hears_of_the_end_of_the_pool_cannot_wait_for_it() {
    let (seen, own) = (Journal::new(), Arc::new(Mutex::new(None::<ScheduledThreadPool>)));
    let (noted, inside) = (seen.clone(), Arc::clone(&own));
    let stage =
        ManualPool::build(ScheduledThreadPool::builder().core_size(1).on_terminated(move || {
            let pool = inside.lock().unwrap().take().expect("it was put there");
            noted.note(pool.close().is_err_and(|error| error.is_deadlock()));
        }));
    *own.lock().unwrap() = Some(stage.pool.clone());
    assert_eq!(value_of(&stage.pool.submit(|| 7).unwrap()), 7);
    stage.pool.shutdown();
    await_terminated(&stage.pool);
    assert_eq!(seen.entries(), [true]);
}
