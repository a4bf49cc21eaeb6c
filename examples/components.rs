//! Methods are scheduled, too, as those of beans in Spring.
//!
//! `#[scheduled]` on an `impl` block makes a component of its type.
//!
//! ```sh
//! cargo run -p examples --example components
//! ```
//!
//! Look at the banner: there are two shops, so each method is two tasks, which run by themselves.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use scheduler::{Scheduler, Until, scheduled};

struct Shop {
    city: &'static str,
    sold: AtomicU32,
}

#[scheduled]
impl Shop {
    fn new(city: &'static str) -> Self {
        Self { city, sold: AtomicU32::new(0) }
    }

    /// `&self` is the managed value.
    #[scheduled(fixed_rate = "20ms")]
    fn sell(&self) {
        let sold = self.sold.fetch_add(1, Ordering::Relaxed) + 1;
        println!("{} has sold {sold}", self.city);
    }

    /// Methods may be async, fail, and take other managed values.
    #[scheduled(fixed_delay = "50ms", initial_delay = "50ms")]
    async fn report(&self, office: &Office) -> Result<(), String> {
        match self.sold.load(Ordering::Relaxed) {
            0 => Err(format!("{} has sold nothing", self.city)),
            sold => {
                println!("{} hears from {}: {sold}", office.name, self.city);
                Ok(())
            }
        }
    }

    #[scheduled(cron = "0 0 18 * * MON-SAT", zone = "Europe/Berlin")]
    fn close(&self) {
        println!("{} closes", self.city);
    }
}

struct Office {
    name: &'static str,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scheduler = Scheduler::builder()
        .manage(Office { name: "the office" })
        .manage_named("berlin", Shop::new("Berlin"))
        .manage_named("paris", Shop::new("Paris"))
        .spawn()?;
    // An unambiguous end of a task's name is enough.
    scheduler.wait_for("report[berlin]", Until::successes(2), Duration::from_secs(60))?;
    scheduler.wait_for("report[paris]", Until::successes(2), Duration::from_secs(60))?;
    scheduler.shutdown()?;
    Ok(())
}
