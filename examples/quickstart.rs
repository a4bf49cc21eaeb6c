//! Two tasks, the state they share, and tests in virtual time.
//!
//! `cargo test -p examples --example quickstart`

use scheduler::{Scheduler, scheduled};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
struct Orders {
    open: AtomicU64,
}

/// An order comes in every two seconds.
#[scheduled(fixed_rate = "2s")]
fn receive(orders: &Orders) {
    let open = orders.open.fetch_add(1, Ordering::Relaxed) + 1;
    println!("order {open} came in");
}

/// Fails on days without orders, and runs again on the next one.
#[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
fn remind(orders: &Orders) -> Result<(), String> {
    match orders.open.load(Ordering::Relaxed) {
        0 => Err("no order came in".to_owned()),
        open => {
            println!("{open} open orders");
            Ok(())
        }
    }
}

fn main() -> Result<(), scheduler::StartError> {
    Scheduler::builder().manage(Orders::default()).start()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scheduler::testing::*;

    fn at(instant: &str) -> Sim {
        Sim::at(instant).manage(Orders::default())
    }

    #[test]
    fn receives_every_two_seconds() {
        let mut sim = at("2026-03-27T00:00:00Z").task(receive);
        sim.advance(secs(5));
        assert_eq!(sim.starts("receive"), [0, 2, 4].map(secs));
        assert_eq!(sim.get::<Orders>().open.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn reminds_at_nine_on_weekdays() {
        let mut sim = at("2026-03-27T00:00[Europe/Berlin]").task(remind); // a Friday
        sim.get::<Orders>().open.store(2, Ordering::Relaxed);
        sim.advance(days(4));
        assert_outcomes!(sim, "remind", [Success, Success]);
        // Summer time began on that Sunday.
        assert_eq!(sim.next("remind").local(), "Tue 2026-03-31 09:00+02:00");
    }

    #[test]
    fn fails_without_orders() {
        let mut sim = at("2026-03-27T08:59:59[Europe/Berlin]").task(remind);
        sim.advance(secs(1));
        assert_outcomes!(sim, "remind", [Error("no order came in")]);
    }
}
