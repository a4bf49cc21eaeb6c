//! An API with a rate for each tenant: jobs wait until their tenant may call it again.
//!
//! ```sh
//! cargo run -p examples --example limits
//! ```
//!
//! It keeps its jobs in `limits-example.db`.

use std::error::Error;
use std::time::Duration;

use scheduler::store::Sqlite;
use scheduler::{Limit, Scheduler, job};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order {
    tenant: String,
    number: u32,
}

/// Each tenant has three calls a second, two of them at once, and at most two that run.
#[job(name = "call-api", each(running = 2, rate = "3/1s", burst = 2), partition = order.tenant)]
async fn call_api(#[payload] order: Order) {
    println!("{}: order {}", order.tenant, order.number);
}

fn main() -> Result<(), Box<dyn Error>> {
    let scheduler = Scheduler::builder().store(Sqlite::open("limits-example.db")?).spawn()?;
    let jobs = scheduler.jobs()?;
    // One with many orders does not keep others from theirs: tenants take turns.
    let mut enqueued = Vec::new();
    for (tenant, orders) in [("flood", 6), ("ada", 2)] {
        for number in 1..=orders {
            let order = Order { tenant: tenant.to_owned(), number };
            enqueued.push(jobs.enqueue(call_api::job(order))?.id());
        }
    }
    // Their API is slow today: for all processes, until it is reset.
    jobs.set_limit("call-api", Limit::each().running(1).rate("2/1s").by("ada"))?;
    for limit in jobs.limits()? {
        println!("{} {}: {}", limit.task, limit.scope.word(), limit.limit());
    }
    for id in enqueued {
        jobs.wait(id, Duration::from_secs(30))?;
    }
    scheduler.shutdown()?;
    Ok(())
}
