//! The scheduler beside a Tokio program: no signal handler, stopped when the program is done.

use std::time::Duration;

use scheduler::Scheduler;
use scheduler::scheduled;

#[scheduled(fixed_rate = "200ms")]
fn tick() {
    println!("tick");
}

#[scheduled(cron = "* * * * * *")]
async fn chime() {
    println!("chime");
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scheduler = Scheduler::builder().pool_size(2).spawn()?;
    serve().await;
    scheduler.shutdown_async().await?;
    Ok(())
}

/// Stands for the server that the program is about.
async fn serve() {
    for request in 1..=3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        println!("request {request}");
    }
}
