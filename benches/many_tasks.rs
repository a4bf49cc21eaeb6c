//! The cost of very many tasks: `cargo bench -p benches --bench many_tasks [-- COUNT]`, by default 100,000.
//!
//! The promises, on an idle machine: 100,000 tasks start within 1.5 s, `get`, `add` and `remove` take at
//! most 20 µs a call beside them. A task takes 1.05 to 1.09 kB of the heap.

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use scheduler::engine::{Clock, SystemClock};
use scheduler::{Builder, Schedule, Scheduler};

/// The number of calls of each kind that are measured.
const CALLS: usize = 2_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = arguments.iter().find_map(|text| text.parse().ok()).unwrap_or(100_000);
    match KINDS.iter().find(|(kind, _)| arguments.iter().any(|text| text == kind)) {
        Some((kind, schedule)) => measure(kind, *schedule, count),
        // Each in a process of its own: memory that one kind has freed would be used by the next.
        None => KINDS.iter().for_each(|(kind, _)| measure_apart(kind, count)),
    }
}

fn measure_apart(kind: &str, count: usize) {
    let program = std::env::current_exe().expect("a path");
    let status = Command::new(program).args([kind, &count.to_string()]).status();
    assert!(status.expect("it starts").success());
}

type Kind = (&'static str, fn(usize) -> Schedule);

const KINDS: [Kind; 3] = [("rate", rate), ("cron", cron), ("once", once)];

fn rate(number: usize) -> Schedule {
    Schedule::fixed_rate("1h").initial_delay(format!("{}s", 3_600 + number % 3_600))
}

fn cron(number: usize) -> Schedule {
    Schedule::cron(format!("0 {} 3 1 1 *", number % 60)).zone("Europe/Berlin")
}

fn once(_: usize) -> Schedule {
    Schedule::once("1d")
}

fn name(number: usize) -> String {
    format!("shop::jobs::task_{number}")
}

/// A scheduler to be started with so many tasks.
fn defined(schedule: fn(usize) -> Schedule, count: usize) -> Builder {
    let builder = Scheduler::builder().environment([("PATH", "")]).settings("none.toml", "");
    (0..count).fold(builder.zone("UTC").messages(|_| {}), |builder, number| {
        builder.task(&name(number), schedule(number), |_| {})
    })
}

fn measure(kind: &str, schedule: fn(usize) -> Schedule, count: usize) {
    let before = resident();
    let builder = defined(schedule, count);
    let (started, scheduler) = timed(|| builder.spawn().expect("it starts"));
    let bytes = resident().saturating_sub(before) / count.max(1);
    println!("{count} tasks, {kind}: spawn {started:.2?}, {bytes} bytes resident a task");

    let tasks = scheduler.tasks();
    let called = CALLS.min(count);
    let numbers = || (0..called).map(|number| number * (count / called));
    let full: Vec<String> = numbers().map(name).collect();
    let short: Vec<String> = numbers().map(|number| format!("task-{number}")).collect();
    let new: Vec<String> =
        (0..called).map(|number| format!("shop::feeds::feed_{number}")).collect();
    per_call("get, full name", &full, |name| {
        drop(black_box(tasks.get(name).expect("it is there")));
    });
    per_call("get, end of path", &short, |name| drop(tasks.get(name).expect("it is there")));
    per_call("add", &new, |name| drop(tasks.add(name, schedule(0), |_| {}).expect("it is new")));
    per_call("remove", &new, |name| tasks.remove(name).expect("it is there"));
    let (stopped, ()) = timed(|| scheduler.shutdown().expect("nothing runs"));
    println!("  shutdown: {stopped:.2?}");
}

fn per_call(what: &str, names: &[String], call: impl Fn(&str)) {
    let (took, ()) = timed(|| names.iter().for_each(|name| call(name)));
    let calls = u32::try_from(names.len().max(1)).expect("few calls");
    println!("  {what}: {:.2?} a call", took / calls);
}

/// The time that a call takes, and its result.
fn timed<R>(call: impl FnOnce() -> R) -> (Duration, R) {
    let clock = SystemClock::new();
    let begun = clock.now();
    let result = call();
    (clock.now().since(begun), result)
}

/// The memory of this process, in bytes; 0 where `/proc` does not say it.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or_default() * 1_024
}
