//! Settings change schedules, and the program shows their sources.
//!
//! ```sh
//! cargo run -p examples --example settings
//! SCHEDULER_CONFIG=examples/settings/scheduler.toml cargo run -p examples --example settings
//! SCHEDULER_CONFIG=examples/settings/scheduler.toml SCHEDULER_DRY_RUN=1 cargo run -p examples --example settings
//! SCHEDULER_TASKS_REPROT_CRON=@daily cargo run -p examples --example settings
//! ```
//!
//! Look at the banner of the first two, which differ in zone, threads and every task; at the sources
//! that the dry run names; and at the message about the slip in the last one. A file `./scheduler.toml`
//! would be read without being named.

use std::time::Duration;

use scheduler::{Scheduler, Until, scheduled};

#[scheduled(cron = "0 0 9 * * *", zone = "${report.zone:UTC}")]
fn report() {}

#[scheduled(fixed_rate = "${cleanup.every:10m}")]
fn cleanup() {
    println!("cleaning up");
}

#[scheduled(initial_delay = "0s")]
fn greet() {
    println!("hello");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scheduler = Scheduler::builder().zone("UTC").spawn()?;
    scheduler.wait_for("greet", Until::runs(1), Duration::from_secs(60))?;
    scheduler.shutdown()?;
    Ok(())
}
