//! Jobs and schedules that survive the process: kill and restart it.
//!
//! ```sh
//! cargo run -p examples --example durable
//! ```
//!
//! It keeps its jobs in `durable-example.db`. Start it a second time meanwhile: both share the work, and each tick fires once.

use std::error::Error;
use std::time::Duration;

use scheduler::store::Sqlite;
use scheduler::{JobError, Jobs, NodeOptions, Run, Scheduler, job, scheduled};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Invoice {
    number: u64,
    cents: u64,
}

/// Each ten seconds, in one process. After an outage it runs once, and sees how many ticks it missed.
#[scheduled(cron = "*/10 * * * * *", zone = "UTC", name = "bill", durable)]
fn bill(run: &Run, jobs: &Jobs) -> Result<(), Box<dyn Error>> {
    let tick = run.tick().expect("a schedule has made it");
    println!("bill for {}, {} missed before", tick.format("%H:%M:%S"), run.missed());
    let number = tick.timestamp().unsigned_abs() / 10;
    // The key keeps a second invoice of this number out, should the run be repeated.
    let invoice =
        send_invoice::job(Invoice { number, cents: 1999 }).key(format!("invoice-{number}"));
    jobs.enqueue(invoice)?;
    Ok(())
}

/// Takes three seconds; kill the process meanwhile, and it runs again as attempt 2, with a greater fence.
#[job(name = "send-invoice", retry(max = 5, base = "1s", cap = "1m"), timeout = "30s")]
async fn send_invoice(#[payload] invoice: Invoice, run: Run) -> Result<(), JobError> {
    println!("  invoice {}: attempt {}, fence {:?}", invoice.number, run.attempt(), run.fence());
    run.sleep_async(Duration::from_secs(3)).await;
    if run.attempt() == 1 && invoice.number.is_multiple_of(3) {
        return Err(JobError::failed("the mail server is busy"));
    }
    println!("  invoice {} over {} cents is sent", invoice.number, invoice.cents);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // A process that dies is noticed within seconds here; by default after some 20 seconds.
    let options = NodeOptions::default().lease(Duration::from_secs(3));
    Scheduler::builder().store(Sqlite::open("durable-example.db")?).node(options).start()?;
    Ok(())
}
