//! A program to begin with: a task, what it needs, and its test on a clock that is moved by hand.
//!
//! `cargo test -p examples --example quickstart`

use scheduler::{Scheduler, scheduled};
use std::sync::Mutex;

#[derive(Default)]
struct Orders {
    open: Mutex<Vec<String>>,
}

#[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
fn remind(orders: &Orders) -> Result<(), String> {
    let open = orders.open.lock().map_err(|_| "another task panicked")?;
    println!("{} open orders", open.len());
    Ok(())
}

fn main() -> Result<(), scheduler::StartError> {
    Scheduler::builder().manage(Orders::default()).start()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scheduler::testing::*;

    #[test]
    fn reminds_at_nine_on_weekdays() {
        let mut sim = Sim::at("2026-03-27T00:00[Europe/Berlin]") // a Friday
            .manage(Orders::default())
            .task(remind);
        sim.advance(days(4));
        assert_outcomes!(sim, "remind", [Success, Success]);
        // Summer time began on that Sunday.
        assert_eq!(sim.next("remind").local(), "Tue 2026-03-31 09:00+02:00");
    }
}
