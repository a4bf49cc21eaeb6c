//! Faults of a program by real clocks (F-PA3, F-CF1), with generous bounds.
#![cfg(target_os = "linux")]

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use std::{fs, iter};

use crate::own_process::is_in_own_process;
use scheduler::engine::Tick;
use scheduler::{Clock, Event, EventKind, Schedule, Scheduler, SystemClock, Until, tasks};

/// The resident memory of this process, in KiB.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is told");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// The processor time of this thread, without anything else that the machine does.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux system");
    let nanos = text.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds come first"))
}

#[test]
fn f_pa3_bad_listeners_hold_up_no_task_of_a_millisecond_and_keep_no_memory() {
    if !is_in_own_process(f_pa3_bad_listeners_hold_up_no_task_of_a_millisecond_and_keep_no_memory) {
        return;
    }
    const TASKS: u64 = 1_000;
    const LATER: u64 = 20_000;
    const LONG: Duration = Duration::from_secs(60);
    let (awake, sleeps) = mpsc::channel::<()>();
    let sleeps = Mutex::new(sleeps);
    let (tells, told) = mpsc::channel();
    let said = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&said);
    let mut builder = Scheduler::builder()
        .tasks(tasks![])
        .pool_size(2)
        .zone("UTC")
        .messages(move |text| lines.lock().unwrap().push(text.to_owned()))
        .listener(|_: &Event| panic!("cannot listen"))
        .listener(move |_: &Event| {
            let _ = sleeps.lock().unwrap().recv_timeout(Duration::from_millis(100));
        })
        .listener(move |event: &Event| {
            tells
                .send(if let EventKind::Lost { count, .. } = &event.kind { *count } else { 1 })
                .unwrap();
        });
    for number in 0..TASKS {
        let body = |run: &scheduler::Run| run.sleep(Duration::from_millis(1));
        builder = builder.task(&format!("task-{number}"), Schedule::once("0s"), body);
    }
    let clock = SystemClock::new();
    let scheduler = builder.spawn().unwrap();
    for number in 0..TASKS {
        let name = format!("task-{number}");
        // The sleeper alone would need more than six minutes for their events.
        let left = Duration::from_secs(30).saturating_sub(clock.now().since(Tick::ZERO));
        scheduler.wait_for(&name, Until::runs(1), left).unwrap();
    }

    // The first panic's backtrace may read symbols, which stay.
    let first: u64 = (0..2).map(|_| told.recv_timeout(LONG).unwrap()).sum();

    let before = resident();
    let busy = scheduler.tasks().add("busy", Schedule::fixed_delay("20us"), |_| {}).unwrap();
    busy.wait_for(Until::runs(LATER), LONG).unwrap();
    let grown = resident().saturating_sub(before);
    assert!(grown < 4 << 10, "{LATER} runs without a listener keep {grown} KiB");

    // From now on the sleeper is awake, and listeners hear everything that was kept, until they are let go. No run is
    // cancelled: the request to stop one in progress would be an event, too.
    drop(awake);
    scheduler.shutdown().unwrap();
    let runs = busy.snapshot().counters.runs;
    let told = first + iter::from_fn(|| told.recv_timeout(LONG).ok()).sum::<u64>();
    let said = said.lock().unwrap();
    // Each is added, started, finished and ended; and the scheduler has started, is stopping, and has
    // stopped. Where others keep the machine, tasks start so late that a message says so, too.
    let expected = 4 * TASKS + 2 * runs + 2 + 3;
    let is_starved = said.iter().any(|text| text.contains(" late: all 2 threads"));
    assert!(
        told == expected || is_starved && told > expected,
        "{told} heard or lost, {expected} expected, {said:?}"
    );
    assert_eq!(said.iter().filter(|text| text.contains("a listener panicked")).count(), 1);
}

#[test]
fn f_cf1_placeholder_traps_take_little_time_and_memory() {
    if !is_in_own_process(f_cf1_placeholder_traps_take_little_time_and_memory) {
        return;
    }
    let doubling: String =
        (0..30).map(|n| format!("k{n} = \"${{k{}}}${{k{0}}}\"\n", n + 1)).collect();
    let nested = "${a:".repeat(10_000) + &"}".repeat(10_000);
    let long = format!("long = \"{}\"\n", "x".repeat(1 << 19));
    let text = format!("{doubling}k30 = \"\"\n{long}");
    for (trap, fault) in [
        (&*nested, "more than 32 levels deep"),
        ("${k0}", "more than 4096 values"),
        ("${long}${long}${long}", "longer than 1 MiB"),
    ] {
        let builder = Scheduler::builder()
            .tasks(tasks![])
            .environment([("PATH", "")])
            .settings("traps.toml", &text)
            .messages(|_| {})
            .task("trapped", Schedule::fixed_rate(trap), |_| {});
        let (memory, before) = (resident(), processor_time());
        let error = builder.spawn().expect_err(fault).to_string();
        let (used, grown) = (processor_time() - before, resident().saturating_sub(memory));
        assert!(error.contains(fault), "{error}");
        assert!(error.len() < 4_000, "{} bytes", error.len());
        // Without bounds the second would need 2^30 values. The row says 100 ms, in an optimized build.
        let most = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 100 });
        assert!(used < most, "{fault}: {used:?}");
        assert!(grown < 8 << 10, "{fault}: {grown} KiB are left");
    }
}
