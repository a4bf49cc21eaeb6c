//! A clock that is moved, against a wait that registers at it.

use std::sync::Arc;

use loom::thread;
use scheduler_core::time::EventCount;
use scheduler_core::{Clock, ManualClock, Tick};

use crate::kit::{build, builder, models, ms, stop};

models! {
    l14_a_wait_ends_when_its_time_has_come: moved_in_two_steps;
    l14_a_pool_runs_what_is_due_when_its_clock_is_moved: moved_under_a_pool;
}

/// A thread waits for a time that two others bring about, half of it each.
fn moved_in_two_steps() {
    let clock = ManualClock::new();
    let end = Tick::ZERO + ms(10);
    let waiter = {
        let clock = clock.clone();
        thread::spawn(move || {
            let gate = Arc::new(EventCount::new());
            while clock.now() < end {
                let seen = gate.epoch();
                clock.wait(&gate, seen, Some(end));
            }
        })
    };
    let mover = {
        let clock = clock.clone();
        thread::spawn(move || clock.advance(ms(5)))
    };
    clock.advance(ms(5));
    mover.join().unwrap();
    waiter.join().unwrap();
    assert_eq!((clock.now(), clock.parked()), (end, 0));
}

/// A task's time comes while the worker goes to sleep.
fn moved_under_a_pool() {
    let clock = ManualClock::new();
    let pool = build(builder(1).clock(Arc::new(clock.clone())));
    let handle = pool.schedule(ms(10), || 7).unwrap();
    clock.advance(ms(10));
    assert_eq!(handle.wait(), Ok(7));
    stop(&pool);
}
