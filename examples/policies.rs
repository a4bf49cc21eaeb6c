//! Policies for late fire times and for failed runs.
//!
//! ```sh
//! cargo run -p examples --example policies
//! ```
//!
//! Nothing is waited for: the tasks are played on a virtual clock. Each line below is one attribute
//! at work; `docs/policies.md` has all of them.
//!
//! ```text
//! each run takes 1.5s, the rate is 1s
//!   overlap = "skip"        0, 2, 4, 6 s; skipped 3
//!   overlap = "queue_one"   0, 1.5, 3, 4.5, 6 s; skipped 2
//!   overlap = "allow"       0, 1, 2, 3, 4, 5, 6 s; skipped 0
//! no thread is free from 0.5s to 4.5s, the rate is 1s
//!   misfire = "run_once"    0, 4.5, 5, 6 s; skipped 3
//!   misfire = "skip"        0, 5, 6 s; skipped 4
//!   misfire = "catch_up"    0, 4.5, 4.5, 4.5, 4.5, 5, 6 s; skipped 0
//! the first two attempts fail
//!   no retry                error, error, success; then waiting
//!   retry(max = 3)          success in 3 attempts, success, success; then waiting
//!   on_error = "stop"       error; then failed
//! each run takes 1.5s
//!   timeout = "200ms"       timeout, timeout, timeout; then waiting
//! ```

use std::time::Duration;

use scheduler::testing::{Sim, millis, secs};
use scheduler::{TaskSnapshot, scheduled};

#[scheduled(fixed_rate = "1s")]
fn plain() {}

#[scheduled(fixed_rate = "1s", overlap = "queue_one")]
fn queue_one() {}

#[scheduled(fixed_rate = "1s", overlap = "allow")]
fn allow() {}

#[scheduled(fixed_rate = "1s", misfire = "skip")]
fn skip_missed() {}

#[scheduled(fixed_rate = "1s", misfire = "catch_up")]
fn catch_up() {}

#[scheduled(fixed_rate = "1s", retry(max = 3, base = "100ms"))]
fn retried() {}

#[scheduled(fixed_rate = "1s", on_error = "stop")]
fn stopped() {}

#[scheduled(fixed_rate = "1s", timeout = "200ms")]
async fn limited() {}

/// Keeps the only thread.
#[scheduled(initial_delay = "500ms")]
fn import() {}

fn main() {
    println!("each run takes 1.5s, the rate is 1s");
    show_starts("overlap = \"skip\"", &long_runs(sim().task(plain), "plain"));
    show_starts("overlap = \"queue_one\"", &long_runs(sim().task(queue_one), "queue_one"));
    show_starts("overlap = \"allow\"", &long_runs(sim().task(allow), "allow"));
    println!("no thread is free from 0.5s to 4.5s, the rate is 1s");
    show_starts("misfire = \"run_once\"", &no_thread(sim().task(plain), "plain"));
    show_starts("misfire = \"skip\"", &no_thread(sim().task(skip_missed), "skip_missed"));
    show_starts("misfire = \"catch_up\"", &no_thread(sim().task(catch_up), "catch_up"));
    println!("the first two attempts fail");
    show_ends("no retry", &failures(sim().task(plain), "plain"));
    show_ends("retry(max = 3)", &failures(sim().task(retried), "retried"));
    show_ends("on_error = \"stop\"", &failures(sim().task(stopped), "stopped"));
    println!("each run takes 1.5s");
    show_ends("timeout = \"200ms\"", &long_runs(sim().task(limited), "limited"));
}

fn sim() -> Sim {
    Sim::at("2026-01-01T00:00:00Z")
}

fn long_runs(mut sim: Sim, task: &str) -> Played {
    sim.takes(task, millis(1500));
    play(sim, task)
}

fn no_thread(sim: Sim, task: &str) -> Played {
    let mut sim = sim.pool_size(1).task(import);
    sim.takes("import", secs(4));
    play(sim, task)
}

fn failures(mut sim: Sim, task: &str) -> Played {
    sim.fail_next(task, "no connection");
    sim.fail_next(task, "no connection");
    play(sim, task)
}

/// When the runs began, and the task at the end.
type Played = (Vec<Duration>, TaskSnapshot);

fn play(mut sim: Sim, task: &str) -> Played {
    sim.advance(millis(6250));
    (sim.starts(task), sim.snapshot(task))
}

fn show_starts(title: &str, (starts, task): &Played) {
    let starts: Vec<_> = starts.iter().map(|start| start.as_secs_f64().to_string()).collect();
    println!("  {title:24}{} s; skipped {}", starts.join(", "), task.counters.skipped());
}

fn show_ends(title: &str, (_, task): &Played) {
    let runs = task.last_runs.iter().rev().take(3).map(|run| match run.attempts {
        1 => run.outcome.name().to_owned(),
        attempts => format!("{} in {attempts} attempts", run.outcome.name()),
    });
    let runs = runs.collect::<Vec<_>>().join(", ");
    println!("  {title:24}{runs}; then {}", task.state.name());
}
