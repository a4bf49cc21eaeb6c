//! A logger that is installed after the start gets messages, too.

use std::sync::Arc;
use std::time::Duration;

use crate::logger::NOTES;
use crate::own_process::is_in_own_process;
use log::LevelFilter;
use scheduler::{ManualClock, Schedule, Scheduler, tasks};

#[test]
fn further_successes_are_logged_once_that_is_said() {
    if !is_in_own_process(further_successes_are_logged_once_that_is_said) {
        return;
    }
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let scheduler = Scheduler::builder()
        .tasks(tasks![])
        .pool_size(1)
        .zone("UTC")
        .clock(Arc::new(clock.clone()))
        .task("tick", Schedule::fixed_rate("10s").initial_delay("10s"), |_| {})
        .spawn()
        .unwrap();
    clock.await_parked(1);
    log::set_logger(&NOTES).unwrap();
    log::set_max_level(LevelFilter::Debug);
    for run in 1..=3 {
        clock.advance(Duration::from_secs(10));
        // The level of the logger is known when a message is printed.
        while NOTES.0.lock().unwrap().len() < run {
            std::thread::yield_now();
        }
    }
    scheduler.shutdown().unwrap();
    let expected = [
        "INFO task `tick` finished its first run in 0s; further successes are logged at debug level",
        "DEBUG task `tick`: run 2 succeeded; next Fri 2026-03-27 08:00:30 +00:00",
        "DEBUG task `tick`: run 3 succeeded; next Fri 2026-03-27 08:00:40 +00:00",
        "INFO stopping: no new runs",
        "INFO stopped after 0s: 3 runs, 0 failures",
    ];
    assert_eq!(*NOTES.0.lock().unwrap(), expected);
}
