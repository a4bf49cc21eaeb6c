//! Tasks that block have threads of their own.
//!
//! ```sh
//! cargo run -p examples --example pools
//! ```
//!
//! Look at the names of the threads: both threads of the pool `io` are blocked, and the tick goes on.
//! With `SCHEDULER_POOLS_IO_SIZE=1` in front of the command the download has to wait for the upload,
//! and a message says so.
#![expect(clippy::needless_pass_by_value, reason = "that is how a task takes `Run` and the like")]

use std::thread;
use std::time::Duration;

use scheduler::{Pool, Run, Scheduler, Stopped, Until, scheduled};

#[scheduled(fixed_rate = "100ms")]
fn tick() {
    println!("tick on {}", thread());
}

/// Blocks its thread, as files and many drivers of databases do.
#[scheduled(fixed_delay = "1s", pool = "io")]
fn upload(run: Run) -> Result<(), Stopped> {
    println!("upload begins on {}", thread());
    run.sleep(Duration::from_millis(1500))?;
    println!("upload ends");
    Ok(())
}

#[scheduled(fixed_delay = "1s", pool = "io")]
fn download(run: Run) -> Result<(), Stopped> {
    println!("download begins on {}", thread());
    run.sleep(Duration::from_millis(1500))?;
    println!("download ends");
    Ok(())
}

fn thread() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scheduler = Scheduler::builder().pool_size(1).pool("io", Pool::new().size(2)).spawn()?;
    scheduler.wait_for("download", Until::runs(1), Duration::from_secs(60))?;
    scheduler.shutdown()?;
    Ok(())
}
