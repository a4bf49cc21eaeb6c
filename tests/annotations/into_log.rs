//! A logger gets the scheduler's messages; stderr gets none.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::logger::NOTES;
use crate::own_process::is_in_own_process;
use log::LevelFilter;
use scheduler::{ManualClock, Scheduler, scheduled, tasks};

#[scheduled(fixed_rate = "10s", name = "tick")]
fn tick() -> Result<(), &'static str> {
    static RUNS: Mutex<u32> = Mutex::new(0);
    let mut runs = RUNS.lock().unwrap();
    *runs += 1;
    if *runs == 2 { Err("no\nluck") } else { Ok(()) }
}

#[test]
fn messages_of_the_scheduler_come_as_records() {
    if !is_in_own_process(messages_of_the_scheduler_come_as_records) {
        return;
    }
    log::set_logger(&NOTES).unwrap();
    log::set_max_level(LevelFilter::Debug);
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let builder = Scheduler::builder().tasks(tasks![tick]).pool_size(1).zone("UTC");
    let scheduler = builder.clock(Arc::new(clock.clone())).spawn().unwrap();
    clock.await_parked(1);
    for _ in 0..3 {
        clock.advance(Duration::from_secs(10));
        clock.await_parked(1);
    }
    scheduler.shutdown().unwrap();
    let line = include_str!("into_log.rs").lines().position(|line| line.starts_with("#[scheduled"));
    let line = line.unwrap() + 1;
    let expected = [
        "INFO scheduler 0.1.0  1 task · 1 thread (scheduling-1) · zone UTC (UTC+00:00)".to_owned(),
        "INFO task `tick`: added: every 10s; pool default; next Fri 2026-03-27 08:00:00 +00:00".to_owned(),
        "INFO task `tick` finished its first run in 0s; further successes are logged at debug level".to_owned(),
        format!(r"ERROR task `tick` failed after 0s: no\nluck; at tests/annotations/into_log.rs:{line}   next run Fri 2026-03-27 08:00:20 +00:00"),
        "INFO task `tick` succeeded again, in 0s, after 1 failure".to_owned(),
        "DEBUG task `tick`: run 4 succeeded; next Fri 2026-03-27 08:00:40 +00:00".to_owned(),
        "INFO stopping: no new runs".to_owned(),
        "INFO stopped after 0s: 4 runs, 1 failure".to_owned(),
    ];
    assert_eq!(*NOTES.0.lock().unwrap(), expected);
}
