//! What the scheduler says over hours, on the virtual clock: that of failures nothing is left untold.

use scheduler::Schedule;
use scheduler::testing::*;

fn failing(times: usize) -> Sim {
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define("x", Schedule::fixed_rate("1s"), |_| {});
    sim.advance(secs(1));
    for _ in 0..times {
        sim.fail_next("x", "db down");
    }
    sim
}

fn last(sim: &Sim) -> String {
    sim.messages().last().expect("something was said").clone()
}

#[test]
fn a_recovery_is_told_with_the_failures_that_were_not() {
    let mut sim = failing(40);
    sim.advance(hours(1));
    assert_eq!(
        last(&sim),
        "INFO  task `x` succeeded again, in 0ns, after 40 failures in a row\n      \
         30 failures had not been told"
    );
    sim.advance(hours(1));
    sim.fail_next("x", "db down");
    sim.advance(secs(2));
    let said = sim.messages();
    let failure = &said[said.len() - 2];
    assert!(failure.starts_with("ERROR task `x` failed after 0ns: db down\n"), "{failure}");
    assert_eq!(last(&sim), "INFO  task `x` succeeded again, in 0ns, after 1 failure");
}

/// Told are ten, and one a minute as a sum; what is left comes with the recovery.
#[test]
fn no_failure_is_lost_between_sums_and_recovery() {
    let mut sim = failing(200);
    sim.advance(hours(1));
    let said = sim.messages();
    let failures = said.iter().filter(|text| text.starts_with("ERROR"));
    let summed = failures.clone().filter(|text| text.contains("failed 60 times within 1m"));
    assert_eq!((failures.count(), summed.count()), (13, 3));
    assert!(
        last(&sim).ends_with("after 200 failures in a row\n      10 failures had not been told")
    );
}
