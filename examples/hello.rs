//! One task of each kind: annotate functions, and start.
//!
//! ```sh
//! cargo run --example hello
//! ```
//!
//! Look at the banner, which says when each task runs next, and at the messages about `import`, which
//! fails after four seconds. Stop it with Ctrl-C.

use scheduler::scheduled;

/// Starts every second, however long it takes.
#[scheduled(fixed_rate = "1s")]
fn tick() {
    println!("tick");
}

/// Starts again two seconds after it has ended.
#[scheduled(fixed_delay = "2s", initial_delay = "500ms")]
fn sweep() {
    println!("sweep");
}

/// Starts at every full second of the wall clock.
#[scheduled(cron = "* * * * * *")]
fn chime() {
    println!("chime");
}

/// Holds no thread while it waits.
#[scheduled(fixed_rate = "3s")]
async fn greet() {
    let name = std::future::ready("world").await;
    println!("hello, {name}");
}

/// Fails each time, which is reported, and the task goes on.
#[scheduled(fixed_rate = "5s", initial_delay = "4s")]
fn import() -> Result<(), std::io::Error> {
    std::fs::read("/no/such/file").map(drop)
}

fn main() -> Result<(), scheduler::StartError> {
    scheduler::start()
}
