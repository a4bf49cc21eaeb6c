//! A rate counts from fire times, a delay from ends of runs.
//!
//! ```sh
//! cargo run -p examples --example rate_and_delay
//! ```
//!
//! Nothing is waited for: the tasks are played on a virtual clock. Look at the two lines of each
//! block. The rate keeps its beat however long the runs take; when a run takes longer than the
//! period, the fire time that comes meanwhile is skipped.
//!
//! ```text
//! each run takes 400ms
//!   fixed_rate = "1s"   starts at 0, 1, 2, 3, 4 s
//!   fixed_delay = "1s"  starts at 0, 1.4, 2.8, 4.2 s
//! each run takes 1.5s
//!   fixed_rate = "1s"   starts at 0, 2, 4 s
//!   fixed_delay = "1s"  starts at 0, 2.5 s
//! ```

use std::time::Duration;

use scheduler::scheduled;
use scheduler::testing::{Sim, millis};

#[scheduled(fixed_rate = "1s")]
fn at_a_rate() {}

#[scheduled(fixed_delay = "1s")]
fn after_a_delay() {}

fn main() {
    for length in [millis(400), millis(1500)] {
        let mut sim = Sim::at("2026-01-01T00:00:00Z").task(at_a_rate).task(after_a_delay);
        sim.takes("at_a_rate", length);
        sim.takes("after_a_delay", length);
        sim.advance(millis(4500));
        println!("each run takes {length:?}");
        println!("  fixed_rate = \"1s\"   starts at {}", list(&sim.starts("at_a_rate")));
        println!("  fixed_delay = \"1s\"  starts at {}", list(&sim.starts("after_a_delay")));
    }
}

/// `0, 1.4, 2.8 s`
fn list(starts: &[Duration]) -> String {
    let seconds: Vec<_> = starts.iter().map(|start| start.as_secs_f64().to_string()).collect();
    format!("{} s", seconds.join(", "))
}
