//! More random requests, answered as by the model.
//!
//! `TEST_DIFFERENTIAL_STEPS` says how many, in sequences of 500; `TEST_DIFFERENTIAL_SEED` where to begin.

use crate::common::TestSqlite;
use store_conformance::Differential;

const STEPS: u32 = 500;

#[test]
fn random_requests_are_answered_as_by_the_model() {
    let seed = number("TEST_DIFFERENTIAL_SEED", 1_000_000);
    let steps = number("TEST_DIFFERENTIAL_STEPS", 2_000);
    let seeds = steps.div_ceil(u64::from(STEPS));
    Differential { seed, seeds, steps: STEPS, every: 20 }.run::<TestSqlite>();
    println!("{seeds} seeds from {seed}, {STEPS} requests each: no difference");
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}
