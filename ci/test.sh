#!/usr/bin/env bash
# All tests, those of the documentation included, with all features. Then those of the crate and of whole programs
# without any feature, and those of the facade without Tokio.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --all-features
# The contract of durable jobs with real processes, once more on PostgreSQL, where there is one.
SCHEDULER_CLUSTER_STORE=postgres cargo test -p cluster
cargo test -p scheduler --lib
cargo test -p programs
cargo test -p tests --no-default-features
