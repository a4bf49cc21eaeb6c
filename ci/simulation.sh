#!/usr/bin/env bash
# The engine against its reference model: 10⁶ seeds, or `ci/simulation.sh 10000000` (the deep tier). A failing
# seed prints the command that replays it.
set -euo pipefail
cd "$(dirname "$0")/.."

export SCHEDULER_SIM_SEEDS="${1:-1000000}"
cargo test --release -p scheduler-core --test simulation -- --nocapture
