//! The first Ctrl-C or SIGTERM waits for runs in progress.
//!
//! No new runs start. A second signal, more than a quarter of a second later, exits at once.
//!
//! ```sh
//! cargo run -p examples --example graceful_shutdown
//! ```
//!
//! Press Ctrl-C in the first three seconds, and look at how each of the three tasks comes to its end; the exit code
//! is 0. Press it again half a second later, and it is 130. With `SCHEDULER_SHUTDOWN_AWAIT_TERMINATION_PERIOD=100ms` in
//! front of the command the backup is not waited for long enough, and a message says so: the exit code is 1.
#![expect(clippy::needless_pass_by_value, reason = "that is how a task takes `Run` and the like")]

use std::time::Duration;

use scheduler::{Run, Scheduler, Shutdown, StartError, Stopped, scheduled};

/// Asks, and leaves the rest to the next run.
#[scheduled(fixed_delay = "1m")]
fn import(run: Run, shutdown: Shutdown) -> Result<(), Stopped> {
    for part in 1..=100 {
        if shutdown.stop_requested() {
            println!("import: the rest comes with the next run");
            break;
        }
        println!("import: part {part}");
        run.sleep(Duration::from_millis(200))?;
    }
    Ok(())
}

/// Does not ask, and is waited for.
#[scheduled(fixed_delay = "1m")]
fn backup(run: Run) -> Result<(), Stopped> {
    println!("backup: begun");
    run.sleep(Duration::from_secs(3))?;
    println!("backup: complete");
    Ok(())
}

/// Waits for ever, until the scheduler is stopping.
#[scheduled(initial_delay = "0s")]
async fn listen(shutdown: Shutdown) {
    println!("listen: waiting");
    shutdown.requested().await;
    println!("listen: closed");
}

fn main() -> Result<(), StartError> {
    // Two of the tasks keep their threads.
    Scheduler::builder().pool_size(3).start()
}
