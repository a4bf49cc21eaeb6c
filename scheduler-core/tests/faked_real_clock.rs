//! The scheduler under a replaced wall clock, as libfaketime does it.
//!
//! The child is a test of this file that is ignored unless it is asked for.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "the clock that a task of the program would read")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_core::{Clock, Due, Fire, Fired, Run, ScheduledThreadPool, SystemClock, Timer};

use crate::kit::command_for;

/// Puts the wall clock a thousand days ahead, and nothing else.
const LIBRARY: &str = r"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += 86400000;
    return result;
}
";

const AHEAD: TimeDelta = TimeDelta::days(1_000);

/// The variable in which the child gets the true time.
const TRUE_TIME: &str = "TRUE_TIME";

/// Tells the times of its firings.
struct Noting(Sender<(DateTime<Utc>, DateTime<Utc>)>);

impl Fire for Noting {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        timer.0.send((run.fire_time(), run.started_at())).ok();
        Fired::NothingToFinish
    }
}

#[track_caller]
fn assert_shows(what: DateTime<Utc>, expected: DateTime<Utc>) {
    assert!((what - expected).abs() < TimeDelta::minutes(5), "{what} is not about {expected}");
}

#[test]
#[ignore = "a child of the test below: its wall clock is replaced"]
fn child_of_a_replaced_clock() {
    let true_time: DateTime<Utc> = std::env::var(TRUE_TIME).unwrap().parse().unwrap();
    let shown = Utc::now();
    assert_shows(shown, true_time + AHEAD);
    let clock = SystemClock::new();
    assert_shows(clock.wall(), shown);
    assert_shows(clock.read().wall.to_utc(), shown);
    let pool = ScheduledThreadPool::new(1);
    let (sender, runs) = channel();
    let trigger = CronTrigger::new("* * * * * *".parse().unwrap(), Zone::UTC);
    let now = clock.read();
    let next = trigger.next_after(now.wall.to_utc()).unwrap();
    pool.timer("cron", Noting(sender)).arm(Due::Wall(next.into()), now).perform();
    let (fire_time, started_at) = runs.recv().unwrap();
    assert_shows(fire_time, shown);
    assert_shows(started_at, shown);
}

#[test]
fn all_times_of_a_run_are_those_of_the_replaced_clock() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faked_real_clock");
    fs::create_dir_all(&folder).unwrap();
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, LIBRARY).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    assert!(compiler.status().expect("the compiler that rustc links with").success());
    let mut child = command_for(child_of_a_replaced_clock);
    child.env("LD_PRELOAD", &library).env(TRUE_TIME, Utc::now().to_rfc3339());
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
