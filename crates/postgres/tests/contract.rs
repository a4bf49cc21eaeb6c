//! The store answers as the contract says, and as the model does.
//!
//! `TEST_DIFFERENTIAL_STEPS` asks for more random requests than each run has, in sequences of 500, and
//! `TEST_DIFFERENTIAL_SEED` says where to begin.

use store_conformance::Differential;

use crate::support::TestPostgres;

store_conformance::store_conformance!(TestPostgres);

const STEPS: u32 = 500;

#[test]
fn random_requests_are_answered_as_by_the_model() {
    let seed = number("TEST_DIFFERENTIAL_SEED", 1_000_000);
    let steps = number("TEST_DIFFERENTIAL_STEPS", 1_000);
    let seeds = steps.div_ceil(u64::from(STEPS));
    Differential { seed, seeds, steps: STEPS, every: 20 }.run::<TestPostgres>();
    println!("{seeds} seeds from {seed}, {STEPS} requests each: no difference");
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}
