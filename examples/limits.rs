//! An API with a rate for each tenant: jobs wait until their tenant may call it again.
//!
//! ```sh
//! cargo run -p examples --example limits
//! ```

use std::error::Error;
use std::time::Duration;

use scheduler::store::{JobFilter, JobState, Model};
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
    let scheduler = Scheduler::builder().store(Model::new()).spawn()?;
    let jobs = scheduler.jobs()?;
    // One with many orders does not keep others from theirs: tenants take turns.
    for (tenant, orders) in [("flood", 6), ("ada", 2)] {
        for number in 1..=orders {
            jobs.enqueue(call_api::job(Order { tenant: tenant.to_owned(), number }))?;
        }
    }
    // Their API is slow today: for all processes, until it is reset.
    jobs.set_limit("call-api", Limit::each().running(1).rate("2/1s").by("ada"))?;
    for limit in jobs.limits()? {
        println!("{} {}: {}", limit.task, limit.scope.word(), limit.limit());
    }
    let unfinished = || -> Result<bool, Box<dyn Error>> {
        let jobs = jobs.list(&JobFilter::default(), 100)?;
        Ok(jobs.iter().any(|job| job.state != JobState::Done))
    };
    while unfinished()? {
        std::thread::sleep(Duration::from_millis(100));
    }
    scheduler.shutdown()?;
    Ok(())
}
