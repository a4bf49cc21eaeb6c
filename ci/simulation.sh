#!/usr/bin/env bash
# The simulations of `cargo test` with many seeds, in an optimized build: the engine against its reference model, by
# 10⁶ seeds or as many as are named (`ci/simulation.sh 10000000`); ten million cancellations; fire times against a walk over
# every second; lives of tasks; the planner against its specification. `ci/simulation.sh quick` is what
# every change has to pass: the engine alone. A failing seed prints the command that replays it.
set -euo pipefail
cd "$(dirname "$0")/.."

seeds="${1:-1000000}"
[[ "$seeds" != quick ]] || seeds=100000
TEST_SIM_SEEDS="$seeds" cargo test --release -p scheduler-core --test simulation -- --nocapture
[[ "${1:-}" != quick ]] || exit 0
cargo test --release -p scheduler-core --test engine contract::cancel::ec_e4
cargo test --release -p scheduler-core --test engine contract::timer::ec_o11
PROPTEST_CASES=512 cargo test --release -p scheduler-core --test engine cron_properties::
TEST_SIM_SEEDS=10000 cargo test --release -p scheduler-rs --lib simulation:: -- --nocapture
TEST_SIM_SEEDS=100000 cargo test --release -p scheduler-rs --lib specification:: -- --nocapture
