//! The cost of tests of schedules: `cargo bench -p benches --bench testing`.
//!
//! The promises: a year of a weekday's nine o'clock in Berlin in less than a millisecond, and a simulated
//! year of 100 mixed tasks in less than a second.

use divan::{Bencher, black_box};
use scheduler::Schedule;
use scheduler::testing::{Sim, days, minutes, schedule};

fn main() {
    divan::main();
}

#[divan::bench]
fn a_year_of_weekdays_at_nine_in_berlin(bencher: Bencher<'_, '_>) {
    let nine = schedule("0 0 9 * * MON-FRI").zone("Europe/Berlin");
    bencher.bench_local(|| {
        let year = nine.between(
            "2026-01-01T00:00[Europe/Berlin]",
            black_box("2027-01-01T00:00[Europe/Berlin]"),
        );
        assert_eq!(year.len(), 261);
        year
    });
}

/// 100 tasks: 30 at an hourly rate, 20 with a delay of six hours and jitter, 30 every two hours by cron
/// expressions in four zones, 20 on weekdays at nine: some 430,000 runs.
fn mixed() -> Sim {
    let zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"];
    let mut sim = Sim::at("2026-01-01T00:00:00Z");
    for number in 0..100 {
        let zone = zones[number % zones.len()];
        let schedule = match number {
            0..30 => Schedule::fixed_rate("1h").initial_delay(minutes(number as u64)),
            30..50 => Schedule::fixed_delay("6h").jitter("1m"),
            50..80 => Schedule::cron(format!("0 {} */2 * * *", number % 60)).zone(zone),
            _ => Schedule::cron("0 0 9 * * MON-FRI").zone(zone),
        };
        sim = sim.define(&format!("task-{number}"), schedule, |_| {});
    }
    sim
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn a_year_of_100_mixed_tasks(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(mixed).bench_local_values(|mut sim| {
        sim.advance(days(365));
        assert!(runs(&sim) > 420_000, "{} runs", runs(&sim));
        sim
    });
}

fn runs(sim: &Sim) -> u64 {
    sim.running_tasks().list().iter().map(|task| task.counters.runs).sum()
}
